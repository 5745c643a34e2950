//! Mutants of literals: a number off by one, an emptied text, a flipped boolean.

use super::operators::is_comparison;
use super::{MutantCollector, MutantRank, places};
use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_loop, is_number, is_string};

/// Replaces an empty text.
const SOME_TEXT: &str = "x";

pub(super) fn look(found: &mut MutantCollector<'_, '_>, node: NodeId) {
    let tree = found.tree;
    let text = tree.text(node);
    let changed = match tree.kind(node) {
        "char_literal" | "character_literal" | "rune_literal" => another_character(text),
        "true" | "false" | "boolean_literal" => another_truth(tree, node, text),
        kind if is_number(kind) => another_number(text),
        kind if is_string(kind) => another_text(tree.grammar, text),
        _ => return,
    };
    if let Some(changed) = changed
        && !is_fixed(tree, node)
    {
        found.becomes(node, MutantRank::Second, changed);
    }
}

/// The number plus one, or minus one at the possible maximum of a type.
fn another_number(text: &str) -> Option<String> {
    let (prefix, digits) = match text.get(..2) {
        Some("0x" | "0X") => (text.get(..2)?, text.get(2..)?),
        Some(_) | None => ("", text),
    };
    let radix = if prefix.is_empty() { 10 } else { 16 };
    let length = digits.find(|c: char| !c.is_digit(radix) && c != '_').unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(length)?;
    let is_float = rest.starts_with(['.', 'e', 'E']);
    let is_known = is_float
        || matches!(rest, "" | "l" | "L" | "n" | "usize" | "isize" | "f32" | "f64")
        || rest.strip_prefix(['u', 'i']).is_some_and(|bits| bits.parse::<u8>().is_ok());
    // A leading zero is an old octal notation.
    let is_octal = prefix.is_empty() && digits.len() > 1 && digits.starts_with('0');
    if !is_known || is_octal {
        return None;
    }
    let value: u64 = digits.replace('_', "").parse().ok().filter(|_| radix == 10).or_else(|| {
        (radix == 16).then(|| u64::from_str_radix(&digits.replace('_', ""), 16).ok()).flatten()
    })?;
    let next = value.checked_add(1)?;
    let is_at_end =
        !is_float && (next >= 8 && next.is_power_of_two() || value >= 128 && value.is_power_of_two());
    let changed = if is_at_end { value.checked_sub(1)? } else { next };
    Some(if radix == 16 { format!("{prefix}{changed:x}{rest}") } else { format!("{changed}{rest}") })
}

/// Empties a text, or fills an empty one.
fn another_text(grammar: GrammarKind, text: &str) -> Option<String> {
    let open = text.find(['"', '\'', '`'])?;
    let quote = text.get(open..)?.chars().next()?;
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let is_triple = text.get(open..)?.starts_with(&triple) && text.len() >= open + 6;
    let prefix = text.get(..open)?;
    if grammar == GrammarKind::Java && is_triple {
        return Some("\"\"".to_owned());
    }
    // The type of Rust byte strings includes their length.
    if grammar == GrammarKind::Rust && prefix.contains(['b', 'c']) {
        return None;
    }
    let width = if grammar == GrammarKind::Python && is_triple { 3 } else { 1 };
    let close = text.rfind(quote)?.checked_sub(width - 1)?;
    let inner = text.get(open + width..close)?;
    let (head, tail) = (text.get(..open + width)?, text.get(close..)?);
    Some(format!("{head}{}{tail}", if inner.is_empty() { SOME_TEXT } else { "" }))
}

fn another_character(text: &str) -> Option<String> {
    let (prefix, rest) = text.split_once('\'')?;
    Some(format!("{prefix}'{}'", if rest == "a'" { 'b' } else { 'a' }))
}

fn another_truth(tree: &SyntaxTree<'_>, node: NodeId, text: &str) -> Option<String> {
    // Skips a token nested in the same literal, and the condition of a loop that exits from inside.
    let is_inner = tree.parent(node).is_some_and(|parent| tree.kind(parent) == "boolean_literal");
    let up = tree.ancestors(node).find(|up| tree.kind(*up) != "parenthesized_expression");
    if is_inner || up.is_some_and(|up| is_loop(tree.kind(up))) {
        return None;
    }
    let other = match text {
        "true" => "false",
        "false" => "true",
        "True" => "False",
        "False" => "True",
        _ => return None,
    };
    Some(other.to_owned())
}

/// Whether a literal is part of a type, must be distinct, or is text for people.
fn is_fixed(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    let Some(parent) = tree.parent(node) else { return true };
    let field = tree.field_of(node);
    match tree.kind(parent) {
        // Tuple indices and array lengths.
        "field_expression" | "concatenated_string" | "import_spec" | "enum_assignment" => true,
        "array_expression" => field == Some("length"),
        "keyed_element" => tree.part(parent, 0) == Some(node),
        "literal_element" => tree
            .parent(parent)
            .is_some_and(|keyed| tree.kind(keyed) == "keyed_element" && tree.part(keyed, 0) == Some(parent)),
        // Cases of a switch must differ.
        "expression_list" => {
            tree.parent(parent).is_some_and(|up| match tree.kind(up) {
                "expression_case" => true,
                // No one reads what is returned beside an error.
                "return_statement" => {
                    let last = tree.parts(parent).last();
                    last.is_some_and(|last| last != node && tree.text(last) != "nil")
                }
                _ => false,
            })
        }
        "expression_case" => true,
        // `"%s" % name`, and compared type names: TypeScript checks which names are possible.
        "binary_operator" => {
            field == Some("left") && tree.field_text(parent, "operator") == "%" && !is_numeric(tree, node)
        }
        "binary_expression" => {
            let is_typed = matches!(tree.grammar, GrammarKind::TypeScript | GrammarKind::Tsx);
            is_typed && !is_numeric(tree, node) && is_comparison(tree, parent)
                || ["left", "right"].iter().any(|side| {
                    tree.field(parent, side).is_some_and(|side| {
                        tree.kind(side) == "unary_expression" && tree.text(side).starts_with("typeof")
                    })
                })
        }
        "attribute" => tree.field_text(parent, "attribute") == "format",
        "arguments" | "argument_list" if !is_numeric(tree, node) => {
            tree.parent(parent).is_some_and(|call| is_message(tree, call))
        }
        _ => false,
    }
}

fn is_numeric(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    tree.text(node).starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a call's arguments are text for people, or a format.
fn is_message(tree: &SyntaxTree<'_>, call: NodeId) -> bool {
    let names = places::called(tree, call);
    let last = names.last().copied().unwrap_or_default();
    let is_error = tree.kind(call) == "new_expression"
        || names.ends_with(&["errors", "New"])
        || tree.kind(call) == "object_creation_expression";
    let is_thrown = is_error
        && (last == "New"
            || ["constructor", "type"].iter().any(|field| {
                let name = tree.field_text(call, field);
                name.ends_with("Error") || name.ends_with("Exception")
            }));
    is_thrown
        || tree.grammar == GrammarKind::Python && (last.ends_with("Error") || last.ends_with("Exception"))
        || matches!(last, "format" | "Sprintf" | "printf" | "sprintf" | "expect" | "expect_err" | "context")
}
