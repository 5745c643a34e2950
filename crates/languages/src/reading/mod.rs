//! Parses a run's output and reports: how many tests there are, and the result of each.
//!
//! The code under test wrote all of it, and may print fake summaries. So a summary must look genuine: in its place, and
//! with consistent numbers where they can be checked. The last one counts, and nothing here turns a failure into a
//! pass; the exit code decides that. If the names of tests do not match the counts, they are ignored: those of a program
//! whose tests are counted by themselves, else all.

mod several;
mod unloaded;

use std::collections::BTreeSet;

use crate::counts::maven;
use crate::report;
use crate::runner::{PrintedResult, SummaryForm, TestRunner};
use crate::runs::TestRuns;
use crate::table::RUNNERS;
use crate::text::plain;
use journeyman_order::bounds::{LARGEST_FILE, LONGEST_LINE, MOST_LISTED};
use journeyman_order::comparison::RunnerName;
use journeyman_order::{TestCaseStatus, TestCases, TestCounts, TestReport};

/// Limit of lines to parse, from the end. Every reader scans each of them.
const MOST_LINES: usize = 400_000;

/// Parses an output, and a report if there is one. Large outputs take seconds, so never call it on a thread that others
/// wait for. A report with tests in it takes precedence, because it names them exactly. Its names count only if it
/// claims no more than the output does.
///
/// An output longer than 16 MiB or 400,000 lines is read from its end, as by [`read_end`].
pub fn read(output: &str, report: Option<&[u8]>) -> TestReport {
    let reports: Vec<Vec<u8>> = report.map(<[u8]>::to_vec).into_iter().collect();
    read_part(output, &reports, false, &TestRuns::default())
}

/// The same for a command known to run these, one after the other. Runs of one runner are combined.
pub fn read_runs(output: &str, reports: &[Vec<u8>], runs: &TestRuns) -> TestReport {
    read_part(output, reports, false, runs)
}

/// Parses the end of an output whose start is lost. Earlier lines are missing, so its names of tests are ignored. So
/// are counts that are sums over parts of a run.
pub fn read_end(output: &str, reports: &[Vec<u8>]) -> TestReport {
    read_part(output, reports, true, &TestRuns::default())
}

fn read_part(output: &str, reports: &[Vec<u8>], is_cut: bool, runs: &TestRuns) -> TestReport {
    let start = output.floor_char_boundary(output.len().saturating_sub(LARGEST_FILE));
    let clean = plain(output.get(start..).unwrap_or_default());
    let lines: Vec<&str> = clean.lines().collect();
    let is_cut = is_cut || start > 0 || lines.len() > MOST_LINES;
    let lines = lines.get(lines.len().saturating_sub(MOST_LINES)..).unwrap_or_default();
    let printed = RUNNERS.iter().filter_map(|runner| {
        let printed = runner.printed?;
        Some((*runner, printed, (printed.read)(lines)?))
    });
    let from_report = report::read(reports, maven::ended_well(lines));
    // That no test ran is believed where nothing else counts any.
    let (empty, from_report) = match from_report {
        Some(report) if report.counts == TestCounts::default() => (Some(report.counts), None),
        found => (None, found),
    };
    let printed: Vec<_> = printed.collect();
    let last = printed.iter().max_by_key(|(_, _, summary)| summary.line).map(|(runner, _, _)| *runner);
    let reported = |runner: &TestRunner| from_report.as_ref().map_or(0, |report| report.runs_of(runner.name));
    let is_of_many =
        |runner: &TestRunner| !is_cut && reported(runner) > 0 && last.is_some_and(|last| reported(last) > 0);
    // A sum that the code under test prints may take the place of the runner's, but does not take it back.
    let is_less_red = from_report.as_ref().is_some_and(|report| {
        printed.iter().any(|(runner, PrintedResult { read, form }, summary)| {
            let is_named = runner.name == report.named_by || reported(runner) > 0 || runs.count(runner) > 0;
            let is_own = *form != SummaryForm::Parts && (is_named || Some(*runner) == last);
            let is_redder = |counts: TestCounts| counts.failed > report.counts.failed;
            let mut sums = several::sums(lines, *read, summary).enumerate();
            is_own && sums.any(|(nth, (counts, _))| nth > MOST_LISTED || counts.is_some_and(is_redder))
        })
    });
    let wanted = printed.into_iter().filter(|(runner, _, _)| Some(*runner) == last || is_of_many(runner));
    let summaries = wanted.map(|(runner, printed, summary)| {
        if is_cut {
            // Only what is said at the very end is known.
            let counts = summary.counts.filter(|_| printed.form != SummaryForm::Parts);
            return (runner, several::RunnerSummary { counts, cases: None, ..summary }, false);
        }
        // A report knows of runs behind scripts, and of the processes of a task of Rake.
        let expected = runs.count(runner).max(reported(runner).min(MOST_LISTED));
        let (summary, are_several) = several::together(lines, printed, summary, expected);
        (runner, summary, are_several)
    });
    // Runners that have all reported are read together.
    let from_output = summaries
        .reduce(|(runner, one, _), (_, other, _)| (runner, several::of_two_runners(one, other), true));
    let are_several = from_output.as_ref().is_some_and(|(_, _, are_several)| *are_several);
    let mut unloaded = unloaded::read(lines);
    if let Some(report) = &from_report {
        unloaded.retain(|name| !report.knows(name));
        unloaded.extend(report.unloaded.iter().cloned());
    }
    // With several runs, the report of one belongs to the last one.
    let has_several = |runs: usize| runs > 1 || reports.len() > 1;
    let from_report = from_report.filter(|report| !are_several || has_several(report.runs.len()));
    let named = match (&from_report, &from_output) {
        (Some(report), output) => {
            let is_believed = output.as_ref().is_none_or(|(_, output, _)| {
                output.is_whole && output.counts.is_none_or(|counts| report.claims_no_more(&counts))
            });
            let mut cases = report.cases.clone().filter(|_| is_believed && !is_less_red);
            // The runner may know better.
            let known: BTreeSet<&String> = report.failing.iter().collect();
            let printed = output.iter().flat_map(|(_, output, _)| &output.failing);
            for name in printed.filter(|name| !known.contains(name)) {
                if let Some(status) = cases.as_mut().and_then(|tests| tests.get_mut(name)) {
                    *status = TestCaseStatus::Failed;
                }
            }
            cases.map(|tests| (report.named_by, tests, report.programs.clone()))
        }
        (None, Some((runner, output, _))) => {
            output.cases.clone().map(|tests| (runner.name, tests, output.programs.clone()))
        }
        (None, None) => None,
    };
    let (cases, programs) = named
        .map(|(named_by, tests, programs)| {
            (TestCases { named_by: RunnerName::new(named_by), tests }, programs)
        })
        .unzip();
    let (counts, failing) = match (from_report, from_output) {
        (Some(report), Some((_, output, _))) if report.failing.is_empty() => {
            (Some(report.counts), output.failing)
        }
        (Some(report), _) => (Some(report.counts), report.failing),
        (None, Some((_, output, _))) => (output.counts, output.failing),
        (None, None) => (empty, Vec::new()),
    };
    let programs = programs.unwrap_or_default();
    TestReport { counts, failing: tidy(failing), cases, programs, unloaded: tidy(unloaded) }
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

#[cfg(test)]
mod javascript_tests;
#[cfg(test)]
mod php_tests;
#[cfg(test)]
mod report_tests;
#[cfg(test)]
mod ruby_tests;
#[cfg(test)]
mod tests;
