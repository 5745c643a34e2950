//! Mutants of operators: a boundary off by one, the opposite, the other connective, a missing sign or `not`.

use super::{MutantCollector, MutantRank};
use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::mutants::MOST_CLIMB;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_function, is_loop, is_string};

pub(super) fn look(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let tree = found.tree;
    match tree.kind(node) {
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

pub(super) fn is_comparison(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    matches!(tree.kind(node), "binary_expression" | "comparison_operator")
        && operators(tree, node).next().is_some_and(|token| !compared(&spelt(tree, token)).is_empty())
}

pub(super) fn is_connective(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    matches!(tree.kind(node), "binary_expression" | "boolean_operator")
        && operators(tree, node).any(|token| matches!(tree.text(token), "&&" | "||" | "and" | "or"))
}

pub(super) fn is_negation(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    tree.kind(node) == "not_operator"
        || tree.kind(node) == "unary_expression"
            && tree.children(node).next().is_some_and(|token| tree.text(token) == "!")
}

/// The tokens between the operands; Python chains comparisons.
fn operators(tree: &SyntaxTree<'_>, node: NodeId) -> impl Iterator<Item = NodeId> {
    tree.children(node)
        .filter(|child| matches!(tree.field_of(*child), Some("operator" | "operators")))
        .take(MOST_CLIMB)
}

/// An operator with normalized spaces.
fn spelt(tree: &SyntaxTree<'_>, token: NodeId) -> String {
    tree.text(token).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn binary(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let tree = found.tree;
    let tokens: Vec<NodeId> = operators(tree, node).collect();
    for token in tokens {
        let operator = spelt(tree, token);
        for other in compared(&operator) {
            // `x as usize < y` would start a type.
            let is_type = tree.grammar == GrammarKind::Rust
                && other.starts_with('<')
                && tree.field(node, "left").is_some_and(|left| ends_in_type(tree, left));
            if !is_type {
                let rank = if is_in_while(tree, node, true) { MutantRank::Last } else { MutantRank::First };
                found.becomes(token, rank, *other);
            }
        }
        match operator.as_str() {
            "&&" | "||" if makes_names(tree, node) => {}
            "&&" => found.becomes(token, MutantRank::First, "||"),
            "||" => found.becomes(token, MutantRank::First, "&&"),
            "and" => found.becomes(token, MutantRank::First, "or"),
            "or" => found.becomes(token, MutantRank::First, "and"),
            // Beside the others it needs parentheses, and would not compile.
            "??" if !is_beside_others(tree, node) => found.becomes(token, MutantRank::First, "&&"),
            other => {
                if let Some(swapped) = calculated(other)
                    && !is_of_text(found, node)
                    && !(swapped == "<<"
                        && tree.grammar == GrammarKind::Rust
                        && tree.field(node, "left").is_some_and(|left| ends_in_type(tree, left)))
                {
                    found.becomes(token, MutantRank::First, swapped);
                }
            }
        }
    }
}

fn ends_in_type(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    let mut at = Some(node);
    for _ in 0..MOST_CLIMB {
        match at.map(|node| tree.kind(node)) {
            Some("type_cast_expression") => return true,
            Some("binary_expression") => at = at.and_then(|node| tree.field(node, "right")),
            Some(_) | None => return false,
        }
    }
    true
}

fn is_beside_others(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    let is_binary = |node: NodeId| tree.kind(node) == "binary_expression";
    tree.parent(node).is_some_and(is_binary) || tree.parts(node).any(is_binary)
}

/// Whether an apparent calculation concatenates text or lists, as far as visible.
fn is_of_text(found: &MutantCollector<'_, '_>, node: NodeId) -> bool {
    let tree = found.tree;
    let mut operands = vec![];
    let mut at = node;
    for _ in 0..MOST_CLIMB {
        operands.extend(tree.field(at, "right"));
        let Some(left) = tree.field(at, "left") else { break };
        if !matches!(tree.kind(left), "binary_expression" | "binary_operator") {
            operands.push(left);
            break;
        }
        at = left;
    }
    // Up to the whole sum: a later text operand makes the result text too.
    let mut top = node;
    for _ in 0..MOST_CLIMB {
        let Some(up) = tree.parent(top) else { break };
        match tree.kind(up) {
            "binary_expression" | "binary_operator" => operands.extend(tree.field(up, "right")),
            "parenthesized_expression" => {}
            _ => break,
        }
        top = up;
    }
    operands.iter().any(|operand| is_text(found, *operand)) || found.names.wants_text(tree, top)
}

fn is_text(found: &MutantCollector<'_, '_>, node: NodeId) -> bool {
    let tree = found.tree;
    match tree.kind(node) {
        "list" | "tuple" | "list_comprehension" | "concatenated_string" | "reference_expression" => true,
        "macro_invocation" | "array" => true,
        "identifier" => found.names.is_text(tree.text(node)),
        "call" | "call_expression" | "method_invocation" => {
            let called = super::places::called(tree, node);
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
    let tree = found.tree;
    let mut tokens = tree.children(node).filter(|child| tree.parts(*child).next().is_none());
    let token = tokens
        .find(|child| tree.field_of(*child) == Some("operator") || matches!(tree.kind(*child), "++" | "--"));
    let Some(token) = token else { return };
    let swapped = match tree.text(token) {
        "++" => "--".to_owned(),
        "--" => "++".to_owned(),
        operator => {
            let Some(bare) = operator.strip_suffix('=').filter(|bare| !bare.is_empty()) else { return };
            let Some(swapped) = calculated(bare) else { return };
            format!("{swapped}=")
        }
    };
    let operands = [tree.field(node, "left"), tree.field(node, "right")];
    let is_of_text = operands.into_iter().flatten().any(|operand| {
        let inner = if tree.kind(operand) == "expression_list" { tree.part(operand, 0) } else { None };
        let operand = inner.unwrap_or(operand);
        is_text(found, operand)
            || matches!(tree.kind(operand), "binary_expression" | "binary_operator")
                && is_of_text(found, operand)
    });
    if !is_of_text {
        let rank = if is_in_while(tree, node, false) { MutantRank::Last } else { MutantRank::First };
        found.becomes(token, rank, swapped);
    }
}

/// Whether a loop may wait for this: it is the condition, or a step towards it.
fn is_in_while(tree: &SyntaxTree<'_>, node: NodeId, in_condition: bool) -> bool {
    let mut below = node;
    for up in tree.ancestors(node).take(MOST_CLIMB) {
        let kind = tree.kind(up);
        if matches!(kind, "while_statement" | "while_expression" | "do_statement" | "loop_expression") {
            return !in_condition || tree.field_of(below) == Some("condition");
        }
        if is_loop(kind) || is_function(kind) {
            return false;
        }
        below = up;
    }
    false
}

/// Whether a Java `instanceof` or a Rust `let` chain binds a name here. The name exists only if the condition is true.
fn makes_names(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    tree.all(node).take(MOST_CLIMB).any(|node| tree.kind(node) == "instanceof_expression")
        || tree.parent(node).is_some_and(|up| tree.kind(up) == "let_chain")
}

/// Removes a sign or a `not`.
fn unary(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let tree = found.tree;
    let (Some(token), Some(operand)) = (tree.children(node).next(), tree.part(node, 0)) else { return };
    let operator = tree.text(token);
    if !matches!(operator, "!" | "-" | "not") || token == operand || makes_names(tree, operand) {
        return;
    }
    let at = tree.bytes(token).start..tree.bytes(operand).start;
    let source = tree.source();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = at.start.checked_sub(1).and_then(|before| source.get(before));
    let glued = is_word(before) && is_word(source.get(at.end));
    let operator = operator.to_owned();
    found.add(token, at, MutantRank::First, if glued { " " } else { "" }.to_owned(), |_, _| {
        format!("`{operator}` was removed")
    });
}
