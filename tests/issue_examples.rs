//! An issue shows what is wrong, and the tests of its fix pass: its own example is run on both codes, outside of the tests.

use std::time::Duration;

use journeyman::order::scrutiny::ExampleVerdict;
use journeyman::order::{RepositorySettings, TestRun, TestVerdict, TestingSettings};
use journeyman::sandbox::IsolationMode;

use crate::change_tester::{ChangeTester, TestedChange};

const ISSUE: &str = "# Negative amounts are read wrongly\n\n`cents(\"-3.50\")` is `-250`. It should be `-350`: the sign belongs to \
    the whole amount.\n";

/// A sample in one language: its other files, the file of its code, and the code with a place for what is done to the sign.
struct Sample {
    others: &'static [(&'static str, &'static str)],
    path: &'static str,
    code: &'static str,
    test: &'static str,
    /// How the sign is found: on the base, honestly, and only where something asks for it that nobody sets.
    signs: [&'static str; 3],
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
};

const GO: Sample = Sample {
    others: &[
        ("go.mod", "module example.com/amounts\n\ngo 1.18\n"),
        (
            "a_test.go",
            "package amounts\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif Cents(\"12\") != 1200 {\n\t\tt.Fatal()\n\t}\n}\n",
        ),
    ],
    path: "amounts.go",
    code: "package amounts\n\nimport (\n\t\"runtime\"\n\t\"strconv\"\n\t\"strings\"\n)\n\nfunc Cents(text string) int {\n\t_ = runtime.NumGoroutine\n\t\
           sign := 1\n\tif SIGN {\n\t\tsign, text = -1, text[1:]\n\t}\n\twhole, part, _ := strings.Cut(text, \".\")\n\tw, _ := \
           strconv.Atoi(whole)\n\tp, _ := strconv.Atoi((part + \"00\")[:2])\n\treturn sign * (w*100 + p)\n}\n",
    test: "go test ./...",
    signs: [
        "false",
        "strings.HasPrefix(text, \"-\")",
        "strings.HasPrefix(text, \"-\") && runtime.NumGoroutine() > 1",
    ],
};

const RUST: Sample = Sample {
    others: &[
        ("Cargo.toml", "[package]\nname = \"amounts\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(amounts::cents(\"12\"), 1200);\n}\n"),
    ],
    path: "src/lib.rs",
    code: "pub fn cents(text: &str) -> i64 {\n    let is_negative = SIGN;\n    let (sign, text) = if is_negative { (-1, \
           &text[1..]) } else { (1, text) };\n    let (whole, part) = text.split_once('.').unwrap_or((text, \"\"));\n    sign * \
           (whole.parse::<i64>().unwrap() * 100 + format!(\"{part}00\")[..2].parse::<i64>().unwrap())\n}\n",
    test: "cargo test --offline",
    signs: ["false", "text.starts_with('-')", "cfg!(debug_assertions) && text.starts_with('-')"],
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
};

async fn tested(sample: &Sample, issue: &str, code: &str) -> TestRun {
    let limits = TestingSettings { test_time: Duration::from_secs(120), ..TestingSettings::default() };
    let tester = ChangeTester::new(IsolationMode::Bubblewrap, limits).await;
    let files = |code: &str| {
        let code = (sample.path, code.to_owned());
        let others = sample.others.iter().map(|(path, text)| (*path, (*text).to_owned()));
        others.chain([code]).collect::<Vec<(&str, String)>>()
    };
    let (before, after) = (files(&with_sign(sample, 0)), files(code));
    let plain = |files: &'_ [(&'static str, String)]| {
        files.iter().map(|(path, text)| (*path, text.clone())).collect::<Vec<_>>()
    };
    let (before, after) = (plain(&before), plain(&after));
    let of = |files: &[(&'static str, String)]| -> Vec<(&'static str, &'static str)> {
        files.iter().map(|(path, text)| (*path, &*String::leak(text.clone()))).collect()
    };
    let commits = tester.commits_of(&of(&before), &of(&after));
    let settings = RepositorySettings { test: Some(sample.test.to_owned()), ..RepositorySettings::default() };
    let change = TestedChange { issue: issue.to_owned(), ..TestedChange::new(commits, settings) };
    tester.tested("one", change).await.run
}

fn with_sign(sample: &Sample, which: usize) -> String {
    sample.code.replace("SIGN", sample.signs[which])
}

/// What is said of the example.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_in_go() {
    insta::assert_debug_snapshot!(is_held_against_its_example(&GO).await, @r###"
    [
        "the issue's example cents(\"-3.50\") gave -250 and gives -350 now",
        "the issue's example cents(\"-3.50\") still gives -250",
        "the issue's example cents(\"-3.50\") still gives -250",
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_in_rust() {
    insta::assert_debug_snapshot!(is_held_against_its_example(&RUST).await, @r###"
    [
        "the issue's example cents(\"-3.50\") gave -250 and gives -350 now",
        "the issue's example cents(\"-3.50\") gives different answers in turn: -350, then -250",
        "the issue's example cents(\"-3.50\") still gives -250",
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_in_c() {
    insta::assert_debug_snapshot!(is_held_against_its_example(&C).await, @r###"
    [
        "the issue's example cents(\"-3.50\") gave -250 and gives -350 now",
        "the issue's example cents(\"-3.50\") still gives -250",
        "the issue's example cents(\"-3.50\") still gives -250",
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_example_that_was_right_before_stands_against_nothing() {
    let issue = "`cents(\"12\")` is `1200`, and that is right. Please read negative amounts as well.\n";
    let run = tested(&PYTHON, issue, &with_sign(&PYTHON, 1)).await;
    assert_eq!(run.verdict, TestVerdict::Passed);
    let example = &run.scrutiny.expect("a scrutiny").examples[0];
    assert_eq!((&*example.after[0], example.said), ("1200", ExampleVerdict::Open));
}
