//! Describes an environment to people: what was found and why, how long it took, and whether the tests pass.
//!
//! May know: plans, surveys, and that all their texts are foreign. Must never know: the terminal.

use std::fmt::Write as _;

use super::super::live::line;
use super::checkout::{LocalCheckout, UncommittedFiles};
use super::outcome::EnvironmentOutcome;
use super::pin::PinnedFile;
use crate::engine::{EnvironmentSurvey, SETTINGS_FILE, judged_by};
use crate::environment::EnvironmentPlan;
use crate::order::bounds::LONGEST_NAME;
use crate::order::test_run::CommandRun;
use crate::order::{Exit, IsolationMode};
use crate::verify::{points_elsewhere, tail, telling_line};

/// Longest sentence shown, in characters.
const SENTENCE: usize = 400;
const MOST_FAILING: usize = 10;
/// Lines of output to show if the setup fails.
const MOST_LINES: usize = 8;
/// Lines of test output to show if no tests were counted in it.
const MOST_LINES_OF_TESTS: usize = 15;

pub(super) fn heading(checkout: &LocalCheckout, uncommitted: &UncommittedFiles) -> String {
    let branch =
        checkout.branch.as_ref().map(|branch| format!(" ({})", line(branch, 60))).unwrap_or_default();
    let mut text = format!("{} at {}{branch}\n", checkout.folder.display(), checkout.commit.short());
    match uncommitted.files {
        0 => {}
        1 => text.push_str("  1 file differs from this commit; what is not committed is not used\n"),
        files => {
            let _ =
                writeln!(text, "  {files} files differ from this commit; what is not committed is not used");
        }
    }
    if uncommitted.settings {
        let _ = writeln!(text, "  {SETTINGS_FILE} is one of them: commit it to have it used");
    }
    text
}

pub(super) fn found(plan: &EnvironmentPlan, mode: IsolationMode, is_copied: bool) -> String {
    let mut rows: Vec<(&str, String)> = vec![("source", plan.source.to_string())];
    let place = match &plan.image {
        Some(image) => format!("the image {image}"),
        None => "this machine's own system and toolchains".to_owned(),
    };
    let walls = match mode {
        IsolationMode::Bubblewrap => "in a sandbox",
        IsolationMode::None => "WITHOUT a sandbox, as sandbox.mode says",
    };
    rows.push(("place", format!("{place}, {walls}")));
    rows.extend(plan.required_tools.iter().map(|tool| ("tools", tool.to_string())));
    rows.extend(
        plan.services.iter().map(|service| ("services", format!("{}: {}", service.name, service.image))),
    );
    for setup in &plan.setup {
        let mut lines = setup.command.trim().lines();
        let because = format!("  ({})", setup.because);
        rows.push(("setup", format!("{}{because}", line(lines.next().unwrap_or_default(), LONGEST_NAME))));
        rows.extend(lines.map(|more| ("setup", line(more, LONGEST_NAME))));
    }
    rows.extend(
        plan.test.as_ref().map(|test| ("test", format!("{}  ({})", test.command.trim(), test.because))),
    );
    rows.extend(plan.notes.iter().cloned().chain(plan.note_of_projects()).map(|note| ("note", note)));
    if is_copied {
        rows.push((
            "note",
            "no overlays can be mounted here: each run works on a copy of what is installed".to_owned(),
        ));
    }
    let mut text = "\nFound\n".to_owned();
    let mut before = "";
    for (name, value) in &rows {
        let shown = if *name == before && *name != "note" { "" } else { name };
        let _ = writeln!(text, "  {shown:<10}{}", line(value, SENTENCE));
        before = name;
    }
    text
}

pub(super) fn setup(plan: &EnvironmentPlan, survey: &EnvironmentSurvey) -> String {
    let mut text = "\nSetup\n".to_owned();
    let is_good = |run: &CommandRun| run.exit == Exit::Code(0);
    match &survey.report.setup {
        None if plan.setup.is_empty() => text.push_str("  ✔ nothing to install\n"),
        // The setup never started: something else failed first.
        None => text.push_str("  ✘ not run\n"),
        Some(whole) if survey.report.kept => {
            let _ = writeln!(
                text,
                "  ✔ installed before, in {} then; the same lockfiles install nothing again",
                took(whole.duration_seconds)
            );
        }
        Some(whole) => {
            let steps = if survey.steps.is_empty() { std::slice::from_ref(whole) } else { &survey.steps };
            for run in steps {
                let mark = if is_good(run) { "✔" } else { "✘" };
                let exit = if is_good(run) { String::new() } else { format!("{}, ", run.exit) };
                let command = first_line(&run.command, LONGEST_NAME);
                let _ = writeln!(text, "  {mark} {command}  ({exit}{})", took(run.duration_seconds));
            }
        }
    }
    if let Some(printed) = &survey.setup_failure {
        text.push_str(&last_lines(&tail(&printed.text), MOST_LINES));
    }
    text
}

/// The end of the output, without lines that only refer elsewhere.
fn last_lines(printed: &str, most: usize) -> String {
    let is_shown = |line: &&str| !line.trim().is_empty() && !points_elsewhere(line.trim());
    let lines: Vec<&str> = printed.lines().filter(is_shown).collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(most));
    shown.map(|shown| format!("    │ {}\n", line(shown, LONGEST_NAME))).collect()
}

