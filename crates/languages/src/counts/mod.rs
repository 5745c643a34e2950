//! Parses what a runner prints: how many tests there are, and the result of each.

pub(crate) mod cargo;
pub(crate) mod dotnet;
pub(crate) mod go;
pub(crate) mod javascript;
pub(crate) mod maven;
pub(crate) mod native;
pub(crate) mod node;
pub(crate) mod php;
pub(crate) mod python;
pub(crate) mod ruby;
pub(crate) mod tap;

use std::collections::BTreeMap;

use regex::{Captures, Regex};

use journeyman_order::{TestCaseStatus, TestCounts, TestProgram};

/// The summary of a run.
pub(crate) struct RunnerSummary {
    pub(crate) counts: Option<TestCounts>,
    pub(crate) failing: Vec<String>,
    /// Its line number. With several runners, the last one to report is the one that was requested.
    pub(crate) line: usize,
    /// Every test by name, except those of `programs`. `None` if the runner does not name all, or names others than it
    /// counts.
    pub(crate) cases: Option<BTreeMap<String, TestCaseStatus>>,
    /// The programs of the run that do not name their tests, if others do.
    pub(crate) programs: Vec<TestProgram>,
    /// Whether it ran all tests: some runners stop at a failure.
    pub(crate) is_whole: bool,
}

/// The summary of a complete run, without names of tests.
pub(crate) fn summary(counts: TestCounts, line: usize) -> RunnerSummary {
    RunnerSummary {
        counts: Some(counts),
        failing: Vec::new(),
        line,
        cases: None,
        programs: Vec::new(),
        is_whole: true,
    }
}

/// The last line with a match, and the match.
pub(crate) fn last_of<'l, T>(lines: &[&'l str], find: impl Fn(&'l str) -> Option<T>) -> Option<(usize, T)> {
    lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, find(line)?)))
}

/// The tests that lines name, and how each ended: groups `good` and `bad` of a pattern tell.
fn ends<'l, const N: usize>(
    lines: &'l [&'l str],
    patterns: [&'static Regex; N],
) -> impl Iterator<Item = (&'l str, TestCaseStatus)> {
    lines.iter().filter_map(move |line| {
        let found = patterns.iter().find_map(|pattern| pattern.captures(line))?;
        Some((found.name("name")?.as_str(), ended(&found)))
    })
}

fn ended(found: &Captures<'_>) -> TestCaseStatus {
    match (found.name("good"), found.name("bad")) {
        (Some(_), _) => TestCaseStatus::Passed,
        (None, Some(_)) => TestCaseStatus::Failed,
        (None, None) => TestCaseStatus::Skipped,
    }
}

/// Texts like `3 failed, 2 passed`: every number with the word after it.
fn numbers(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.split([',', '|', ';', '(', ')']).filter_map(|part| {
        let (number, word) = part.trim().split_once(' ')?;
        Some((number.parse().ok()?, word.trim()))
    })
}

pub(crate) fn number(captures: &Captures<'_>, group: usize) -> u64 {
    captures.get(group).and_then(|found| found.as_str().parse().ok()).unwrap_or(0)
}
