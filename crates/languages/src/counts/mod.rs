//! Parses a runner's output or JUnit report: how many tests there are, and the result of each.
//!
//! The code under test wrote all of it, and may print fake summaries. So a summary must look genuine: in its place, and
//! with consistent numbers where they can be checked. The last one counts, and nothing here turns a failure into a
//! pass; the exit code decides that. If the names of tests do not match the counts, all names are ignored.

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

pub use cases::counted_together;
pub use junit::reports_as_one;

use super::text::plain;
use journeyman_order::bounds::{LARGEST_FILE, LONGEST_LINE, MOST_LISTED};
use journeyman_order::comparison::TestRunnerName;
use journeyman_order::{TestCaseStatus, TestCases, TestCounts, TestReport};

/// Limit of lines to parse, from the end. Every reader scans each of them.
const MOST_LINES: usize = 400_000;

struct RunnerSummary {
    counts: Option<TestCounts>,
    failing: Vec<String>,
    /// Its line number. With several runners, the last one to report is the one that was requested.
    line: usize,
    runner: TestRunnerName,
    /// Every test by name. `None` if the runner does not name all, or names others than it counts.
    cases: Option<BTreeMap<String, TestCaseStatus>>,
    /// Whether it ran all tests: some runners stop at a failure.
    is_whole: bool,
}

/// The summary of a complete run, without names of tests.
fn summary(runner: TestRunnerName, counts: TestCounts, line: usize) -> RunnerSummary {
    RunnerSummary { counts: Some(counts), failing: Vec::new(), line, runner, cases: None, is_whole: true }
}

/// The last line with a match, and the match.
fn last_of<'l, T>(lines: &[&'l str], find: impl Fn(&'l str) -> Option<T>) -> Option<(usize, T)> {
    lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, find(line)?)))
}

impl RunnerSummary {
    /// The part of it that is valid if the start of the output is missing.
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

/// Parses an output, and the JUnit report if there is one. Large outputs take seconds, so never call it on a thread
/// that others wait for. A report with tests in it takes precedence, because it names them exactly. Its names count
/// only if it claims no more than the output does.
///
/// An output longer than 16 MiB or 400,000 lines is read from its end, as by [`read_end`].
pub fn read(output: &str, junit: Option<&[u8]>) -> TestReport {
    read_part(output, junit, false, &[])
}

/// The same for a command known to run these, one after the other. Runs of one runner are combined.
pub fn read_runs(output: &str, junit: Option<&[u8]>, runs: &[TestRunnerName]) -> TestReport {
    read_part(output, junit, false, runs)
}

/// Parses the end of an output whose start is lost. Earlier lines are missing, so its names of tests are ignored. So
/// are counts that are sums over parts of a run.
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
    // With several runs, the report belongs to the last one.
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

/// Texts like `3 failed, 2 passed`: every number with the word after it.
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
