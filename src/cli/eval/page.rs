//! The report as one page: no script, nothing to fetch, light and dark. Pure.

use askama::Template;

use super::chart::{self, ChartBar};
use super::record::CaseRecord;
use super::report::{AttemptLine, EvalReport};
use super::table;
use crate::order::bounds::MOST_LISTED;

#[derive(Template)]
#[template(path = "eval/report.html")]
struct EvalPage<'a> {
    report: &'a EvalReport,
    agent: String,
    plots: Vec<EvalPlot>,
    added: Vec<(&'static str, String)>,
    cases: Vec<&'a CaseRecord>,
    left_out: usize,
}

struct EvalPlot {
    title: &'static str,
    about: String,
    svg: String,
    /// Another below it, with what stands between.
    second: Option<(&'static str, String)>,
}

/// The whole page.
pub(super) fn html(report: &EvalReport) -> anyhow::Result<String> {
    let mut cases: Vec<&CaseRecord> = report.cases.iter().collect();
    if cases.len() > MOST_LISTED {
        cases.sort_by_key(|record| (!record.false_green, record.is_verified()));
        cases.truncate(MOST_LISTED);
    }
    let page = EvalPage {
        report,
        agent: table::agent(report),
        plots: plots(report),
        added: table::added_lines(report),
        left_out: report.cases.len() - cases.len(),
        cases,
    };
    Ok(page.render()?)
}

fn plots(report: &EvalReport) -> Vec<EvalPlot> {
    let bar = |line: &AttemptLine| ChartBar {
        name: if line.guided { format!("guided {}", line.attempt) } else { line.attempt.to_string() },
        said: line.passed.percent(),
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
