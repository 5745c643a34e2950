//! An item of a source file that has a name: a test, what groups tests, or another function.
//!
//! May know: syntax trees. Must never know: which languages there are.

use std::ops::Range;

use crate::syntax_tree::{NodeId, SyntaxTree, is_string};
use journeyman_order::bounds::LONGEST_LINE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Test,
    Group,
    Function,
}

pub(crate) struct NamedItem {
    pub(crate) kind: ItemKind,
    pub(crate) title: String,
    /// What groups it besides the items around it.
    pub(crate) owner: Option<String>,
    /// With its decorators, attributes and annotations.
    pub(crate) nodes: Range<NodeId>,
    /// What does not say what it does, such as its name.
    pub(crate) left_out: Vec<Range<NodeId>>,
}

/// The words of a string, otherwise the expression that makes the title.
pub(crate) fn title_of(tree: &SyntaxTree<'_>, node: NodeId) -> String {
    let text = tree.text(node);
    let mut title = text.to_owned();
    if is_string(tree.kind(node)) {
        let bare = text.get(1..text.len().saturating_sub(1)).unwrap_or(text);
        title = bare.replace("\\'", "'").replace("\\\"", "\"");
    }
    title.chars().take(LONGEST_LINE).collect()
}

/// The statement that consists of this call, otherwise the call.
pub(crate) fn with_statement(tree: &SyntaxTree<'_>, call: NodeId) -> NodeId {
    let is_around = |up: &NodeId| matches!(tree.kind(*up), "await_expression" | "expression_statement");
    tree.ancestors(call).take_while(is_around).last().unwrap_or(call)
}
