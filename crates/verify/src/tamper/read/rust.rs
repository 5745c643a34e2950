//! Rust: which parts of a code file are tests.

use std::ops::Range;

use crate::tamper::syntax::{NodeId, Syntax};

/// The places of test functions and test-only modules, in order and without those nested in others.
pub(super) fn places(syntax: &Syntax<'_>) -> Vec<Range<usize>> {
    let has = |item: NodeId, is_one: fn(&Syntax<'_>, NodeId) -> bool| {
        attributes(syntax, item).into_iter().any(|attribute| is_one(syntax, attribute))
    };
    let is_place = |node: &NodeId| match syntax.kind(*node) {
        "function_item" => has(*node, is_test),
        "mod_item" => syntax.field(*node, "body").is_some() && has(*node, is_for_tests),
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

/// Whether an attribute marks an item for tests: `#[cfg(test)]`, `#[test]` and the like.
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
