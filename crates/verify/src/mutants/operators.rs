//! Mutants of operators: a boundary off by one, the opposite, the other connective, a missing sign or `not`.

use super::{MOST_CLIMB, MutantCollector, MutantRank};
use crate::tamper::language::Language;
use crate::tamper::syntax::{NodeId, Syntax, is_function, is_loop, is_string};

pub(super) fn look(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let syntax = found.syntax;
    match syntax.kind(node) {
        "binary_expression" | "comparison_operator" | "boolean_operator" | "binary_operator" => {
            binary(found, node);
        }
        "augmented_assignment"
        | "augmented_assignment_expression"
        | "compound_assignment_expr"
        | "assignment_statement"
        | "assignment_expression"
        | "update_expression"
        | "inc_statement"
        | "dec_statement" => assignment(found, node),
        "unary_expression" | "unary_operator" | "not_operator" => unary(found, node),
        _ => {}
    }
}

/// Alternatives of a comparison: the other boundary, and the opposite.
fn compared(operator: &str) -> &'static [&'static str] {
    match operator {
        "<" => &["<=", ">="],
        "<=" => &["<", ">"],
        ">" => &[">=", "<="],
        ">=" => &[">", "<"],
        "==" => &["!="],
        "!=" => &["=="],
        "===" => &["!=="],
        "!==" => &["==="],
        "in" => &["not in"],
        "not in" => &["in"],
        "is" => &["is not"],
        "is not" => &["is"],
        _ => &[],
    }
}

fn calculated(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "+" => "-",
        "-" => "+",
        "*" => "/",
        "/" | "%" | "//" | "**" => "*",
        "<<" => ">>",
        ">>" | ">>>" => "<<",
        "&" => "|",
        "|" => "&",
        "^" => "&",
        _ => return None,
    })
}

pub(super) fn is_comparison(syntax: &Syntax<'_>, node: NodeId) -> bool {
    matches!(syntax.kind(node), "binary_expression" | "comparison_operator")
        && operators(syntax, node).next().is_some_and(|token| !compared(&spelt(syntax, token)).is_empty())
}

pub(super) fn is_connective(syntax: &Syntax<'_>, node: NodeId) -> bool {
    matches!(syntax.kind(node), "binary_expression" | "boolean_operator")
        && operators(syntax, node).any(|token| matches!(syntax.text(token), "&&" | "||" | "and" | "or"))
}

pub(super) fn is_negation(syntax: &Syntax<'_>, node: NodeId) -> bool {
    syntax.kind(node) == "not_operator"
        || syntax.kind(node) == "unary_expression"
            && syntax.children(node).next().is_some_and(|token| syntax.text(token) == "!")
}

/// The tokens between the operands; Python chains comparisons.
fn operators(syntax: &Syntax<'_>, node: NodeId) -> impl Iterator<Item = NodeId> {
    syntax
        .children(node)
        .filter(|child| matches!(syntax.field_of(*child), Some("operator" | "operators")))
        .take(MOST_CLIMB)
}

