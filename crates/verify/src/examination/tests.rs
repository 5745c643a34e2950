//! A real shell runs the programs, and their output decides.

use journeyman_order::examination::{
    ExaminerStatement, ExpectedAnswer, StatementKind, StatementProgram, StatementVerdict,
};

use journeyman_order::UserPlace;

use super::{ProgramBatch, ProgramOutput, judge_statement};
use crate::OverlayAction;

fn program(file: &str, source: &str, answers: &[(&str, &str)]) -> StatementProgram {
    let answers = answers
        .iter()
        .map(|(input, expected)| ExpectedAnswer {
            input: (*input).to_owned(),
            expected: (*expected).to_owned(),
        })
        .collect();
    StatementProgram {
        file: file.to_owned(),
        source: source.to_owned(),
        run: None,
        stdin: String::new(),
        answers,
    }
}

fn statement(kind: StatementKind, is_new: bool) -> ExaminerStatement {
    ExaminerStatement {
        kind,
        quote: "It should be 42.".to_owned(),
        source: "issue".to_owned(),
        is_new,
        programs: vec![program("a.py", "", &[("f(1)", "42"), ("f(2)", "43")])],
    }
}

fn ran(exit: i32, printed: &str, complaints: &str) -> ProgramOutput {
    let (printed, complaints) = (printed.to_owned(), complaints.to_owned());
    ProgramOutput { exit: Some(exit), printed, complaints, ..ProgramOutput::default() }
}

/// The verdict of a statement, from its program's output on both codes.
fn said(kind: StatementKind, is_new: bool, base: &[ProgramOutput], change: &[ProgramOutput]) -> String {
    let statement = statement(kind, is_new);
    let runs = [(base.to_vec(), change.to_vec())];
    let judged = judge_statement(1, &statement, &runs, "Add `total_of`, and keep f.");
    match judged.said {
        StatementVerdict::Holds => "holds".to_owned(),
        StatementVerdict::Fails(failed) => {
            format!("{}: {} for {}", failed.input, failed.got, failed.expected)
        }
        StatementVerdict::Unconfirmed { because } => because,
        other @ (StatementVerdict::Disputed { .. } | StatementVerdict::Dropped { .. }) => {
            format!("{other:?}")
        }
    }
}

