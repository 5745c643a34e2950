//! Tests of a change that do more than fail: they kill their process, or never end.

use journeyman::order::scrutiny::{Scrutiny, VerdictRun, WithoutResult};
use journeyman::order::{Exit, Proof, ProofGrade, TestVerdict};

use crate::change_tester::{ChangeTester, TestedChange, tested_by};

const TESTS: &str = "import unittest\nfrom amounts import cents\n\n\nclass Cents(unittest.TestCase):\n    def test_whole(self):\n        \
                     self.assertEqual(cents('12'), 1200)\n";
const NEW: &str = "\n    def test_negative(self):\n        self.assertEqual(cents('-3'), -300)\n";

fn code(negative: &str) -> String {
    format!(
        "import os\n\n\ndef cents(text):\n    while text.startswith('-'):\n        {negative}\n    return int(text) * 100\n"
    )
}

/// The scrutiny of a change that reads negative amounts.
async fn scrutinized(name: &str, negative: &str, (before, after): (&str, &str)) -> Scrutiny {
    let tester = ChangeTester::within(8).await;
    let commits = tester.commits_of(
        &[("amounts.py", &code(negative)), ("test_amounts.py", before)],
        &[("amounts.py", &code("return int(text) * 100")), ("test_amounts.py", after)],
    );
    let settings = tested_by("python3 -m unittest -v");
    let run = tester.tested(name, TestedChange::new(commits, settings)).await.run;
    assert_eq!(run.verdict, TestVerdict::Passed, "{run:#?}");
    *run.scrutiny.expect("it is compared with the base")
}

fn is_proven(scrutiny: &Scrutiny, test: &str) -> bool {
    matches!(&scrutiny.proof, Some(Proof::Proven { by: ProofGrade::Test, red }) if *red == [test])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_that_dies_or_never_ends_without_the_change_proves_it_and_it_is_said_how() {
    let tests = format!("{TESTS}{NEW}");
    for (name, negative, exit, words) in [
        ("dies", "os.abort()", Exit::Signal(6), "died of signal 6 (SIGABRT, an abort)"),
        ("never-ends", "pass", Exit::TimedOut, "did not end within 8 s"),
    ] {
        let scrutiny = scrutinized(name, negative, (TESTS, &tests)).await;
        assert!(is_proven(&scrutiny, "test_amounts.Cents.test_negative"), "{name}: {scrutiny:#?}");
        let [died] = &scrutiny.died[..] else { panic!("{name}: {scrutiny:#?}") };
        assert_eq!(died.exit, exit);
        let sentence = format!("on the code before the change, test_amounts.Cents.test_negative {words}");
        assert!(died.sentence().starts_with(&sentence), "{}", died.sentence());
        for run in ["tests", "tests-base", "tests-old-tests", "tests-old-code", "tests-alone-old-code"] {
            assert!(named(&scrutiny, run).duration_seconds > 0.0, "{name}: {run}");
        }
    }
}

fn named<'s>(scrutiny: &'s Scrutiny, name: &str) -> &'s VerdictRun {
    let found = scrutiny.runs.iter().find(|run| run.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:#?}", scrutiny.runs))
}

/// An assertion that waits until both sides are the same.
const WAITS: &str =
    "    def assertEqual(self, one, other):\n        while one != other:\n            pass\n\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_that_never_end_with_a_wrong_expectation_are_stopped_soon_and_that_is_said() {
    let before = TESTS.replace("    def test_whole", &format!("{WAITS}    def test_whole"));
    let after = format!(
        "{before}{}",
        NEW.replace("assertEqual(cents('-3'), -300)", "assertTrue(cents('-3') == -300)")
    );
    let scrutiny = scrutinized("waits", "return 300", (&before, &after)).await;
    let hung = named(&scrutiny, "tests-lie-1");
    assert!(hung.exit == Exit::TimedOut && hung.duration_seconds < 7.0, "{hung:?}");
    let open = scrutiny.without_result.iter().find(|run| run.name == "tests-lie-1");
    assert_eq!(open.map(|run| run.because), Some(WithoutResult::NotEnded), "{scrutiny:#?}");
}
