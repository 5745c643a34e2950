//! What a source file holds: its tests with what they assert, and its other functions.

mod asserting;
mod go;
mod java;
mod javascript;
mod python;
pub(super) mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::assertion::Assertion;
use super::chain::{chain, function_name, is_call, is_function, parameters};
use super::language::{Language, is_test_path};
use super::reach::Ends;
use super::syntax::{NodeId, Syntax, TooMuch, is_name};

/// Tests of one file that are told apart; what is beyond is not looked at.
const MOST_TESTS: usize = 5_000;

/// What keeps a test from running or from failing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// It does not run, always or under a condition; how that is written.
    Skipped(String),
    /// It passes by failing.
    ExpectedToFail(String),
}

/// What a reader found to be a test, before it is looked into.
#[derive(Debug)]
struct Found {
    name: String,
    bare: String,
    /// All of it, with what is written above it.
    item: NodeId,
    /// None: there is nothing to run.
    body: Option<NodeId>,
    marks: Vec<Mark>,
}

/// One test.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) path: String,
    /// Qualified as its runner prints it, where that can be told.
    pub(super) name: String,
    pub(super) bare: String,
    pub(super) line: u32,
    pub(super) marks: Vec<Mark>,
    pub(super) assertions: Vec<Assertion>,
    /// Of all its words, SHA-256 in hexadecimal.
    pub(super) digest: String,
    /// Its words and how often each is there.
    pub(super) words: BTreeMap<String, u32>,
    pub(super) literals: BTreeSet<String>,
    pub(super) names: BTreeSet<String>,
    /// Names that are called without an object: helpers may be among them.
    pub(super) calls: Vec<Call>,
    /// Strings and numbers of the tables that it is run for.
    pub(super) rows: Vec<String>,
    /// It is run for a table of inputs.
    pub(super) is_table: bool,
}

/// A call that may be a helper's.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) assertion: Assertion,
}

/// A function that is no test.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) node: NodeId,
    pub(super) line: u32,
    pub(super) words: BTreeMap<String, u32>,
    pub(super) assertions: Vec<Assertion>,
    pub(super) calls: Vec<Call>,
    pub(super) parameters: usize,
    /// It stands among tests.
    pub(super) is_support: bool,
}

/// Places of a file that do not overlap, in order.
#[derive(Debug)]
pub(super) struct Places(Vec<Range<usize>>);

impl Places {
    fn of(mut places: Vec<Range<usize>>) -> Self {
        places.sort_by_key(|place| place.start);
        let mut apart: Vec<Range<usize>> = Vec::new();
        for place in places {
            match apart.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                Some(_) | None => apart.push(place),
            }
        }
        Self(apart)
    }

    /// Whether a byte is in one of them.
    pub(super) fn contain(&self, at: usize) -> bool {
        let next = self.0.partition_point(|place| place.start <= at);
        next.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|place| place.contains(&at))
    }
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct SourceFile<'a> {
    pub(super) path: String,
    pub(super) syntax: Syntax<'a>,
    pub(super) tests: Vec<Test>,
    pub(super) functions: Vec<Function>,
    /// Where in the file tests and what they need are.
    pub(super) test_places: Places,
    /// Only those marked are run.
    pub(super) has_only: bool,
}

impl<'a> SourceFile<'a> {
    /// Reads a file of a language that is known; none for others.
    pub(super) fn read(path: &str, bytes: &'a [u8]) -> Option<Result<Self, TooMuch>> {
        let language = Language::of(path)?;
        Some(Syntax::read(language, bytes).map(|syntax| Self::of(path, syntax)))
    }

