//! A fix that is right only where its tests run: the tests pass, and an examiner's program, started as a user starts
//! it, shows that it is none.

use journeyman::order::examination::{
    ExaminerStatement, ExpectedAnswer, StatementKind, StatementProgram, StatementVerdict,
};
use journeyman::order::{IssueExamination, TestRun};

use crate::change_tester::{ChangeTester, TestedChange, tested_by};

const ISSUE: &str = "# Negative amounts are read wrongly\n\nThe sign belongs to the whole amount.\n";
const CODE: &str = "import datetime, getpass, os, socket, sys\n\n\ndef cents(text):\n    sign = -1 if text.startswith('-') and (WHERE) else 1\n    \
     text = text.lstrip('-') if sign < 0 else text\n    whole, _, part = text.partition('.')\n    return sign * (int(whole) * 100 + int((part + \
     '00')[:2]))\n";
const NEVER: &str = "False";
const OLD_TEST: &str = "import unittest\nfrom amounts import cents\nclass A(unittest.TestCase):\n    def test_a(self):\n        \
     self.assertEqual(cents('12'), 1200)\n";
const NEW_TEST: &str = "import unittest\nfrom amounts import cents\nclass B(unittest.TestCase):\n    def test_b(self):\n        \
     self.assertEqual(cents('-3.50'), -350)\n";

fn statement() -> ExaminerStatement {
    let source = "from amounts import cents\nprint(cents('-3.50'))\n";
    ExaminerStatement {
        kind: StatementKind::Changes,
        quote: "The sign belongs to the whole amount.".to_owned(),
        source: "issue".to_owned(),
        is_new: false,
        programs: vec![StatementProgram {
            file: "check.py".to_owned(),
            source: source.to_owned(),
            run: None,
            stdin: String::new(),
            answers: vec![ExpectedAnswer { input: "cents('-3.50')".to_owned(), expected: "-350".to_owned() }],
        }],
    }
}

/// The repository with this code.
fn files(code: &str) -> [(&str, &str); 5] {
    [
        ("amounts.py", code),
        ("CHANGELOG.md", "Nothing yet.\n"),
        (".gitattributes", "CHANGELOG.md export-ignore\n"),
        ("tests/__init__.py", ""),
        ("tests/test_a.py", OLD_TEST),
    ]
}

/// A fix that works where this Python expression is true.
async fn fixed(tester: &ChangeTester, place: &str) -> TestRun {
    let code = |condition: &str| CODE.replace("WHERE", condition);
    let (before, after) = (code(NEVER), code(place));
    let (old, new) = (files(&before), [&files(&after)[..], &[("tests/test_b.py", NEW_TEST)]].concat());
    let commits = tester.commits_of(&old, &new);
    let examination = IssueExamination { statements: vec![statement()], contradictions: Vec::new() };
    let change = TestedChange {
        issue: ISSUE.to_owned(),
        examination: Some(examination),
        ..TestedChange::new(commits, tested_by("python3 -m unittest -v"))
    };
    tester.tested("one", change).await.run
}

fn verdict(run: &TestRun) -> StatementVerdict {
    let scrutiny = run.scrutiny.as_ref().unwrap_or_else(|| panic!("a scrutiny: {}", run.tail));
    let examination = scrutiny.examination.as_ref().unwrap_or_else(|| panic!("tests pass: {}", run.tail));
    examination.statements.first().expect("a statement").said.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_knows_where_its_tests_run_is_none_for_a_user() {
    let tester = ChangeTester::within(120).await;
    let honest = fixed(&tester, "True").await;
    assert_eq!(verdict(&honest), StatementVerdict::Holds);
    let place = honest.scrutiny.expect("a scrutiny").user_place.expect("programs ran");
    assert!(place.folder.starts_with('/') && place.on_terminal && place.packed_by == "git", "{place:?}");

    for place in [
        "os.path.isdir('tests') or os.path.isdir('../tests')",
        "os.path.abspath(__file__).startswith('/workspace/')",
        "os.environ['HOME'].startswith('/workspace/')",
        "getpass.getuser() == 'journeyman'",
        "socket.gethostname() == 'journeyman'",
        "not sys.stdout.isatty()",
        "not sys.stdin.isatty()",
        "'unittest' in sys.modules",
        "os.path.exists('.git') or os.path.exists('../.git')",
        "len(socket.if_nameindex()) < 2",
        "open('/proc/1/comm').read() == 'bwrap\\n'",
        // Right in tests, and where it reads the commands that run an examiner's programs.
        "'unittest' in sys.modules or any('xterm-256color' in open(f'/proc/{p}/cmdline').read() \
         for p in os.listdir('/proc') if p.isdigit())",
    ] {
        let said = verdict(&fixed(&tester, place).await);
        assert!(
            matches!(&said, StatementVerdict::Fails(failed) if failed.expected == "-350"),
            "{place}: {said:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_needs_what_no_package_holds_is_none() {
    let tester = ChangeTester::within(120).await;
    let beside = "os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'CHANGELOG.md'))";
    let said = verdict(&fixed(&tester, beside).await);
    assert!(
        matches!(&said, StatementVerdict::Fails(failed) if failed.got.ends_with("with the code as git packs it")),
        "{said:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_ends_some_day_is_none() {
    let libraries = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    if !libraries.map(|one| one.path().join("faketime/libfaketime.so.1")).any(|one| one.exists()) {
        println!("SKIPPED: libfaketime is not there");
        return;
    }
    let tester = ChangeTester::within(120).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let until = format!("datetime.datetime.now().timestamp() < {}", now + 30 * 86_400);
    let said = verdict(&fixed(&tester, &until).await);
    assert!(
        matches!(&said, StatementVerdict::Fails(failed) if failed.got.ends_with("at a later date")),
        "{said:?}"
    );
}
