//! The findings of a test run. A sentence and its fact are written by the same calls.

use std::collections::BTreeSet;

use serde_json::json;

use super::FindingBearing::{Against, Noted, Open};
use super::FindingKind as Fact;
use super::FindingLine::{ExistingTests, NotVerified, RedThenGreen, Strength, WhatRan};
use super::{SentencePart, VerdictFinding, gap, of};
use crate::bounds::MOST_LISTED;
use crate::command_run::{Exit, signal_name};
use crate::comparison::{ComparedBy, ComparisonVerdict, TestList};
use crate::examination::StatementKind;
use crate::feedback::{Feedback, Severity};
use crate::length::shorten;
use crate::proof::{Proof, ProofGrade};
use crate::scrutiny::{
    ChangedTest, ExampleVerdict, FalsifiedExpectation, LieVerdict, NeighbourRun, NeighbourTally, Scrutiny,
    WithoutResult,
};
use crate::test_run::{TestEvidence, TestVerdict};

/// Most gaps that the last line names.
const MOST_GAPS: usize = 8;
/// Longest shown text of a test, in characters: a line has room for both sides.
const LONGEST_EXCERPT: usize = 120;

/// All findings: the five lines, then the details. `beside` does not rest on the tests.
pub fn findings(tests: Option<&TestEvidence>, beside: Vec<VerdictFinding>) -> Vec<VerdictFinding> {
    let scrutiny = tests.and_then(|tests| tests.scrutiny.as_deref());
    let mut details = tests.map(of_run).unwrap_or_default();
    details.extend(scrutiny.into_iter().flat_map(of_comparison));
    details.extend(scrutiny.into_iter().flat_map(of_existing_tests));
    details.extend(scrutiny.into_iter().flat_map(of_strength));
    details.extend(scrutiny.into_iter().flat_map(gaps_of_scrutiny));
    details.extend(tests.into_iter().flat_map(gaps_of_run));
    details.extend(beside.into_iter().filter(|finding| finding.fact >= Fact::RedAccepted));
    let mut all =
        vec![tests_ran(tests), red_then_green(scrutiny), existing_tests(scrutiny), strength(scrutiny)];
    let open = not_verified(all.iter().chain(&details));
    all.push(open);
    all.extend(details);
    all
}

/// What a review says, or that there is none.
pub fn of_review(review: Option<&Feedback>) -> Vec<VerdictFinding> {
    let Some(review) = review else {
        let none = "The change itself: no second agent has reviewed this commit.";
        return vec![gap(Fact::NotReviewed, "a review by a second agent").text(none)];
    };
    let said = if review.passed { "Reviewed by a second agent: " } else { "A second agent objects: " };
    let said = of(WhatRan, Fact::Reviewed).text(said).foreign("summary", &review.summary);
    let mut all = vec![said.bears_if(!review.passed, Against)];
    all.extend(review.changed_tests.iter().map(|review| {
        let wants = if review.wanted { "wants" } else { "does not want" };
        let said = format!("The reviewer says that the issue {wants} this test to change: ");
        let said = of(ExistingTests, Fact::ChangedTestReviewed).text(said).code("test", &review.test);
        let said = said.text(". ").foreign("why", &review.why).value("wanted", review.wanted);
        said.bears_if(!review.wanted, Against)
    }));
    let mut open: Vec<_> = review.issues.iter().collect();
    open.sort_by_key(|issue| issue.severity);
    all.extend(open.into_iter().map(|issue| {
        let mut said = gap(Fact::OpenFinding, "open findings of the reviewing agent");
        said = said.text(issue.severity.as_str()).value("severity", issue.severity);
        if let Some(place) = &issue.location {
            said = said.text(", ").place("location", place.clone());
        }
        let said = said.text(": ").foreign("description", &issue.description);
        said.bears_if(issue.severity != Severity::Minor, Open)
    }));
    all
}

pub fn existing_tests_changed(tests: &[ChangedTest]) -> String {
    let removed = tests.iter().filter(|test| test.removed).count();
    let what = match removed {
        0 => "changed",
        all if all == tests.len() => "removed",
        _ => "changed or removed",
    };
    many(tests.len() as u64, &format!("existing test {what}"), &format!("existing tests {what}"))
}

