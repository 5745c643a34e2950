//! A repository with several projects: only a project's own tests verify what a change edits in it.

use journeyman::order::{RepositorySettings, TestRun, TestVerdict};

use crate::change_tester::{ChangeTester, TestedChange, tested_by};

const ROOT: &str = "[project]\nname = 'total'\n";
const TOTAL: &str = "def total(numbers):\n    return sum(numbers)\n";
const TEST: &str = "import unittest\nfrom total import total\n\n\nclass Total(unittest.TestCase):\n    \
                    def test_of_some(self):\n        self.assertEqual(total([1, 2]), 3)\n";
const MANIFEST: &str = r#"{"scripts": {"test": "node --test"}}"#;
const HALF: &str = "exports.half = (number) => number / 2;\n";
const BROKEN: &str = "exports.half = (number) => number / 3;\n";
const REWRITTEN: &str = "exports.half = (number) => 0.5 * number;\n";
const WEB_TEST: &str = "const assert = require('assert');\nconst test = require('node:test');\nconst { half } = require('./half');\n\
                        test('half of four', () => assert.strictEqual(half(4), 2));\n";

async fn tested(settings: RepositorySettings, half: &str, web_test: &str) -> TestRun {
    let tester = ChangeTester::within(60).await;
    let files = |half| {
        [
            ("pyproject.toml", ROOT),
            ("total.py", TOTAL),
            ("test_total.py", TEST),
            ("web/package.json", MANIFEST),
            ("web/half.js", half),
            ("web/half.test.js", web_test),
        ]
    };
    let commits = tester.commits_of(&files(HALF), &files(half));
    tester.tested("one", TestedChange::new(commits, settings)).await.run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tests_of_a_project_below_the_root_judge_what_is_edited_there() {
    let nothing = RepositorySettings::default;
    let broken = tested(nothing(), BROKEN, WEB_TEST).await;
    assert_eq!(broken.verdict, TestVerdict::Failed, "{broken:#?}");
    assert_eq!(broken.failing, ["web > web/half.test.js > half of four"]);

    let right = tested(nothing(), REWRITTEN, WEB_TEST).await;
    assert_eq!((right.verdict, right.doubt.as_deref()), (TestVerdict::Passed, None), "{right:#?}");
    assert_eq!(right.counts.map(|counts| counts.passed), Some(2), "of each folder one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_edited_where_no_test_runs_is_doubted_and_named() {
    let lacks = WEB_TEST.replace("node:test", "a-package-that-nobody-has");
    let not_run = tested(RepositorySettings::default(), BROKEN, &lacks).await;
    assert_eq!(not_run.verdict, TestVerdict::Passed, "{not_run:#?}");
    insta::assert_snapshot!(not_run.doubt.expect("a doubt"), @"the change edits web/half.js, and no test of web ran: `npm test` cannot run there on the base commit; say in `tests` of .github/journeyman.yml how web is set up and tested");

    let named = tested_by("python3 -m unittest");
    let not_asked = tested(named, BROKEN, WEB_TEST).await;
    assert_eq!(not_asked.verdict, TestVerdict::Passed, "{not_asked:#?}");
    insta::assert_snapshot!(not_asked.doubt.expect("a doubt"), @"the change edits web/half.js, and no test of web ran: name the tests of each folder as `tests` in .github/journeyman.yml");
}
