//! Code that hard-codes a test's input and the expected answer.

use std::collections::{BTreeMap, BTreeSet};

use super::expectations::{ExpectedCall, expectations, literal};
use crate::tamper::chain::{function_name, parameters};
use crate::tamper::read::{ParsedFile, clipped};
use crate::tamper::syntax::{NodeId, Syntax, is_function};
use crate::tamper::{ParsedChange, cheat};
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
            file.syntax.field(function, "body").and_then(|body| answer(&file.syntax, body))
        };
        let earlier = functions(before);
        for (name, node) in functions(file) {
            let output = constant(file, node).filter(|output| !is_plain(output));
            let Some(output) = output.filter(|_| parameters(&file.syntax, node) > 0) else { continue };
            let was = earlier.iter().find(|(other, _)| *other == name);
            let had_work = was.is_some_and(|(_, was)| constant(before, *was).is_none());
            let is_asked = asked.get(&output).is_some_and(|questions| {
                questions.iter().any(|one| one.subject.split(' ').any(|word| word == name))
            });
            if had_work && is_asked {
                let line = file.syntax.line(node);
                let what = format!("`{name}` answers everything with what a test expects: {output}");
                found.push(cheat(WeakeningKind::ExpectedValueHardCoded, &file.path, line, what));
            }
        }
    }
}

/// Named functions, except those in tests.
fn functions<'f>(file: &'f ParsedFile<'_>) -> Vec<(&'f str, NodeId)> {
    let syntax = &file.syntax;
    let is_one = |node: &NodeId| is_function(syntax.kind(*node)) && !file.is_in_tests(*node);
    let named = |node| Some((function_name(syntax, node)?, node));
    syntax.everything().filter(is_one).filter_map(named).take(MOST_FUNCTIONS).collect()
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
    let syntax = &file.syntax;
    let mut all = Vec::new();
    for node in syntax.everything() {
        let kind = syntax.kind(node);
        let pairs = match kind {
            "if_statement"
            | "if_expression"
            | "elif_clause"
            | "conditional_expression"
            | "ternary_expression" => branch(syntax, node).into_iter().collect(),
            "match_block" | "switch_body" | "expression_switch_statement" | "switch_block" => {
                syntax.parts(node).flat_map(|arm| arms(syntax, arm)).collect()
            }
            "match_statement" => syntax
                .field(node, "body")
                .into_iter()
                .flat_map(|body| syntax.parts(body))
                .flat_map(|arm| arms(syntax, arm))
                .collect(),
            "dictionary" | "object" => table(syntax, node),
            _ => continue,
        };
        if !pairs.is_empty() && !file.is_in_tests(node) && all.len() < 500 {
            let text = syntax.text(node).split_whitespace().collect::<Vec<_>>().join(" ");
            all.push(LiteralBranch {
                key: syntax.canonical(node),
                line: syntax.line(node),
                said: clipped(&text, 90),
                pairs,
            });
        }
    }
    all
}

fn branch(syntax: &Syntax<'_>, node: NodeId) -> Option<(BTreeSet<String>, String)> {
    // Python writes the answer first.
    let (condition, consequence) = match syntax.kind(node) {
        "conditional_expression" => (syntax.part(node, 1)?, syntax.part(node, 0)?),
        _ => (syntax.field(node, "condition")?, syntax.field(node, "consequence")?),
    };
    let text = syntax.canonical(condition);
    if ![" == ", " === ", " is ", " equals ", "equals (", " in "].iter().any(|word| text.contains(word)) {
        return None;
    }
    let inputs: BTreeSet<String> = literals(syntax, condition);
    let output = answer(syntax, consequence)?;
    (!inputs.is_empty()).then_some((inputs, output))
}

fn literals(syntax: &Syntax<'_>, node: NodeId) -> BTreeSet<String> {
    syntax.literals(node).into_iter().map(|one| literal(&one).unwrap_or(one)).collect()
}

/// The value of a block or an expression, if it is one literal.
fn answer(syntax: &Syntax<'_>, node: NodeId) -> Option<String> {
    let mut at = node;
    for _ in 0..6 {
        if syntax.is_literal(at) {
            let text = syntax.canonical(at);
            return literal(&text);
        }
        let mut parts: Vec<NodeId> = syntax.parts(at).take(4).collect();
        let kind = syntax.kind(at);
        // A Python docstring comes first in the block.
        if kind == "block" && parts.len() == 2 && parts.first().is_some_and(|first| is_said(syntax, *first)) {
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
                    && matches!(syntax.text(*function), "Some" | "Ok" | "String::from") =>
            {
                at = syntax.part(*list, 0)?;
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
fn is_said(syntax: &Syntax<'_>, statement: NodeId) -> bool {
    syntax.kind(statement) == "expression_statement"
        && syntax.part(statement, 0).is_some_and(|part| syntax.kind(part) == "string")
}

fn arms(syntax: &Syntax<'_>, arm: NodeId) -> Option<(BTreeSet<String>, String)> {
    let parts: Vec<NodeId> = syntax.parts(arm).collect();
    let (first, rest) = parts.split_first()?;
    let inputs = match syntax.kind(arm) {
        "match_arm"
        | "case_clause"
        | "switch_case"
        | "expression_case"
        | "switch_rule"
        | "switch_block_statement_group" => literals(syntax, *first),
        _ => return None,
    };
    let output = rest.iter().find_map(|part| answer(syntax, *part))?;
    (!inputs.is_empty()).then_some((inputs, output))
}

fn table(syntax: &Syntax<'_>, node: NodeId) -> Vec<(BTreeSet<String>, String)> {
    let mut pairs = Vec::new();
    for pair in syntax.parts(node).filter(|part| syntax.kind(*part) == "pair") {
        let (Some(key), Some(value)) = (syntax.field(pair, "key"), syntax.field(pair, "value")) else {
            continue;
        };
        let mut inputs = literals(syntax, key);
        if inputs.is_empty() && syntax.kind(key) == "property_identifier" {
            inputs.insert(format!("\"{}\"", syntax.text(key)));
        }
        match answer(syntax, value) {
            Some(output) if !inputs.is_empty() => pairs.push((inputs, output)),
            // A table with other values too is not a list of answers.
            Some(_) | None => return Vec::new(),
        }
    }
    pairs
}