fn many(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn tests_ran(tests: Option<&TestEvidence>) -> VerdictFinding {
    let verdict = tests.map_or(TestVerdict::NoTests, |tests| tests.verdict);
    let line = of(WhatRan, Fact::TestsRan).value("verdict", verdict);
    let Some((tests, run)) = tests.and_then(|tests| Some((tests, tests.test.as_ref()?))) else {
        let line = line.leaves_open("tests");
        return match verdict == TestVerdict::SetupFailed {
            true => line.text("No test ran, because the setup failed.").bears(Against),
            false => line.text("No test ran on this commit.").bears(Open),
        };
    };
    let mut line = line.code("command", &run.command).text(", ").shown("exit", run.exit);
    if let Some(counts) = tests.counts {
        line = line.text(": ").shown("counts", counts);
    }
    let (more, bearing) = match verdict {
        TestVerdict::Passed => (".", if tests.doubt.is_some() { Open } else { Noted }),
        TestVerdict::Weakened => (". The pass does not count.", Against),
        TestVerdict::Unmended => (". What the issue shows is not fixed.", Against),
        TestVerdict::Failed | TestVerdict::SetupFailed => (".", Against),
        TestVerdict::NoTests => (". It ran no test.", Open),
    };
    let line = line.text(more).bears(bearing);
    match tests.signal {
        Some(signal) => {
            line.text(format!(" The tests died of {}.", signal_name(signal))).value("signal", signal)
        }
        None => line,
    }
}

fn red_then_green(scrutiny: Option<&Scrutiny>) -> VerdictFinding {
    let line = of(RedThenGreen, Fact::RedThenGreen);
    let Some(scrutiny) = scrutiny else {
        let unknown = "It is not known what failed before, because nothing was compared with the base.";
        return line.text(unknown).bears(Open).leaves_open("the tests without the change");
    };
    let fixed = &scrutiny.comparison.fixed;
    let line = line.value("proof", &scrutiny.proof).value("is_fixed", scrutiny.is_fixed());
    let line = match (scrutiny.is_fixed(), &scrutiny.proof) {
        (true, _) if fixed.is_empty() => line.text("The tests of the base failed before and pass now."),
        (true, _) => {
            let one = "test of the base failed before and passes now: ";
            let several = "tests of the base failed before and pass now: ";
            line.text(many(fixed.total, one, several)).tests("fixed", fixed).text(".")
        }
        (false, Some(Proof::Proven { by, red })) => {
            let least = if red.len() >= MOST_LISTED { "At least " } else { "" };
            let (one, several) = match by {
                ProofGrade::Test => ("test fails", "tests fail"),
                ProofGrade::Case => ("test with new cases fails", "tests with new cases fail"),
                ProofGrade::File => ("test file fails", "test files fail"),
            };
            let fail = many(red.len() as u64, one, several);
            let pass = if red.len() == 1 { "passes" } else { "pass" };
            let said = line.text(format!("{least}{fail} without the change and {pass} with it: "));
            said.names("red", red).text(".")
        }
        (false, Some(Proof::NamesWhatIsNew { tests })) => {
            let new = "The change's tests need what it adds, such as a name, and pass with it. That shows something new, and \
                       not that anything was wrong before: ";
            line.text(new).names("new", tests).text(".")
        }
        (false, Some(Proof::NotProven { because })) => {
            line.text("No test proves the change: ").foreign("because", because).text(".").bears(Open)
        }
        (false, Some(Proof::CannotTell { because })) => {
            let unknown = line.text("It is not known whether a test fails without the change: ");
            unknown.foreign("because", because).text(".").bears(Open)
        }
        (false, Some(Proof::NoTestsChanged)) => {
            line.text("No test proves the change, because it adds and edits none.").bears(Open)
        }
        (false, None) => {
            let because = match scrutiny.judged {
                ComparisonVerdict::Failed => "tests fail with the change",
                ComparisonVerdict::TestsMissing => "tests of the base are missing or skipped",
                ComparisonVerdict::NoTests => "no test ran with the change",
                ComparisonVerdict::Passed | ComparisonVerdict::PassedBesideRed => "no run shows it",
            };
            line.text(format!("Not checked, because {because}.")).bears(Open)
        }
    };
    let Some(run) = scrutiny.examination.as_ref().filter(|run| !run.statements.is_empty()) else {
        return line;
    };
    let tally = |kind| {
        let (holding, of) = run.tally(kind);
        json!({ "holding": holding, "of": of })
    };
    line.text(format!(" {}.", run.sentence()))
        .value("statements", tally(StatementKind::Changes))
        .value("promises", tally(StatementKind::Stays))
        .bears_if(run.shows_the_change(), Noted)
        .bears_if(run.failing().next().is_some(), Against)
}

fn existing_tests(scrutiny: Option<&Scrutiny>) -> VerdictFinding {
    let line = of(ExistingTests, Fact::ExistingTests);
    let Some(scrutiny) = scrutiny else {
        let unknown = "It is not known whether one changed, because nothing was compared with the base.";
        return line.text(unknown).bears(Open);
    };
    let comparison = &scrutiny.comparison;
    let mut gone = comparison.gone.clone();
    gone.total = gone.total.saturating_add(comparison.skipped.total);
    gone.names.extend(comparison.skipped.names.iter().cloned());
    let is_complete = gone.is_empty() && comparison.unloaded.is_empty();
    let changed: Vec<String> = scrutiny.changed_tests.iter().map(|test| test.test.clone()).collect();
    let mut line = match (comparison.by, changed.is_empty()) {
        (_, false) => {
            let count = existing_tests_changed(&scrutiny.changed_tests);
            line.text(format!("{count}: ")).names("changed", &changed).text(".").bears(Open)
        }
        (ComparedBy::Test, true) if !comparison.programs.is_empty() => {
            let line = line.text("No edited test was found. A removed one may go unnoticed in ");
            line.names("unnamed", &comparison.programs).text(", where not every test is named.").bears(Open)
        }
        (ComparedBy::Test, true) if is_complete => line.text("No existing test changed."),
        (ComparedBy::Test, true) => line.text("No existing test was edited."),
        (_, true) if scrutiny.proof == Some(Proof::NoTestsChanged) => line.text("The change edits no test."),
        (ComparedBy::Counts | ComparedBy::ExitCode, true) => {
            let unsure = "No edited test was found. A removed one may go unnoticed, because the runs do not name each test.";
            line.text(unsure).bears(Open)
        }
    };
    let failing = scrutiny.changed_tests.iter().filter(|test| test.how.is_of_behaviour()).count() as u64;
    if failing > 0 {
        let them = many(failing, "fails or does not load", "fail or do not load");
        line = line.text(format!(" Of these, {them} on the new code in the old form."));
        line = line.value("failing_in_the_old_form", failing);
    }
    if gone.is_empty() {
        return line;
    }
    let runs = many(gone.total, "no longer runs: ", "no longer run: ");
    line.text(format!(" {runs}")).tests("no_longer_run", &gone).text(".").bears(Against)
}

fn strength(scrutiny: Option<&Scrutiny>) -> VerdictFinding {
    let mut line = of(Strength, Fact::Strength);
    let mut of_mutants = Vec::new();
    let tally = scrutiny.and_then(|scrutiny| scrutiny.mutants.as_ref());
    if let Some(tally) = tally.filter(|tally| tally.tried > 0) {
        line = line.value("mutants", tally.tried).value("mutants_caught", tally.caught);
        line = line.bears_if(tally.caught == 0, Open);
        of_mutants.push(format!("{} of {} mutants of the changed lines", tally.caught, tally.tried));
    }
    let (noticed, missed) =
        tally.map_or((0, 0), |tally| (tally.parts_noticed.len(), tally.parts_unnoticed.len()));
    if noticed + missed > 0 {
        line = line.value("parts", noticed + missed).value("parts_noticed", noticed);
        line = line.bears_if(noticed == 0, Open);
        of_mutants.push(format!("{noticed} of {} parts of the change, each taken back", noticed + missed));
    }
    let of_mutants = of_mutants.into_iter().reduce(|one, other| format!("{one} and {other}"));
    let also = of_mutants.as_ref().map(|mutants| format!(" The tests caught {mutants}.")).unwrap_or_default();
    let Some(lies) = scrutiny.and_then(|scrutiny| scrutiny.lies.as_ref()) else {
        return line.text(format!("Not known, because no expectation was falsified.{also}")).bears(Open);
    };
    let (caught, of) = (lies.told.iter().filter(|lie| lie.noticed).count(), lies.told.len());
    let line = line.value("falsified", of).value("falsified_caught", caught);
    match &lies.said {
        LieVerdict::Noticed => {
            let and = of_mutants.map(|mutants| format!(" and {mutants}")).unwrap_or_default();
            line.text(format!("The tests caught {caught} of {of} falsified expectations{and}."))
        }
        LieVerdict::Unnoticed => {
            let (does, _) = lies.unnoticed();
            line.text(format!("The tests {does}, so they are no evidence.{also}")).bears(Against)
        }
        LieVerdict::NotTold { because } => {
            let none = line.text("Falsified expectations show nothing: ").foreign("because", because);
            none.text(format!(".{also}")).bears(Open)
        }
    }
}

fn not_verified<'a>(all: impl Iterator<Item = &'a VerdictFinding>) -> VerdictFinding {
    let mut what: Vec<String> = Vec::new();
    for gap in all.filter_map(|finding| finding.gap.as_ref()) {
        if !what.contains(gap) {
            what.push(gap.clone());
        }
    }
    let line = of(NotVerified, Fact::NotVerified);
    if what.is_empty() {
        return line.text("No gap is known.").value("what", what);
    }
    let more = match what.len().saturating_sub(MOST_GAPS) {
        0 => ".".to_owned(),
        more => format!("; and {more} more."),
    };
    let shown = what.get(..MOST_GAPS).unwrap_or(&what).join("; ");
    line.foreign("what", &shown).text(more).value("what", what).bears(Open)
}

