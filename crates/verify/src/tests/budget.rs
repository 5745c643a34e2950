//! What is tried where the tests take long, told by small examples.

use super::detector::{A, TestFiles, files, found, tellable};
use super::judge::{CellRun, run};
use super::table::{RunStory, story, touching};
use crate::experiment::*;
use journeyman_order::scrutiny::{LieVerdict, WithoutResult};
use journeyman_order::{Exit, TestReport};

const NEW: &str = "tests.test_a.new";

/// The base's test file, and the change's with a new test of two expectations.
fn texts() -> [TestFiles; 2] {
    [files(A), files(&format!("{A}\ndef new():\n    assert three() == 3\n    assert four() == 4\n"))]
}

/// A change with a new test that fails without it.
fn change() -> RunStory {
    touching("tests/test_a.py", "+a", "+a +new")
        .and(ExperimentName::OldTests, &["+a"])
        .and(ExperimentName::OldCode, &["+a -new"])
}

/// The runs that are needed now, and those that are left out.
fn turns(story: &RunStory, lies: &TellableLies<'_>) -> Vec<String> {
    story.known(Some(lies), |known| {
        let told = |run: &PlannedRun| match run.is_left_out {
            true => format!("{} left out", run.name()),
            false => run.name(),
        };
        due(known).iter().map(told).collect()
    })
}

fn open(story: &RunStory, lies: &TellableLies<'_>) -> Vec<(String, WithoutResult)> {
    let open = story.known(Some(lies), without_result);
    open.into_iter().map(|run| (run.name, run.because)).collect()
}

fn most_seconds(story: &RunStory, lies: &TellableLies<'_>) -> Vec<Option<f64>> {
    story.known(Some(lies), |known| due(known).iter().map(|run| run.most_seconds).collect())
}

fn each(tests: &[&str]) -> Vec<CellRun> {
    tests.iter().map(|tests| run(tests)).collect()
}

fn endless() -> CellRun {
    (Exit::TimedOut, TestReport::default())
}

#[test]
fn edits_of_long_tests_take_twice_their_time_and_what_is_left_out_is_said() {
    let [before, after] = texts();
    let long = || change().taking(60.0);
    let lies = tellable(&long(), &before, &after);
    assert_eq!(turns(&long(), &lies), ["-lie-1", "-lie-new-1", "-reworded"], "what decides most");
    let told = long().goes_on_for(&lies, 60.0, &each(&["-a", "+a -new", "+a +new"]));
    assert_eq!((found(&told, &lies).said, open(&told, &lies)), (LieVerdict::Noticed, Vec::new()));
    assert_eq!(turns(&told, &lies), ["-mutants"]);
    // Other words are tried whatever they take, and so is a remark.
    let otherwise = long().goes_on_for(&lies, 60.0, &each(&["-a", "+a -new", "+a -new"]));
    assert_eq!(turns(&otherwise.printing("new: 7, not 3\n"), &lies), ["-reworded-2"]);
    // All tests run for a second expectation of the same test.
    let selected = || change().selects().taking(60.0);
    let lies = tellable(&selected(), &before, &after);
    let told = selected().goes_on_for(&lies, 60.0, &each(&["-a", "+a -new", "+a +new"]));
    assert_eq!(turns(&told, &lies), ["-lie-new-2 left out"]);
    let told = told.goes_on_for(&lies, 0.0, &each(&["+a"]));
    assert_eq!(open(&told, &lies), [("tests-lie-new-2".to_owned(), WithoutResult::LeftOut)]);
    assert_eq!(found(&told, &lies).said, LieVerdict::Noticed, "what was left out says nothing");
    let quick = selected().goes_on_for(&lies, 20.0, &each(&["-a", "+a -new", "+a +new"]));
    assert_eq!(turns(&quick, &lies), ["-lie-new-2"], "there is time left");
}

#[test]
fn edits_of_selected_tests_are_all_tried_however_long_the_others_take() {
    let [before, after] = texts();
    let selected = || change().selects().taking(1.0).beside_others(60.0);
    let lies = tellable(&selected(), &before, &after);
    assert_eq!(turns(&selected(), &lies), ["-lie-1", "-lie-new-1", "-lie-new-2", "-reworded"]);
    // As long as nothing is known of selected tests, they may take as long as all of them.
    let unknown = change().selects().taking(60.0);
    assert_eq!(turns(&unknown, &lies), ["-lie-1", "-lie-new-1", "-reworded"]);
}

#[test]
fn repetitions_leave_half_of_the_time_to_edits() {
    let text = files("def b():\n    assert two() == 2\n");
    let fix =
        story("+a -b", "+a +b").selects().and(ExperimentName::FixedBase, &["-b", "-b", "-b"]).taking(4.0);
    let no_lies = fix.known(None, |known| find_lies(known, &verdict(known), [&text, &text, &text]));
    assert_eq!(turns(&fix, &no_lies), ["-repeat-1"]);
    let once = fix.goes_on_for(&no_lies, 4.0, &each(&["+b"]));
    assert_eq!(turns(&once, &no_lies), ["-repeat-2 left out", "-repeat-3 left out"]);
    let once = once.goes_on_for(&no_lies, 0.0, &each(&["+b", "+b"]));
    assert_eq!(turns(&once, &no_lies)[0], "-lie-1");
    assert_eq!(open(&once, &no_lies).len(), 2);
    let said = once.known(None, without_result).remove(0).shows;
    assert!(said.starts_with("once more whether the tests that the pass rests on"), "{said}");
}

#[test]
fn an_edit_ends_at_three_times_what_the_same_tests_take_and_shows_nothing_then() {
    let [before, after] = texts();
    let long = || change().taking(60.0);
    let lies = tellable(&long(), &before, &after);
    assert_eq!(most_seconds(&long(), &lies), [Some(180.0); 3]);
    let hung = long().goes_on_for(&lies, 180.0, &[endless(), endless(), endless()]);
    let found = found(&hung, &lies);
    assert!(matches!(&found.said, LieVerdict::NotTold { .. }) && found.told.is_empty(), "{found:?}");
    let not_ended = |name: &str| (name.to_owned(), WithoutResult::NotEnded);
    assert_eq!(open(&hung, &lies), ["tests-lie-1", "tests-lie-new-1", "tests-reworded"].map(not_ended));
    assert_eq!(turns(&hung, &lies), ["-lie-any-1"], "the first of each kind is tried all the same");
    // A test that failed before the others hung has noticed.
    let (_, failed) = run("-a");
    let partly = long().goes_on_for(&lies, 180.0, &[(Exit::TimedOut, failed), endless(), endless()]);
    assert_eq!(open(&partly, &lies), ["tests-lie-new-1", "tests-reworded"].map(not_ended));
}

#[test]
fn a_short_run_has_two_seconds_more_than_the_same_tests_took_by_themselves() {
    let [before, after] = texts();
    let mut repeated = change().selects();
    for _ in 0..3 {
        repeated = repeated.and_alone(ExperimentName::Repeat, NEW, run("+new"));
    }
    let repeated = repeated.taking(0.25).beside_others(4.0);
    let lies = tellable(&repeated, &before, &after);
    assert_eq!(turns(&repeated, &lies)[..2], ["-lie-1", "-lie-new-1"]);
    assert_eq!(most_seconds(&repeated, &lies)[..2], [Some(12.0), Some(2.25)]);
}
