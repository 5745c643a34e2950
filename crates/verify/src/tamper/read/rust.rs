//! Rust: which parts of a code file are tests.

use std::ops::Range;

use crate::tamper::syntax::{NodeId, Syntax};

/// The places of test functions and test-only modules, in order and without those nested in others.
pub(super) fn places(syntax: &Syntax<'_>) -> Vec<Range<usize>> {
    let is_place = |node: &NodeId| match syntax.kind(*node) {
        "function_item" => attributes(syntax, *node).into_iter().any(|attribute| is_test(syntax, attribute)),
        "mod_item" => syntax.field(*node, "body").is_some() && is_item_for_tests(syntax, *node),
        _ => false,
    };
    let mut places: Vec<Range<usize>> = Vec::new();
    for place in syntax.everything().filter(is_place).map(|node| syntax.bytes(node)) {
        if places.last().is_none_or(|last| last.end <= place.start) {
            places.push(place);
        }
    }
    places
}

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

/// Whether an item compiles only for tests. So does a private module `tests` that a feature enables too:
/// `#[cfg(any(test, feature = "slow"))] mod tests`. Other items under such a condition may be the program's own code.
pub(in crate::tamper) fn is_item_for_tests(syntax: &Syntax<'_>, item: NodeId) -> bool {
    let above = attributes(syntax, item);
    let has = |is_one: fn(&Syntax<'_>, NodeId) -> bool| above.iter().any(|at| is_one(syntax, *at));
    has(is_for_tests) || (is_private_and_named_tests(syntax, item) && has(is_for_tests_or_a_feature))
}

fn is_private_and_named_tests(syntax: &Syntax<'_>, item: NodeId) -> bool {
    if syntax.kind(item) != "mod_item" {
        return false;
    }
    let name = syntax.field_text(item, "name");
    (["test", "tests"].contains(&name) || name.ends_with("_test") || name.ends_with("_tests"))
        && !syntax.children(item).any(|part| syntax.kind(part) == "visibility_modifier")
}

fn is_for_tests_or_a_feature(syntax: &Syntax<'_>, attribute: NodeId) -> bool {
    let flat = flat(syntax, attribute);
    flat.starts_with("#[cfg(any(")
        && !flat.contains("not(")
        && flat.split(['(', ',', ')']).any(|word| word == "test")
}

/// Whether an attribute marks an item for tests: `#[cfg(test)]`, `#[test]` and the like.
fn is_for_tests(syntax: &Syntax<'_>, attribute: NodeId) -> bool {
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