fn of_run(tests: &TestEvidence) -> Vec<VerdictFinding> {
    let mut all = Vec::new();
    if !tests.failing.is_empty() {
        let counted = tests.counts.map_or(0, |counts| counts.failed).max(tests.failing.len() as u64);
        let failing = TestList { total: counted, names: tests.failing.clone() };
        all.push(of(WhatRan, Fact::TestsFailed).text("Failing: ").tests("tests", &failing).bears(Against));
    }
    // A project without a test that ran says so itself.
    let is_of_project = |doubt: &&String| tests.unrun.iter().any(|project| project.sentence() == **doubt);
    let doubt = tests.doubt.as_ref().filter(|doubt| !is_of_project(doubt));
    all.extend(doubt.map(|doubt| of(WhatRan, Fact::Doubted).foreign("because", doubt).bears(Open)));
    all.extend(tests.setup.as_ref().map(|run| {
        let ran = of(WhatRan, Fact::SetupRan).text("Setup: ").code("command", &run.command).text(", ");
        ran.shown("exit", run.exit).bears_if(run.exit != Exit::Code(0), Against)
    }));
    let mut isolation = of(WhatRan, Fact::Isolation).text("Sandbox: ").foreign("sandbox", &tests.sandbox);
    if tests.sandbox == "none" {
        isolation = isolation.text("; agents and tests ran without isolation").bears(Against);
        isolation = isolation.leaves_open("isolation of the tests");
    }
    all.push(match &tests.image {
        Some(image) => isolation.text("; image: ").code("image", image),
        None => isolation,
    });
    all.extend(runs_made(tests));
    all
}

