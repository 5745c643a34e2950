//! Tests that fail before any change: nothing is verified beside them, unless the repository accepts that no other fails.

use std::time::Duration;

use journeyman::engine::testing::TestRunResult;
use journeyman::order::settings::AcceptedRun;
use journeyman::order::{ComparisonVerdict, Proof, RepositorySettings, TestVerdict, TestingSettings};
use journeyman::sandbox::IsolationMode;

use crate::change_tester::{ChangeTester, TestedChange};

const BROKEN: &str = "def total(numbers):\n    return sum(numbers[1:])\n";
const MENDED: &str = "def total(numbers):\n    return sum(numbers)\n";
const WRONG: &str = "def total(numbers):\n    return 0\n";

/// One test that fails on every code, one that passes on every code, and those that are named.
fn tests(more: &str) -> String {
    format!(
        "import unittest\nfrom total import total\n\n\nclass Total(unittest.TestCase):\n    \
         def test_of_old(self):\n        self.assertEqual(total([0]), 7)\n\n    \
         def test_of_none(self):\n        self.assertEqual(total([]), 0)\n{more}"
    )
}

const NEW: &str = "\n    def test_of_some(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n";

async fn tested(accept: AcceptedRun, code: &str, more: &str) -> TestRunResult {
    let settings = TestingSettings { test_time: Duration::from_secs(60), ..TestingSettings::default() };
    let tester = ChangeTester::new(IsolationMode::Bubblewrap, settings).await;
    let (before, after) = (tests(""), tests(more));
    let commits = tester.commits_of(
        &[("total.py", BROKEN), ("test_total.py", &before)],
        &[("total.py", code), ("test_total.py", &after)],
    );
    let test = Some("python3 -m unittest -v".to_owned());
    let settings = RepositorySettings { test, accept, ..RepositorySettings::default() };
    tester.tested("one", TestedChange::new(commits, settings)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_is_proven_beside_a_test_that_was_red_before_where_that_is_accepted() {
    let accepted = tested(AcceptedRun::NoNewFailures, MENDED, NEW).await.run;
    assert_eq!((accepted.verdict, accepted.doubt.as_deref()), (TestVerdict::Passed, None), "{accepted:#?}");
    assert!(accepted.is_accepted_red());
    let scrutiny = accepted.scrutiny.as_ref().expect("a scrutiny");
    assert!(matches!(scrutiny.proof, Some(Proof::Proven { .. })), "{scrutiny:#?}");
    assert_eq!(accepted.failing, ["test_total.Total.test_of_old"], "and it is named");

    let refused = tested(AcceptedRun::AllPass, MENDED, NEW).await.run;
    assert_eq!(refused.verdict, TestVerdict::Failed);
    assert_eq!(refused.scrutiny.expect("a scrutiny").judged, ComparisonVerdict::PassedBesideRed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_mends_nothing_is_not_accepted_beside_a_red_test() {
    let wrong = tested(AcceptedRun::NoNewFailures, WRONG, NEW).await.run;
    assert_eq!(wrong.verdict, TestVerdict::Failed, "a new test fails: {wrong:#?}");
    let untested = tested(AcceptedRun::NoNewFailures, WRONG, "").await.run;
    insta::assert_snapshot!(untested.doubt.unwrap_or_default(), @"tests fail as they do on the base commit, and no other test shows that the change does what is asked for");
    let weak = NEW.replace("self.assertEqual(total([1, 2, 3]), 6)", "total([1, 2, 3])");
    let weak = tested(AcceptedRun::NoNewFailures, WRONG, &weak).await.run;
    assert!(weak.doubt.is_some() || weak.verdict != TestVerdict::Passed, "{weak:#?}");
}
