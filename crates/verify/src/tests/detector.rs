//! Which lies are told after which, and what they come to, told by small examples.

use super::judge::silent;
use super::table::{RunStory, story, touching};
use crate::experiment::*;
use journeyman_order::Proof;
use journeyman_order::scrutiny::LieVerdict;

pub(super) type TestFiles = Vec<(String, Vec<u8>)>;

pub(super) const A: &str = "def a():\n    assert one() == 1\n";

pub(super) fn files(text: &str) -> TestFiles {
    vec![("tests/test_a.py".to_owned(), text.as_bytes().to_vec())]
}

/// What can be told where the base has the first text, and the change the second.
pub(super) fn tellable<'t>(
    story: &RunStory,
    before: &'t TestFiles,
    after: &'t TestFiles,
) -> TellableLies<'t> {
    assert!(story.due_with(None).is_empty(), "the other runs are finished");
    story.known(None, |known| find_lies(known, &verdict(known), [before, after, before]))
}

pub(super) fn found(story: &RunStory, lies: &TellableLies<'_>) -> LieFindings {
    story.known(Some(lies), lie_findings).expect("lies can be told")
}

fn proof(story: &RunStory, lies: &TellableLies<'_>) -> String {
    match story.known(Some(lies), verdict).proof {
        Some(Proof::NotProven { because }) => because,
        other => format!("{other:?}"),
    }
}

#[test]
fn what_was_fixed_has_to_notice_a_wrong_expectation_and_no_other_words() {
    let text = files(&format!("{A}\ndef b():\n    assert two() == 2\n"));
    let fix = || story("+a -b", "+a +b").and(ExperimentName::FixedBase, &["-b", "-b", "-b"]);
    let lies = tellable(&fix(), &text, &text);
    assert_eq!(fix().due_with(Some(&lies)), ["-lie-1", "-reworded"]);
    for (runs, said, then) in [
        (["+a -b", "+a +b"], LieVerdict::Noticed, &["-mutants"][..]),
        (["+a +b", "+a +b"], LieVerdict::Unnoticed, &[]),
        (["+a -b", "+a -b"], LieVerdict::Unnoticed, &[]),
    ] {
        let told = fix().goes_on(&lies, &runs);
        assert_eq!(
            (found(&told, &lies).said, told.due_with(Some(&lies))),
            (said, then.iter().map(|name| (*name).to_owned()).collect())
        );
    }
    let calls = |runs: &[&str]| fix().calls_what_it_changes().goes_on(&lies, runs).due_with(Some(&lies));
    assert_eq!(calls(&["+a -b", "+a +b"]), ["-mutants", "-neighbours", "-neighbours-base"]);
    assert!(calls(&["+a +b", "+a +b"]).is_empty(), "it is not proven");
    let reworded = found(&fix().goes_on(&lies, &["+a -b", "+a -b"]), &lies);
    assert_eq!(
        reworded.told.last().map(|(lie, noticed)| (lie.now.as_str(), *noticed)),
        Some(("1 + 1", false))
    );
}

#[test]
fn what_fails_otherwise_in_other_words_is_tried_with_a_remark_which_breaks_no_test() {
    let text = files("def b():\n    assert two() == 2\n");
    let fix = || story("+a -b", "+a +b").and(ExperimentName::FixedBase, &["-b", "-b", "-b"]);
    let lies = tellable(&fix(), &text, &text);
    let failing = || fix().goes_on(&lies, &["+a -b", "+a -b"]).printing("b: 7, not 2\n");
    assert_eq!(found(&failing(), &lies).said, LieVerdict::Noticed, "the edit may have broken it");
    assert_eq!(failing().due_with(Some(&lies)), ["-reworded-2"]);
    let broken = failing().goes_on(&lies, &["+a +b"]);
    assert_eq!(found(&broken, &lies).said, LieVerdict::Noticed);
    assert_eq!(broken.due_with(Some(&lies)), ["-mutants"]);
    let by_text = failing().goes_on(&lies, &["+a -b"]).printing("b: 7, not 2\n");
    let told = found(&by_text, &lies);
    assert_eq!((told.said, by_text.due_with(Some(&lies)).len()), (LieVerdict::Unnoticed, 0));
    let last = told.told.last().map(|(lie, noticed)| (lie.now.as_str(), lie.is_reworded, *noticed));
    assert_eq!(last, Some(("# A remark.\n", true, false)));
}