fn runs_made(tests: &TestEvidence) -> Option<VerdictFinding> {
    let runs = &tests.scrutiny.as_deref()?.runs;
    let total: f64 = runs.iter().map(|run| run.duration_seconds).sum();
    let alone = tests.test.as_ref()?.duration_seconds;
    let count = many(runs.len() as u64, "run", "runs");
    let said = format!("{count}, {total:.1} seconds in total (the tests alone need {alone:.1})");
    let to_tenths = |seconds: f64| (seconds * 10.0).round() / 10.0;
    let made = of(WhatRan, Fact::RunsMade).text(said).value("count", runs.len());
    let made = made.value("seconds", to_tenths(total)).value("seconds_of_the_tests", to_tenths(alone));
    (!runs.is_empty()).then_some(made)
}

fn of_comparison(scrutiny: &Scrutiny) -> Vec<VerdictFinding> {
    let mut all = Vec::new();
    if scrutiny.base_setup.is_some() {
        let by_base = "The change edits its setup. The other findings are from runs with the base's setup.";
        all.push(of(WhatRan, Fact::SetupOfBase).text(by_base));
    }
    if !scrutiny.rewritten.is_empty() {
        let written =
            of(WhatRan, Fact::FilesRewritten).text("Files of the commit are written while the tests run: ");
        all.push(written.names("paths", &scrutiny.rewritten).bears(Against));
    }
    let (base, comparison) = (&scrutiny.baseline.commit, &scrutiny.comparison);
    let said = of(RedThenGreen, Fact::ComparedWithBase).value("base", base).value("by", comparison.by);
    let said = said.text(format!("Compared {} with the base commit ", comparison.by));
    let said = said.part(SentencePart::Commit(base.clone())).text(": ");
    all.push(match (&scrutiny.baseline.test, comparison.by) {
        (None, _) => said.text("nothing could run there").bears(Open),
        (Some(_), ComparedBy::Test) => {
            said.shown("still_passing", comparison.still_green).text(" still passing")
        }
        (Some(run), ComparedBy::Counts | ComparedBy::ExitCode) => {
            let counts = comparison.base.map(|counts| format!("{counts}, ")).unwrap_or_default();
            said.text(counts).shown("exit", run.exit).text(" there").value("counts", comparison.base)
        }
    });
    let against = if scrutiny.judged.is_pass() { Open } else { Against };
    all.extend(comparison.groups().map(|(group, is_against, tests)| {
        let one = of(RedThenGreen, Fact::ComparedTests).text(format!("{} {group}: ", tests.total));
        one.tests("tests", tests).value("group", group).bears_if(is_against, against)
    }));
    let died = |said: String| of(RedThenGreen, Fact::DiedWithoutTheChange).foreign("said", &said);
    all.extend(scrutiny.died.iter().map(|one| died(one.sentence())));
    all.extend(scrutiny.examination.iter().flat_map(|run| &run.statements).map(|statement| {
        let said = of(RedThenGreen, Fact::Statement).foreign("said", &statement.sentence());
        let said = said.value("number", statement.number).value("verdict", statement.said.word());
        said.weighed(statement.is_for())
    }));
    all.extend(scrutiny.examples.iter().filter_map(|example| {
        let said = of(RedThenGreen, Fact::Example).foreign("said", &example.sentence()?);
        let is_for = (example.said != ExampleVerdict::Open).then(|| !example.is_against());
        Some(said.value("call", &example.code).value("verdict", example.said).weighed(is_for))
    }));
    all.extend(scrutiny.neighbours.as_ref().and_then(of_neighbours));
    let ran = scrutiny.user_place.as_ref();
    all.extend(
        ran.map(|place| of(RedThenGreen, Fact::RanAsUser).text(place.sentence()).value("place", place)),
    );
    all
}

