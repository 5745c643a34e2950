//! Code that hard-codes a test's input and the expected answer.

use std::collections::{BTreeMap, BTreeSet};

use super::expectations::{ExpectedCall, expectations, literal};
use crate::tamper::read::{ParsedFile, clipped};
use crate::tamper::{ParsedChange, cheat};
use journeyman_languages::chain::{function_name, parameters};
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_function};
use journeyman_order::{Weakening, WeakeningKind};

/// Limit of distinct expected answers of tests.
const MOST_PAIRS: usize = 5_000;
const MOST_FUNCTIONS: usize = 5_000;

/// The calls in tests, by the answer that they expect.
type ExpectedAnswers = BTreeMap<String, Vec<ExpectedCall>>;

/// New branches and tables that answer the tests' inputs.
pub(in crate::tamper) fn hard_coded(change: &ParsedChange<'_>, found: &mut Vec<Weakening>) {
    let mut asked = ExpectedAnswers::new();
    for file in change.before.iter().chain(&change.after) {
        for call in expectations(file) {
            let questions = asked.entry(call.expected.clone()).or_default();
            if questions.len() < 200 {
                questions.push(call);
            }
        }
        if asked.len() > MOST_PAIRS {
            break;
        }
    }
    if asked.is_empty() {
        return;
    }
    constants(change, &asked, found);
    let mut known: BTreeSet<String> = BTreeSet::new();
    for file in change.before.iter().filter(|file| change.is_changed(&file.path)) {
        known.extend(answers(file).into_iter().map(|answer| answer.key));
    }
    for file in change.after.iter().filter(|file| change.is_changed(&file.path)) {
        for answer in answers(file).into_iter().filter(|answer| !known.contains(&answer.key)) {
            let hits =
                answer.pairs.iter().filter(|(inputs, output)| is_asked(&asked, inputs, output)).count();
            // A table with many more entries than the tests check is a real table.
            if hits == 0 || hits * 5 < answer.pairs.len() * 4 {
                continue;
            }
            let what = format!("answers the input of a test with what the test expects: `{}`", answer.said);
            found.push(cheat(WeakeningKind::ExpectedValueHardCoded, &file.path, answer.line, what));
        }
    }
}

/// Functions that used to compute something and now return a constant that a test expects.
fn constants(change: &ParsedChange<'_>, asked: &ExpectedAnswers, found: &mut Vec<Weakening>) {
    for file in change.after.iter().filter(|file| change.is_changed(&file.path)) {
        let Some(before) = change.before.iter().find(|before| before.path == file.path) else { continue };
        let constant = |file: &ParsedFile<'_>, function: NodeId| {
            file.tree.field(function, "body").and_then(|body| answer(&file.tree, body))
        };
        let earlier = functions(before);
        for (name, node) in functions(file) {
            let output = constant(file, node).filter(|output| !is_plain(output));
            let Some(output) = output.filter(|_| parameters(&file.tree, node) > 0) else { continue };
            let was = earlier.iter().find(|(other, _)| *other == name);
            let had_work = was.is_some_and(|(_, was)| constant(before, *was).is_none());
            let is_asked = asked.get(&output).is_some_and(|questions| {
                questions.iter().any(|one| one.subject.split(' ').any(|word| word == name))
            });
            if had_work && is_asked {
                let line = file.tree.line(node);
                let what = format!("`{name}` answers everything with what a test expects: {output}");
                found.push(cheat(WeakeningKind::ExpectedValueHardCoded, &file.path, line, what));
            }
        }
    }
}

/// Named functions, except those in tests.
fn functions<'f>(file: &'f ParsedFile<'_>) -> Vec<(&'f str, NodeId)> {
    let tree = &file.tree;
    let is_one = |node: &NodeId| is_function(tree.kind(*node)) && !file.is_in_tests(*node);
    let named = |node| Some((function_name(tree, node)?, node));
    tree.everything().filter(is_one).filter_map(named).take(MOST_FUNCTIONS).collect()
}

/// Common edge values, which prove nothing.
fn is_plain(literal: &str) -> bool {
    matches!(
        literal,
        "0" | "1" | "-1" | "0.0" | "1.0" | "\"\"" | "true" | "false" | "none" | "null" | "undefined" | "nil"
    )
}

fn is_asked(asked: &ExpectedAnswers, inputs: &BTreeSet<String>, output: &str) -> bool {
    if inputs.iter().all(|input| is_plain(input)) {
        return false;
    }
    asked.get(output).is_some_and(|lists| lists.iter().any(|one| inputs.is_subset(&one.inputs)))
}

/// A branch or a table that maps literals to literals.
struct LiteralBranch {
    key: String,
    line: u32,
    said: String,
    pairs: Vec<(BTreeSet<String>, String)>,
}

