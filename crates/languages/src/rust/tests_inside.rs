//! Rust: which parts of a code file are tests.

use std::ops::Range;

use crate::syntax_tree::{NodeId, SyntaxTree};

/// The places of test functions and test-only modules, in order and without those nested in others.
pub fn places(tree: &SyntaxTree<'_>) -> Vec<Range<usize>> {
    let is_place = |node: &NodeId| match tree.kind(*node) {
        "function_item" => attributes(tree, *node).into_iter().any(|attribute| is_test(tree, attribute)),
        "mod_item" => tree.field(*node, "body").is_some() && is_item_for_tests(tree, *node),
        _ => false,
    };
    let mut places: Vec<Range<usize>> = Vec::new();
    for place in tree.everything().filter(is_place).map(|node| tree.bytes(node)) {
        if places.last().is_none_or(|last| last.end <= place.start) {
            places.push(place);
        }
    }
    places
}

pub fn attributes(tree: &SyntaxTree<'_>, item: NodeId) -> Vec<NodeId> {
    let mut above = Vec::new();
    let mut at = item;
    while let Some(sibling) = tree.previous(at) {
        match tree.kind(sibling) {
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
pub fn is_item_for_tests(tree: &SyntaxTree<'_>, item: NodeId) -> bool {
    let above = attributes(tree, item);
    let has = |is_one: fn(&SyntaxTree<'_>, NodeId) -> bool| above.iter().any(|at| is_one(tree, *at));
    has(is_for_tests) || (is_private_and_named_tests(tree, item) && has(is_for_tests_or_a_feature))
}

fn is_private_and_named_tests(tree: &SyntaxTree<'_>, item: NodeId) -> bool {
    if tree.kind(item) != "mod_item" {
        return false;
    }
    let name = tree.field_text(item, "name");
    (["test", "tests"].contains(&name) || name.ends_with("_test") || name.ends_with("_tests"))
        && !tree.children(item).any(|part| tree.kind(part) == "visibility_modifier")
}

fn is_for_tests_or_a_feature(tree: &SyntaxTree<'_>, attribute: NodeId) -> bool {
    let flat = flat(tree, attribute);
    flat.starts_with("#[cfg(any(")
        && !flat.contains("not(")
        && flat.split(['(', ',', ')']).any(|word| word == "test")
}

/// Whether an attribute marks an item for tests: `#[cfg(test)]`, `#[test]` and the like.
fn is_for_tests(tree: &SyntaxTree<'_>, attribute: NodeId) -> bool {
    let flat = flat(tree, attribute);
    flat.starts_with("#[cfg(test)]") || flat.starts_with("#[cfg(all(test") || is_test(tree, attribute)
}

fn flat(tree: &SyntaxTree<'_>, node: NodeId) -> String {
    tree.text(node).chars().filter(|c| !c.is_whitespace()).collect()
}

fn is_test(tree: &SyntaxTree<'_>, attribute: NodeId) -> bool {
    let flat = flat(tree, attribute);
    let inner = flat.trim_start_matches("#[");
    let path = inner.split(['(', ']', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    last == "test"
        || last.ends_with("_test")
        || matches!(last, "rstest" | "test_case" | "quickcheck" | "gpui")
}
