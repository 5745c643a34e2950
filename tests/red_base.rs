//! If tests already fail on the base, nothing is verified, unless the repository accepts changes without new failures.

use journeyman::engine::testing::TestRunResult;
use journeyman::order::settings::AcceptedRun;
use journeyman::order::{ComparisonVerdict, Proof, RepositorySettings, TestVerdict};

use crate::change_tester::{ChangeTester, TestedChange, tested_by};

const BROKEN: &str = "def total(numbers):\n    return sum(numbers[1:])\n";
const MENDED: &str = "def total(numbers):\n    return sum(numbers)\n";
const WRONG: &str = "def total(numbers):\n    return 0\n";

/// One test that always fails, one that always passes, and the given ones.
fn tests(more: &str) -> String {
    format!(
        "import unittest\nfrom total import total\n\n\nclass Total(unittest.TestCase):\n    \
         def test_of_old(self):\n        self.assertEqual(total([0]), 7)\n\n    \
         def test_of_none(self):\n        self.assertEqual(total([]), 0)\n{more}"
    )
}

const NEW: &str = "\n    def test_of_some(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n";

async fn tested(accept: AcceptedRun, code: &str, more: &str) -> TestRunResult {
    let tester = ChangeTester::within(60).await;
    let (before, after) = (tests(""), tests(more));
    let commits = tester.commits_of(
        &[("total.py", BROKEN), ("test_total.py", &before)],
        &[("total.py", code), ("test_total.py", &after)],
    );
    let settings = RepositorySettings { accept, ..tested_by("python3 -m unittest -v") };
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

/// A script whose linter is not installed, and tests beside it.
const PACKAGE: &str = r#"{
  "name": "total", "version": "1.0.0",
  "scripts": { "test": "node --test", "posttest": "npm run lint", "lint": "eslint ." }
}"#;