fn answers(file: &ParsedFile<'_>) -> Vec<LiteralBranch> {
    let tree = &file.tree;
    let mut all = Vec::new();
    for node in tree.everything() {
        let kind = tree.kind(node);
        let pairs = match kind {
            "if_statement"
            | "if_expression"
            | "elif_clause"
            | "conditional_expression"
            | "ternary_expression" => branch(tree, node).into_iter().collect(),
            "match_block" | "switch_body" | "expression_switch_statement" | "switch_block" => {
                tree.parts(node).flat_map(|arm| arms(tree, arm)).collect()
            }
            "match_statement" => tree
                .field(node, "body")
                .into_iter()
                .flat_map(|body| tree.parts(body))
                .flat_map(|arm| arms(tree, arm))
                .collect(),
            "dictionary" | "object" => table(tree, node),
            _ => continue,
        };
        if !pairs.is_empty() && !file.is_in_tests(node) && all.len() < 500 {
            let text = tree.text(node).split_whitespace().collect::<Vec<_>>().join(" ");
            all.push(LiteralBranch {
                key: tree.canonical(node),
                line: tree.line(node),
                said: clipped(&text, 90),
                pairs,
            });
        }
    }
    all
}

fn branch(tree: &SyntaxTree<'_>, node: NodeId) -> Option<(BTreeSet<String>, String)> {
    // Python writes the answer first.
    let (condition, consequence) = match tree.kind(node) {
        "conditional_expression" => (tree.part(node, 1)?, tree.part(node, 0)?),
        _ => (tree.field(node, "condition")?, tree.field(node, "consequence")?),
    };
    let text = tree.canonical(condition);
    if ![" == ", " === ", " is ", " equals ", "equals (", " in "].iter().any(|word| text.contains(word)) {
        return None;
    }
    let inputs: BTreeSet<String> = literals(tree, condition);
    let output = answer(tree, consequence)?;
    (!inputs.is_empty()).then_some((inputs, output))
}

fn literals(tree: &SyntaxTree<'_>, node: NodeId) -> BTreeSet<String> {
    tree.literals(node).into_iter().map(|one| literal(&one).unwrap_or(one)).collect()
}

/// The value of a block or an expression, if it is one literal.
fn answer(tree: &SyntaxTree<'_>, node: NodeId) -> Option<String> {
    let mut at = node;
    for _ in 0..6 {
        if tree.is_literal(at) {
            let text = tree.canonical(at);
            return literal(&text);
        }
        let mut parts: Vec<NodeId> = tree.parts(at).take(4).collect();
        let kind = tree.kind(at);
        // A Python docstring comes first in the block.
        if kind == "block" && parts.len() == 2 && parts.first().is_some_and(|first| is_said(tree, *first)) {
            parts.remove(0);
        }
        let passes = matches!(
            kind,
            "block"
                | "statement_block"
                | "return_statement"
                | "return_expression"
                | "expression_statement"
                | "parenthesized_expression"
                | "expression_list"
                | "statement_list"
                | "call_expression"
                | "field_expression"
                | "macro_invocation"
        );
        match parts.as_slice() {
            [function, list]
                if kind == "call_expression"
                    && matches!(tree.text(*function), "Some" | "Ok" | "String::from") =>
            {
                at = tree.part(*list, 0)?;
            }
            // Such as `"four".to_string()`.
            [first, ..] if matches!(kind, "call_expression" | "field_expression") => at = *first,
            [only] if passes => at = *only,
            _ => return None,
        }
    }
    None
}

/// Whether a statement is only a string.
fn is_said(tree: &SyntaxTree<'_>, statement: NodeId) -> bool {
    tree.kind(statement) == "expression_statement"
        && tree.part(statement, 0).is_some_and(|part| tree.kind(part) == "string")
}

fn arms(tree: &SyntaxTree<'_>, arm: NodeId) -> Option<(BTreeSet<String>, String)> {
    let parts: Vec<NodeId> = tree.parts(arm).collect();
    let (first, rest) = parts.split_first()?;
    let inputs = match tree.kind(arm) {
        "match_arm"
        | "case_clause"
        | "switch_case"
        | "expression_case"
        | "switch_rule"
        | "switch_block_statement_group" => literals(tree, *first),
        _ => return None,
    };
    let output = rest.iter().find_map(|part| answer(tree, *part))?;
    (!inputs.is_empty()).then_some((inputs, output))
}

fn table(tree: &SyntaxTree<'_>, node: NodeId) -> Vec<(BTreeSet<String>, String)> {
    let mut pairs = Vec::new();
    for pair in tree.parts(node).filter(|part| tree.kind(*part) == "pair") {
        let (Some(key), Some(value)) = (tree.field(pair, "key"), tree.field(pair, "value")) else {
            continue;
        };
        let mut inputs = literals(tree, key);
        if inputs.is_empty() && tree.kind(key) == "property_identifier" {
            inputs.insert(format!("\"{}\"", tree.text(key)));
        }
        match answer(tree, value) {
            Some(output) if !inputs.is_empty() => pairs.push((inputs, output)),
            // A table with other values too is not a list of answers.
            Some(_) | None => return Vec::new(),
        }
    }
    pairs
}
