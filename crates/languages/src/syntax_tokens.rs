//! The tokens of a part of a file with their nesting, without comments and layout. Two parts with equal tokens are the
//! same code, whatever a formatter did to them.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use crate::grammar_kind::GrammarKind;
use crate::syntax_tree::{NodeId, SyntaxTree, is_comment, is_string};

/// A token. Where a part of the tree begins, its kind; where it ends, an empty text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxToken<'s> {
    pub text: Cow<'s, str>,
    /// Counted from 1. A string may have several lines.
    pub lines: RangeInclusive<u32>,
}

/// The tokens of these nodes without those in `left_out`, which is sorted.
pub fn syntax_tokens<'s>(
    tree: &SyntaxTree<'s>,
    nodes: Range<NodeId>,
    left_out: &[Range<NodeId>],
) -> Vec<SyntaxToken<'s>> {
    tokens(tree, nodes, left_out, false)
}

/// The same with comments, for code in which they count.
pub fn tokens_with_comments<'s>(
    tree: &SyntaxTree<'s>,
    nodes: Range<NodeId>,
    left_out: &[Range<NodeId>],
) -> Vec<SyntaxToken<'s>> {
    tokens(tree, nodes, left_out, true)
}

fn tokens<'s>(
    tree: &SyntaxTree<'s>,
    nodes: Range<NodeId>,
    left_out: &[Range<NodeId>],
    has_comments: bool,
) -> Vec<SyntaxToken<'s>> {
    let mut tokens: Vec<SyntaxToken<'s>> = Vec::new();
    let mut open: Vec<NodeId> = Vec::new();
    let mut left_out = left_out.iter().filter(|part| !part.is_empty()).peekable();
    let mut at = nodes.start;
    while at < nodes.end {
        while open.pop_if(|past| *past <= at).is_some() {
            let end = end_after(&tokens);
            tokens.push(end);
        }
        while left_out.next_if(|part| part.start < at).is_some() {}
        if let Some(part) = left_out.next_if(|part| part.start == at) {
            at = part.end;
            continue;
        }
        let kind = tree.kind(at);
        let past = tree.all(at).end;
        if is_comment(kind) || is_docstring(tree, at) {
            if has_comments {
                let text = text_of(tree, at);
                tokens.push(token(tree, at, text.trim().to_owned().into()));
            }
            at = past;
        } else if is_string(kind) {
            tokens.push(token(tree, at, string_of(tree, at)));
            at = past;
        } else if past == at + 1 && at != SyntaxTree::ROOT {
            let text = if kind == "jsx_text" { markup_of(tree, at) } else { text_of(tree, at) };
            let is_blank = kind != "jsx_text" && text.trim().is_empty();
            if !is_blank && !text.is_empty() && !is_layout(tree, at, &text) {
                tokens.push(token(tree, at, text));
            }
            at = past;
        } else {
            if !is_loose(tree, at) {
                let line = tree.line(at);
                tokens.push(SyntaxToken { text: kind.into(), lines: line..=line });
                open.push(past);
            }
            at += 1;
        }
    }
    for _ in open {
        let end = end_after(&tokens);
        tokens.push(end);
    }
    tokens
}

fn end_after<'s>(tokens: &[SyntaxToken<'s>]) -> SyntaxToken<'s> {
    let line = tokens.last().map_or(1, |last| *last.lines.end());
    SyntaxToken { text: "".into(), lines: line..=line }
}

fn token<'s>(tree: &SyntaxTree<'s>, node: NodeId, text: Cow<'s, str>) -> SyntaxToken<'s> {
    let first = tree.line(node);
    let more = u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
    SyntaxToken { text, lines: first..=first.saturating_add(more) }
}

fn text_of<'s>(tree: &SyntaxTree<'s>, node: NodeId) -> Cow<'s, str> {
    String::from_utf8_lossy(tree.source().get(tree.bytes(node)).unwrap_or_default())
}

