//! Reads from what a runner printed, or from its JUnit report, how many tests there are and what came of each.
//!
//! All of it was written by the code under test, which may print summaries of its own. So a summary has to look
//! genuine (in its place, adding up where it can be checked), the last one counts, and whatever is read never
//! turns a failure into a pass: that is for the exit code. Names of tests have to add up with the counts, else none
//! is believed.

mod cargo;
mod cases;
mod go;
mod javascript;
mod junit;
mod native;
mod node;
mod python;
mod several;
mod tap;
mod unloaded;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use cases::counted_together;
pub use junit::reports_as_one;

use super::text::plain;
use journeyman_order::bounds::{LARGEST_FILE, LONGEST_LINE, MOST_LISTED};
use journeyman_order::comparison::TestRunnerName;
use journeyman_order::{TestCaseStatus, TestCases, TestCounts, TestReport};

/// Lines that are looked at, from the end: each is looked at by every reader.
const MOST_LINES: usize = 400_000;

struct RunnerSummary {
    counts: Option<TestCounts>,
    failing: Vec<String>,
    /// The line it stands on: of several runners, the one that spoke last is the one that was asked to.
    line: usize,
    runner: TestRunnerName,
    /// Every test by name; none where the runner does not name all, or names others than it counts.
    cases: Option<BTreeMap<String, TestCaseStatus>>,
    /// Whether it ran all tests: some runners stop at a failure.
    is_whole: bool,
}

/// A run of all tests, none of which is named so far.
fn summary(runner: TestRunnerName, counts: TestCounts, line: usize) -> RunnerSummary {
    RunnerSummary { counts: Some(counts), failing: Vec::new(), line, runner, cases: None, is_whole: true }
}

/// The last line in which something is found, with that.
fn last_of<'l, T>(lines: &[&'l str], find: impl Fn(&'l str) -> Option<T>) -> Option<(usize, T)> {
    lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, find(line)?)))
}

impl RunnerSummary {
    /// What of it holds where the start of the output is missing.
    fn of_the_end(self) -> Self {
        let counts = match self.runner {
            TestRunnerName::Libtest | TestRunnerName::Go | TestRunnerName::Tap | TestRunnerName::Automake => {
                None
            }
            TestRunnerName::Junit
            | TestRunnerName::Nextest
            | TestRunnerName::Pytest
            | TestRunnerName::Unittest
            | TestRunnerName::Node
            | TestRunnerName::Vitest
            | TestRunnerName::Jest
            | TestRunnerName::Mocha
            | TestRunnerName::Ctest
            | TestRunnerName::Meson
            | TestRunnerName::Bun
            | TestRunnerName::Ava
            | TestRunnerName::Uvu => self.counts,
        };
        Self { counts, cases: None, ..self }
    }
}

/// Reads an output, and the JUnit report where there is one. Takes up to seconds on large
/// outputs, so it is not for a thread that others wait for. A report with tests in it is believed before the
/// output: it names them exactly. Its names are believed only where it claims no more than the output does.
///
/// Of one that is longer than 16 MiB or 400,000 lines its end is read, as by [`read_end`].
pub fn read(output: &str, junit: Option<&[u8]>) -> TestReport {
    read_part(output, junit, false, &[])
}

/// The same of a command that is known to run these, one after the other: the runs of one runner are told together.
pub(crate) fn read_runs(output: &str, junit: Option<&[u8]>, runs: &[TestRunnerName]) -> TestReport {
    read_part(output, junit, false, runs)
}

/// Reads the end of an output of which the start was not kept: what was said there is missing, so that no test is
/// believed to be named by it, nor counted where the parts of a run are counted one by one.
pub fn read_end(output: &str, junit: Option<&[u8]>) -> TestReport {
    read_part(output, junit, true, &[])
}

fn read_part(output: &str, junit: Option<&[u8]>, is_cut: bool, runs: &[TestRunnerName]) -> TestReport {
    let start = output.floor_char_boundary(output.len().saturating_sub(LARGEST_FILE));
    let clean = plain(output.get(start..).unwrap_or_default());
    let lines: Vec<&str> = clean.lines().collect();
    let is_cut = is_cut || start > 0 || lines.len() > MOST_LINES;
    let lines = lines.get(lines.len().saturating_sub(MOST_LINES)..).unwrap_or_default();
    let from_output = [
        cargo::libtest(lines),
        cargo::nextest(lines),
        python::pytest(lines),
        python::unittest(lines),
        node::node(lines),
        javascript::vitest(lines),
        javascript::jest(lines),
        javascript::mocha(lines),
        go::json(lines),
        go::plain(lines),
        tap::tap(lines),
        native::ctest(lines),
        native::meson(lines),
        native::bun(lines),
        native::ava(lines),
        native::automake(lines),
        native::uvu(lines),
    ]
    .into_iter()
    .flatten()
    .max_by_key(|summary| summary.line)
    .map(|summary| {
        let expected = runs.iter().filter(|run| **run == summary.runner).count();
        if is_cut { (summary.of_the_end(), false) } else { several::together(lines, summary, expected) }
    });
    let (from_output, are_several) =
        from_output.map_or((None, false), |(summary, are_several)| (Some(summary), are_several));
    let from_report = junit.and_then(junit::read);
    let mut unloaded = unloaded::read(lines);
    if let Some(report) = &from_report {
        unloaded.extend(report.unloaded.iter().cloned());
    }
    // Of several runs, a report is the last one's.
    let from_report = from_report.filter(|_| !are_several);
    let named = match (&from_report, &from_output) {
        (Some(report), output) => {
            let is_believed = output.as_ref().is_none_or(|output| {
                output.is_whole && output.counts.is_none_or(|counts| report.claims_no_more(&counts))
            });
            report.cases.clone().filter(|_| is_believed).map(|tests| (TestRunnerName::Junit, tests))
        }
        (None, Some(output)) => output.cases.clone().map(|tests| (output.runner, tests)),
        (None, None) => None,
    };
    let cases = named.map(|(named_by, tests)| TestCases { named_by, tests });
    let (counts, failing) = match (from_report, from_output) {
        (Some(report), Some(output)) if report.failing.is_empty() => (Some(report.counts), output.failing),
        (Some(report), _) => (Some(report.counts), report.failing),
        (None, Some(output)) => (output.counts, output.failing),
        (None, None) => (None, Vec::new()),
    };
    TestReport { counts, failing: tidy(failing), cases, unloaded: tidy(unloaded) }
}

fn tidy(names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .map(|name| name.trim().chars().take(LONGEST_LINE).collect::<String>())
        .filter(|name| !name.is_empty() && seen.insert(name.clone()))
        .take(MOST_LISTED)
        .collect()
}

/// `3 failed, 2 passed` and its like: every number with the word after it.
fn numbers(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.split([',', '|', ';', '(', ')']).filter_map(|part| {
        let (number, word) = part.trim().split_once(' ')?;
        Some((number.parse().ok()?, word.trim()))
    })
}

fn number(captures: &regex::Captures<'_>, group: usize) -> u64 {
    captures.get(group).and_then(|found| found.as_str().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
