//! The inputs of tests and the expected answers: two sides that a test declares equal, one of them a literal.

use std::collections::BTreeSet;

use crate::tamper::read::ParsedFile;
use journeyman_languages::chain::{ChainLink, chain, is_call};
use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree};
use journeyman_order::bounds::MOST_ITEMS;

#[derive(Debug)]
pub(in crate::tamper) struct ExpectedCall {
    pub(in crate::tamper) expected: String,
    /// The code under test.
    pub(in crate::tamper) subject: String,
    /// Its literals.
    pub(in crate::tamper) inputs: BTreeSet<String>,
}

/// The expectations in the tests of a file.
pub(in crate::tamper) fn expectations(file: &ParsedFile<'_>) -> Vec<ExpectedCall> {
    let tree = &file.tree;
    let mut found = Vec::new();
    for node in tree.everything().filter(|node| file.is_in_tests(*node)) {
        if found.len() >= MOST_ITEMS {
            break;
        }
        match tree.kind(node) {
            "macro_invocation" => found.extend(in_macro(tree, node).unwrap_or_default()),
            _ => found.extend(expectation(tree, node)),
        }
    }
    found
}

/// The grammar sees only tokens in a Rust macro. Parsed again as arguments of a function, they are expressions.
fn in_macro(tree: &SyntaxTree<'_>, node: NodeId) -> Option<Vec<ExpectedCall>> {
    let name = tree.field_text(node, "macro");
    if !name.contains("assert") {
        return None;
    }
    let tokens = tree.parts(node).find(|part| tree.kind(*part) == "token_tree")?;
    let inner = tree.text(tokens);
    let inner = inner.get(1..inner.len().checked_sub(1)?)?;
    let function = if name.ends_with("_eq") { "equal" } else { "holds" };
    let source = format!("fn f() {{ {function}({inner}) }}");
    let line = SyntaxTree::read(GrammarKind::Rust, source.as_bytes()).ok()?;
    let found = line.everything().filter_map(|node| expectation(&line, node)).collect();
    Some(found)
}

/// The expectation in a call or a comparison.
fn expectation(tree: &SyntaxTree<'_>, node: NodeId) -> Option<ExpectedCall> {
    let sides = match tree.kind(node) {
        "comparison_operator" | "binary_expression" | "binary_operator" => compared(tree, node)?,
        kind if is_call(kind) => asserted(tree, node)?,
        _ => return None,
    };
    let texts: Vec<String> = sides.iter().map(|side| tree.canonical(*side)).collect();
    let expected = texts.iter().find_map(|text| literal(text))?;
    sides.into_iter().zip(texts).filter(|(_, text)| literal(text).is_none()).find_map(|(side, subject)| {
        let inputs: BTreeSet<String> = tree.literals(side).into_iter().collect();
        (!inputs.is_empty()).then(|| ExpectedCall { expected: expected.clone(), subject, inputs })
    })
}

/// The sides of an equality, or of a difference that should be small. Go tests fail on an inequality.
fn compared(tree: &SyntaxTree<'_>, node: NodeId) -> Option<Vec<NodeId>> {
    let is_same = |child: NodeId| match tree.kind(child) {
        "==" | "===" | "-" => true,
        "!=" => tree.grammar == GrammarKind::Go,
        _ => false,
    };
    let sides: Vec<NodeId> = tree.parts(node).take(3).collect();
    (sides.len() == 2 && tree.children(node).any(is_same)).then_some(sides)
}

/// The sides that a function or matcher declares equal: the subject of a fluent chain, and the arguments.
fn asserted(tree: &SyntaxTree<'_>, call: NodeId) -> Option<Vec<NodeId>> {
    let links = chain(tree, call);
    let last = links.last()?;
    let name: String = last.name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    let says_same = pattern!(
        r"^(?:assert)?(?:(?:strict|deep|deepstrict|list|dict|tuple|set|count|multiline|sequence|almost|approx|to|tostrict|isdeepstrict|array|iterable)?equals?|almostequals|isequalto|equalvalues|eql?|is|same|tobe|issameas|linesmatch|jsoneq|exactly|elementsmatch|containsexactly|tobecloseto|(?:is)?closeto|approximately|indelta|inepsilon|allclose|isclose)f?$"
    );
    if !says_same.is_match(&name) || links.iter().any(|link| matches!(link.name, "not" | "never")) {
        return None;
    }
    let begins = |link: &&ChainLink<'_>| matches!(link.name, "expect" | "assertThat" | "assert_that");
    let subject = links.iter().find(begins).and_then(|link| tree.part(link.arguments?, 0));
    // A message or a tolerance may follow the two sides; Go's `t` precedes them.
    let given = tree.parts(last.arguments?).filter(|part| tree.kind(*part) != "keyword_argument");
    Some(subject.into_iter().chain(given).take(3).collect())
}

/// The operand, if it is only a literal.
pub(super) fn literal(operand: &str) -> Option<String> {
    let mut operand = operand;
    for wrapper in ["Some ( ", "Ok ( ", "String :: from ( ", "pytest . approx ( ", "approx ( "] {
        operand = operand.strip_prefix(wrapper).and_then(|rest| rest.strip_suffix(" )")).unwrap_or(operand);
    }
    for ending in [" . to_string ( )", " . to_owned ( )", " . into ( )"] {
        operand = operand.strip_suffix(ending).unwrap_or(operand);
    }
    let bare =
        operand.strip_prefix("- ").map(|rest| format!("-{rest}")).unwrap_or_else(|| operand.to_owned());
    let is_number =
        bare.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) && !bare.contains(' ');
    let is_text = bare.starts_with('"') && bare.ends_with('"') && bare.matches('"').count() == 2;
    (is_number || is_text).then_some(bare)
}
