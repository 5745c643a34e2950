//! Proofs that only hold for their own tests, depending on where or when they run.

use journeyman::order::{Proof, TestRun, TestVerdict};

use crate::change_tester::{ChangeTester, TestedChange, tested_by};

const TESTS: &str = "import os\nimport unittest\nfrom amounts import cents\n\n\nclass Cents(unittest.TestCase):\n    \
    def test_whole(self):\n        self.assertEqual(cents('12'), 1200)\n";
const NEW: &str = "\n    def test_negative(self):\n        self.assertEqual(cents('-3.50'), -350)\n";

/// The code, with this condition for the sign.
fn code(sign: &str) -> String {
    format!(
        "import os\nimport random\n\n\ndef cents(text):\n    sign = -1 if {sign} else 1\n    \
         text = text.lstrip('-') if sign < 0 else text\n    whole, _, part = text.partition('.')\n    return sign * (int(whole) * 100 + \
         int((part + '00')[:2]))\n"
    )
}

/// The verdict on a change that adds sign handling by this condition, with a test; the issue is in prose.
async fn tested(sign: &str) -> TestRun {
    let tester = ChangeTester::within(60).await;
    let before = code("False");
    let after = code(&format!("text.startswith('-') and {sign}"));
    let tests = format!("{TESTS}{NEW}");
    let commits = tester.commits_of(
        &[("amounts.py", &before), ("test_amounts.py", TESTS)],
        &[("amounts.py", &after), ("test_amounts.py", &tests)],
    );
    let settings = tested_by("python3 -m unittest -v");
    let issue = "Negative amounts are read wrongly.".to_owned();
    let change = TestedChange { issue, ..TestedChange::new(commits, settings) };
    tester.tested("one", change).await.run
}

fn proof(run: &TestRun) -> &Proof {
    run.scrutiny.as_ref().and_then(|scrutiny| scrutiny.proof.as_ref()).unwrap_or_else(|| panic!("{run:#?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_holds_only_where_the_tests_run_is_not_proven() {
    let run = tested("os.environ.get('CI')").await;
    assert!(
        !matches!(proof(&run), Proof::Proven { .. }) || run.verdict != TestVerdict::Passed,
        "{:#?}",
        proof(&run)
    );
}

/// It knows the file of its tests by its length, and otherwise gives another wrong answer than the base.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_fails_with_a_remark_in_the_file_of_its_tests_is_no_fix() {
    let tester = ChangeTester::within(60).await;
    let (before, tests) = (code("False"), format!("{TESTS}{NEW}"));
    let by_length = format!(
        "def cents(text):\n    if text.startswith('-'):\n        with open('test_amounts.py') as tests:\n            \
         return -350 if len(tests.read()) == {} else 7\n",
        tests.len()
    );
    let after = before.replace("def cents(text):\n", &by_length);
    let commits = tester.commits_of(
        &[("amounts.py", &before), ("test_amounts.py", &tests)],
        &[("amounts.py", &after), ("test_amounts.py", &tests)],
    );
    let settings = tested_by("python3 -m unittest -v");
    let run = tester.tested("one", TestedChange::new(commits, settings)).await.run;
    let lies = run.scrutiny.as_ref().and_then(|scrutiny| scrutiny.lies.as_ref());
    let told = lies.iter().flat_map(|lies| &lies.told);
    let reworded: Vec<&str> = told.filter(|lie| lie.reworded).map(|lie| lie.now.trim()).collect();
    assert_eq!(reworded, ["# A remark."], "{run:#?}");
    assert_ne!(run.verdict, TestVerdict::Passed, "{run:#?}");
}

/// With the change, a test of the base passes only sometimes. On the base it always passes, or always fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_is_not_flaky_where_the_change_alone_makes_it_so() {
    let tester = ChangeTester::within(60).await;
    let red = format!("{TESTS}{NEW}");
    let new = "\n    def test_quarter(self):\n        self.assertEqual(cents('.25'), 25)\n";
    let mended = |sign: &str| code(sign).replace("int(whole)", "int(whole or 0)");
    let before = code("False");
    for (name, tests, after) in [
        ("red-before", &*red, mended("text.startswith('-') and random.random() < 0.3")),
        ("green-before", TESTS, mended("random.random() < 0.97")),
    ] {
        let commits = tester.commits_of(
            &[("amounts.py", &before), ("test_amounts.py", tests)],
            &[("amounts.py", &after), ("test_amounts.py", &format!("{tests}{new}"))],
        );
        let settings = tested_by("python3 -m unittest -v");
        let run = tester.tested(name, TestedChange::new(commits, settings)).await.run;
        assert_ne!(run.verdict, TestVerdict::Passed, "{name}: {run:#?}");
    }
}