fn of_neighbours(tally: &NeighbourTally) -> Option<VerdictFinding> {
    let said = of(RedThenGreen, Fact::Neighbours).value("tried", tally.tried).value("alike", tally.alike);
    if tally.is_of_tested_inputs_alone() {
        let none =
            format!("Only the tested inputs answer differently: none of {} similar calls does.", tally.tried);
        return Some(said.text(none).bears(Open));
    }
    let NeighbourRun { call, before, after } = tally.differing.first()?;
    let (differ, of) = (tally.tried.saturating_sub(tally.alike), tally.tried);
    let (answer, such_as) = if differ == 1 { ("answers", ": ") } else { ("answer", ", such as ") };
    let some =
        format!("{differ} of {of} calls like those in the tests {answer} differently than before{such_as}");
    let said = said.text(some).code("call", call).text(": ").code("before", before).text(" → ");
    Some(said.code("after", after).text("."))
}

fn of_existing_tests(scrutiny: &Scrutiny) -> Vec<VerdictFinding> {
    let objection =
        |because: &str| of(ExistingTests, Fact::Objection).foreign("because", because).bears(Against);
    let mut all: Vec<VerdictFinding> = scrutiny.against().map(objection).collect();
    all.extend(scrutiny.changed_tests.iter().map(|test| {
        let mut said = of(ExistingTests, Fact::ChangedTest).code("test", &test.test);
        let how = test.how.as_str();
        let how = match test.removed {
            true => format!("removed; {}", how.strip_prefix("removed or renamed; ").unwrap_or(how)),
            false => how.to_owned(),
        };
        said = said.text(format!(": {how}")).value("how", test.how);
        let start = difference_start(test);
        for (key, text) in [("before", &test.old), ("now", &test.new)] {
            if let Some(text) = text {
                let text = text.get(start..).unwrap_or(text).replace('\n', " / ");
                let text = shorten(&format!("{}{text}", if start > 0 { "…" } else { "" }), LONGEST_EXCERPT);
                said = said.text(format!("; {key}: ")).code(key, &text);
            }
        }
        said.bears_if(test.how.is_of_behaviour(), Open)
    }));
    if let Some(old) = &scrutiny.old_tests {
        let exit = old.test.as_ref().map(|run| run.exit);
        let ran = exit.map_or("they could not run".to_owned(), |exit| exit.to_string());
        let counts = old.counts.map(|counts| format!(", {counts}")).unwrap_or_default();
        let mut said = of(ExistingTests, Fact::OldTests).value("exit", exit).value("counts", old.counts);
        said = said.text(format!("The base's tests on the new code: {ran}{counts}"));
        if !old.unloaded.is_empty() {
            said = said.text("; not loaded there: ").names("not_loaded", &old.unloaded);
        }
        all.push(said.bears_if(exit != Some(Exit::Code(0)), Open));
    }
    all
}

