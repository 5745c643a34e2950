//! Parsing an examiner's answer, and the results of its statements.

use serde_json::{Value, json};

use super::{
    ExaminationRun, FailedAnswer, IssueExamination, StatementKind, StatementRun, StatementVerdict,
    second_reading,
};

fn answer(programs: &Value) -> String {
    let statement = json!({"kind": "changes", "quote": "It is 42.", "source": "issue", "programs": programs});
    format!("Here it is:\n{}", json!({"statements": [statement]}))
}

fn program(file: &str) -> Value {
    json!({"file": file, "source": "print(f(1))", "answers": [{"input": "f(1)", "expected": "42"}]})
}

fn run(said: Vec<StatementVerdict>) -> ExaminationRun {
    let statements = (1..).zip(said).map(|(number, said)| StatementRun {
        number,
        kind: if number % 2 == 1 { StatementKind::Changes } else { StatementKind::Stays },
        quote: "It is 42.".to_owned(),
        source: "issue".to_owned(),
        said,
    });
    ExaminationRun { statements: statements.collect() }
}

fn failed(got: &str) -> FailedAnswer {
    FailedAnswer { input: "f(1)".to_owned(), expected: "42".to_owned(), got: got.to_owned() }
}

#[test]
fn an_examination_is_statements_with_programs_that_can_be_run() {
    let read = IssueExamination::parse(&answer(&json!([program("a.py")]))).unwrap();
    assert_eq!(
        read.statements[0].programs[0].command(),
        "PYTHONPATH=\"$CODE:$CODE/src:$CODE/lib\" python3 a.py"
    );
    for file in ["../a.py", "a/b.py", "/a.py", "-a.py", ".a.py", "a b.py", "a.xyz", "a.py;rm"] {
        let refused = IssueExamination::parse(&answer(&json!([program(file)]))).unwrap_err();
        assert!(
            refused.issues.iter().any(|issue| issue.description.contains("statement 1")),
            "{file}: {refused:?}"
        );
    }
    let test_file = |file: &str| json!([{"file": file, "source": "x", "answers": []}]);
    assert!(
        IssueExamination::parse(&answer(&test_file("tests/test_a.py"))).unwrap().statements[0].programs[0]
            .is_test_file()
    );
    assert!(IssueExamination::parse(&answer(&test_file("src/a.py"))).is_err());
    // An invalid program is dropped and the rest of the answer kept, up to the limit.
    let some = IssueExamination::parse(&answer(&json!([program("a/b.py"), program("a.py")]))).unwrap();
    assert_eq!(some.statements[0].programs.len(), 1);
    let many = IssueExamination::parse(&answer(&json!(vec![program("a.py"); 9]))).unwrap();
    assert_eq!(many.statements[0].programs.len(), 3);
    for nonsense in ["", "It looks fine.", r#"{"statements": []}"#, r#"{"statements": [{"kind": "stays"}]}"#]
    {
        assert!(IssueExamination::parse(nonsense).is_err(), "{nonsense}");
    }
    let stays = answer(&json!([program("a.py")])).replace("changes", "stays");
    let refused = IssueExamination::parse(&stays).unwrap_err();
    assert!(refused.summary.contains("at least one of kind `changes`"), "{}", refused.summary);
}

#[test]
fn a_second_reading_and_people_take_away_what_fails() {
    use StatementVerdict::{Fails, Holds};
    let mut read = run(vec![Fails(failed("41")), Holds, Fails(failed("41")), Fails(failed("41"))]);
    assert!(!read.shows_the_change());
    let said = r#"{"readings": [{"statement": 1, "expected": " 42 "}, {"statement": 3, "expected": "41"},
        {"statement": 4, "expected": null}]}"#;
    read.dispute(&second_reading(said).unwrap());
    assert_eq!(read.failing().map(|(statement, _)| statement.number).collect::<Vec<_>>(), [1]);
    insta::assert_snapshot!(read.sentence(), @"0 of 1 statements of the issue hold, 1 of 1 promises are kept (2 disputed)");
    assert!(!read.drop_statement(2, "ada"), "it holds");
    assert!(read.drop_statement(1, "ada"));
    assert_eq!(read.failing().count(), 0);
    assert!(!read.shows_the_change(), "nothing that the issue asks for was seen to hold");
    assert!(run(vec![Holds]).shows_the_change());
    assert!(second_reading("no").is_err());
}

#[test]
fn a_second_reader_sees_the_program_and_no_answer() {
    let examination = IssueExamination::parse(&answer(&json!([program("a.py")]))).unwrap();
    let asked = examination.questions(&run(vec![StatementVerdict::Fails(failed("41"))]));
    assert!(asked.contains("print(f(1))") && asked.contains("for the input f(1)"), "{asked}");
    assert!(!asked.contains("41"), "{asked}");
    assert_eq!(asked.matches("42").count(), 1, "the sentence alone: {asked}");
}