/// What the programs print in a repository with these files.
fn ran_in(files: &[(&str, &str)], programs: &[(&StatementProgram, u32)]) -> Vec<Vec<ProgramOutput>> {
    let number = std::cell::Cell::new(0);
    let random = || {
        number.set(number.get() + 1);
        number.get()
    };
    let batch = ProgramBatch::new(programs.to_vec(), &UserPlace::draw(random), random);
    let place = tempfile::tempdir().unwrap();
    let code = place.path().join("code");
    let write = |path: &str, bytes: &[u8]| {
        let path = code.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    for (path, text) in files {
        write(path, text.as_bytes());
    }
    for overlay in batch.overlays() {
        let OverlayAction::Write(bytes) = overlay.action else { panic!("a file") };
        write(&overlay.path, &bytes);
    }
    let ended = std::process::Command::new("sh")
        .args(["-c", &batch.command()])
        .current_dir(&code)
        .env("HOME", place.path())
        .output()
        .unwrap();
    batch.outputs(&format!("noise\n{}", String::from_utf8_lossy(&ended.stdout)))
}

#[test]
fn a_program_meets_what_a_package_holds() {
    let listing = StatementProgram {
        run: Some(
            "LC_ALL=C ls -A \"$CODE\" | grep -vx \"$PLACE\"; [ \"$PWD\" = \"$CODE/$PLACE\" ]".to_owned(),
        ),
        ..program("a.txt", "", &[("a", "a")])
    };
    let project = "[build-system]\nbuild-backend = \"flit_core.buildapi\"\n[project]\nname = \"sum.up\"\n";
    for (files, by, held) in [
        (vec![(".gitattributes", "Makefile export-ignore"), ("a.sh", "")], "git", ".gitattributes a.sh"),
        (vec![("pyproject.toml", project), ("sum_up/a.txt", ""), ("b.py", "")], "Python", "sum_up"),
        // No file has the name of the project.
        (vec![("pyproject.toml", project), ("b.py", "")], "git", "Makefile b.py pyproject.toml"),
    ] {
        let files = [files, vec![("Makefile", "")]].concat();
        let ran = ran_in(&files, &[(&listing, 4)]).remove(0);
        let packed_by: Vec<&str> = ran.iter().map(|ran| ran.packed_by.as_str()).collect();
        assert_eq!(packed_by, ["", "", by, ""], "{ran:?}");
        assert!(ran.iter().all(|ran| ran.exit == Some(0)), "{ran:?}");
        assert!(ran[0].printed.contains("Makefile\n") && ran[0].printed == ran[3].printed, "{ran:?}");
        assert_eq!(ran[2].printed.split_whitespace().collect::<Vec<_>>().join(" "), held);
    }
}

#[test]
fn programs_are_run_as_often_as_is_said_and_each_is_read_by_itself() {
    let programs = [
        program("a.sh", "echo one; read line; echo \"$line\"; echo wrong >&2; exit 3\n", &[("a", "one")]),
        program("b.sh", "printf 'no end of line'\n", &[("b", "no end of line")]),
        StatementProgram {
            run: Some("test -d \"$CODE\" && basename \"$(dirname \"$PWD\")\"".to_owned()),
            ..program("c.txt", "", &[("c", "code")])
        },
        program("d.sh", "exit 124 # as timeout ends\n", &[("d", "")]),
    ];
    let programs = [
        (&StatementProgram { stdin: "two\n".to_owned(), ..programs[0].clone() }, 2),
        (&programs[1], 1),
        (&programs[2], 1),
        (&programs[3], 3),
    ];
    let outputs = ran_in(&[], &programs);
    assert_eq!(outputs.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1, 1], "{outputs:?}");
    let first = &outputs[0][0];
    assert_eq!((first.exit, first.printed.as_str()), (Some(3), "one\ntwo\n"));
    assert_eq!(first.complaints.trim(), "wrong");
    let second = &outputs[0][1];
    assert_eq!((second.exit, second.printed.as_str()), (Some(3), "one\ntwo\n"), "{second:?}");
    assert!(first.surroundings().is_none() && second.on_terminal, "{second:?}");
    assert_eq!(outputs[1][0].printed, "no end of line");
    assert_eq!(outputs[2][0].printed.trim(), "code");
}

#[test]
fn a_statement_counts_only_where_the_base_confirms_it() {
    use StatementKind::{Changes, Stays};
    let (right, wrong) = (ran(0, "42\n43\n", ""), ran(0, "42\n44\n", ""));
    let both = |one: &ProgramOutput| [one.clone(), one.clone()];
    for (kind, base, change, expected) in [
        (Changes, both(&wrong), both(&right), "holds"),
        (Changes, both(&wrong), both(&wrong), "f(2): 44 for 43"),
        (Changes, both(&right), both(&wrong), "it holds on the base already"),
        (Stays, both(&right), both(&right), "holds"),
        (Stays, both(&right), both(&wrong), "f(2): 44 for 43"),
        (Stays, both(&wrong), both(&right), "on the base f(2) gives 44 already"),
        (
            Changes,
            [wrong.clone(), ran(0, "42\n45\n", "")],
            both(&right),
            "its program answers now this and now that on the base",
        ),
        (Changes, both(&wrong), [right.clone(), wrong.clone()], "f(2): 44 for 43"),
        (Stays, both(&right), both(&ran(0, "42\n43\nmore\n", "")), "f(2): 43, and then more for 43"),
        (
            Stays,
            both(&right),
            both(&ran(1, "42\n", "Traceback\nValueError: no\n")),
            "f(2): no answer (ValueError: no) for 43",
        ),
        (Stays, both(&right), both(&ran(124, "", "")), "f(1): no answer within the time for 42"),
    ] {
        assert_eq!(said(kind, false, &base, &change), expected, "{kind:?} {base:?} {change:?}");
    }
    assert_eq!(said(Changes, false, &[], &both(&right)), "its program did not come to its end on the base");
    assert_eq!(said(Stays, false, &both(&right), &[]), "f(1): no answer within the time for 42");
}