/// A string with its quotes, which mean the same in Python and JavaScript if nothing has to be escaped.
fn string_of<'s>(tree: &SyntaxTree<'s>, node: NodeId) -> Cow<'s, str> {
    let mut text = text_of(tree, node);
    if text.contains('\r') {
        text = text.replace('\r', "").into();
    }
    let are_alike = !matches!(tree.grammar, GrammarKind::Rust | GrammarKind::Go | GrammarKind::Java);
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).filter(|_| are_alike);
    let inner = inner.filter(|inner| !inner.contains(['"', '\'', '\\']));
    match inner.map(|inner| format!("\"{inner}\"")) {
        Some(quoted) => quoted.into(),
        None => text,
    }
}

/// Text in JSX, whose line breaks and indentation are not rendered.
fn markup_of<'s>(tree: &SyntaxTree<'s>, node: NodeId) -> Cow<'s, str> {
    let text = text_of(tree, node);
    if !text.contains('\n') {
        return text;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ").into()
}

fn is_docstring(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    tree.grammar == GrammarKind::Python
        && tree.kind(node) == "expression_statement"
        && tree.parts(node).all(|part| tree.kind(part) == "string")
}

/// Whether formatters add and remove this token.
fn is_layout(tree: &SyntaxTree<'_>, token: NodeId, text: &str) -> bool {
    let Some(parent) = tree.parent(token) else { return false };
    match text {
        "(" | ")" => is_loose(tree, parent),
        "," => is_last_comma(tree, token, parent),
        // Elsewhere no statement ends without it, or it changes the value of a block.
        ";" => {
            !matches!(tree.grammar, GrammarKind::Rust | GrammarKind::Go | GrammarKind::Java)
                && tree.kind(parent) != "for_statement"
        }
        _ => false,
    }
}

/// Parentheses that only group. The nesting of the tree says the same. `(a.b)()` and `(a?.b).c` are other code without
/// them.
fn is_loose(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    const USES: [&str; 10] = [
        "call", "call_expression", "method_invocation", "attribute", "member_expression", "field_expression",
        "selector_expression", "field_access", "subscript", "subscript_expression",
    ];
    tree.kind(node) == "parenthesized_expression"
        && tree.parent(node).is_none_or(|parent| !USES.contains(&tree.kind(parent)))
}

