//! Mutants of statements: another condition, a missing call or assignment, a loop exit in the wrong place.

use super::operators::{is_comparison, is_connective, is_negation};
use super::{MutantCollector, MutantRank, places};
use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::mutants::MOST_CLIMB;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_function, is_loop};

/// Calls that do not return, and that the compiler may depend on.
const ENDS: &[&str] =
    &["exit", "abort", "panic", "Exit", "Fatal", "Fatalf", "unreachable_unchecked", "super"];

pub(super) fn look(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let tree = found.tree;
    let condition = match tree.kind(node) {
        "if_statement" | "elif_clause" | "if_expression" | "ternary_expression" | "match_pattern" => {
            tree.field(node, "condition")
        }
        "conditional_expression" => tree.part(node, 1),
        "expression_statement" => return removed(found, node),
        "break_statement" | "break_expression" => return leave(found, node, "break", "continue"),
        "continue_statement" | "continue_expression" => return leave(found, node, "continue", "break"),
        _ => None,
    };
    if let Some(condition) = condition {
        self::condition(found, condition);
    }
}

/// Negates a condition, and replaces it by true or false. Comparisons and connectives have their own opposites.
fn condition(found: &mut MutantCollector<'_, '_>, condition: NodeId) {
    let tree = found.tree;
    let inner = if tree.kind(condition) == "parenthesized_expression" {
        tree.part(condition, 0).unwrap_or(condition)
    } else {
        condition
    };
    let text = tree.text(inner);
    // Such a condition binds names, and the following code does not compile without them.
    let makes_names = tree.all(inner).take(MOST_CLIMB).any(|node| {
        matches!(
            tree.kind(node),
            "let_condition"
                | "let_chain"
                | "named_expression"
                | "instanceof_expression"
                | "assignment_expression"
        )
    });
    if text.is_empty() || makes_names || matches!(text, "true" | "false" | "True" | "False") {
        return;
    }
    let is_python = tree.grammar == GrammarKind::Python;
    let (not, yes, no) = if is_python { ("not ", "True", "False") } else { ("!", "true", "false") };
    let has_opposite = is_comparison(tree, inner) || is_connective(tree, inner) || is_negation(tree, inner);
    if !has_opposite {
        found.becomes(inner, MutantRank::First, format!("{not}({text})"));
    }
    if found.names.are_used_without(tree, inner) {
        found.becomes(inner, MutantRank::Third, yes);
        found.becomes(inner, MutantRank::Third, no);
    }
}

/// A call whose value is unused, or what a function puts into a field.
fn removed(found: &mut MutantCollector<'_, '_>, statement: NodeId) {
    let tree = found.tree;
    let Some(mut inner) = tree.part(statement, 0) else { return };
    for _ in 0..3 {
        if !matches!(tree.kind(inner), "try_expression" | "await_expression" | "await") {
            break;
        }
        let Some(next) = tree.part(inner, 0) else { return };
        inner = next;
    }
    let rank = match tree.kind(inner) {
        "call" | "call_expression" | "method_invocation" if may_go(found, statement, inner) => {
            MutantRank::First
        }
        "assignment" | "assignment_expression" if sets_field(tree, inner) => MutantRank::Second,
        _ => return,
    };
    // A Rust block's last expression is its value.
    if tree.grammar == GrammarKind::Rust && !tree.text(statement).ends_with(';') {
        return;
    }
    let nothing = match tree.grammar {
        GrammarKind::Python => "pass",
        GrammarKind::Rust | GrammarKind::Go => "",
        GrammarKind::JavaScript | GrammarKind::TypeScript | GrammarKind::Tsx | GrammarKind::Java => ";",
    };
    let at = tree.bytes(statement);
    found.add(statement, at, rank, nothing.to_owned(), |old, _| format!("{old} was removed"));
}

fn may_go(found: &MutantCollector<'_, '_>, statement: NodeId, call: NodeId) -> bool {
    let names = places::called(found.tree, call);
    let ends = names.last().is_some_and(|last| ENDS.contains(last)) || names.first() == Some(&"super");
    !places::is_said(&names)
        && (!ends || names == ["super", "__init__"])
        && found.names.are_used_without(found.tree, statement)
}

/// Whether a function puts a value into a field. In a constructor the compiler may want that.
fn sets_field(tree: &SyntaxTree<'_>, assignment: NodeId) -> bool {
    const FIELDS: &[&str] = &["attribute", "member_expression", "field_access", "field_expression"];
    let function = || tree.ancestors(assignment).take(MOST_CLIMB).find(|up| is_function(tree.kind(*up)));
    tree.field(assignment, "left").is_some_and(|left| FIELDS.contains(&tree.kind(left)))
        && tree.field(assignment, "right").is_some()
        && function().is_some_and(|of| {
            tree.kind(of) != "constructor_declaration" && tree.field_text(of, "name") != "constructor"
        })
}

/// Swaps `break` and `continue` where both are valid.
fn leave(found: &mut MutantCollector<'_, '_>, node: NodeId, old: &str, new: &str) {
    let tree = found.tree;
    let text = tree.text(node);
    if tree.part(node, 0).is_some() || !text.starts_with(old) {
        return;
    }
    let around = tree.ancestors(node).take(MOST_CLIMB).find(|up| {
        let kind = tree.kind(*up);
        is_loop(kind) || is_function(kind) || kind.contains("switch_") || kind == "select_statement"
    });
    if around.is_none_or(|around| !is_loop(tree.kind(around)) || is_endless(tree, around)) {
        return;
    }
    // Without the `break` the loop may never end.
    let rank = if old == "break" { MutantRank::Last } else { MutantRank::First };
    let start = tree.bytes(node).start;
    found.add(node, start..start + old.len(), rank, new.to_owned(), |old, new| format!("{old} became {new}"));
}

/// Whether a loop can only end from inside: the compiler then knows whether code after it is reachable.
fn is_endless(tree: &SyntaxTree<'_>, around: NodeId) -> bool {
    let condition = tree.field(around, "condition");
    match tree.kind(around) {
        "loop_expression" => true,
        "for_statement" => match tree.grammar {
            GrammarKind::Go => tree.parts(around).count() < 2,
            GrammarKind::Java | GrammarKind::JavaScript | GrammarKind::TypeScript | GrammarKind::Tsx => {
                condition.is_none_or(|condition| tree.parts(condition).next().is_none())
            }
            GrammarKind::Python | GrammarKind::Rust => false,
        },
        _ => condition.is_some_and(|condition| {
            let bare = tree.text(condition).trim_matches(|c| matches!(c, '(' | ')' | ' '));
            matches!(bare, "true" | "True" | "1")
        }),
    }
}
