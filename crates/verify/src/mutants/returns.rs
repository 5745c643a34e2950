//! Mutants of return values: a trivial value of the same kind.

use super::operators::{is_comparison, is_negation};
use super::{MutantCollector, MutantRank};
use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::mutants::MOST_CLIMB;
use journeyman_languages::mutants::returns::{declared, of_go, results, tail, trivial_values};
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_function};

pub(super) fn look(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let tree = found.tree;
    let body = || tree.field(node, "body");
    let (value, function) = match tree.kind(node) {
        "return_statement" | "return_expression" => (tree.part(node, 0), function_around(tree, node)),
        "function_item" => (body().and_then(|body| tail(tree, body)), Some(node)),
        "arrow_function" | "lambda" => {
            (body().filter(|body| tree.kind(*body) != "statement_block"), Some(node))
        }
        _ => return,
    };
    if let (Some(value), Some(function)) = (value, function) {
        returned(found, value, function);
    }
}

fn function_around(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NodeId> {
    tree.ancestors(node).take(MOST_CLIMB).find(|up| is_function(tree.kind(*up)))
}

fn returned(found: &mut MutantCollector<'_, '_>, value: NodeId, function: NodeId) {
    let tree = found.tree;
    let declared = declared(tree, function);
    if tree.kind(value) == "expression_list" && tree.grammar == GrammarKind::Go {
        let values: Vec<NodeId> = tree.parts(value).take(MOST_CLIMB).collect();
        let kinds = results(&declared);
        if kinds.len() == values.len() {
            for (value, kind) in values.into_iter().zip(kinds) {
                replace(found, value, of_go(&kind));
            }
        }
        return;
    }
    let is_truth = is_comparison(tree, value) || is_negation(tree, value);
    replace(found, value, trivial_values(tree, function, &declared, is_truth));
}

fn replace(found: &mut MutantCollector<'_, '_>, value: NodeId, others: &[&str]) {
    let tree = found.tree;
    // Literals have their own mutants.
    if tree.is_literal(value) || !found.names.are_used_without(tree, value) {
        return;
    }
    for other in others {
        let at = tree.bytes(value);
        found.add(value, at, MutantRank::Second, (*other).to_owned(), |old, new| {
            format!("the returned {old} became {new}")
        });
    }
}