pub(super) fn tests(
    plan: &EnvironmentPlan,
    survey: &EnvironmentSurvey,
    outcome: &EnvironmentOutcome,
) -> String {
    let mut text = "\nTests\n".to_owned();
    let seconds = survey.report.baseline.as_ref().map(|baseline| took(baseline.run.duration_seconds));
    let seconds = seconds.map(|seconds| format!(" in {seconds}")).unwrap_or_default();
    let exit = survey.report.baseline.as_ref().map(|baseline| baseline.run.exit.to_string());
    let exit = exit.unwrap_or_default();
    let counts = survey.reading.counts;
    match outcome {
        EnvironmentOutcome::Passed => {
            let counted = counts.map_or_else(
                || "how many ran is not told".to_owned(),
                |counts| format!("{} passed{}", counts.passed, skipped(counts.skipped)),
            );
            let _ = writeln!(text, "  ✔ they pass{seconds}: {counted}");
        }
        EnvironmentOutcome::Failed => {
            match counts {
                Some(counts) if counts.failed == 0 => {
                    let _ = writeln!(
                        text,
                        "  ✘ the command ends with {exit}{seconds}, though no test fails: {} passed{}",
                        counts.passed,
                        skipped(counts.skipped)
                    );
                }
                Some(counts) => {
                    let (failed, all) = (counts.failed, counts.ran());
                    let skipped = skipped(counts.skipped);
                    let _ = writeln!(text, "  ✘ {failed} of {all} fail{seconds}{skipped}");
                }
                None => {
                    let _ = writeln!(text, "  ✘ they end with {exit}{seconds}; how many ran is not told");
                }
            }
            let failing = &survey.reading.failing;
            for name in failing.iter().take(MOST_FAILING) {
                let _ = writeln!(text, "    │ {}", line(name, LONGEST_NAME));
            }
            if let Some(more) = failing.len().checked_sub(MOST_FAILING).filter(|more| *more > 0) {
                let _ = writeln!(text, "    │ and {more} more");
            }
            if counts.is_none() && failing.is_empty() {
                text.push_str(&last_lines(&survey.tail, MOST_LINES_OF_TESTS));
                let _ = writeln!(
                    text,
                    "  Whether any test ran is not told. If none did, install what is missing as `setup` in {SETTINGS_FILE}, or \
                     on this machine.\n  `--json` has all that was printed."
                );
                return text;
            }
            if failing.is_empty()
                && let Some(told) = telling_line(&survey.tail)
            {
                let _ = writeln!(text, "    │ {}", line(&told, SENTENCE));
            }
            if counts.is_some_and(|counts| counts.passed == 0) {
                let _ = writeln!(
                    text,
                    "  No test passes, so it is not known whether the environment works. Install what is missing as `setup` in\n  \
                     {SETTINGS_FILE}, or fix these tests."
                );
                return text;
            }
            let _ = writeln!(
                text,
                "  The environment works. A change is verified only where the whole command passes: mend these tests, or \
                 name a `test`\n  in {SETTINGS_FILE} that leaves them out, or accept: no_new_failures."
            );
        }
        EnvironmentOutcome::SetupFailed(problem)
        | EnvironmentOutcome::CannotRun(problem)
        | EnvironmentOutcome::NoTests(problem) => {
            let has_failed = matches!(outcome, EnvironmentOutcome::SetupFailed(_));
            let what = match has_failed {
                true => "not run, since the setup failed".to_owned(),
                false => line(&problem.what, SENTENCE),
            };
            let _ = writeln!(text, "  ✘ {what}");
            if let Some(told) = &problem.line {
                let _ = writeln!(text, "    │ {}", line(told, SENTENCE));
            }
            let _ = writeln!(text, "  → {}", line(&problem.remedy, SENTENCE));
            if let Some(test) = plan.test.as_ref().filter(|_| has_failed) {
                let command = first_line(&test.command, LONGEST_NAME);
                let _ = writeln!(text, "  Once it succeeds, `{command}` runs the tests.");
            }
        }
    }
    text
}

/// Explains that changes are judged by the tests alone, not by the whole command.
pub(super) fn tests_alone(whole: &str, survey: &EnvironmentSurvey) -> String {
    let Some(alone) = &survey.tests_alone else { return String::new() };
    let [whole, alone] = [whole, alone].map(|command| first_line(command, LONGEST_NAME));
    format!("  {}.\n", judged_by(&whole, &alone, &survey.reading))
}

pub(super) fn pinned(file: &PinnedFile) -> String {
    let indent = |line: &str| format!("    {line}").trim_end().to_owned() + "\n";
    let indented: String = file.text.lines().map(indent).collect();
    let path = file.path.display();
    match file.is_written {
        true => format!(
            "\nWrote {path}:\n\n{indented}\n  Adapt it, and commit it to the default branch: Journeyman reads it from there.\n"
        ),
        false => format!("\n{path} is there already, and was not changed.\n"),
    }
}

fn skipped(count: u64) -> String {
    if count > 0 { format!(", {count} skipped") } else { String::new() }
}

/// The first line of a command, shortened.
pub(super) fn first_line(command: &str, longest: usize) -> String {
    let mut lines = command.trim().lines();
    let first = line(lines.next().unwrap_or_default(), longest);
    if lines.next().is_some() { format!("{first} …") } else { first }
}

/// A duration for people.
pub(super) fn took(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round();
    format!("{} min {:02} s", (whole / 60.0).floor(), whole % 60.0)
}
