//! Rust: functions with a test attribute, in the modules of a file.

use std::ops::Range;

use super::{MOST_TESTS, TestItem};
use crate::tamper::syntax::{NodeId, Syntax};

pub(super) fn tests(syntax: &Syntax<'_>) -> Vec<TestItem> {
    syntax
        .everything()
        .filter(|node| syntax.kind(*node) == "function_item")
        .filter(|node| attributes(syntax, *node).iter().any(|attribute| is_test(syntax, *attribute)))
        .take(MOST_TESTS)
        .map(|node| TestItem { item: node, body: syntax.field(node, "body") })
        .collect()
}

/// Where the modules are that are compiled for tests only, and the tests outside them.
pub(super) fn places(syntax: &Syntax<'_>, found: &[TestItem]) -> Vec<Range<usize>> {
    let modules = test_modules(syntax).into_iter().map(|node| syntax.bytes(node));
    modules.chain(found.iter().map(|test| syntax.bytes(test.item))).collect()
}

/// Modules under `#[cfg(test)]` with a body, the outermost ones.
fn test_modules(syntax: &Syntax<'_>) -> Vec<NodeId> {
    let mut modules: Vec<NodeId> = Vec::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "mod_item") {
        let is_for_tests = syntax.field(node, "body").is_some()
            && attributes(syntax, node).iter().any(|attribute| {
                flat(syntax, *attribute).starts_with("#[cfg(test)]")
                    || flat(syntax, *attribute).starts_with("#[cfg(all(test")
            });
        if is_for_tests && !modules.last().is_some_and(|outer| syntax.contains(*outer, node)) {
            modules.push(node);
        }
    }
    modules
}

/// The attributes above an item.
pub(in crate::tamper) fn attributes(syntax: &Syntax<'_>, item: NodeId) -> Vec<NodeId> {
    let mut above = Vec::new();
    let mut at = item;
    while let Some(sibling) = syntax.previous(at) {
        match syntax.kind(sibling) {
            "attribute_item" => above.push(sibling),
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        at = sibling;
    }
    above
}

/// Whether an attribute makes an item one for tests: `#[cfg(test)]`, `#[test]` and their like.
pub(in crate::tamper) fn is_for_tests(syntax: &Syntax<'_>, attribute: NodeId) -> bool {
    let flat = flat(syntax, attribute);
    flat.starts_with("#[cfg(test)]") || flat.starts_with("#[cfg(all(test") || is_test(syntax, attribute)
}

fn flat(syntax: &Syntax<'_>, node: NodeId) -> String {
    syntax.text(node).chars().filter(|c| !c.is_whitespace()).collect()
}

fn is_test(syntax: &Syntax<'_>, attribute: NodeId) -> bool {
    let flat = flat(syntax, attribute);
    let inner = flat.trim_start_matches("#[");
    let path = inner.split(['(', ']', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    last == "test"
        || last.ends_with("_test")
        || matches!(last, "rstest" | "test_case" | "quickcheck" | "gpui")
}
