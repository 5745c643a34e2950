//! The report as text for a terminal. Pure.

use std::fmt::Write as _;

use super::record::CaseRecord;
use super::report::{AttemptLine, EvalReport};
use super::statistics::{Distribution, Proportion, percent};
use crate::cli::live::line;

/// Larger suites are not listed case by case.
const MOST_LISTED: usize = 40;

pub(super) fn text(report: &EvalReport) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, report);
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

fn write(out: &mut String, report: &EvalReport) -> std::fmt::Result {
    let setting = &report.setting;
    if let Some(notice) = &report.notice {
        writeln!(out, "{notice}\n")?;
    }
    writeln!(out, "suite      {}, {} cases", setting.suite, setting.cases)?;
    writeln!(out, "agent      {}", agent(report))?;
    writeln!(out, "pipeline   {}", setting.pipeline)?;
    writeln!(out, "run        {} at a time, {:.0} s in all", setting.parallel, setting.seconds)?;
    if setting.interrupted {
        writeln!(
            out,
            "           interrupted after {} cases: the figures cover only these",
            report.cases.len()
        )?;
    }
    if report.cases.iter().any(|record| record.replay.is_some()) {
        replays(out, &report.cases)?;
    } else if report.cases.len() <= MOST_LISTED {
        cases(out, &report.cases)?;
    }
    writeln!(out, "\n{:14}{:>13}  {:>7}   95 % interval (Wilson)", "", "cases", "share")?;
    writeln!(out, "{:14}{}", "verified", share(&report.verified))?;
    writeln!(out, "{:14}{}", "hidden tests", share(&report.hidden))?;
    writeln!(out, "{:14}{}", "false green", share(&report.false_green))?;
    if let Some(expected) = &report.expectation {
        let nearness = if expected.within { "within" } else { "NOT within" };
        writeln!(
            out,
            "{:14}{} ± {:.2} points (three standard deviations); measured {}: {nearness}",
            "expected",
            percent(expected.rate),
            100.0 * expected.three_deviations,
            report.verified.percent(),
        )?;
    }
    if let Some(published) = &report.published {
        writeln!(out, "{:14}{:.0} % in all", "published", published.overall)?;
    }
    let outcomes: Vec<String> =
        report.outcomes.iter().map(|(word, count)| format!("{count} {word}")).collect();
    writeln!(out, "{:14}{}", "ends", or_none(&outcomes.join(", ")))?;
    attempts(out, &report.attempts)?;
    writeln!(
        out,
        "\n{:14}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "total", "mean", "median", "of ten 9", "most"
    )?;
    writeln!(out, "{:14}{}", "dollars", distribution(&report.usd, 3))?;
    writeln!(out, "{:14}{}", "seconds", distribution(&report.seconds, 1))?;
    if let (Some(published), true) = (&report.published, report.usd_of_three.count > 0) {
        writeln!(
            out,
            "\nthree attempts cost ${:.3} on average; published: ${:.2}, and the simulated prices are made after it",
            report.usd_of_three.mean, published.usd_of_three
        )?;
    }
    let rounds: Vec<String> =
        report.rounds.iter().map(|(rounds, cases)| format!("{rounds}: {cases}")).collect();
    writeln!(out, "\ncases by attempts      {}", or_none(&rounds.join(", ")))?;
    let failures: Vec<String> =
        report.failures.iter().map(|(kind, count)| format!("{} {count}", kind.replace('_', " "))).collect();
    writeln!(out, "failed attempts        {}", or_none(&failures.join(", ")))?;
    for (name, said) in added_lines(report) {
        writeln!(out, "{name:22} {said}")?;
    }
    for trouble in &report.troubles {
        writeln!(out, "could not be run       {}", line(trouble, 200))?;
    }
    Ok(())
}

/// The agent in one line.
pub(super) fn agent(report: &EvalReport) -> String {
    let setting = &report.setting;
    match &setting.simulation {
        None => setting.agent.clone(),
        Some(simulation) => {
            let rates: Vec<String> =
                simulation.rates.percentages().iter().map(|rate| format!("{rate} %")).collect();
            let mut line = format!("simulated: {} by attempt, seed {}", rates.join(", "), simulation.seed);
            if simulation.stubborn > 0.0 {
                let _ = write!(line, ", {} % stubborn", simulation.stubborn);
            }
            if let Some(guided) = simulation.guided {
                let _ = write!(line, ", {guided} % after guidance");
            }
            line
        }
    }
}

fn cases(out: &mut String, cases: &[CaseRecord]) -> std::fmt::Result {
    let width = cases.iter().map(|record| record.case.chars().count()).max().unwrap_or(0).clamp(4, 30);
    writeln!(
        out,
        "\n{:width$}  {:11} {:13} {:>8} {:>9} {:>8}  what was wrong",
        "case", "Journeyman", "hidden tests", "attempts", "dollars", "seconds"
    )?;
    for record in cases {
        let hidden = if record.false_green { "FALSE GREEN" } else { record.hidden.word() };
        writeln!(
            out,
            "{:width$}  {:11} {:13} {:>8} {:>9.3} {:>8.1}  {}",
            line(&record.case, width),
            record.outcome,
            hidden,
            record.attempts.len(),
            record.usd,
            record.seconds,
            line(&record.wrong(), 60),
        )?;
    }
    Ok(())
}

