//! The tests in a file of Python.

use std::ops::Range;

use crate::grammar_kind::GrammarKind;
use crate::named_item::{ItemKind, NamedItem};
use crate::syntax_rules::SyntaxRules;
use crate::syntax_tree::{NodeId, SyntaxTree};

pub(super) const SYNTAX: SyntaxRules = SyntaxRules {
    grammars: &[(GrammarKind::Python, &["py", "pyi"])],
    item,
    is_redefined: true,
    ..SyntaxRules::NONE
};

fn item(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let kind = match tree.kind(node) {
        "class_definition" => ItemKind::Group,
        "function_definition" => match tree.field_text(node, "name").starts_with("test") {
            true => ItemKind::Test,
            false => ItemKind::Function,
        },
        _ => return None,
    };
    let name = tree.field(node, "name")?;
    let whole = tree.parent(node).filter(|up| tree.kind(*up) == "decorated_definition").unwrap_or(node);
    let own = tree.field(node, "parameters").and_then(|list| own_parameter(tree, list));
    let left_out = std::iter::once(tree.all(name)).chain(own).collect();
    Some(NamedItem { kind, title: tree.text(name).to_owned(), owner: None, nodes: tree.all(whole), left_out })
}

/// `self` with the comma behind it, which a function gets when it is moved into a class.
fn own_parameter(tree: &SyntaxTree<'_>, list: NodeId) -> Option<Range<NodeId>> {
    let first = tree.part(list, 0).filter(|first| tree.text(*first) == "self")?;
    let next = tree.all(first).end;
    let has_comma = next < tree.all(list).end && tree.text(next) == ",";
    Some(first..next + usize::from(has_comma))
}
