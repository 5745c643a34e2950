//! What a function returns, and trivial values of the same kind.

use crate::grammar_kind::GrammarKind;
use crate::syntax_tree::{NodeId, SyntaxTree};

/// The last expression of a Rust block, if it is the block's value.
pub fn tail(tree: &SyntaxTree<'_>, body: NodeId) -> Option<NodeId> {
    let last = tree.parts(body).last()?;
    match tree.kind(last) {
        "expression_statement" if tree.text(last).ends_with(';') => None,
        "expression_statement" => tree.part(last, 0),
        "let_declaration" | "empty_statement" | "return_expression" => None,
        kind if kind.ends_with("_item") || kind.ends_with("_declaration") => None,
        _ => Some(last),
    }
}

/// A function's declared return type, without whitespace. Empty if none is declared.
pub fn declared(tree: &SyntaxTree<'_>, function: NodeId) -> String {
    let field = match tree.grammar {
        GrammarKind::Rust
        | GrammarKind::Python
        | GrammarKind::JavaScript
        | GrammarKind::TypeScript
        | GrammarKind::Tsx => "return_type",
        GrammarKind::Go => "result",
        GrammarKind::Java => "type",
    };
    let text = tree.field_text(function, field).trim_start_matches(':');
    text.chars().filter(|c| !c.is_whitespace()).take(300).collect()
}

/// The values that a function may return instead of another. `is_truth` if that one is true or false.
pub fn trivial_values(
    tree: &SyntaxTree<'_>,
    function: NodeId,
    declared: &str,
    is_truth: bool,
) -> &'static [&'static str] {
    match tree.grammar {
        GrammarKind::Rust if tree.kind(function) == "function_item" => of_rust(declared),
        GrammarKind::Java if tree.kind(function) == "method_declaration" => of_java(declared),
        GrammarKind::Python => of_python(declared, is_truth),
        GrammarKind::JavaScript => of_javascript(is_truth),
        GrammarKind::TypeScript | GrammarKind::Tsx => of_typescript(declared, is_truth),
        GrammarKind::Rust | GrammarKind::Java | GrammarKind::Go => &[],
    }
}

const TRUTHS: &[&str] = &["true", "false"];

fn of_rust(declared: &str) -> &'static [&'static str] {
    let path = declared.split('<').next().unwrap_or_default();
    let generic = declared.get(path.len()..).unwrap_or_default();
    match path.rsplit("::").next().unwrap_or_default() {
        "bool" => TRUTHS,
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            &["0"]
        }
        "f32" | "f64" => &["0.0"],
        "String" => &["String::new()"],
        "&str" | "&'staticstr" => &["\"\""],
        "Option" => &["None"],
        "Vec" => &["Vec::new()"],
        "Result" if generic.starts_with("<()") => &["Ok(())"],
        "Result" if generic.starts_with("<bool") => &["Ok(true)", "Ok(false)"],
        _ => &[],
    }
}

pub fn of_go(declared: &str) -> &'static [&'static str] {
    match declared {
        "bool" => TRUTHS,
        "int" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8" | "uint16" | "uint32" | "uint64"
        | "byte" | "rune" | "float32" | "float64" => &["0"],
        "string" => &["\"\""],
        "error" | "any" | "interface{}" => &["nil"],
        kind if kind.starts_with(['*']) || kind.starts_with("[]") || kind.starts_with("map[") => &["nil"],
        _ => &[],
    }
}

/// The types of several results, without their names.
pub fn results(declared: &str) -> Vec<String> {
    match declared.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => inner.split(',').map(str::to_owned).collect(),
        None => vec![declared.to_owned()],
    }
}

fn of_java(declared: &str) -> &'static [&'static str] {
    match declared {
        "boolean" => TRUTHS,
        "byte" | "short" | "int" | "long" | "char" => &["0"],
        "float" | "double" => &["0"],
        "String" => &["\"\""],
        "" | "void" => &[],
        _ => &["null"],
    }
}

fn of_python(declared: &str, is_truth: bool) -> &'static [&'static str] {
    match declared.split('[').next().unwrap_or_default() {
        "bool" => &["True", "False"],
        "int" => &["0"],
        "float" => &["0.0"],
        "str" => &["\"\""],
        "bytes" => &["b\"\""],
        "list" | "List" => &["[]"],
        "dict" | "Dict" => &["{}"],
        _ if is_truth => &["True", "False"],
        _ => &["None"],
    }
}

fn of_javascript(is_truth: bool) -> &'static [&'static str] {
    if is_truth { TRUTHS } else { &["undefined"] }
}

fn of_typescript(declared: &str, is_truth: bool) -> &'static [&'static str] {
    match declared {
        "boolean" => TRUTHS,
        "number" => &["0"],
        "string" => &["\"\""],
        kind if kind.ends_with("|null") => &["null"],
        kind if kind.ends_with("|undefined") => &["undefined"],
        kind if kind.ends_with("[]") => &["[]"],
        "" if is_truth => TRUTHS,
        _ => &[],
    }
}