/// The byte at which the texts of an edited test are shown from: the first line that differs, or a place in it that is
/// close to the difference.
fn difference_start(test: &ChangedTest) -> usize {
    let (Some(old), Some(new)) = (&test.old, &test.new) else { return 0 };
    let same = old.chars().zip(new.chars()).take_while(|(one, other)| one == other);
    let same: usize = same.map(|(one, _)| one.len_utf8()).sum();
    let line = old.get(..same).and_then(|same| same.rfind('\n')).map_or(0, |at| at + 1);
    let is_far = same - line > LONGEST_EXCERPT / 2;
    if is_far { old.floor_char_boundary(same - LONGEST_EXCERPT / 4) } else { line }
}

fn of_strength(scrutiny: &Scrutiny) -> Vec<VerdictFinding> {
    let (caught, missed): (Vec<_>, Vec<_>) =
        scrutiny.lies.iter().flat_map(|lies| &lies.told).partition(|lie| lie.noticed);
    let test = |lie: &&FalsifiedExpectation| lie.test.clone().unwrap_or_else(|| lie.place());
    let names: BTreeSet<String> = caught.iter().map(test).collect();
    let mut names: Vec<String> = names.into_iter().collect();
    // Those that prove the change say most, then those of the files that it touches.
    let red: &[String] = if let Some(Proof::Proven { red, .. }) = &scrutiny.proof { red } else { &[] };
    let laid: &[String] = scrutiny.old_tests.as_ref().map_or(&[], |old| &old.laid);
    let is_touched = |name: &String| caught.iter().any(|lie| test(lie) == *name && laid.contains(&lie.path));
    let is_added = |name: &String| scrutiny.comparison.new.names.contains(name);
    names.sort_by_key(|name| (!red.contains(name), !is_added(name), !is_touched(name)));
    let mut all = Vec::new();
    if !names.is_empty() {
        let said = of(Strength, Fact::CaughtIn).text("Falsified expectations were caught in: ");
        all.push(said.names("tests", &names));
    }
    all.extend(missed.into_iter().map(|lie| {
        let what = if lie.reworded { "Fails in other words: " } else { "Not caught: " };
        let said = of(Strength, Fact::NotCaught).text(what).code("now", lie.now.trim());
        let said = if lie.was.is_empty() { said } else { said.text(" instead of ").code("was", &lie.was) };
        said.text(", in ").place("place", lie.place()).bears(Open)
    }));
    let survived =
        |one: &String| of(Strength, Fact::MutantSurvived).text("Mutant not caught: ").code("mutant", one);
    all.extend(scrutiny.mutants.iter().flat_map(|tally| &tally.survivors).map(survived));
    let unnoticed =
        |one: &String| of(Strength, Fact::PartUnnoticed).text("No test noticed: ").code("part", one);
    all.extend(scrutiny.mutants.iter().flat_map(|tally| &tally.parts_unnoticed).map(unnoticed));
    all.extend(scrutiny.weakenings.iter().map(|remark| {
        let said = of(Strength, Fact::Remark).value("kind", remark.kind);
        let said = said.text(format!("{}, ", remark.kind.as_str())).place("place", remark.place());
        said.text(": ").foreign("what", &remark.what).bears_if(remark.severe, Against)
    }));
    all
}

