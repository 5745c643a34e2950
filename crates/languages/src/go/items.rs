//! The tests in a file of Go.

use crate::chain::{ChainLink, chain};
use crate::grammar_kind::GrammarKind;
use crate::named_item::{ItemKind, NamedItem, title_of, with_statement};
use crate::syntax_rules::SyntaxRules;
use crate::syntax_tree::{NodeId, SyntaxTree, is_string};

pub(super) const SYNTAX: SyntaxRules = SyntaxRules {
    grammars: &[(GrammarKind::Go, &["go"])],
    item: |tree, node| item(tree, node).or_else(|| run(tree, node)),
    can_hold_tests: |tree, node, around| {
        tree.kind(node) != "call_expression" || around.contains(&ItemKind::Test)
    },
    example: Some("Example"),
    ..SyntaxRules::NONE
};

fn item(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let is_method = match tree.kind(node) {
        "function_declaration" => false,
        "method_declaration" => true,
        _ => return None,
    };
    let name = tree.field(node, "name")?;
    let title = tree.text(name).to_owned();
    let is_run = title.starts_with("Test") && title != "TestMain"
        || !is_method && (title.starts_with("Example") || title.starts_with("Fuzz"));
    let kind = if is_run { ItemKind::Test } else { ItemKind::Function };
    Some(NamedItem {
        kind,
        title,
        owner: receiver(tree, node),
        nodes: tree.all(node),
        left_out: vec![tree.all(name)],
    })
}

/// `t.Run("adds two", …)`, whose title the runner prints with underscores.
fn run(tree: &SyntaxTree<'_>, call: NodeId) -> Option<NamedItem> {
    if tree.kind(call) != "call_expression" {
        return None;
    }
    let links = chain(tree, call);
    let [_, ChainLink { name: "Run", arguments: Some(arguments) }] = links.as_slice() else { return None };
    let name = tree.part(*arguments, 0).filter(|first| is_string(tree.kind(*first)))?;
    let title = title_of(tree, name).replace(' ', "_");
    let whole = with_statement(tree, call);
    Some(NamedItem {
        kind: ItemKind::Test,
        title,
        owner: None,
        nodes: tree.all(whole),
        left_out: vec![tree.all(name)],
    })
}

/// The type of a method, which groups its tests.
fn receiver(tree: &SyntaxTree<'_>, node: NodeId) -> Option<String> {
    let receiver = tree.field(node, "receiver").filter(|_| tree.kind(node) == "method_declaration")?;
    let mut words = tree.text(receiver).split(|c: char| !c.is_alphanumeric() && c != '_');
    words.rfind(|word| !word.is_empty()).map(str::to_owned)
}
