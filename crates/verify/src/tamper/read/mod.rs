//! What a source file holds: its tests with what they assert, and its other functions.

mod asserting;
mod go;
mod java;
mod javascript;
mod python;
pub(super) mod rust;

use std::collections::BTreeSet;
use std::ops::Range;

use super::assertion::Assertion;
use super::chain::{function_name, parameters};
use super::language::{Language, is_collected, is_test_path};
use super::syntax::{NodeId, Syntax, SyntaxTooLarge, is_function};

/// Tests of one file that are told apart; what is beyond is not looked at.
const MOST_TESTS: usize = 5_000;

/// What a reader found to be a test, before it is looked into.
#[derive(Debug)]
struct TestItem {
    /// All of it, with what is written above it.
    item: NodeId,
    /// None: there is nothing to run.
    body: Option<NodeId>,
}

/// One test.
#[derive(Debug, Clone)]
pub(super) struct ParsedTest {
    pub(super) assertions: Vec<Assertion>,
}

/// A function that is no test.
#[derive(Debug, Clone)]
pub(super) struct ParsedFunction {
    pub(super) name: String,
    pub(super) node: NodeId,
    pub(super) line: u32,
    pub(super) parameters: usize,
    /// It stands among tests.
    pub(super) is_support: bool,
}

/// Places of a file that do not overlap, in order.
#[derive(Debug)]
struct ByteRanges(Vec<Range<usize>>);

impl ByteRanges {
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
    fn contain(&self, at: usize) -> bool {
        let next = self.0.partition_point(|place| place.start <= at);
        next.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|place| place.contains(&at))
    }
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct ParsedFile<'a> {
    pub(super) path: String,
    pub(super) syntax: Syntax<'a>,
    pub(super) tests: Vec<ParsedTest>,
    pub(super) functions: Vec<ParsedFunction>,
    /// Where in the file tests and what they need are.
    test_places: ByteRanges,
}

impl<'a> ParsedFile<'a> {
    /// Reads a file of a language that is known; none for others.
    pub(super) fn read(path: &str, bytes: &'a [u8]) -> Option<Result<Self, SyntaxTooLarge>> {
        let language = Language::of(path)?;
        Some(Syntax::read(language, bytes).map(|syntax| Self::of(path, syntax)))
    }

    fn of(path: &str, syntax: Syntax<'a>) -> Self {
        let mut found = match syntax.language {
            _ if !is_collected(path) => Vec::new(),
            Language::Rust => rust::tests(&syntax),
            Language::Python => python::tests(path, &syntax),
            Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::tests(&syntax),
            Language::Go => go::tests(&syntax),
            Language::Java => java::tests(&syntax),
        };
        found.truncate(MOST_TESTS);
        let test_places = if is_test_path(path) {
            std::iter::once(0..usize::MAX).collect()
        } else if syntax.language == Language::Rust {
            rust::places(&syntax, &found)
        } else {
            found.iter().map(|test| syntax.bytes(test.item)).collect()
        };
        let test_places = ByteRanges::of(test_places);
        let items: BTreeSet<NodeId> = found.iter().map(|test| test.item).collect();
        let functions = functions(&syntax, &items, &test_places);
        let assertions = |body| asserting::assertions(&syntax, body);
        let tests = found
            .into_iter()
            .map(|test| ParsedTest { assertions: test.body.map(assertions).unwrap_or_default() })
            .collect();
        Self { path: path.to_owned(), syntax, tests, functions, test_places }
    }

    /// Whether a node belongs to tests.
    pub(super) fn is_in_tests(&self, node: NodeId) -> bool {
        self.test_places.contain(self.syntax.bytes(node).start)
    }
}

/// Named functions, tests left out.
fn functions(syntax: &Syntax<'_>, tests: &BTreeSet<NodeId>, test_places: &ByteRanges) -> Vec<ParsedFunction> {
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
        functions.push(ParsedFunction {
            name: name.to_owned(),
            node,
            line: syntax.line(node),
            parameters: parameters(syntax, node),
            is_support: test_places.contain(syntax.bytes(node).start),
        });
    }
    functions
}

/// At most so many characters.
pub(super) fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