fn gaps_of_scrutiny(scrutiny: &Scrutiny) -> Vec<VerdictFinding> {
    let mut all = Vec::new();
    let by = scrutiny.comparison.by;
    if by != ComparedBy::Test {
        let said =
            format!("A comparison test by test: the runs do not name each test, so they were compared {by}.");
        all.push(gap(Fact::TestsNotNamed, "single tests").text(said).value("by", by));
    } else if !scrutiny.comparison.programs.is_empty() {
        let said = "A comparison test by test where not every test is named; there, how many ran and how the program ended \
                    were compared: ";
        let said = gap(Fact::TestsNotNamed, "tests without names").text(said).value("by", by);
        all.push(said.names("programs", &scrutiny.comparison.programs));
    }
    let (not_run, unclear) = scrutiny.unjudged_examples();
    let unclear: Vec<String> = unclear.into_iter().map(str::to_owned).collect();
    let mut open = |fact, said: &str, names: &[String]| {
        if !names.is_empty() {
            all.push(gap(fact, "inputs and examples of the issue").text(said).names("names", names));
        }
    };
    open(Fact::InputsUnused, "Inputs of the issue that no test and no check has: ", &scrutiny.unnamed_inputs);
    open(Fact::ExamplesNotRun, "Calls of the issue that could not be run on their own: ", not_run);
    open(
        Fact::ExamplesUnclear,
        "Calls of the issue that give the same as on the base, perhaps rightly: ",
        &unclear,
    );
    if let Some(tally) = &scrutiny.mutants {
        all.extend(tally.because.as_ref().filter(|_| tally.tried == 0).map(|because| {
            let said = gap(Fact::NoMutantsTried, "mutants").text("No mutants were tried, because ");
            said.foreign("because", because).text(".")
        }));
        if tally.not_tried > 0 {
            let count = tally.not_tried.into();
            let said = many(count, "mutant or part was not tried", "mutants or parts were not tried");
            let said = gap(Fact::MutantsLeft, "some mutants").text(said).value("count", tally.not_tried);
            let files = tally.not_tried_in().join("; ");
            let is_known = !files.is_empty();
            all.push(if is_known { said.text(": ").foreign("files", &files) } else { said });
        }
    }
    let brings =
        |what: &String| gap(Fact::Dependency, "new dependencies").text("Dependency: ").foreign("what", what);
    all.extend(scrutiny.dependencies.iter().map(brings));
    for (because, fact, words, said) in [
        (
            WithoutResult::LeftOut,
            Fact::RunsLeftOut,
            "what takes too long to try",
            "Not tried, as it takes too long: ",
        ),
        (
            WithoutResult::NotEnded,
            Fact::RunsNotEnded,
            "edits of the tests that did not end",
            "Stopped before their end, as they took longer than the same tests without the edit: ",
        ),
    ] {
        let of_it = scrutiny.without_result.iter().filter(|run| run.because == because);
        let mut shows: Vec<&str> = of_it.map(|run| run.shows.as_str()).collect();
        shows.dedup();
        if !shows.is_empty() {
            all.push(gap(fact, words).text(said).foreign("shows", &shows.join("; ")));
        }
    }
    all
}

fn gaps_of_run(tests: &TestEvidence) -> Vec<VerdictFinding> {
    let mut all = Vec::new();
    if !tests.left_out.is_empty() {
        let left_out = gap(Fact::FoldersLeftOut, "folders that the change does not concern");
        let left_out = left_out.text("Tests of folders that the change does not concern: ");
        all.push(left_out.names("folders", &tests.left_out));
    }
    all.extend(tests.unrun.iter().map(|project| {
        let said = gap(Fact::ProjectNotTested, format!("tests of {}", project.name()));
        let said = said.foreign("said", &project.sentence()).value("project", project);
        said.bears_if(project.is_grave(), Open)
    }));
    let skipped = tests.counts.map_or(0, |counts| counts.skipped);
    if skipped > 0 {
        let said = many(skipped, "skipped test", "skipped tests");
        all.push(gap(Fact::TestsSkipped, &*said).text(format!("{said}.")).value("count", skipped));
    }
    all
}