#[test]
fn without_names_a_lie_that_nobody_notices_counts_in_a_file_that_may_be_the_tests() {
    let fix = || story("-a", "+a").and(ExperimentName::FixedBase, &["-a", "-a", "-a"]).unnamed();
    for (path, code, is_told) in [
        ("tests/run.py", 0, Some(LieVerdict::Unnoticed)),
        ("tests/run.py", 1, Some(LieVerdict::Noticed)),
        ("tests/test_a.py", 0, Some(LieVerdict::Unnoticed)),
        ("tests/fixtures/run.py", 0, None),
    ] {
        let text = vec![(path.to_owned(), A.as_bytes().to_vec())];
        let lies = tellable(&fix(), &text, &text);
        assert_eq!(fix().due_with(Some(&lies)), ["-lie-any-1", "-lie-slight-1", "-reworded"], "{path}");
        // Perhaps nothing reads the sign of a number.
        let told = fix().goes_on_for(&lies, 1.0, &[silent(code), silent(1), silent(0)]);
        let said = found(&told, &lies).said;
        let is_open = matches!(said, LieVerdict::NotTold { .. });
        assert_eq!(Some(said).filter(|_| !is_open), is_told, "{path}");
    }
}

#[test]
fn an_unnoticed_lie_in_a_file_that_no_run_reads_is_no_evidence_and_says_so() {
    let text = vec![("tests/fixtures/run.py".to_owned(), A.as_bytes().to_vec())];
    let green = || story("+a", "+a").unnamed();
    let lies = tellable(&green(), &text, &text);
    let told = green().goes_on_for(&lies, 1.0, &[silent(0)]).goes_on_for(&lies, 1.0, &[silent(0)]);
    let found = found(&told, &lies);
    let LieVerdict::NotTold { because } = &found.said else { panic!("{found:?}") };
    assert!(because.contains("tests/fixtures/run.py, line 2, and no run shows"), "{because}");
    assert!(found.told.is_empty());
}

#[test]
fn lies_are_told_first_in_files_that_the_change_touches_whatever_is_surer() {
    let unsure = ("tests/test_b.py".to_owned(), b"def b():\n    assert one() == 1 or two()\n".to_vec());
    let text = vec![("tests/test_a.py".to_owned(), A.as_bytes().to_vec()), unsure];
    let first = |story: RunStory| {
        let lies = tellable(&story, &text, &text);
        story.known(Some(&lies), |known| {
            let planned = due(known);
            let mut told = planned.iter().flat_map(|run| &run.lies);
            told.next().map(|lie| lie.path.clone())
        })
    };
    let touches = touching("tests/test_b.py", "+a", "+a")
        .and(ExperimentName::OldTests, &["+a"])
        .and(ExperimentName::OldCode, &["+a"]);
    assert_eq!(first(story("+a", "+a").unnamed()).as_deref(), Some("tests/test_a.py"));
    assert_eq!(first(touches.unnamed()).as_deref(), Some("tests/test_b.py"));
}

#[test]
fn wrong_expectations_of_different_tests_share_a_run_and_do_not_hide_each_other() {
    let text = files("def b():\n    assert two() == 2\n\ndef c():\n    assert three() == 3\n");
    let fix = || story("+a -b -c", "+a +b +c").and(ExperimentName::FixedBase, &["-b -c"; 3]);
    let lies = tellable(&fix(), &text, &text);
    assert_eq!(fix().due_with(Some(&lies)), ["-lie-1", "-reworded"]);
    let told = found(&fix().goes_on(&lies, &["+a -b +c", "+a +b +c"]), &lies);
    let each: Vec<(&str, bool)> =
        told.told.iter().map(|(lie, noticed)| (lie.was.as_str(), *noticed)).collect();
    assert_eq!((each, told.said), (vec![("2", true), ("3", false)], LieVerdict::Unnoticed));
}