    fn of(path: &str, syntax: Syntax<'a>) -> Self {
        let ends = Ends::of(&syntax);
        let mut has_only = false;
        let mut found = match syntax.language {
            Language::Rust => rust::tests(path, &syntax),
            Language::Python => python::tests(path, &syntax),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                javascript::tests(path, &syntax, &mut has_only)
            }
            Language::Go => go::tests(path, &syntax),
            Language::Java => java::tests(path, &syntax),
        };
        found.truncate(MOST_TESTS);
        let test_places = if is_test_path(path) {
            std::iter::once(0..usize::MAX).collect()
        } else if syntax.language == Language::Rust {
            rust::places(&syntax, &found)
        } else {
            found.iter().map(|test| syntax.bytes(test.item)).collect()
        };
        let test_places = Places::of(test_places);
        let items: BTreeSet<NodeId> = found.iter().map(|test| test.item).collect();
        let is_support = |node| test_places.contain(syntax.bytes(node).start);
        let functions = functions(&syntax, &ends, &items, &is_support);
        let tables = tables(&syntax);
        let tests = found.into_iter().map(|found| test(path, &syntax, &ends, &tables, found)).collect();
        Self { path: path.to_owned(), syntax, tests, functions, test_places, has_only }
    }

    /// Whether a node belongs to tests.
    pub(super) fn is_in_tests(&self, node: NodeId) -> bool {
        self.test_places.contain(self.syntax.bytes(node).start)
    }
}

/// Lists and tables of the file, outside of all functions: what is in them, by their names.
fn tables(syntax: &Syntax<'_>) -> BTreeMap<String, Vec<String>> {
    let mut tables = BTreeMap::new();
    for node in syntax.everything() {
        let (name, value) = match syntax.kind(node) {
            "assignment" => ("left", "right"),
            "variable_declarator" | "const_item" | "static_item" | "var_spec" => ("name", "value"),
            _ => continue,
        };
        let Some(value) = syntax.field(node, value) else { continue };
        let is_list = syntax.text(value).trim_start_matches(['&', '(']).starts_with(['[', '{', '('])
            || syntax.kind(value).contains("list");
        if is_list && !syntax.ancestors(node).any(|up| is_function(syntax.kind(up))) {
            tables.insert(syntax.field_text(node, name).to_owned(), syntax.literals(value));
        }
    }
    tables
}

fn test(
    path: &str,
    syntax: &Syntax<'_>,
    ends: &Ends,
    tables: &BTreeMap<String, Vec<String>>,
    found: Found,
) -> Test {
    let body = found.body;
    let (assertions, calls) = body.map(|body| asserting::assertions(syntax, ends, body)).unwrap_or_default();
    let item = found.item;
    let tokens = syntax.tokens(item);
    let mut digest = Sha256::new();
    digest.update(body.map_or_else(|| syntax.text(item), |body| syntax.text(body)).as_bytes());
    let above = syntax.text(item);
    let names: BTreeSet<String> = syntax
        .all(item)
        .filter(|node| is_name(syntax.kind(*node)))
        .take(2_000)
        .map(|node| syntax.text(node).to_owned())
        .collect();
    let mut literals = syntax.literals(item);
    let mut words = counted(tokens);
    let mut rows: Vec<String> = names.iter().filter_map(|name| tables.get(name)).flatten().cloned().collect();
    for row in &rows {
        literals.push(row.clone());
        *words.entry(row.clone()).or_default() += 1;
    }
    rows.extend(own_rows(syntax, item, body));
    Test {
        path: path.to_owned(),
        name: found.name,
        bare: found.bare,
        line: syntax.line(item),
        marks: found.marks,
        assertions,
        digest: hex::encode(digest.finalize()),
        words,
        rows,
        literals: literals.into_iter().collect(),
        names,
        calls,
        is_table: ["parametrize", ".each", "test_case", "#[case", "ParameterizedTest", "subTest", "t.Run("]
            .iter()
            .any(|word| above.contains(word)),
    }
}

