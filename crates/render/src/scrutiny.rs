//! Evidence besides the one test run, as list items. Names of tests and paths are foreign text.

use super::pages::RepositoryLinks;
use super::text::{MOST_NAMES, MOST_SHOWN, and_more, brief, code_span, command_span, plain};
use journeyman_order::examination::ExaminationRun;
use journeyman_order::length::shorten;
use journeyman_order::scrutiny::{MutantTally, OldTests};
use journeyman_order::{CommitSha, ComparedBy, Feedback, Scrutiny, Weakening};

const MOST_STATEMENTS: usize = 16;

/// The evidence for a pass, or against it.
pub(super) fn lines(scrutiny: &Scrutiny, commit: &CommitSha, pages: &RepositoryLinks) -> Vec<String> {
    let mut lines: Vec<String> = scrutiny.examination.iter().flat_map(statements).collect();
    lines.push(beside_the_base(scrutiny, pages));
    if let Some(shown) = scrutiny.shown() {
        let sign = if shown.is_shown { "" } else { "⚠️ " };
        let tests = match &shown.tests[..] {
            [] => String::new(),
            tests => format!(": {}", list(tests, tests.len() as u64)),
        };
        lines.push(format!("- {sign}{}{tests}", brief(&shown.text, 300)));
    }
    let died = scrutiny.died.iter().map(|died| format!("- {}", brief(&died.sentence(), 300)));
    lines.extend(died);
    if scrutiny.base_setup.is_some() {
        lines.push(
            "- the change edits how it is set up; what is said here is of runs with the setup of the base"
                .to_owned(),
        );
    }
    if let Some(old) = &scrutiny.old_tests {
        lines.push(old_tests(old));
    }
    let below = if scrutiny.old_tests.is_some() { "  " } else { "" };
    let against = scrutiny.against().take(MOST_NAMES);
    lines.extend(against.map(|because| format!("{below}- ❌ {}", brief(because, 300))));
    if let Some(sentence) = scrutiny.lies_sentence() {
        let caught_in = scrutiny.caught_in();
        let tests = match &caught_in[..] {
            [] => String::new(),
            tests => format!(", in {}", list(tests, tests.len() as u64)),
        };
        lines.push(format!("- {}{tests}", brief(&sentence, 300)));
    }
    let examples = scrutiny.from_outside();
    lines.extend(examples.map(|(said, is_for)| format!("- {}{}", sign(is_for), brief(&said, 300))));
    lines.extend(scrutiny.mutants.as_ref().filter(|tally| tally.because.is_none()).map(mutants));
    if !scrutiny.rewritten.is_empty() {
        let paths = list(&scrutiny.rewritten, scrutiny.rewritten.len() as u64);
        lines.push(format!("- ❌ files of the commit are written while the tests run: {paths}"));
    }
    for what in scrutiny.dependencies.iter().take(MOST_SHOWN) {
        lines.push(format!("- dependency: {}", brief(what, 200)));
    }
    let shown = scrutiny.weakenings.iter().take(MOST_SHOWN);
    lines.extend(shown.map(|remark| weakened(remark, commit, pages)));
    let more = and_more("-", scrutiny.weakenings.len(), MOST_SHOWN);
    lines.extend(more.map(|more| format!("{more} remarks on the tests")));
    lines
}

/// Tests of the base that the change edits, renames or removes, each with its old and new expectation; `None` if there
/// are none. Shown before everything else.
pub(super) fn changed_tests(scrutiny: Option<&Scrutiny>, review: Option<&Feedback>) -> Option<String> {
    let changed = scrutiny.map(|scrutiny| &scrutiny.changed_tests).filter(|changed| !changed.is_empty())?;
    let mut lines = vec![format!("**{}**\n", count_of_changed(changed.len()))];
    for test in changed.iter().take(MOST_SHOWN) {
        lines.push(format!("- {}: {}", command_span(&shorten(&test.test, 120)), test.how.as_str()));
        for (what, text) in [("before", &test.old), ("now", &test.new)] {
            for line in text.iter().flat_map(|text| text.lines()) {
                lines.push(format!("  - {what}: {}", command_span(&shorten(line, 160))));
            }
        }
        let said = review.iter().flat_map(|review| &review.changed_tests);
        for said in said.filter(|said| said.test == test.test) {
            let is_wanted = if said.wanted { "the issue wants it" } else { "the issue does not want it" };
            lines.push(format!("  - the reviewer says that {is_wanted}: {}", brief(&said.why, 200)));
        }
    }
    lines.extend(and_more("-", changed.len(), MOST_SHOWN));
    Some(lines.join("\n"))
}

pub(super) fn count_of_changed(count: usize) -> String {
    let (tests, were) = if count == 1 { ("test", "was") } else { ("tests", "were") };
    format!("{count} existing {tests} {were} changed")
}

/// The summary of the examiner's statements, then each one, failing ones first.
fn statements(run: &ExaminationRun) -> Vec<String> {
    let mut lines = vec![format!("- {}", plain(&run.sentence()))];
    let mut all: Vec<_> = run.statements.iter().collect();
    all.sort_by_key(|statement| match statement.is_for() {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    });
    for statement in all.iter().take(MOST_STATEMENTS) {
        lines.push(format!("  - {}{}", sign(statement.is_for()), brief(&statement.sentence(), 400)));
    }
    lines.extend(and_more("  -", all.len(), MOST_STATEMENTS));
    lines
}

