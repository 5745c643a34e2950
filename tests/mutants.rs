//! Mutants of a change and its parts: which of them the tests catch, which they miss, and why some are not tried.

use std::time::Duration;

use journeyman::order::TestingSettings;
use journeyman::order::scrutiny::MutantTally;
use journeyman::sandbox::IsolationMode;

use crate::all_or_first;
use crate::change_tester::{ChangeTester, TestedChange, tested_by};

type SourceFiles<'f> = [(&'f str, &'f str); 2];

/// What became of the mutants of a change that its tests prove, in so many seconds.
async fn tally(seconds: u64, before: &SourceFiles<'_>, after: &SourceFiles<'_>) -> MutantTally {
    let (test_time, mutant_time) = (Duration::from_secs(90), Duration::from_secs(seconds));
    let settings = TestingSettings { test_time, mutant_time, ..TestingSettings::default() };
    let tester = ChangeTester::new(IsolationMode::Bubblewrap, settings).await;
    let change = TestedChange::new(tester.commits_of(before, after), tested_by("python3 -m unittest -v"));
    let run = tester.tested("one", change).await.run;
    let scrutiny = run.scrutiny.clone().unwrap_or_else(|| panic!("{run:#?}"));
    scrutiny.mutants.unwrap_or_else(|| panic!("{run:#?}"))
}

/// What all tests miss of what is tried in so many seconds. In eleven there is no time for a run of all tests.
const MISSED: [(u64, &[&str]); 2] =
    [(11, &[]), (40, &["fee.py:2: `<` became `<=`", "fee.py:2: `10` became `11`"])];

/// The new test reads what is heavy alone. What is light, a slow test of the base reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mutant_that_a_slow_test_of_the_base_catches_is_never_said_to_be_missed() {
    let old = "import time\nimport unittest\nfrom fee import fee\n\n\nclass Fee(unittest.TestCase):\n    \
               def test_light(self):\n        time.sleep(11 if fee(20) == 2 else 0)\n        self.assertEqual(fee(9), 1)\n";
    let new = format!("{old}\n    def test_heavy(self):\n        self.assertEqual(fee(20), 2)\n");
    let before = [("fee.py", "def fee(weight):\n    return 1\n"), ("test_fee.py", old)];
    let fee = "def fee(weight):\n    if weight < 10:\n        return 1\n    return 2\n";
    let after = [("fee.py", fee), ("test_fee.py", &*new)];
    for (seconds, missed) in all_or_first(&MISSED, 1) {
        let tally = tally(*seconds, &before, &after).await;
        assert!(tally.survivors.iter().all(|one| missed.contains(&one.as_str())), "{tally:#?}");
        assert_eq!(tally.tried as usize, tally.caught as usize + tally.survivors.len(), "{tally:#?}");
        assert!(tally.not_tried > 0, "{tally:#?}");
    }
}

/// What becomes of a script before and after a fix of it, which a test in Python proves.
async fn tally_of_script(before: &str, after: &str) -> MutantTally {
    let old = "import subprocess\nimport unittest\n\n\ndef fee(weight):\n    \
               return subprocess.check_output(['sh', 'fee.sh', weight], text=True).strip()\n\n\n\
               class Fee(unittest.TestCase):\n    def test_light(self):\n        self.assertEqual(fee('9'), '1')\n";
    let new = format!("{old}\n    def test_heavy(self):\n        self.assertEqual(fee('20'), '2')\n");
    tally(30, &[("fee.sh", before), ("test_fee.py", old)], &[("fee.sh", after), ("test_fee.py", &new)]).await
}

const NO_MUTANTS: Option<&str> = Some("Journeyman makes no mutants of shell scripts");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_language_without_mutants_is_named() {
    let fee = "if [ \"$1\" -lt 10 ]; then\n    echo 1\nelse\n    echo 2\nfi\n";
    let tally = tally_of_script("echo 1\n", fee).await;
    assert_eq!(tally.because.as_deref(), NO_MUTANTS, "{tally:#?}");
    assert_eq!(tally.parts_noticed, [""; 0], "its only part is all of it");
}

/// The script's limit changes as well, and no test is about it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_such_a_language_a_part_of_the_change_that_no_test_needs_is_told() {
    let fee = |limit: u32, heavy: u32| {
        format!("limit={limit}\nif [ \"$1\" -lt $limit ]; then\n    echo 1\nelse\n    echo {heavy}\nfi\n")
    };
    let tally = tally_of_script(&fee(20, 1), &fee(10, 2)).await;
    assert_eq!((tally.tried, tally.because.as_deref()), (0, NO_MUTANTS), "{tally:#?}");
    assert_eq!(tally.parts_noticed, ["fee.sh:5: line 5 as before the change"], "{tally:#?}");
    assert_eq!(tally.parts_unnoticed, ["fee.sh:1: line 1 as before the change"], "{tally:#?}");
}
