//! The tests in a file of Java.

use crate::grammar_kind::GrammarKind;
use crate::named_item::{ItemKind, NamedItem};
use crate::syntax_rules::SyntaxRules;
use crate::syntax_tree::{NodeId, SyntaxTree};

pub(super) const SYNTAX: SyntaxRules =
    SyntaxRules { grammars: &[(GrammarKind::Java, &["java"])], item, ..SyntaxRules::NONE };

fn item(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let kind = match tree.kind(node) {
        "class_declaration" | "interface_declaration" | "record_declaration" | "enum_declaration" => {
            ItemKind::Group
        }
        "method_declaration" if is_test(tree, node) => ItemKind::Test,
        "method_declaration" | "constructor_declaration" => ItemKind::Function,
        _ => return None,
    };
    let name = tree.field(node, "name")?;
    let title = tree.text(name).to_owned();
    Some(NamedItem { kind, title, owner: None, nodes: tree.all(node), left_out: vec![tree.all(name)] })
}

/// By its annotations, or as JUnit 3 finds it.
fn is_test(tree: &SyntaxTree<'_>, method: NodeId) -> bool {
    const OTHERS: [&str; 4] = ["TestFactory", "TestTemplate", "Property", "Example"];
    let modifiers = tree.children(method).filter(|child| tree.kind(*child) == "modifiers");
    let mut annotations = modifiers.flat_map(|list| tree.children(list));
    let marks = |annotation: NodeId| {
        let name = tree.field_text(annotation, "name");
        let name = name.rsplit('.').next().unwrap_or(name);
        name.ends_with("Test") || OTHERS.contains(&name)
    };
    let is_void = || tree.field(method, "type").is_some_and(|given| tree.kind(given) == "void_type");
    annotations.any(marks) || tree.field_text(method, "name").starts_with("test") && is_void()
}
