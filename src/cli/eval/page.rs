//! The report as one page: no script, nothing to fetch, light and dark. Pure.

use askama::Template;

use super::chart::{self, ChartBar};
use super::report::{AttemptLine, EvalReport};
use super::table;
use crate::order::bounds::MOST_LISTED;

#[derive(Template)]
#[template(path = "eval/report.html")]
struct EvalPage<'a> {
    report: &'a EvalReport,
    agent: String,
    verified: EvalTile,
    hidden: EvalTile,
    false_green: EvalTile,
    expected: Option<String>,
    plots: Vec<EvalPlot>,
    attempts: Vec<AttemptRow>,
    added: Vec<(&'static str, String)>,
    cases: Vec<CaseRow>,
    left_out: usize,
}

struct EvalTile {
    rate: String,
    count: String,
    interval: String,
}

struct EvalPlot {
    title: &'static str,
    about: String,
    svg: String,
    /// Another below it, with what stands between.
    second: Option<(&'static str, String)>,
}

struct AttemptRow {
    name: String,
    reached: u64,
    passed: u64,
    rate: String,
    interval: String,
    expected: String,
    so_far: String,
    expected_so_far: String,
}

struct CaseRow {
    name: String,
    title: String,
    outcome: String,
    hidden: &'static str,
    /// For the page's colours: `good`, `bad` or `soft`.
    mark: &'static str,
    attempts: usize,
    usd: String,
    seconds: String,
    wrong: String,
}

/// The whole page.
pub(super) fn html(report: &EvalReport) -> anyhow::Result<String> {
    let (cases, left_out) = cases(report);
    let page = EvalPage {
        report,
        agent: table::agent(report),
        verified: tile(&report.verified),
        hidden: tile(&report.hidden),
        false_green: tile(&report.false_green),
        expected: report.expectation.map(|expected| {
            format!(
                "expected {} ± {}: {}",
                table::percent(expected.rate),
                table::points(expected.three_deviations),
                if expected.within { "within" } else { "NOT within" }
            )
        }),
        plots: plots(report),
        attempts: report.attempts.iter().map(attempt_row).collect(),
        added: table::added_lines(report),
        cases,
        left_out,
    };
    Ok(page.render()?)
}

fn tile(share: &super::statistics::Proportion) -> EvalTile {
    if share.of == 0 {
        return EvalTile { rate: "–".to_owned(), count: "none".to_owned(), interval: String::new() };
    }
    EvalTile {
        rate: table::percent(share.rate),
        count: format!("{} of {}", share.count, share.of),
        interval: table::interval(share),
    }
}

fn plots(report: &EvalReport) -> Vec<EvalPlot> {
    let bar = |line: &AttemptLine| ChartBar {
        name: if line.guided { format!("guided {}", line.attempt) } else { line.attempt.to_string() },
        said: table::percent(line.passed.rate),
        height: line.passed.rate,
        interval: (line.passed.low, line.passed.high),
        expected: line.expected,
    };
    let bars: Vec<ChartBar> = report.attempts.iter().map(bar).collect();
    let legend = if report.expectation.is_some() { " The orange mark is what was expected." } else { "" };
    // A number of attempts that no case took has its place too.
    let numbers =
        report.rounds.keys().min().copied().unwrap_or(0)..=report.rounds.keys().max().copied().unwrap_or(0);
    let rounds: Vec<(String, u64)> = numbers
        .map(|number| (number.to_string(), report.rounds.get(&number).copied().unwrap_or(0)))
        .collect();
    let mut kinds: Vec<(String, u64)> =
        report.failures.iter().map(|(kind, count)| (kind.replace('_', " "), *count)).collect();
    let mut ends: Vec<(String, u64)> =
        report.outcomes.iter().map(|(word, count)| (word.clone(), *count)).collect();
    ends.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    vec![
        EvalPlot {
            title: "Success by attempt",
            about: format!(
                "Of the cases that reach an attempt, the share that passes. Whiskers: 95 % (Wilson).{legend}"
            ),
            svg: chart::shares("Success by attempt", &bars),
            second: None,
        },
        EvalPlot {
            title: "Attempts a case",
            about: "Cases by how often the worker was sent to work.".to_owned(),
            svg: chart::counts("Attempts a case", "attempts", &rounds),
            second: None,
        },
        EvalPlot {
            title: "Kinds of failure",
            about: "Failed attempts by what their checks said.".to_owned(),
            svg: chart::kinds("Kinds of failure", "wrong", &kinds),
            second: Some(("Cases by how they ended.", chart::kinds("How cases ended", "soft", &ends))),
        },
        EvalPlot {
            title: "Cost a case",
            about: format!(
                "${:.2} in all; mean ${:.3} (the orange line), median ${:.3}, nine of ten at most ${:.3}.",
                report.usd.total, report.usd.mean, report.usd.median, report.usd.p90
            ),
            svg: chart::histogram("Cost a case", "dollars", &report.usd.bins, report.usd.mean),
            second: None,
        },
        EvalPlot {
            title: "Time a case",
            about: format!(
                "Mean {:.1} s (the orange line), median {:.1} s, nine of ten at most {:.1} s; {} at a time.",
                report.seconds.mean, report.seconds.median, report.seconds.p90, report.setting.parallel
            ),
            svg: chart::histogram("Time a case", "seconds", &report.seconds.bins, report.seconds.mean),
            second: None,
        },
    ]
}

fn attempt_row(line: &AttemptLine) -> AttemptRow {
    AttemptRow {
        name: table::attempt_name(line),
        reached: line.passed.of,
        passed: line.passed.count,
        rate: table::percent(line.passed.rate),
        interval: table::interval(&line.passed),
        expected: line.expected.map(table::percent).unwrap_or_default(),
        so_far: table::percent(line.cumulative.rate),
        expected_so_far: line.expected_cumulative.map(table::percent).unwrap_or_default(),
    }
}

/// The rows, and how many cases are not among them.
fn cases(report: &EvalReport) -> (Vec<CaseRow>, usize) {
    let mut listed: Vec<_> = report.cases.iter().collect();
    if listed.len() > MOST_LISTED {
        listed.sort_by_key(|record| (!record.false_green, record.outcome == "verified"));
        listed.truncate(MOST_LISTED);
    }
    let left_out = report.cases.len() - listed.len();
    let rows = listed.into_iter().map(|record| {
        let mark = match record.outcome.as_str() {
            _ if record.false_green => "bad",
            "verified" => "good",
            _ => "soft",
        };
        CaseRow {
            name: record.case.clone(),
            title: record.title.clone(),
            outcome: record.outcome.clone(),
            hidden: if record.false_green { "false green" } else { table::hidden(record.hidden) },
            mark,
            attempts: record.attempts.len(),
            usd: format!("{:.3}", record.usd),
            seconds: format!("{:.1}", record.seconds),
            wrong: table::wrong(record).chars().take(300).collect(),
        }
    });
    (rows.collect(), left_out)
}