/// Whether a comma ends a list. `[,]` has an element without it, and `(1,)` and `a[1,]` are tuples.
fn is_last_comma(tree: &SyntaxTree<'_>, comma: NodeId, parent: NodeId) -> bool {
    const TUPLES: [&str; 4] = ["subscript", "tuple_type", "tuple_pattern", "token_tree"];
    if tree.kind(parent) == "match_arm" {
        return true;
    }
    let first_byte = |node: NodeId| tree.source().get(tree.bytes(node).start).copied();
    let is_comment = |node: &NodeId| is_comment(tree.kind(*node));
    let end = tree.all(parent).end;
    let closes = std::iter::successors(Some(comma + 1), |node| Some(tree.all(*node).end))
        .take_while(|node| *node < end)
        .find(|node| !is_comment(node))
        .is_some_and(|node| matches!(first_byte(node), Some(b')' | b']' | b'}')));
    if !closes {
        return false;
    }
    let follows_one = std::iter::successors(tree.previous(comma), |node| tree.previous(*node))
        .find(|node| !is_comment(node))
        .is_some_and(|node| tree.is_part(node) || tree.grammar == GrammarKind::Rust);
    let commas = || tree.children(parent).filter(|node| first_byte(*node) == Some(b',')).count();
    follows_one && (!TUPLES.contains(&tree.kind(parent)) || commas() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(grammar: GrammarKind, one: &str, other: &str) -> bool {
        let [one, other] = [one, other].map(|text| {
            let tree = SyntaxTree::read(grammar, text.as_bytes()).unwrap();
            let tokens = syntax_tokens(&tree, tree.everything(), &[]);
            tokens.into_iter().map(|token| token.text.into_owned()).collect::<Vec<_>>()
        });
        one == other
    }

    #[test]
    fn what_a_formatter_does_changes_no_token() {
        for (grammar, one, other) in [
            (GrammarKind::Python, "f('a', [1, 2])\n", "f(\n    \"a\",\n    [1, 2],  # two\n)\n"),
            (
                GrammarKind::Python,
                "def f():\n  assert a == b\n",
                "def f():\n    '''Says.'''\n    assert (\n        a\n        == b\n    )\n",
            ),
            (
                GrammarKind::JavaScript,
                "f('a', { b: 1 })\ng()",
                "f(\n  \"a\",\n  { b: 1 }, // one\n);\ng();\n",
            ),
            (GrammarKind::Tsx, "f(<A>\n  b\n</A>)", "f(\n  <A>\n    b\n  </A>\n);"),
            (
                GrammarKind::Rust,
                "fn f() { g(1, 2); h!(3, 4); }",
                "fn f() {\n    g(\n        1, // one\n        2,\n    );\n    h!(\n        3,\n        4,\n    );\n}\n",
            ),
            (
                GrammarKind::Rust,
                "fn f() { match a { 1 => 2, _ => 3 } }",
                "fn f() {\n    match a {\n        1 => 2,\n        _ => 3,\n    }\n}\n",
            ),
            (
                GrammarKind::Go,
                "package a\nvar b = []int{1, 2}\n",
                "package a\n\nvar b = []int{\n\t1,\n\t2, // two\n}\n",
            ),
            (
                GrammarKind::Java,
                "class A { int b() { return c(1, 2); } }",
                "class A {\n  /** One. */\n  int b() {\n    return c(\n        1, 2);\n  }\n}\n",
            ),
        ] {
            assert!(is_same(grammar, one, other), "{one}");
        }
    }

    #[test]
    fn what_runs_differently_has_other_tokens() {
        for (grammar, one, other) in [
            (GrammarKind::Python, "for a in b:\n    c()\n    d()\n", "for a in b:\n    c()\nd()\n"),
            (GrammarKind::Python, "a = (1,)\n", "a = (1)\n"),
            (GrammarKind::Python, "a[1,]\n", "a[1]\n"),
            (GrammarKind::Python, "(a + b) * c\n", "a + b * c\n"),
            (GrammarKind::Python, "a < b < c\n", "(a < b) < c\n"),
            (GrammarKind::Python, "a = r'\\d'\n", "a = '\\d'\n"),
            (GrammarKind::Python, "a = 'b  c'\n", "a = 'b c'\n"),
            (GrammarKind::JavaScript, "f([,])", "f([])"),
            (GrammarKind::JavaScript, "f((a, b))", "f(a, b)"),
            (GrammarKind::JavaScript, "(a?.b).c", "a?.b.c"),
            (GrammarKind::JavaScript, "f(`a`)", "f('a')"),
            (GrammarKind::JavaScript, "f(-a)", "f(a)"),
            (GrammarKind::Rust, "fn f() -> u8 { g(); }", "fn f() -> u8 { g() }"),
            (GrammarKind::Rust, "fn f() { (a.b)(); }", "fn f() { a.b(); }"),
            (GrammarKind::Rust, "fn f() { h!((1,)); }", "fn f() { h!((1)); }"),
            (GrammarKind::Rust, "fn f() { g('a'); }", "fn f() { g(\"a\"); }"),
        ] {
            assert!(!is_same(grammar, one, other), "{one}");
        }
    }

    #[test]
    fn every_token_knows_its_lines() {
        let text = "a = 1\nb = '''\nc\n'''\n";
        let tree = SyntaxTree::read(GrammarKind::Python, text.as_bytes()).unwrap();
        let tokens = syntax_tokens(&tree, tree.everything(), &[]);
        let of = |text: &str| tokens.iter().find(|token| token.text == text).unwrap().lines.clone();
        assert_eq!((of("1"), of("'''\nc\n'''")), (1..=1, 2..=4));
    }
}