/// For real fixes: the verdicts on each form, and how often they are right.
fn replays(out: &mut String, cases: &[CaseRecord]) -> std::fmt::Result {
    let replays: Vec<_> = cases.iter().filter_map(|record| Some((record, record.replay.as_ref()?))).collect();
    let width =
        replays.iter().map(|(_, replay)| replay.repository.chars().count()).max().unwrap_or(0).clamp(10, 34);
    writeln!(
        out,
        "\n{:width$}  {:11} {:10} {:11} {:6} {:>8}  environment; what was wrong",
        "repository", "language", "form", "Journeyman", "proof", "seconds"
    )?;
    for (record, replay) in &replays {
        let word = if record.false_green { "FALSE GREEN" } else { &record.outcome };
        let because = record.because.as_deref().map(|because| format!("; {because}")).unwrap_or_default();
        writeln!(
            out,
            "{:width$}  {:11} {:10} {:11} {:6} {:>8.1}  {}",
            line(&replay.repository, width),
            line(&replay.language, 11),
            replay.variant.word(),
            word,
            if replay.proven { "proven" } else { "-" },
            record.seconds,
            line(&format!("{}{because}", replay.environment.as_deref().unwrap_or("none")), 120),
        )?;
    }
    let forms: std::collections::BTreeSet<_> = replays.iter().map(|(_, replay)| replay.variant).collect();
    for form in forms {
        let of_form = || replays.iter().filter(|(_, replay)| replay.variant == form);
        let verified = of_form().filter(|(record, _)| record.is_verified()).count();
        let proven = of_form().filter(|(_, replay)| replay.proven).count();
        writeln!(out, "{:14}{verified} of {} verified, {proven} proven", form.word(), of_form().count())?;
    }
    Ok(())
}

fn attempts(out: &mut String, lines: &[AttemptLine]) -> std::fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    let is_expected = lines.iter().any(|line| line.expected.is_some());
    let told = |share: Option<f64>| match share {
        Some(share) => format!("{:>10}", percent(share)),
        None => String::new(),
    };
    let heading = if is_expected { format!("{:>10}", "expected") } else { String::new() };
    writeln!(
        out,
        "\n{:18}{:>8}{:>8}{:>9}  {:16}{heading}{:>10}{heading}",
        "attempt", "reached", "passed", "share", "95 % interval", "so far"
    )?;
    for known in lines {
        writeln!(
            out,
            "{:18}{:>8}{:>8}{:>9}  {:16}{}{:>10}{}",
            known.name(),
            known.passed.of,
            known.passed.count,
            known.passed.percent(),
            known.passed.interval(),
            told(known.expected),
            known.cumulative.percent(),
            told(known.expected_cumulative),
        )?;
    }
    Ok(())
}

/// What was gained beyond plain rounds, one line each.
pub(super) fn added_lines(report: &EvalReport) -> Vec<(&'static str, String)> {
    let added = &report.added;
    let mut lines = Vec::new();
    if added.stopped_early > 0 {
        let said = format!(
            "the same failure came twice running in {}; {} not run: ${:.2} at the mean price of a round",
            plural(added.stopped_early, "set of rounds", "sets of rounds"),
            plural(added.rounds_saved, "round was", "rounds were"),
            added.usd_saved
        );
        lines.push(("early stops", said));
    }
    if added.handed_over > 0 {
        let said = format!(
            "of {} handed over, in {} an earlier round passes more tests than the last: {} more in all",
            plural(added.handed_over, "case", "cases"),
            added.best_was_earlier,
            plural(added.tests_gained, "test", "tests"),
        );
        lines.push(("best round", said));
    }
    if added.flagged > 0 {
        lines.push((
            "flagged",
            format!("a tech lead asked for a person in {}", plural(added.flagged, "case", "cases")),
        ));
    }
    if added.guided > 0 {
        let share = Proportion::new(added.verified_without, report.cases.len() as u64);
        let said = format!(
            "of {} advised, {} verified after it, with {} more and ${:.2}; verified without advice {} ({}), with it {} ({})",
            plural(added.guided, "case", "cases"),
            plural(added.rescued.count, "was", "were"),
            plural(added.guided_rounds, "round", "rounds"),
            added.guidance_usd,
            share.count,
            share.percent(),
            report.verified.count,
            report.verified.percent(),
        );
        lines.push(("guidance", said));
    }
    lines
}

fn plural(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn share(share: &Proportion) -> String {
    let row = format!("{:>13}  {:>7}   {}", share.counted(), share.percent(), share.interval());
    if share.of == 0 { format!("{:>13}", share.counted()) } else { row }
}

fn distribution(values: &Distribution, digits: usize) -> String {
    [values.total, values.mean, values.median, values.p90, values.max]
        .map(|value| format!("{value:>10.digits$}"))
        .concat()
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