/// What stands beside a test's body, such as its parameters, and in lists within it.
fn own_rows(syntax: &Syntax<'_>, item: NodeId, body: Option<NodeId>) -> Vec<String> {
    let mut rows = Vec::new();
    let mut node = item;
    while node < syntax.all(item).end {
        let kind = syntax.kind(node);
        let holds_body = body.is_some_and(|body| syntax.contains(node, body));
        let is_in_body = body.is_some_and(|body| syntax.contains(body, node));
        let is_list = matches!(
            kind,
            "list"
                | "array"
                | "array_expression"
                | "composite_literal"
                | "dictionary"
                | "tuple"
                | "expression_list"
                | "tuple_expression"
                | "array_initializer"
        );
        let is_source = syntax.parent(node).is_some_and(|up| {
            let up = syntax.kind(up);
            up.starts_with("for_")
                || up == "range_clause"
                || up == "assignment"
                || up == "variable_declarator"
                || up == "let_declaration"
                || up == "short_var_declaration"
                || up == "reference_expression"
        });
        let takes = if is_in_body { is_list && is_source } else { !holds_body };
        if takes {
            rows.extend(syntax.literals(node));
            node = syntax.all(node).end;
        } else {
            node += 1;
        }
    }
    rows
}

fn counted(tokens: Vec<String>) -> BTreeMap<String, u32> {
    let mut words = BTreeMap::new();
    for token in tokens {
        *words.entry(token).or_default() += 1;
    }
    words
}

/// Named functions, tests left out.
fn functions(
    syntax: &Syntax<'_>,
    ends: &Ends,
    tests: &BTreeSet<NodeId>,
    is_support: &dyn Fn(NodeId) -> bool,
) -> Vec<Function> {
    let mut functions = Vec::new();
    for node in syntax.everything() {
        if !is_function(syntax.kind(node)) || functions.len() >= MOST_TESTS {
            continue;
        }
        let is_test = tests.contains(&node)
            || syntax.parent(node).is_some_and(|parent| {
                tests.contains(&parent) && syntax.kind(parent) == "decorated_definition"
            });
        let Some(name) = function_name(syntax, node).filter(|_| !is_test) else { continue };
        let is_support = is_support(node);
        let (assertions, calls) = syntax
            .field(node, "body")
            .filter(|_| is_support)
            .map(|body| asserting::assertions(syntax, ends, body))
            .unwrap_or_default();
        functions.push(Function {
            name: name.to_owned(),
            node,
            line: syntax.line(node),
            words: counted(syntax.tokens(syntax.field(node, "body").unwrap_or(node))),
            assertions,
            calls,
            parameters: parameters(syntax, node),
            is_support,
        });
    }
    functions
}

/// How alike two lists of words are: 1 the same, 0 nothing in common.
pub(super) fn likeness(one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>) -> f64 {
    let mut shared = 0u32;
    let mut all = 0u32;
    for (word, count) in one {
        let there = other.get(word).copied().unwrap_or(0);
        shared += (*count).min(there);
        all += (*count).max(there);
    }
    all += other.iter().filter(|(word, _)| !one.contains_key(*word)).map(|(_, count)| *count).sum::<u32>();
    if all == 0 { 1.0 } else { f64::from(shared) / f64::from(all) }
}

/// Calls within a body that skip a test, with what they are.
fn skipping_calls(syntax: &Syntax<'_>, body: NodeId, wanted: &dyn Fn(&[&str]) -> bool) -> Vec<NodeId> {
    syntax
        .all(body)
        .filter(|node| is_call(syntax.kind(*node)))
        .filter(|node| {
            let links = chain(syntax, *node);
            let names: Vec<&str> = links.iter().map(|link| link.name).collect();
            wanted(&names)
        })
        .collect()
}

/// A line's worth of a node.
pub(super) fn short(syntax: &Syntax<'_>, node: NodeId) -> String {
    let text = syntax.text(node).split_whitespace().collect::<Vec<_>>().join(" ");
    clipped(&text, 80)
}

/// At most so many characters.
pub(super) fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
