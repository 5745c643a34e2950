//! The report as one page without scripts or external resources, in light and dark. Pure.

use askama::Template;

use super::record::CaseRecord;
use super::report::{AttemptLine, EvalReport};
use super::table;
use crate::order::bounds::MOST_LISTED;

/// Length of the longest bar, in the page's units.
const LONGEST: f64 = 310.0;

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
    /// CSS class: `wrong`, or empty.
    class: &'static str,
    bars: Vec<ChartBar>,
}

/// A bar with an interval around its end and a mark for the expected value.
#[derive(Default)]
struct ChartBar {
    name: String,
    length: f64,
    interval: Option<(f64, f64)>,
    expected: Option<f64>,
    /// The label after the bar, and its position.
    said: String,
    said_at: f64,
}

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
    let share = |line: &AttemptLine| {
        let [length, low, high] =
            [line.passed.rate, line.passed.low, line.passed.high].map(|share| LONGEST * share);
        let expected = line.expected.map(|share| LONGEST * share);
        ChartBar {
            name: line.name(),
            length,
            interval: Some((low, high)),
            expected,
            said: line.passed.percent(),
            said_at: high.max(expected.unwrap_or_default()),
        }
    };
    let legend = if report.expectation.is_some() { " The orange mark is what was expected." } else { "" };
    // Numbers of attempts that no case took get a bar too.
    let [fewest, most] = [report.rounds.keys().next(), report.rounds.keys().next_back()];
    let rounds = (fewest.copied().unwrap_or(0)..=most.copied().unwrap_or(0))
        .map(|number| (number.to_string(), report.rounds.get(&number).copied().unwrap_or(0)))
        .collect();
    let mut kinds: Vec<(String, u64)> =
        report.failures.iter().map(|(kind, count)| (kind.replace('_', " "), *count)).collect();
    let mut ends: Vec<(String, u64)> =
        report.outcomes.iter().map(|(word, count)| (word.clone(), *count)).collect();
    ends.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let plot = |title, about, bars| EvalPlot { title, about, class: "", bars };
    vec![
        plot(
            "Success by attempt",
            format!(
                "Of the cases that reach an attempt, the share that passes. Whiskers: 95 % (Wilson).{legend}"
            ),
            report.attempts.iter().map(share).collect(),
        ),
        plot(
            "Attempts a case",
            "Cases by how often the worker was sent to work.".to_owned(),
            counted(rounds),
        ),
        EvalPlot {
            title: "Kinds of failure",
            about: "Failed attempts by what their checks said.".to_owned(),
            class: "wrong",
            bars: counted(kinds),
        },
        plot("How cases ended", "Cases by how they ended.".to_owned(), counted(ends)),
    ]
}

fn counted(counts: Vec<(String, u64)>) -> Vec<ChartBar> {
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let bar = |(name, count): (String, u64)| {
        let length = LONGEST * count as f64 / most as f64;
        ChartBar { name, length, said: count.to_string(), said_at: length, ..ChartBar::default() }
    };
    counts.into_iter().map(bar).collect()
}