/// An operator with normalized spaces.
fn spelt(syntax: &Syntax<'_>, token: NodeId) -> String {
    syntax.text(token).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn binary(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let syntax = found.syntax;
    let tokens: Vec<NodeId> = operators(syntax, node).collect();
    for token in tokens {
        let operator = spelt(syntax, token);
        for other in compared(&operator) {
            // `x as usize < y` would start a type.
            let is_type = syntax.language == Language::Rust
                && other.starts_with('<')
                && syntax.field(node, "left").is_some_and(|left| ends_in_type(syntax, left));
            if !is_type {
                let rank = if is_in_while(syntax, node, true) { MutantRank::Last } else { MutantRank::First };
                found.becomes(token, rank, *other);
            }
        }
        match operator.as_str() {
            "&&" | "||" if makes_names(syntax, node) => {}
            "&&" => found.becomes(token, MutantRank::First, "||"),
            "||" => found.becomes(token, MutantRank::First, "&&"),
            "and" => found.becomes(token, MutantRank::First, "or"),
            "or" => found.becomes(token, MutantRank::First, "and"),
            // Beside the others it needs parentheses, and would not compile.
            "??" if !is_beside_others(syntax, node) => found.becomes(token, MutantRank::First, "&&"),
            other => {
                if let Some(swapped) = calculated(other)
                    && !is_of_text(found, node)
                    && !(swapped == "<<"
                        && syntax.language == Language::Rust
                        && syntax.field(node, "left").is_some_and(|left| ends_in_type(syntax, left)))
                {
                    found.becomes(token, MutantRank::First, swapped);
                }
            }
        }
    }
}

fn ends_in_type(syntax: &Syntax<'_>, node: NodeId) -> bool {
    let mut at = Some(node);
    for _ in 0..MOST_CLIMB {
        match at.map(|node| syntax.kind(node)) {
            Some("type_cast_expression") => return true,
            Some("binary_expression") => at = at.and_then(|node| syntax.field(node, "right")),
            Some(_) | None => return false,
        }
    }
    true
}

fn is_beside_others(syntax: &Syntax<'_>, node: NodeId) -> bool {
    let is_binary = |node: NodeId| syntax.kind(node) == "binary_expression";
    syntax.parent(node).is_some_and(is_binary) || syntax.parts(node).any(is_binary)
}

/// Whether an apparent calculation concatenates text or lists, as far as visible.
fn is_of_text(found: &MutantCollector<'_, '_>, node: NodeId) -> bool {
    let syntax = found.syntax;
    let mut operands = vec![];
    let mut at = node;
    for _ in 0..MOST_CLIMB {
        operands.extend(syntax.field(at, "right"));
        let Some(left) = syntax.field(at, "left") else { break };
        if !matches!(syntax.kind(left), "binary_expression" | "binary_operator") {
            operands.push(left);
            break;
        }
        at = left;
    }
    // Up to the whole sum: a later text operand makes the result text too.
    let mut top = node;
    for _ in 0..MOST_CLIMB {
        let Some(up) = syntax.parent(top) else { break };
        match syntax.kind(up) {
            "binary_expression" | "binary_operator" => operands.extend(syntax.field(up, "right")),
            "parenthesized_expression" => {}
            _ => break,
        }
        top = up;
    }
    operands.iter().any(|operand| is_text(found, *operand)) || found.names.wants_text(syntax, top)
}

fn is_text(found: &MutantCollector<'_, '_>, node: NodeId) -> bool {
    let syntax = found.syntax;
    match syntax.kind(node) {
        "list" | "tuple" | "list_comprehension" | "concatenated_string" | "reference_expression" => true,
        "macro_invocation" | "array" => true,
        "identifier" => found.names.is_text(syntax.text(node)),
        "call" | "call_expression" | "method_invocation" => {
            let called = super::places::called(syntax, node);
            matches!(
                called.last().copied().unwrap_or_default(),
                "toString"
                    | "String"
                    | "str"
                    | "repr"
                    | "join"
                    | "repeat"
                    | "substring"
                    | "trim"
                    | "strip"
                    | "toUpperCase"
                    | "toLowerCase"
                    | "format"
                    | "replace"
                    | "to_string"
                    | "to_owned"
                    | "as_str"
                    | "Sprintf"
                    | "Sprint"
                    | "Join"
                    | "Repeat"
                    | "TrimSpace"
                    | "ToUpper"
                    | "ToLower"
                    | "Replace"
                    | "ReplaceAll"
                    | "Itoa"
                    | "getName"
            )
        }
        kind => is_string(kind),
    }
}

fn assignment(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let syntax = found.syntax;
    let mut tokens = syntax.children(node).filter(|child| syntax.parts(*child).next().is_none());
    let token = tokens.find(|child| {
        syntax.field_of(*child) == Some("operator") || matches!(syntax.kind(*child), "++" | "--")
    });
    let Some(token) = token else { return };
    let swapped = match syntax.text(token) {
        "++" => "--".to_owned(),
        "--" => "++".to_owned(),
        operator => {
            let Some(bare) = operator.strip_suffix('=').filter(|bare| !bare.is_empty()) else { return };
            let Some(swapped) = calculated(bare) else { return };
            format!("{swapped}=")
        }
    };
    let operands = [syntax.field(node, "left"), syntax.field(node, "right")];
    let is_of_text = operands.into_iter().flatten().any(|operand| {
        let inner = if syntax.kind(operand) == "expression_list" { syntax.part(operand, 0) } else { None };
        let operand = inner.unwrap_or(operand);
        is_text(found, operand)
            || matches!(syntax.kind(operand), "binary_expression" | "binary_operator")
                && is_of_text(found, operand)
    });
    if !is_of_text {
        let rank = if is_in_while(syntax, node, false) { MutantRank::Last } else { MutantRank::First };
        found.becomes(token, rank, swapped);
    }
}

/// Whether a loop may wait for this: it is the condition, or a step towards it.
fn is_in_while(syntax: &Syntax<'_>, node: NodeId, in_condition: bool) -> bool {
    let mut below = node;
    for up in syntax.ancestors(node).take(MOST_CLIMB) {
        let kind = syntax.kind(up);
        if matches!(kind, "while_statement" | "while_expression" | "do_statement" | "loop_expression") {
            return !in_condition || syntax.field_of(below) == Some("condition");
        }
        if is_loop(kind) || is_function(kind) {
            return false;
        }
        below = up;
    }
    false
}

/// Whether a Java `instanceof` or a Rust `let` chain binds a name here. The name exists only if the condition is true.
fn makes_names(syntax: &Syntax<'_>, node: NodeId) -> bool {
    syntax.all(node).take(MOST_CLIMB).any(|node| syntax.kind(node) == "instanceof_expression")
        || syntax.parent(node).is_some_and(|up| syntax.kind(up) == "let_chain")
}

/// Removes a sign or a `not`.
fn unary(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let syntax = found.syntax;
    let (Some(token), Some(operand)) = (syntax.children(node).next(), syntax.part(node, 0)) else { return };
    let operator = syntax.text(token);
    if !matches!(operator, "!" | "-" | "not") || token == operand || makes_names(syntax, operand) {
        return;
    }
    let at = syntax.bytes(token).start..syntax.bytes(operand).start;
    let source = syntax.source();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = at.start.checked_sub(1).and_then(|before| source.get(before));
    let glued = is_word(before) && is_word(source.get(at.end));
    let operator = operator.to_owned();
    found.add(token, at, MutantRank::First, if glued { " " } else { "" }.to_owned(), |_, _| {
        format!("`{operator}` was removed")
    });
}