#[test]
fn a_change_may_not_answer_by_its_surroundings_unless_the_base_does() {
    let right = ran(0, "42\n43\n", "");
    let wrong = ran(0, "42\n44\n", "");
    let later = |one: &ProgramOutput| ProgramOutput { on_terminal: true, is_later: true, ..one.clone() };
    let stays =
        |base: &[ProgramOutput], change: &[ProgramOutput]| said(StatementKind::Stays, false, base, change);
    let base = [right.clone(), later(&right), right.clone()];
    assert_eq!(stays(&base, &[right.clone(), later(&right)]), "holds");
    assert_eq!(
        stays(&base, &[right.clone(), later(&wrong)]),
        "f(2): 44 on a terminal, at a later date for 43"
    );
    assert_eq!(stays(&base, &[wrong.clone(), later(&wrong)]), "f(2): 44 for 43");
    let packed = |one: &ProgramOutput| ProgramOutput { packed_by: "npm".to_owned(), ..one.clone() };
    let base = [right.clone(), packed(&right), right.clone()];
    assert_eq!(
        stays(&base, &[right.clone(), packed(&wrong)]),
        "f(2): 44 with the code as npm packs it for 43"
    );
    // Its package lacks what the program needs.
    let lacking = [right.clone(), later(&right), packed(&ran(1, "", "no such file")), right.clone()];
    assert_eq!(stays(&lacking, &[right.clone(), packed(&ran(1, "", "no such file"))]), "holds");
    assert_eq!(
        stays(&lacking, &[right.clone(), later(&wrong)]),
        "f(2): 44 on a terminal, at a later date for 43"
    );
    let unloaded = [ran(1, "", "no f"), packed(&ran(1, "", "no f")), ran(1, "", "no f")];
    let added = said(StatementKind::Changes, true, &unloaded, &[right.clone(), packed(&unloaded[0])]);
    assert_eq!(added, "holds");
    let coloured = [right.clone(), later(&wrong), right.clone()];
    assert_eq!(stays(&coloured, &[right.clone(), later(&wrong)]), "holds");
    let flaky = [right.clone(), later(&wrong), wrong];
    assert_eq!(stays(&flaky, &[right]), "its program answers now this and now that on the base");
}

#[test]
fn what_cannot_be_loaded_says_nothing_of_the_base_and_names_of_the_authors_choosing_nothing_of_the_change() {
    let right = ran(0, "42\n43\n", "");
    for complaint in [
        "ImportError: cannot import name 'NAME' from 'a' (a.py)",
        "AttributeError: module 'a' has no attribute 'NAME'",
        "NameError: name 'NAME' is not defined",
        "TypeError: f() got an unexpected keyword argument 'NAME'",
        "SyntaxError: The requested module '../a.js' does not provide an export named 'NAME'",
        "TypeError: a.NAME is not a function",
        "./a.go:7:14: undefined: a.NAME",
        "error[E0425]: cannot find function `NAME` in crate `a`",
        "  symbol:   method NAME(int)",
        "undefined method `NAME' for A:Module (NoMethodError)",
        "PHP Fatal error:  Uncaught Error: Call to undefined function NAME()",
        "a.c:(.text+0x1e): undefined reference to `NAME'",
    ] {
        let lacks = |name: &str| [ran(1, "", &complaint.replace("NAME", name))];
        let changes = StatementKind::Changes;
        let on_base = said(changes, false, &lacks("total_of"), std::slice::from_ref(&right));
        assert_eq!(on_base, "its program cannot be loaded on the base", "{complaint}");
        assert_eq!(
            said(changes, true, &lacks("total_of"), std::slice::from_ref(&right)),
            "holds",
            "{complaint}"
        );
        // The issue gives the first of these names.
        let given = said(changes, true, &lacks("total_of"), &lacks("total_of"));
        assert!(given.starts_with("f(1): no answer"), "{complaint}: {given}");
        let chosen = said(changes, true, &lacks("sum_up"), &lacks("sum_up"));
        assert_eq!(chosen, "its program needs the name sum_up that the issue does not give", "{complaint}");
        // The change may not remove what the base has.
        let gone = said(StatementKind::Stays, false, std::slice::from_ref(&right), &lacks("sum_up"));
        assert!(gone.starts_with("f(1): no answer"), "{complaint}: {gone}");
    }
    // The program's own error is an answer.
    let dies = [ran(1, "", "Traceback (most recent call last):\nIndexError: list index out of range\n")];
    assert_eq!(said(StatementKind::Changes, false, &dies, &[right]), "holds");
}
