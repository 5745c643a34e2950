//! What is known about a commit, as one list: five lines that people read, and details below each. Every surface shows
//! this list and nothing else.
//!
//! May know: the evidence. Must never know: how a surface shows it.

mod evidence;
#[cfg(test)]
mod tests;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::comparison::TestList;
use super::ids::CommitSha;
use super::length::some_of;
use super::words::words;

pub use evidence::{existing_tests_changed, findings, of_review};

/// The five lines, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingLine {
    WhatRan,
    RedThenGreen,
    ExistingTests,
    Strength,
    NotVerified,
}

words!(FindingLine::label {
    WhatRan: "What ran",
    RedThenGreen: "Red before, green now",
    ExistingTests: "Existing tests",
    Strength: "Strength of the tests",
    NotVerified: "What was not verified"
});

/// What a finding is about. The first five are the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    TestsRan,
    RedThenGreen,
    ExistingTests,
    Strength,
    NotVerified,

    TestsFailed,
    SetupRan,
    SetupOfBase,
    Isolation,
    RunsMade,
    FilesRewritten,
    Doubted,
    ComparedWithBase,
    ComparedTests,
    DiedWithoutTheChange,
    Statement,
    Example,
    Neighbours,
    RanAsUser,
    ChangedTest,
    OldTests,
    Objection,
    CaughtIn,
    NotCaught,
    MutantSurvived,
    PartUnnoticed,
    Remark,
    TestsNotNamed,
    InputsUnused,
    ExamplesNotRun,
    ExamplesUnclear,
    NoMutantsTried,
    MutantsLeft,
    FoldersLeftOut,
    ProjectNotTested,
    TestsSkipped,
    Dependency,
    RunsLeftOut,
    RunsNotEnded,

    // These rest on the order, and not on the evidence of a test run.
    RedAccepted,
    Reviewed,
    ChangedTestReviewed,
    OpenFinding,
    NotReviewed,
    ReviewedInPart,
    NotExamined,
    GithubChecks,
    NoGithubChecks,
    EnvironmentNote,
}

/// What a finding says about the change, in the order in which details are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingBearing {
    Against,
    /// A person has to judge it.
    Open,
    /// Nobody has to do anything about it.
    Noted,
}

/// A fact for programs, and its sentence for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictFinding {
    /// The line that it is, or that it is a detail of.
    pub line: FindingLine,
    /// A stable name.
    pub fact: FindingKind,
    pub bearing: FindingBearing,
    #[schemars(with = "String")]
    pub sentence: FindingSentence,
    /// By stable names.
    pub values: Map<String, Value>,
    /// What was not verified, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<String>,
}

/// A sentence. As JSON it is one text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct FindingSentence(pub Vec<SentencePart>);

/// A part of a sentence. Each surface makes the foreign parts harmless in its own way.
#[derive(Debug, Clone, PartialEq)]
pub enum SentencePart {
    /// Our own words and numbers.
    Ours(String),
    /// Words of agents, programs and repositories.
    Foreign(String),
    /// A command, a path or code.
    Code(String),
    /// Names of tests and paths.
    Names(TestList),
    /// A path with a line.
    Place(String),
    Commit(CommitSha),
}

/// One of the five lines, and its details. What counts against the change comes first.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingGroup<'a> {
    pub line: &'a VerdictFinding,
    pub details: Vec<&'a VerdictFinding>,
}

impl fmt::Display for FindingSentence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            SentencePart::Ours(text)
            | SentencePart::Foreign(text)
            | SentencePart::Code(text)
            | SentencePart::Place(text) => out.write_str(text),
            SentencePart::Names(tests) => out.write_str(&some_of(&tests.names, tests.total)),
            SentencePart::Commit(commit) => out.write_str(commit.short()),
        })
    }
}

impl From<String> for FindingSentence {
    fn from(text: String) -> Self {
        Self(vec![SentencePart::Foreign(text)])
    }
}

impl From<FindingSentence> for String {
    fn from(sentence: FindingSentence) -> Self {
        sentence.to_string()
    }
}

pub(crate) fn of(line: FindingLine, fact: FindingKind) -> VerdictFinding {
    let (sentence, values) = (FindingSentence::default(), Map::new());
    VerdictFinding { line, fact, bearing: FindingBearing::Noted, sentence, values, gap: None }
}

/// Something that was not verified.
pub(crate) fn gap(fact: FindingKind, words: impl Into<String>) -> VerdictFinding {
    of(FindingLine::NotVerified, fact).leaves_open(words)
}

impl VerdictFinding {
    fn part(mut self, part: SentencePart) -> Self {
        self.sentence.0.push(part);
        self
    }

    pub(crate) fn value(mut self, key: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.values.insert(key.to_owned(), value);
        }
        self
    }

    pub(crate) fn text(self, text: impl Into<String>) -> Self {
        self.part(SentencePart::Ours(text.into()))
    }

    fn shown(self, key: &str, value: impl fmt::Display + Serialize) -> Self {
        self.text(value.to_string()).value(key, value)
    }

    pub(crate) fn foreign(self, key: &str, text: &str) -> Self {
        self.part(SentencePart::Foreign(text.to_owned())).value(key, text)
    }

    pub(crate) fn code(self, key: &str, code: &str) -> Self {
        self.part(SentencePart::Code(code.to_owned())).value(key, code)
    }

    fn place(self, key: &str, place: String) -> Self {
        self.value(key, &place).part(SentencePart::Place(place))
    }

    fn tests(self, key: &str, tests: &TestList) -> Self {
        self.part(SentencePart::Names(tests.clone())).value(key, tests)
    }

    pub(crate) fn names(self, key: &str, names: &[String]) -> Self {
        let tests = TestList { total: names.len() as u64, names: names.to_vec() };
        self.part(SentencePart::Names(tests)).value(key, names)
    }

    fn leaves_open(self, words: impl Into<String>) -> Self {
        Self { gap: Some(words.into()), ..self }
    }

    pub(crate) fn bears(self, bearing: FindingBearing) -> Self {
        Self { bearing, ..self }
    }

    pub(crate) fn bears_if(self, does: bool, bearing: FindingBearing) -> Self {
        if does { self.bears(bearing) } else { self }
    }

    fn weighed(self, is_for: Option<bool>) -> Self {
        self.bears(match is_for {
            Some(true) => FindingBearing::Noted,
            Some(false) => FindingBearing::Against,
            None => FindingBearing::Open,
        })
    }
}

/// The five lines in order, each with its details.
pub fn groups(all: &[VerdictFinding]) -> impl Iterator<Item = FindingGroup<'_>> {
    let is_line = |finding: &&VerdictFinding| finding.fact <= FindingKind::NotVerified;
    all.iter().filter(is_line).map(move |line| {
        let is_detail = |other: &&VerdictFinding| !is_line(other) && other.line == line.line;
        let mut details: Vec<&VerdictFinding> = all.iter().filter(is_detail).collect();
        details.sort_by_key(|detail| detail.bearing);
        FindingGroup { line, details }
    })
}
