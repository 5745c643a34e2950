//! Where no mutant is made: tests, types, imports, attributes, messages for people, and places without code.

use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_comment, is_string};

/// Kinds of nodes that are skipped with all their content.
const PASSED_OVER: &[&str] = &[
    "", "ERROR", "inner_attribute_item", "decorator", "annotation", "marker_annotation", "modifiers",
    "visibility_modifier", "extern_modifier", "use_declaration", "extern_crate_declaration",
    "import_statement", "import_from_statement", "future_import_statement", "import_declaration",
    "package_declaration", "package_clause", "module_declaration",
    // Types and compiler directives.
    "type", "type_annotation", "type_arguments", "type_parameters", "type_parameter",
    "type_alias_declaration", "type_alias_statement", "type_item", "type_declaration",
    "interface_declaration", "ambient_declaration", "literal_type", "array_type", "where_clause",
    "foreign_mod_item", "macro_definition",
    // Most patterns have to be distinct or exhaustive.
    "case_pattern", "switch_label", "closure_parameters", // Messages for people.
    "raise_statement", "throw_statement", "jsx_attribute",
    // Safe changes here need more knowledge than a grammar has.
    "unsafe_block",
];

/// Names of loggers.
const LOGS: &[&str] = &[
    "log", "_log", "logger", "_logger", "logging", "console", "slog", "klog", "glog", "zap", "zerolog",
    "tracing", "warnings", "winston", "logrus", "stdout", "stderr",
];

/// Functions that print, or abort with a message, in any module.
const PRINTS: &[&str] = &[
    "print", "println", "pprint", "printf", "eprint", "panic", "Print", "Printf", "Println", "Fprint",
    "Fprintf", "Fprintln", "Errorf", "require", "import",
];

/// If nothing within a node is mutated: where the walk continues.
pub(super) fn passed_over(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NodeId> {
    let kind = tree.kind(node);
    let past = tree.all(node).end;
    if kind == "attribute_item" {
        return Some(if is_for_tests(tree, node) { past_item(tree, node) } else { past });
    }
    if kind == "inner_attribute_item" && is_for_tests(tree, node) {
        return tree.parent(node).map(|parent| tree.all(parent).end);
    }
    let is_over = PASSED_OVER.contains(&kind)
        || is_comment(kind)
        || is_type_or_pattern(tree, node)
        || is_in_header(tree, node)
        || match kind {
            "expression_statement" => tree.part(node, 0).is_some_and(|part| is_string(tree.kind(part))),
            "string" | "template_string" => is_filled_in(tree, node),
            "if_statement" => tree.grammar == GrammarKind::Python && is_program(tree, node),
            "macro_invocation" => tree.field_text(node, "macro") != "vec",
            "function_item" => is_unsafe(tree, node),
            "call" | "call_expression" | "method_invocation" => is_said(&called(tree, node)),
            "assignment" => {
                let name = tree.field_text(node, "left");
                name.starts_with("__") && name.ends_with("__")
            }
            _ => false,
        };
    is_over.then_some(past)
}

/// Whether this is `#[cfg(test)]`, `#[test]`, `#[tokio::test]` or the like.
fn is_for_tests(tree: &SyntaxTree<'_>, attribute: NodeId) -> bool {
    let flat: String = tree.text(attribute).chars().filter(|c| !c.is_whitespace()).take(200).collect();
    let inner = flat.trim_start_matches("#![").trim_start_matches("#[");
    if let Some(condition) = inner.strip_prefix("cfg(") {
        let word = condition.trim_start_matches("all(").trim_start_matches("any(");
        return word.strip_prefix("test").is_some_and(|rest| rest.starts_with([')', ',']));
    }
    let path = inner.split(['(', ']', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    last == "test" || last == "bench" || last.ends_with("_test") || matches!(last, "rstest" | "test_case")
}

/// The end of the item that an attribute belongs to.
fn past_item(tree: &SyntaxTree<'_>, attribute: NodeId) -> NodeId {
    let end = tree.parent(attribute).map_or(attribute, |parent| tree.all(parent).end);
    let mut at = tree.all(attribute).end;
    while at < end {
        let kind = tree.kind(at);
        at = tree.all(at).end;
        if kind != "attribute_item" && !is_comment(kind) {
            break;
        }
    }
    at
}

fn is_type_or_pattern(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    let Some(field) = tree.field_of(node) else {
        // The pattern of a match arm; its guard is a named field.
        return tree.parent(node).is_some_and(|parent| tree.kind(parent) == "match_pattern");
    };
    match field {
        "type" | "return_type" | "result" => true,
        "pattern" => tree.kind(node) != "match_pattern",
        _ => false,
    }
}

/// A loop's step, which may decide whether it ends, and module names in exports.
fn is_in_header(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    let of = |kinds: &[&str]| tree.parent(node).is_some_and(|parent| kinds.contains(&tree.kind(parent)));
    match tree.field_of(node) {
        Some("increment" | "update") => of(&["for_statement", "for_clause"]),
        Some("source") => of(&["export_statement"]),
        Some(_) | None => false,
    }
}

/// Code that runs only as the main program, or only for type checkers: no test covers it.
fn is_program(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    let condition = tree.field_text(node, "condition");
    condition.starts_with("__name__") || condition.ends_with("TYPE_CHECKING")
}

fn is_filled_in(tree: &SyntaxTree<'_>, string: NodeId) -> bool {
    let is_tagged = tree.field_of(string) == Some("arguments");
    is_tagged
        || tree
            .children(string)
            .any(|child| matches!(tree.kind(child), "interpolation" | "template_substitution"))
}

fn is_unsafe(tree: &SyntaxTree<'_>, function: NodeId) -> bool {
    tree.children(function).any(|child| {
        tree.kind(child) == "function_modifiers"
            && tree.text(child).split_whitespace().any(|word| word == "unsafe")
    })
}

/// The names of a call from left to right, as written. Limited in number.
pub(super) fn called<'s>(tree: &'s SyntaxTree<'_>, call: NodeId) -> Vec<&'s str> {
    let mut names: Vec<&str> = Vec::new();
    let of = if tree.kind(call) == "method_invocation" {
        names.push(tree.field_text(call, "name"));
        tree.field_text(call, "object")
    } else {
        tree.field_text(call, "function")
    };
    names.splice(0..0, of.split(['.', ':', '?']).take(20).map(str::trim).filter(|name| !name.is_empty()));
    names
}

/// Whether a call logs, prints, or loads a module.
pub(super) fn is_said(names: &[&str]) -> bool {
    let Some((last, before)) = names.split_last() else { return false };
    let is_log = |name: &&str| {
        let bare = name.split('(').next().unwrap_or_default().to_ascii_lowercase();
        LOGS.contains(&bare.as_str())
    };
    before.iter().any(is_log)
        || PRINTS.contains(last) && matches!(before, [] | ["fmt" | "builtins"] | ["System", "out" | "err"])
}