fn sign(is_for: Option<bool>) -> &'static str {
    match is_for {
        Some(true) => "",
        Some(false) => "❌ ",
        None => "⚠️ ",
    }
}

fn old_tests(old: &OldTests) -> String {
    let how = match &old.test {
        Some(run) => {
            let counts = old.counts.map(|counts| format!(", {counts}")).unwrap_or_default();
            format!("{}{counts}", run.exit)
        }
        None => "what they need could not be installed".to_owned(),
    };
    let unloaded = match &old.unloaded[..] {
        [] => String::new(),
        paths => format!("; left out, since they do not load there: {}", list(paths, paths.len() as u64)),
    };
    format!("- the base's tests on the new code: {how}{unloaded}")
}

fn mutants(tally: &MutantTally) -> String {
    let survivors: String = tally
        .survivors
        .iter()
        .take(MOST_NAMES)
        .map(|line| format!("\n  - not caught: {}", code_span(&shorten(line, 200))))
        .collect();
    let unread: String = tally
        .not_tried_in()
        .iter()
        .take(MOST_NAMES)
        .map(|what| format!("\n  - not tried in {}", brief(what, 300)))
        .collect();
    let left = if tally.not_tried > 0 {
        format!(" ({} more were not tried)", tally.not_tried)
    } else {
        String::new()
    };
    format!(
        "- {} of {} mutants of the changed lines are caught{left}{survivors}{unread}",
        tally.caught, tally.tried
    )
}

pub(super) fn untried_mutants(scrutiny: &Scrutiny) -> Option<String> {
    Some(brief(&scrutiny.mutants.as_ref()?.none_tried()?, 300))
}

/// What was not checked; `None` if everything was.
pub(super) fn gap(scrutiny: Option<&Scrutiny>) -> Option<String> {
    let Some(scrutiny) = scrutiny else {
        return Some(
            "Test results without the change: the tests ran on this commit only, so it is not known what failed \
             before, or whether a new test would fail without the change."
                .to_owned(),
        );
    };
    match scrutiny.comparison.by {
        ComparedBy::Test => None,
        ComparedBy::Counts => Some(
            "A comparison test by test: the runs do not tell all of their tests apart by name, so only their counts were compared.".to_owned(),
        ),
        ComparedBy::ExitCode => Some(
            "A comparison test by test: the test command's output has no known format, so only its exit code was compared \
             with the base commit's."
                .to_owned(),
        ),
    }
}

/// Inputs that the issue names and no test or check uses; `None` if there are none.
pub(super) fn unnamed_inputs(scrutiny: &Scrutiny) -> Option<String> {
    let inputs = &scrutiny.unnamed_inputs;
    let named = list(inputs, inputs.len() as u64);
    (!inputs.is_empty()).then(|| format!("The issue names {named}: no test and no check has them."))
}

/// The issue's own calls that say nothing about the change.
pub(super) fn unjudged_examples(scrutiny: &Scrutiny) -> Vec<String> {
    let list = |codes: &[&str]| {
        codes.iter().map(|code| command_span(&shorten(code, 160))).collect::<Vec<_>>().join(", ")
    };
    let (unanswered, same) = scrutiny.unjudged_examples();
    let unanswered: Vec<&str> = unanswered.iter().map(String::as_str).collect();
    let mut lines = Vec::new();
    if !unanswered.is_empty() {
        lines
            .push(format!("The issue's examples that could not be run on their own: {}.", list(&unanswered)));
    }
    if !same.is_empty() {
        lines.push(format!(
            "The issue's examples that give the same as on the base commit, where it is not clear whether they should: {}.",
            list(&same)
        ));
    }
    lines
}

fn beside_the_base(scrutiny: &Scrutiny, pages: &RepositoryLinks) -> String {
    let base = pages.commit(&scrutiny.baseline.commit);
    let comparison = &scrutiny.comparison;
    let Some(run) = &scrutiny.baseline.test else {
        return format!("- base commit {base}: test dependencies could not be installed there");
    };
    match comparison.by {
        ComparedBy::ExitCode => format!("- base commit {base}: {}", run.exit),
        ComparedBy::Counts => {
            let before = comparison.base.map(|counts| counts.to_string()).unwrap_or_default();
            format!("- base commit {base}: {before} ({})", run.exit)
        }
        ComparedBy::Test => {
            let mut said = vec![format!("{} still passing", comparison.still_green)];
            for (what, is_against, tests) in comparison.groups() {
                let bold = if is_against { "**" } else { "" };
                said.push(format!("{} {bold}{what}{bold}: {}", tests.total, list(&tests.names, tests.total)));
            }
            format!("- compared test by test with the base commit {base}: {}", said.join("; "))
        }
    }
}

fn weakened(weakening: &Weakening, commit: &CommitSha, pages: &RepositoryLinks) -> String {
    let place = match weakening.line {
        Some(line) => format!("{}:{line}", weakening.path),
        None => weakening.path.clone(),
    };
    let sign = if weakening.severe { "❌" } else { "ℹ️" };
    format!(
        "- {sign} {}, {}: {}",
        weakening.kind.as_str(),
        pages.location(commit, &place),
        brief(&weakening.what, 300)
    )
}

fn list(names: &[String], total: u64) -> String {
    let shown: Vec<String> =
        names.iter().take(MOST_NAMES).map(|name| command_span(&shorten(name, 100))).collect();
    let more = total.saturating_sub(shown.len() as u64);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}
