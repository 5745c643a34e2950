//! The tests in a file of Rust, each by itself.

use super::tests_inside::attributes;
use crate::grammar_kind::GrammarKind;
use crate::named_item::{ItemKind, NamedItem};
use crate::syntax_rules::SyntaxRules;
use crate::syntax_tree::{NodeId, SyntaxTree, is_comment};

pub(super) const SYNTAX: SyntaxRules = SyntaxRules {
    grammars: &[(GrammarKind::Rust, &["rs"])],
    item: |tree, node| item(tree, node).or_else(|| in_a_macro(tree, node)),
    ..SyntaxRules::NONE
};

fn item(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let above = match tree.kind(node) {
        "function_item" | "mod_item" => attributes(tree, node),
        _ => return None,
    };
    let kind = if tree.kind(node) == "mod_item" {
        ItemKind::Group
    } else if above.iter().any(|attribute| marks_a_test(tree.text(*attribute))) {
        ItemKind::Test
    } else {
        ItemKind::Function
    };
    let name = tree.field(node, "name")?;
    let start = above.last().copied().unwrap_or(node);
    Some(NamedItem {
        kind,
        title: tree.text(name).to_owned(),
        owner: None,
        nodes: start..tree.all(node).end,
        left_out: vec![tree.all(name)],
    })
}

/// A test inside a macro such as `proptest!`, where the grammar has only tokens.
fn in_a_macro(tree: &SyntaxTree<'_>, keyword: NodeId) -> Option<NamedItem> {
    let list = tree.parent(keyword).filter(|up| tree.kind(*up) == "token_tree")?;
    if tree.kind(keyword) != "fn" || tree.kind(keyword + 1) != "identifier" {
        return None;
    }
    let (name, end) = (keyword + 1, tree.all(list).end);
    let first_byte = |node: NodeId| tree.source().get(tree.bytes(node).start).copied();
    let body = std::iter::successors(Some(name + 1), |node| Some(tree.all(*node).end))
        .take_while(|node| *node < end)
        .find(|node| matches!(first_byte(*node), Some(b'{' | b';')))
        .filter(|node| first_byte(*node) == Some(b'{'))?;
    let (mut start, mut is_test) = (keyword, false);
    for before in std::iter::successors(tree.previous(keyword), |node| tree.previous(*node)) {
        let text = tree.text(before);
        if text.starts_with('[') {
            is_test |= marks_a_test(text);
        } else if !is_comment(tree.kind(before)) && !["#", "pub", "async", "unsafe", "const"].contains(&text)
        {
            break;
        }
        start = before;
    }
    is_test.then(|| NamedItem {
        kind: ItemKind::Test,
        title: tree.text(name).to_owned(),
        owner: None,
        nodes: start..tree.all(body).end,
        left_out: vec![tree.all(name)],
    })
}

/// Whether an attribute marks a test: `#[test]`, `#[tokio::test]`, `#[test_case(1)]`.
fn marks_a_test(attribute: &str) -> bool {
    const WORDS: [&str; 7] = ["test", "tests", "rstest", "gtest", "proptest", "quickcheck", "gpui"];
    let flat: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    let path = flat.trim_start_matches(['#', '[']).split(['(', ']', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    last.split('_').any(|word| WORDS.contains(&word))
}
