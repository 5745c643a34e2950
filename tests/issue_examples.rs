//! The tests of a fix pass, but the issue's own example decides: it runs on both codes, outside the tests.
//! If there is no example, the issue's plan may contain a test.

use journeyman::order::examination::{ExaminerStatement, StatementKind, StatementProgram};
use journeyman::order::findings::{FindingKind, findings};
use journeyman::order::scrutiny::{ExampleVerdict, ProofTarget};
use journeyman::order::test_run::TestEvidence;
use journeyman::order::{IssueExamination, TestRun, TestVerdict};

use crate::change_tester::{ChangeTester, TestedChange, tested_by};

const ISSUE: &str = "# Negative amounts are read wrongly\n\n`cents(\"-3.50\")` is `-250`. It should be `-350`: the sign belongs to \
    the whole amount.\n";

/// A sample in one language: its other files, and the code with a placeholder for the sign's expression.
struct Sample {
    others: &'static [(&'static str, &'static str)],
    path: &'static str,
    code: &'static str,
    test: &'static str,
    /// The sign's expression: on the base, correct, and correct only in an environment that nobody sets.
    signs: [&'static str; 3],
    /// A test of the issue, as an examiner may write it.
    test_file: (&'static str, &'static str),
}

const PYTHON: Sample = Sample {
    others: &[
        ("amounts/__init__.py", "from .parse import cents\n"),
        (
            "test_a.py",
            "import unittest\nfrom amounts import cents\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(cents('12'), 1200)\n",
        ),
    ],
    path: "amounts/parse.py",
    code: "import os\n\n\ndef cents(text):\n    sign = SIGN\n    text = text.lstrip('-') if sign < 0 else text\n    \
           whole, _, part = text.partition('.')\n    return sign * (int(whole) * 100 + int((part + '00')[:2]))\n",
    test: "python3 -m unittest -v",
    signs: [
        "1",
        "-1 if text.startswith('-') else 1",
        "-1 if text.startswith('-') and os.environ.get('CI') else 1",
    ],
    test_file: (
        "test_issue.py",
        "import unittest\nfrom amounts import cents\nclass Issue(unittest.TestCase):\n    def test_negative(self):\n        self.assertEqual(cents('-3.50'), -350)\n",
    ),
};

const JAVASCRIPT: Sample = Sample {
    others: &[
        ("package.json", "{\"name\": \"amounts\", \"type\": \"module\", \"exports\": \"./src/parse.js\"}"),
        (
            "a.test.js",
            "import assert from 'node:assert';\nimport test from 'node:test';\nimport { cents } from './src/parse.js';\n\
                       test('a', () => assert.equal(cents('12'), 1200));\n",
        ),
    ],
    path: "src/parse.js",
    code: "export function cents(text) {\n  const sign = SIGN;\n  const [whole, part = ''] = (sign < 0 ? text.slice(1) : \
           text).split('.');\n  return sign * (Number(whole) * 100 + Number((part + '00').slice(0, 2)));\n}\n",
    test: "node --test",
    signs: ["1", "text.startsWith('-') ? -1 : 1", "text.startsWith('-') && !process.stdout.isTTY ? -1 : 1"],
    test_file: (
        "issue.test.js",
        "import assert from 'node:assert';\nimport test from 'node:test';\nimport { cents } from './src/parse.js';\n\
         test('negative', () => assert.equal(cents('-3.50'), -350));\n",
    ),
};

const C: Sample = Sample {
    others: &[
        ("src/amounts.h", "long cents(const char *text);\n"),
        ("test/a.c", "#include \"../src/amounts.h\"\nint main(void) { return cents(\"12\") != 1200; }\n"),
    ],
    path: "src/amounts.c",
    code: "#include \"amounts.h\"\n#include <stdlib.h>\n\nlong cents(const char *text) {\n  long sign = 1;\n  if (SIGN) {\n    sign = \
           -1;\n    text++;\n  }\n  char *end;\n  long whole = strtol(text, &end, 10);\n  long part = *end == '.' ? strtol(end + 1, \
           0, 10) : 0;\n  return sign * (whole * 100 + part);\n}\n",
    test: "cc -o a.out src/amounts.c test/a.c && ./a.out",
    signs: ["0", "*text == '-'", "*text == '-' && getenv(\"AMOUNTS_SIGNED\")"],
    test_file: (
        "test/issue.c",
        "#include \"../src/amounts.h\"\nint main(void) { return cents(\"-3.50\") != -350; }\n",
    ),
};

async fn tested(sample: &Sample, issue: &str, code: &str) -> TestRun {
    tested_with(sample, issue, code, None, &[]).await
}

async fn tested_with(
    sample: &Sample,
    issue: &str,
    code: &str,
    test_file: Option<(&str, &str)>,
    added: &[(&'static str, &'static str)],
) -> TestRun {
    let tester = ChangeTester::within(120).await;
    let before = with_sign(sample, 0);
    let after = [&files(sample, code)[..], added].concat();
    let commits = tester.commits_of(&files(sample, &before), &after);
    let settings = tested_by(sample.test);
    let examination = test_file.map(examined_by);
    let change =
        TestedChange { issue: issue.to_owned(), examination, ..TestedChange::new(commits, settings) };
    tester.tested("one", change).await.run
}

/// The sample with this code.
fn files<'a>(sample: &Sample, code: &'a str) -> Vec<(&'a str, &'a str)> {
    [sample.others, &[(sample.path, code)]].concat()
}

