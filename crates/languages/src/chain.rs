//! Calls as people read them: `expect(x).not.toBe(y)` is a chain of names, some with arguments.

use crate::syntax_tree::{NodeId, SyntaxTree};
use journeyman_order::bounds::DEEPEST;

#[derive(Debug, Clone)]
pub struct ChainLink<'s> {
    pub name: &'s str,
    /// The list of arguments, if it is a call.
    pub arguments: Option<NodeId>,
}

pub fn is_call(kind: &str) -> bool {
    matches!(kind, "call" | "call_expression" | "method_invocation")
}

fn is_member(kind: &str) -> bool {
    matches!(
        kind,
        "attribute"
            | "member_expression"
            | "field_expression"
            | "scoped_identifier"
            | "selector_expression"
            | "field_access"
    )
}

/// The links of a call or a member, in the order of the text. Empty for other nodes.
pub fn chain<'s>(tree: &'s SyntaxTree<'_>, node: NodeId) -> Vec<ChainLink<'s>> {
    let mut links = Vec::new();
    let mut at = Some(node);
    let mut pending = None;
    while let Some(node) = at {
        if links.len() >= DEEPEST {
            break;
        }
        let kind = tree.kind(node);
        at = if kind == "method_invocation" {
            links.push(ChainLink {
                name: tree.field_text(node, "name"),
                arguments: tree.field(node, "arguments"),
            });
            tree.field(node, "object")
        } else if is_call(kind) {
            if let Some(arguments) = pending.take() {
                links.push(ChainLink { name: "", arguments: Some(arguments) });
            }
            pending = tree.field(node, "arguments");
            tree.field(node, "function")
        } else if is_member(kind) {
            let name = ["attribute", "property", "field", "name"]
                .into_iter()
                .find_map(|field| tree.field(node, field))
                .map_or("", |name| tree.text(name));
            links.push(ChainLink { name, arguments: pending.take() });
            ["object", "value", "operand", "path"].into_iter().find_map(|field| tree.field(node, field))
        } else if matches!(
            kind,
            "parenthesized_expression" | "await_expression" | "await" | "generic_function"
        ) {
            tree.part(node, 0)
        } else {
            links.push(ChainLink { name: tree.text(node), arguments: pending.take() });
            None
        };
    }
    links.reverse();
    links
}

/// A function's name: its own, or that of the variable it is assigned to.
pub fn function_name<'s>(tree: &'s SyntaxTree<'_>, function: NodeId) -> Option<&'s str> {
    if let Some(name) = tree.field(function, "name") {
        return Some(tree.text(name));
    }
    let parent = tree.parent(function)?;
    let name = match tree.kind(parent) {
        "variable_declarator" => tree.field(parent, "name"),
        "let_declaration" => tree.field(parent, "pattern"),
        "assignment" | "assignment_expression" => tree.field(parent, "left"),
        "pair" => tree.field(parent, "key"),
        _ => None,
    }?;
    Some(tree.text(name))
}

pub fn parameters(tree: &SyntaxTree<'_>, function: NodeId) -> usize {
    match tree.field(function, "parameters") {
        Some(list) => {
            tree.parts(list).filter(|part| !matches!(tree.text(*part), "self" | "cls" | "&self")).count()
        }
        None => usize::from(tree.field(function, "parameter").is_some()),
    }
}