fn in_javascript(numbers: &str, more: &str) -> [(&'static str, String); 2] {
    let code = format!("exports.total = (numbers) => {numbers}.reduce((sum, one) => sum + one, 0)\n");
    let tests = format!(
        "const test = require('node:test')\nconst assert = require('node:assert')\n\
         const {{ total }} = require('./total.js')\n\n\
         test('of none', () => assert.strictEqual(total([]), 0))\n{more}"
    );
    [("total.js", code), ("total.test.js", tests)]
}

async fn tested_in_javascript(settings: RepositorySettings, numbers: &str) -> TestRunResult {
    let tester = ChangeTester::within(60).await;
    let before = in_javascript("numbers.slice(1)", "");
    let new = "test('of some', () => assert.strictEqual(total([1, 2, 3]), 6))\n";
    let after = in_javascript(numbers, new);
    let [code, tests] = &before;
    let before = [("package.json", PACKAGE), (code.0, &*code.1), (tests.0, &*tests.1)];
    let [code, tests] = &after;
    let commits =
        tester.commits_of(&before, &[("package.json", PACKAGE), (code.0, &*code.1), (tests.0, &*tests.1)]);
    tester.tested("one", TestedChange::new(commits, settings)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_only_a_linter_fails_on_the_base_a_change_is_judged_by_the_tests() {
    let found = tested_in_javascript(RepositorySettings::default(), "numbers").await.run;
    assert_eq!((found.verdict, found.doubt.as_deref()), (TestVerdict::Passed, None), "{found:#?}");
    assert_eq!(found.test.as_ref().map(|run| run.command.as_str()), Some("node --test"));
    let proof = found.scrutiny.and_then(|scrutiny| scrutiny.proof);
    assert!(matches!(proof, Some(Proof::Proven { .. })), "{proof:?}");
    let wrong = tested_in_javascript(RepositorySettings::default(), "[]").await.run;
    assert_eq!(wrong.verdict, TestVerdict::Failed, "{wrong:#?}");

    // An explicit command is used unchanged.
    let named = |accept| RepositorySettings { accept, ..tested_by("npm test") };
    let refused = tested_in_javascript(named(AcceptedRun::AllPass), "numbers").await.run;
    assert_eq!(refused.verdict, TestVerdict::Failed);
    let accepted = tested_in_javascript(named(AcceptedRun::NoNewFailures), "numbers").await.run;
    assert_eq!((accepted.verdict, accepted.doubt.as_deref()), (TestVerdict::Passed, None), "{accepted:#?}");
    assert!(accepted.is_accepted_red() && accepted.failing.is_empty());
    let wrong = tested_in_javascript(named(AcceptedRun::NoNewFailures), "[]").await.run;
    assert_eq!(wrong.verdict, TestVerdict::Failed);
}

/// A crate whose sum is wrong, with additions to its source and manifest.
fn in_rust(manifest: &str, first: &str, sum: &str) -> [(&'static str, String); 2] {
    let manifest =
        format!("[package]\nname = \"total\"\nversion = \"1.0.0\"\nedition = \"2021\"\n{manifest}");
    let code = format!(
        "{first}\npub fn total(all: &[i64]) -> i64 {{\n    {sum}\n}}\n\n#[cfg(test)]\nmod tests {{\n    #[test]\n    \
         fn of_two() {{\n        assert_eq!(super::total(&[1, 2]), 3);\n    }}\n}}\n"
    );
    [("Cargo.toml", manifest), ("src/lib.rs", code)]
}

/// On the base, the test that the issue is about fails too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_compile_beside_red_tests_is_left_out_and_that_is_said() {
    for (manifest, first, command, note) in [
        (
            "[features]\nfast = []\n[dependencies]\n",
            "#[cfg(feature = \"fast\")]\ncompile_error!(\"not with this compiler\");",
            "cargo test",
            "`cargo test --all-features` runs no test, so changes are judged by `cargo test`",
        ),
        ("", "", "cargo test", ""),
    ] {
        let tester = ChangeTester::within(100).await;
        let [before, after] =
            ["all.iter().skip(1).sum()", "all.iter().sum()"].map(|sum| in_rust(manifest, first, sum));
        let commits = tester.commits_of(
            &before.each_ref().map(|(name, text)| (*name, text.as_str())),
            &after.each_ref().map(|(name, text)| (*name, text.as_str())),
        );
        let change = || TestedChange::new(commits, RepositorySettings::default());
        let survey = tester.surveyed("one", change()).await;
        assert_eq!(survey.report.problem, None, "{first}");
        let said = survey.report.notes.iter().find(|said| said.contains("judged by"));
        assert_eq!(said.map(String::as_str).unwrap_or_default(), note);
        let run = tester.tested("one", change()).await.run;
        assert_eq!(run.verdict, TestVerdict::Passed, "{first}: {run:#?}");
        let ran = run.test.as_ref().map(|run| run.command.as_str());
        assert_eq!(ran, Some(format!("{command} --no-fail-fast").as_str()));
    }
}

/// A crate with a test that is always red, and a test program with a harness of its own.
fn with_own_harness(sum: &str, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let manifest = "[[test]]\nname = \"cases\"\nharness = false\n";
    let code = format!("pub fn total(all: &[i64]) -> i64 {{\n    {sum}\n}}\n");
    let cases = "fn main() {\n    let none = total::total(&[]);\n    println!(\"<> ... {none}\");\n    \
                 std::process::exit(i32::from(none != 0));\n}\n";
    let tests = "#[test]\nfn of_old() {\n    assert_eq!(total::total(&[0]), 7);\n}\n\n\
                 #[test]\nfn of_nine() {\n    assert_eq!(total::total(&[0, 9]), 9);\n}\n";
    let manifest =
        format!("[package]\nname = \"total\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n{manifest}");
    let mut files = vec![
        ("Cargo.toml", manifest),
        ("src/lib.rs", code),
        ("tests/cases.rs", cases.to_owned()),
        ("tests/unit.rs", tests.to_owned()),
    ];
    files.extend(more.iter().map(|(path, text)| (*path, (*text).to_owned())));
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_program_that_names_no_tests_red_tests_are_known_by_name() {
    let new = ("tests/sums.rs", "#[test]\nfn of_some() {\n    assert_eq!(total::total(&[1, 2, 3]), 6);\n}\n");
    let before = with_own_harness("all.iter().skip(1).sum()", &[]);
    for (sum, verdict, judged) in [
        ("all.iter().sum()", TestVerdict::Passed, ComparisonVerdict::PassedBesideRed),
        // It breaks what the other program checks.
        ("all.iter().sum::<i64>().max(1)", TestVerdict::Failed, ComparisonVerdict::Failed),
    ] {
        let tester = ChangeTester::within(100).await;
        let after = with_own_harness(sum, &[new]);
        let [before, after] = [&before, &after]
            .map(|files| files.iter().map(|(path, text)| (*path, text.as_str())).collect::<Vec<_>>());
        let commits = tester.commits_of(&before, &after);
        let settings =
            RepositorySettings { accept: AcceptedRun::NoNewFailures, ..RepositorySettings::default() };
        let run = tester.tested("one", TestedChange::new(commits, settings)).await.run;
        let scrutiny = run.scrutiny.as_ref().expect("a scrutiny");
        assert_eq!((run.verdict, scrutiny.judged), (verdict, judged), "{sum}: {run:#?}");
        assert_eq!(scrutiny.comparison.programs, ["tests/cases.rs"]);
        let is_broken = scrutiny.comparison.newly_broken.names == ["tests/cases.rs"];
        assert_eq!(is_broken, judged == ComparisonVerdict::Failed, "{scrutiny:#?}");
    }
}