#[test]
fn an_unnoticed_lie_is_told_on_the_base_and_says_nothing_if_it_is_unnoticed_there_too() {
    let text = files(A);
    let lies = tellable(&story("+a", "+a"), &text, &text);
    let unnoticed = || story("+a", "+a").goes_on(&lies, &["+a"]);
    assert_eq!(story("+a", "+a").due_with(Some(&lies)), ["-lie-1"]);
    assert_eq!(unnoticed().due_with(Some(&lies)), ["-lie-base"]);
    let bent = unnoticed().goes_on(&lies, &["-a"]);
    assert_eq!((found(&bent, &lies).said, bent.due_with(Some(&lies)).len()), (LieVerdict::Unnoticed, 0));
    let silent = unnoticed().goes_on(&lies, &["+a"]);
    assert_eq!(silent.due_with(Some(&lies)), ["-lie-any-1"], "perhaps a run of all tests notices it");
    let silent = silent.goes_on(&lies, &["+a"]);
    assert_eq!(silent.due_with(Some(&lies)), ["-lie-base"]);
    let silent = silent.goes_on(&lies, &["+a"]);
    let found = found(&silent, &lies);
    assert!(
        matches!(&found.said, LieVerdict::NotTold { because } if because.contains("line 2")),
        "{found:?}"
    );
    assert_eq!((found.told.len(), silent.due_with(Some(&lies))), (0, vec!["-mutants".to_owned()]));
}

#[test]
fn tests_that_pass_with_a_wrong_expectation_or_fail_in_other_words_prove_nothing() {
    let (before, after) = (files(A), files(&format!("{A}\ndef new():\n    assert three() == 3\n")));
    let change = || {
        touching("tests/test_a.py", "+a", "+a +new")
            .and(ExperimentName::OldTests, &["+a"])
            .and(ExperimentName::OldCode, &["+a -new"])
    };
    let lies = tellable(&change(), &before, &after);
    assert_eq!(change().due_with(Some(&lies)), ["-lie-1", "-lie-new-1", "-reworded"]);
    let noticed = change().goes_on(&lies, &["-a", "+a -new", "+a +new"]);
    assert_eq!((found(&noticed, &lies).said, found(&noticed, &lies).told.len()), (LieVerdict::Noticed, 2));
    assert!(proof(&noticed, &lies).contains("Proven"), "{}", proof(&noticed, &lies));
    let vain = change().goes_on(&lies, &["-a", "+a +new", "+a +new"]);
    assert!(
        proof(&vain, &lies).ends_with("pass with a wrong expectation as well"),
        "{}",
        proof(&vain, &lies)
    );
    let by_text = change().goes_on(&lies, &["-a", "+a -new", "+a -new"]);
    assert_eq!(found(&by_text, &lies).said, LieVerdict::Unnoticed);
    assert!(proof(&by_text, &lies).contains("do not pass by themselves"), "{}", proof(&by_text, &lies));
    let otherwise = || change().goes_on(&lies, &["-a", "+a -new", "+a -new"]).printing("new: 7, not 3\n");
    assert_eq!(otherwise().due_with(Some(&lies)), ["-reworded-2"]);
    let broken = otherwise().goes_on(&lies, &["+a +new"]);
    assert!(proof(&broken, &lies).contains("Proven"), "{}", proof(&broken, &lies));
    let by_text = otherwise().goes_on(&lies, &["+a -new"]);
    assert!(proof(&by_text, &lies).contains("do not pass by themselves"), "{}", proof(&by_text, &lies));
}