/// An examination that consists of a test file.
fn examined_by((path, text): (&str, &str)) -> IssueExamination {
    let program = StatementProgram {
        file: path.to_owned(),
        source: text.to_owned(),
        run: None,
        stdin: String::new(),
        answers: Vec::new(),
    };
    let statement = ExaminerStatement {
        kind: StatementKind::Changes,
        quote: "The sign belongs to the whole amount".to_owned(),
        source: "issue".to_owned(),
        is_new: false,
        programs: vec![program],
    };
    IssueExamination { statements: vec![statement], contradictions: Vec::new() }
}

fn examined(run: TestRun) -> String {
    let run = run.scrutiny.expect("a scrutiny").examination.expect("an examination");
    run.statements.first().expect("a statement").sentence()
}

fn with_sign(sample: &Sample, which: usize) -> String {
    sample.code.replace("SIGN", sample.signs[which])
}

/// The verdict on the example.
fn said(run: &TestRun) -> String {
    let examples = &run.scrutiny.as_ref().expect("a scrutiny").examples;
    examples
        .first()
        .and_then(|example| example.sentence())
        .unwrap_or_else(|| format!("{examples:?} {}", run.tail))
}

async fn is_held_against_its_example(sample: &Sample) -> [String; 3] {
    let mended = tested(sample, ISSUE, &with_sign(sample, 1)).await;
    assert_eq!(mended.verdict, TestVerdict::Passed, "{}", said(&mended));
    let only_there = tested(sample, ISSUE, &with_sign(sample, 2)).await;
    assert_eq!(only_there.verdict, TestVerdict::Unmended, "{}", said(&only_there));
    let other = tested(sample, ISSUE, &with_sign(sample, 0).replace("100", "(50 + 50)")).await;
    assert_eq!(other.verdict, TestVerdict::Unmended, "{}", said(&other));
    [said(&mended), said(&only_there), said(&other)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_in_python() {
    insta::assert_debug_snapshot!(is_held_against_its_example(&PYTHON).await, @r###"
    [
        "the issue's example cents(\"-3.50\") gave -250 and gives -350 now",
        "the issue's example cents(\"-3.50\") still gives -250",
        "the issue's example cents(\"-3.50\") still gives -250",
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_in_javascript() {
    insta::assert_debug_snapshot!(is_held_against_its_example(&JAVASCRIPT).await, @r###"
    [
        "the issue's example cents(\"-3.50\") gave -250 and gives -350 now",
        "the issue's example cents(\"-3.50\") gives different answers in turn: -350, then -250",
        "the issue's example cents(\"-3.50\") still gives -250",
    ]
    "###);
}

/// Whether the code finds what its answers start with, whose first characters name a folder.
const SEEN: &str = "\n\ndef seen():\n    import glob, re\n    def read(path):\n        try:\n            return open(path, 'rb').read().decode('latin-1')\n        \
    except OSError:\n            return ''\n    paths = [*glob.glob('/proc/[0-9]*/cmdline'), '/proc/self/environ', *glob.glob('u*/*')]\n    \
    texts = ''.join(map(read, paths))\n    return any(re.search(name[1:] + '[0-9a-f]{6}', texts) for name in glob.glob('u??????????'))\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_for_one_way_to_run_an_example_is_none_and_its_answers_cannot_be_forged() {
    let code = |condition: &str| {
        let sign = format!("-1 if text.startswith('-') and ({condition}) else 1");
        PYTHON.code.replace("SIGN", &sign) + SEEN
    };
    let mut all = Vec::new();
    for condition in ["__debug__", "not __import__('sys').stdout.isatty()", "seen()"] {
        let run = tested(&PYTHON, ISSUE, &code(condition)).await;
        assert_eq!(run.verdict, TestVerdict::Unmended, "{condition}");
        all.push(said(&run));
    }
    insta::assert_debug_snapshot!(all, @r###"
    [
        "the issue's example cents(\"-3.50\") gives different answers in turn: -350, then -250",
        "the issue's example cents(\"-3.50\") gives different answers in turn: -350, then -250",
        "the issue's example cents(\"-3.50\") still gives -250",
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_example_that_was_right_before_or_cannot_be_run_stands_against_nothing_and_is_named() {
    let issue = "`cents(\"12\")` is `1200`, and that is right. Please read negative amounts as well.\n\n`Wallet.sum(\"-3.50\")` is \
                 `-250` then.\n";
    let run = tested(&PYTHON, issue, &with_sign(&PYTHON, 1)).await;
    assert_eq!(run.verdict, TestVerdict::Passed);
    let scrutiny = run.scrutiny.expect("a scrutiny");
    let example = &scrutiny.examples[0];
    assert_eq!((&*example.after[0], example.said), ("1200", ExampleVerdict::Open));
    let (unanswered, same) = scrutiny.unjudged_examples();
    assert_eq!((unanswered, same), (&["Wallet.sum(\"-3.50\")".to_owned()][..], vec!["cents(\"12\")"]));
}

const PROSE: &str = "# Negative amounts are read wrongly\n\nThe sign belongs to the whole amount, and not only to what stands before \
    the point.\n";

/// The verdicts of the examiner's test file on the fix, and on a change that fixes nothing.
async fn examined_both(sample: &Sample) -> [String; 2] {
    let test_file = Some(sample.test_file);
    let mended = tested_with(sample, PROSE, &with_sign(sample, 1), test_file, &[]).await;
    let other = with_sign(sample, 0).replace("100", "(50 + 50)");
    let other = tested_with(sample, PROSE, &other, test_file, &[]).await;
    assert_eq!((mended.verdict, other.verdict), (TestVerdict::Passed, TestVerdict::Passed));
    let lacks =
        |run: &TestRun| run.scrutiny.as_ref().and_then(|scrutiny| scrutiny.unproven(ProofTarget::Fix));
    // Without tests of its own, nothing else proves a change. If the runner does not name tests, neither does the file.
    let names_tests = !sample.path.ends_with(".c");
    assert_eq!(lacks(&mended).is_none(), names_tests, "{:?}", lacks(&mended));
    assert!(lacks(&other).is_some());
    [examined(mended), examined(other)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_examiner_writes_a_test_of_the_issue_which_counts_where_the_runner_names_it() {
    let said = [examined_both(&PYTHON).await, examined_both(&JAVASCRIPT).await, examined_both(&C).await];
    insta::assert_debug_snapshot!(said, @r###"
    [
        [
            "statement 1 (issue: “The sign belongs to the whole amount”) holds",
            "statement 1 (issue: “The sign belongs to the whole amount”) does not hold: test_issue.Issue.test_negative gives a failure, and a pass is expected",
        ],
        [
            "statement 1 (issue: “The sign belongs to the whole amount”) holds",
            "statement 1 (issue: “The sign belongs to the whole amount”) does not hold: issue.test.js > negative gives a failure, and a pass is expected",
        ],
        [
            "statement 1 (issue: “The sign belongs to the whole amount”) does not count: the runner does not name its tests",
            "statement 1 (issue: “The sign belongs to the whole amount”) does not count: the runner does not name its tests",
        ],
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_file_that_is_green_or_does_not_load_before_the_change_says_nothing() {
    let (path, text) = PYTHON.test_file;
    let mut said = Vec::new();
    for text in [
        text.replace("-350", "-250"),
        text.replace("import cents", "import cents, negative"),
        text.replace("def test_negative", "def negative"),
    ] {
        let run = tested_with(&PYTHON, PROSE, &with_sign(&PYTHON, 1), Some((path, &text)), &[]).await;
        said.push(examined(run));
    }
    let (there, text_there) = JAVASCRIPT.test_file;
    let unloaded = text_there.replace("{ cents }", "{ cents, negative }");
    let run =
        tested_with(&JAVASCRIPT, PROSE, &with_sign(&JAVASCRIPT, 1), Some((there, &unloaded)), &[]).await;
    said.push(examined(run));
    // A fix that only works where a machine tests is no fix.
    let only_there = tested_with(&PYTHON, PROSE, &with_sign(&PYTHON, 2), Some((path, text)), &[]).await;
    said.push(examined(only_there));
    insta::assert_debug_snapshot!(said, @r###"
    [
        "statement 1 (issue: “The sign belongs to the whole amount”) does not count: it holds on the base already",
        "statement 1 (issue: “The sign belongs to the whole amount”) does not count: its test file cannot be loaded on the base",
        "statement 1 (issue: “The sign belongs to the whole amount”) does not count: its tests are not among those that run",
        "statement 1 (issue: “The sign belongs to the whole amount”) does not count: its test file cannot be loaded on the base",
        "statement 1 (issue: “The sign belongs to the whole amount”) does not hold: test_issue.Issue.test_negative gives a failure, and a pass is expected",
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_that_a_wrong_answer_passes_as_well_proves_nothing_and_compiled_code_verifies_nothing() {
    let weak = |claim: &str| -> &'static str {
        let text = format!(
            "import unittest\nfrom amounts import cents\nclass B(unittest.TestCase):\n    def test_negative(self):\n        assert {claim}\n"
        );
        String::leak(text)
    };
    let wrong = with_sign(&PYTHON, 1).replace("return sign *", "return 7 + sign *");
    let mut proofs = Vec::new();
    for (code, claim) in [
        (&wrong, "cents('-3.50') != -250"),
        (&with_sign(&PYTHON, 1), "abs(cents('-3.50')) <= 350 and cents('-3.50') < -300"),
        (&with_sign(&PYTHON, 1), "cents('-3.50') == -350"),
    ] {
        // `12` is right whatever the sign's expression.
        let code = code.replace("7 + sign *", "(7 if sign < 0 else 0) + sign *");
        let run = tested_with(&PYTHON, PROSE, &code, None, &[("test_b.py", weak(claim))]).await;
        assert_eq!(run.verdict, TestVerdict::Passed, "{}", run.tail);
        let all = findings(Some(&TestEvidence::of(&run)), Vec::new());
        let line = all.iter().find(|finding| finding.fact == FindingKind::RedThenGreen);
        proofs.push(line.expect("each line is there").sentence.to_string());
    }
    insta::assert_debug_snapshot!(proofs, @r###"
    [
        "No test proves the change: the tests that fail without the change pass with a wrong expectation as well.",
        "1 test fails without the change and passes with it: test_b.B.test_negative.",
        "1 test fails without the change and passes with it: test_b.B.test_negative.",
    ]
    "###);
    let added = [("test_b.py", weak("cents('-3.50') == -350")), ("amounts/_sizes.so", "nobody reads this")];
    let run = tested_with(&PYTHON, PROSE, &with_sign(&PYTHON, 1), None, &added).await;
    insta::assert_snapshot!(run.doubt.expect("a doubt"), @"compiled code came with the change, which nobody can read: amounts/_sizes.so");
}
