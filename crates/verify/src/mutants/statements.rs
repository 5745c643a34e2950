//! Mutants of statements: another condition, a missing call, a loop exit in the wrong place.

use super::operators::{is_comparison, is_connective, is_negation};
use super::{MOST_CLIMB, MutantCollector, MutantRank, places};
use crate::tamper::language::Language;
use crate::tamper::syntax::{NodeId, Syntax, is_function, is_loop};

/// Calls that do not return, and that the compiler may depend on.
const ENDS: &[&str] =
    &["exit", "abort", "panic", "Exit", "Fatal", "Fatalf", "unreachable_unchecked", "super"];

pub(super) fn look(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let syntax = found.syntax;
    let condition = match syntax.kind(node) {
        "if_statement" | "elif_clause" | "if_expression" | "ternary_expression" | "match_pattern" => {
            syntax.field(node, "condition")
        }
        "conditional_expression" => syntax.part(node, 1),
        "expression_statement" => return call(found, node),
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
    let syntax = found.syntax;
    let inner = if syntax.kind(condition) == "parenthesized_expression" {
        syntax.part(condition, 0).unwrap_or(condition)
    } else {
        condition
    };
    let text = syntax.text(inner);
    // Such a condition binds names, and the following code does not compile without them.
    let makes_names = syntax.all(inner).take(MOST_CLIMB).any(|node| {
        matches!(
            syntax.kind(node),
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
    let is_python = syntax.language == Language::Python;
    let (not, yes, no) = if is_python { ("not ", "True", "False") } else { ("!", "true", "false") };
    let has_opposite =
        is_comparison(syntax, inner) || is_connective(syntax, inner) || is_negation(syntax, inner);
    if !has_opposite {
        found.becomes(inner, MutantRank::First, format!("{not}({text})"));
    }
    if found.names.are_used_without(syntax, inner) {
        found.becomes(inner, MutantRank::Third, yes);
        found.becomes(inner, MutantRank::Third, no);
    }
}

/// A call whose value is unused.
fn call(found: &mut MutantCollector<'_, '_>, statement: NodeId) {
    let syntax = found.syntax;
    let Some(mut call) = syntax.part(statement, 0) else { return };
    for _ in 0..3 {
        if !matches!(syntax.kind(call), "try_expression" | "await_expression" | "await") {
            break;
        }
        let Some(inner) = syntax.part(call, 0) else { return };
        call = inner;
    }
    if !matches!(syntax.kind(call), "call" | "call_expression" | "method_invocation")
        // A Rust block's last expression is its value.
        || syntax.language == Language::Rust && !syntax.text(statement).ends_with(';')
    {
        return;
    }
    let names = places::called(syntax, call);
    if places::is_said(&names) {
        return;
    }
    let ends = names.last().is_some_and(|last| ENDS.contains(last)) || names.first() == Some(&"super");
    if ends && names != ["super", "__init__"] || !found.names.are_used_without(syntax, statement) {
        return;
    }
    let nothing = match syntax.language {
        Language::Python => "pass",
        Language::Rust | Language::Go => "",
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Java => ";",
    };
    let at = syntax.bytes(statement);
    found.add(statement, at, MutantRank::First, nothing.to_owned(), |old, _| format!("{old} was removed"));
}

/// Swaps `break` and `continue` where both are valid.
fn leave(found: &mut MutantCollector<'_, '_>, node: NodeId, old: &str, new: &str) {
    let syntax = found.syntax;
    let text = syntax.text(node);
    if syntax.part(node, 0).is_some() || !text.starts_with(old) {
        return;
    }
    let around = syntax.ancestors(node).take(MOST_CLIMB).find(|up| {
        let kind = syntax.kind(*up);
        is_loop(kind) || is_function(kind) || kind.contains("switch_") || kind == "select_statement"
    });
    if around.is_none_or(|around| !is_loop(syntax.kind(around)) || is_endless(syntax, around)) {
        return;
    }
    // Without the `break` the loop may never end.
    let rank = if old == "break" { MutantRank::Last } else { MutantRank::First };
    let start = syntax.bytes(node).start;
    found.add(node, start..start + old.len(), rank, new.to_owned(), |old, new| format!("{old} became {new}"));
}

/// Whether a loop can only end from inside: the compiler then knows whether code after it is reachable.
fn is_endless(syntax: &Syntax<'_>, around: NodeId) -> bool {
    let condition = syntax.field(around, "condition");
    match syntax.kind(around) {
        "loop_expression" => true,
        "for_statement" => match syntax.language {
            Language::Go => syntax.parts(around).count() < 2,
            Language::Java | Language::JavaScript | Language::TypeScript | Language::Tsx => {
                condition.is_none_or(|condition| syntax.parts(condition).next().is_none())
            }
            Language::Python | Language::Rust => false,
        },
        _ => condition.is_some_and(|condition| {
            let bare = syntax.text(condition).trim_matches(|c| matches!(c, '(' | ')' | ' '));
            matches!(bare, "true" | "True" | "1")
        }),
    }
}
