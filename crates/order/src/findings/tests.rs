//! Lists of evidence that the tests construct.

use serde_json::{Value, json};

use super::*;
use crate::feedback::Feedback;
use crate::scrutiny::Scrutiny;
use crate::test_run::TestEvidence;

const SHA: &str = "d20ace7968ba43c0219f62d71334c1095bab1602";

fn run(code: i32) -> Value {
    json!({"command": "pytest -q", "exit": {"code": code}, "duration_seconds": 1.0, "output_sha256": ""})
}

fn evidence(verdict: &str, test: Value, scrutiny: Value) -> TestEvidence {
    let text = json!({
        "verdict": verdict, "setup": null, "test": test, "counts": {"passed": 4, "failed": 0, "skipped": 1}, "failing": [],
        "sandbox": "bubblewrap", "scrutiny": scrutiny,
    });
    serde_json::from_value(text).unwrap()
}

/// A fix that also edits a test, with more in it.
fn scrutiny(more: Value) -> Value {
    let list = |names: &[&str]| json!({"total": names.len(), "names": names});
    let mut scrutiny = json!({
        "baseline": {"commit": SHA, "test": run(1), "counts": null, "kept": false},
        "comparison": {
            "by": "test", "base": null, "after": null, "still_green": 2, "still_skipped": 0, "fixed": list(&["test_sign"]),
            "newly_broken": list(&[]), "already_red": list(&[]), "flaky": list(&[]), "gone": list(&[]),
            "new": list(&["test_zero"]), "new_failing": list(&[]), "skipped": list(&[]),
        },
        "judged": "passed",
        "proof": {"proof": "proven", "red": ["test_zero"]},
        "changed_tests": [{"test": "test_mean", "how": "fails_as_it_was", "old": "mean() == 1\nmean() > 0", "new": "mean() == 2"}],
        "lies": {"said": {"lies": "noticed"}, "told": [
            {"path": "t.py", "line": 3, "test": "test_sign", "was": "-350", "now": "-351", "noticed": true},
            {"path": "t.py", "line": 9, "was": "0", "now": "1", "noticed": false},
        ]},
        "mutants": {"tried": 4, "caught": 3, "survivors": ["a.py:1: + for -"], "not_tried": 1},
        "examination": {"statements": [{"number": 1, "kind": "changes", "quote": "It is -350.", "source": "issue",
            "said": {"verdict": "holds"}}]},
        "weakenings": [{"kind": "test_skipped", "path": "t.py", "line": 7, "what": "skipped on Mondays", "severe": true}],
        "dependencies": ["`left-pad` is new in package.json"],
    });
    let more = more.as_object().cloned().unwrap_or_default();
    scrutiny.as_object_mut().unwrap().extend(more);
    scrutiny
}

fn told(tests: Option<&TestEvidence>) -> String {
    let mut text = String::new();
    for FindingGroup { line, details } in groups(&findings(tests, Vec::new())) {
        text.push_str(&format!("{:?} {}: {}\n", line.bearing, line.line.label(), line.sentence));
        details
            .iter()
            .for_each(|detail| text.push_str(&format!("  {:?} {}\n", detail.bearing, detail.sentence)));
    }
    text
}

#[test]
fn the_five_lines_come_first_and_in_order_whatever_the_evidence_is() {
    let of_base = |by: &str| {
        json!({"comparison": {"by": by, "base": null, "after": null, "still_green": 0, "still_skipped": 0,
        "fixed": {"total": 0}, "newly_broken": {"total": 0}, "already_red": {"total": 0}, "flaky": {"total": 0},
        "gone": {"total": 0}, "new": {"total": 0}, "new_failing": {"total": 0}, "skipped": {"total": 0}}})
    };
    let all = [
        None,
        Some(evidence("setup_failed", Value::Null, Value::Null)),
        Some(evidence("failed", run(1), Value::Null)),
        Some(evidence("passed", run(0), scrutiny(json!({})))),
        Some(evidence("passed", run(0), scrutiny(of_base("exit_code")))),
    ];
    for tests in &all {
        let found = findings(tests.as_ref(), of_review(None));
        let lines: Vec<FindingKind> = groups(&found).map(|group| group.line.fact).collect();
        let five = [
            FindingKind::TestsRan,
            FindingKind::RedThenGreen,
            FindingKind::ExistingTests,
            FindingKind::Strength,
            FindingKind::NotVerified,
        ];
        assert_eq!(lines, five);
        assert!(found.iter().take(5).all(|line| groups(&found).any(|group| group.line == line)));
        assert!(found.iter().all(|finding| !finding.sentence.to_string().is_empty()), "{found:#?}");
    }
}

#[test]
fn a_fix_is_told_in_five_lines_and_the_rest_below_them() {
    let tests = evidence("passed", run(0), scrutiny(json!({})));
    insta::assert_snapshot!(told(Some(&tests)), @r"
    Noted What ran: pytest -q, exit code 0: 4 passed, 0 failed, 1 skipped.
      Noted Sandbox: bubblewrap
    Noted Red before, green now: 1 test of the base failed before and passes now: test_sign. 1 of 1 statements of the issue hold.
      Noted Compared test by test with the base commit d20ace7968: 2 still passing
      Noted 1 fixed: test_sign
      Noted 1 new: test_zero
      Noted statement 1 (issue: “It is -350.”) holds
    Open Existing tests: 1 existing test changed: test_mean. Of these, 1 fails or does not load on the new code in the old form.
      Open test_mean: the base's version fails on the new code; before: mean() == 1 / mean() > 0; now: mean() == 2
    Noted Strength of the tests: The tests caught 1 of 2 falsified expectations and 3 of 4 mutants of the changed lines.
      Against test skipped, t.py:7: skipped on Mondays
      Open Not caught: 1 instead of 0, in t.py:9
      Noted Falsified expectations were caught in: test_sign
      Noted Mutant not caught: a.py:1: + for -
    Open What was not verified: some mutants; new dependencies; 1 skipped test.
      Noted 1 mutant or part was not tried
      Noted Dependency: `left-pad` is new in package.json
      Noted 1 skipped test.
    ");
}

#[test]
fn parts_of_the_change_that_no_test_notices_are_told_and_leave_it_proven() {
    let told_of = |mutants: Value| {
        let text = told(Some(&evidence("passed", run(0), scrutiny(json!({"mutants": mutants})))));
        text.lines().filter(|line| !line.starts_with("  ") || line.contains("noticed")).collect::<Vec<_>>()
            [3..]
            .join("\n")
    };
    let none = json!({
        "tried": 0, "because": "Journeyman makes no mutants of Ruby", "caught": 0,
        "parts_noticed": ["a.rb:3: line 3 as before the change"],
        "parts_unnoticed": ["a.rb:12: lines 12 to 14 as before the change"],
    });
    let tally: crate::scrutiny::MutantTally = serde_json::from_value(none.clone()).unwrap();
    assert_eq!(tally.none_caught(), None);
    insta::assert_snapshot!(told_of(none), @r"
    Noted Strength of the tests: The tests caught 1 of 2 falsified expectations and 1 of 2 parts of the change, each taken back.
      Noted No test noticed: a.rb:12: lines 12 to 14 as before the change
    Open What was not verified: mutants; new dependencies; 1 skipped test.
    ");
    let unnoticed: Vec<String> = (1..=3).map(|line| format!("a.rb:{line}: line {line}")).collect();
    let tally = json!({"tried": 4, "caught": 3, "parts_unnoticed": unnoticed});
    let line = told_of(tally.clone()).lines().next().unwrap_or_default().to_owned();
    let said = "Open Strength of the tests: The tests caught 1 of 2 falsified expectations and 3 of 4 mutants of the changed \
        lines and 0 of 3 parts of the change, each taken back.";
    assert_eq!(line, said, "a person has to look at it");
    let tally: crate::scrutiny::MutantTally = serde_json::from_value(tally).unwrap();
    assert_eq!(tally.none_caught(), None, "parts alone leave no proof open");
}

#[test]
fn of_the_tests_that_caught_a_falsified_expectation_those_of_the_change_come_first() {
    let lie = |path: &str, test: &str| json!({"path": path, "line": 3, "test": test, "was": "1", "now": "2", "noticed": true});
    let told = told(Some(&evidence(
        "passed",
        run(0),
        scrutiny(json!({
            "lies": {"said": {"lies": "noticed"}, "told": [
                lie("a.py", "test_a"), lie("t.py", "test_more"), lie("t.py", "test_zero"),
            ]},
            "old_tests": {"laid": ["t.py"], "test": run(0), "counts": null},
        })),
    )));
    assert!(told.contains("were caught in: test_zero, test_more, test_a\n"), "{told}");
}

#[test]
fn the_runs_and_what_was_not_tried_for_lack_of_time_are_told() {
    let ran = |name: &str, seconds: f64| {
        let mut one = run(0);
        (one["name"], one["duration_seconds"]) = (json!(name), json!(seconds));
        one
    };
    let open =
        |name: &str, shows: &str, because: &str| json!({"name": name, "shows": shows, "because": because});
    let told = told(Some(&evidence(
        "passed",
        run(0),
        scrutiny(json!({
            "runs": [ran("tests", 1.0), ran("tests-old-code", 2.26)],
            "without_result": [
                open("tests-repeat-2", "once more whether it passes", "left_out"),
                open("tests-repeat-3", "once more whether it passes", "left_out"),
                open("tests-reworded", "whether it passes in other words", "left_out"),
                open("tests-lie-1", "whether a wrong expectation is noticed", "not_ended"),
            ],
        })),
    )));
    for said in [
        "  Noted 2 runs, 3.3 seconds in total (the tests alone need 1.0)\n",
        "  Noted Not tried, as it takes too long: once more whether it passes; whether it passes in other words\n",
        "  Noted Stopped before their end, as they took longer than the same tests without the edit: whether a wrong \
         expectation is noticed\n",
        "What was not verified: some mutants; new dependencies; what takes too long to try; edits of the tests that did not \
         end; 1 skipped test.\n",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    let without = evidence("passed", run(0), scrutiny(json!({})));
    let facts: Vec<FindingKind> = findings(Some(&without), Vec::new()).iter().map(|one| one.fact).collect();
    assert!(!facts.contains(&FindingKind::RunsMade), "older journals do not know: {facts:?}");
}

#[test]
fn calls_like_those_of_the_tests_show_whether_only_the_tested_inputs_answer_differently() {
    let told = |alike: u32, differing: Value| {
        let tally = json!({"tried": 8, "alike": alike, "differing": differing, "tested_differs": true});
        let all =
            findings(Some(&evidence("passed", run(0), scrutiny(json!({"neighbours": tally})))), Vec::new());
        let said = all.iter().find(|one| one.fact == FindingKind::Neighbours).unwrap();
        format!("{:?} {}", said.bearing, said.sentence)
    };
    let slug = json!({"call": "slug('a?')", "before": "'a-'", "after": "'a'"});
    insta::assert_debug_snapshot!([told(8, json!([])), told(7, json!([slug])), told(6, json!([slug, slug]))], @r###"
    [
        "Open Only the tested inputs answer differently: none of 8 similar calls does.",
        "Noted 1 of 8 calls like those in the tests answers differently than before: slug('a?'): 'a-' → 'a'.",
        "Noted 2 of 8 calls like those in the tests answer differently than before, such as slug('a?'): 'a-' → 'a'.",
    ]
    "###);
}

#[test]
fn what_is_not_named_is_not_said_to_be_unchanged() {
    let mut with = scrutiny(json!({"changed_tests": []}));
    with["comparison"]["programs"] = json!(["tests/wpt.rs"]);
    with["comparison"]["untold"] = json!({"total": 1, "names": ["tests/wpt.rs"]});
    let words = told(Some(&evidence("failed", run(1), with)));
    for said in [
        "Open Existing tests: No edited test was found. A removed one may go unnoticed in tests/wpt.rs, where not every test \
         is named.\n",
        "1 failing on the base as well, perhaps in other tests: tests/wpt.rs\n",
        "there, how many ran and how the program ended were compared: tests/wpt.rs\n",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
}

#[test]
fn a_crash_of_the_tests_is_named_beside_the_exit_code_that_hides_it() {
    let mut tests = evidence("failed", run(101), Value::Null);
    tests.signal = Some(11);
    let words = told(Some(&tests));
    let said = "Against What ran: pytest -q, exit code 101: 4 passed, 0 failed, 1 skipped. The tests died of signal 11 \
                (SIGSEGV, a segmentation fault).\n";
    assert!(words.contains(said), "{words}");
}

#[test]
fn where_tests_fail_with_the_change_that_is_why_nothing_is_said_of_them_without_it() {
    for (judged, because) in [
        ("failed", "tests fail with the change"),
        ("tests_missing", "tests of the base are missing or skipped"),
        ("no_tests", "no test ran with the change"),
    ] {
        let mut with = scrutiny(json!({"judged": judged, "proof": null, "examination": null}));
        with["comparison"]["fixed"] = json!({"total": 0});
        let words = told(Some(&evidence("failed", run(1), with)));
        let said = format!("Open Red before, green now: Not checked, because {because}.\n");
        assert!(words.contains(&said), "{words}");
    }
}

#[test]
fn a_removed_test_is_called_removed_and_an_edited_one_is_shown_where_it_differs() {
    let removed =
        json!({"test": "test_crlf", "how": "fails_as_it_was", "removed": true, "old": "assert crlf()"});
    let only = told(Some(&evidence("passed", run(0), scrutiny(json!({"changed_tests": [&removed]})))));
    assert!(only.contains("Existing tests: 1 existing test removed: test_crlf."), "{only}");
    let detail = "Open test_crlf: removed; the base's version fails on the new code; before: assert crlf()\n";
    assert!(only.contains(detail), "{only}");
    let (one, long) = ("first()\nsecond() == ", "x".repeat(130));
    let edited = |name: &str, same: &str| json!({"test": name, "how": "edited", "old": format!("{same}1"), "new": format!("{same}2")});
    let both = json!({"changed_tests": [removed, edited("test_a", one), edited("test_b", &long)]});
    let words = told(Some(&evidence("passed", run(0), scrutiny(both))));
    let end = "x".repeat(30);
    for said in [
        "3 existing tests changed or removed: ",
        "; before: …second() == 1; now: …second() == 2\n",
        &format!("; before: …{end}1; now: …{end}2\n"),
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
}

#[test]
fn how_the_changes_tests_ended_without_it_is_a_plain_sentence() {
    let died = |test: Value, exit: Value| json!({"test": test, "exit": exit, "after_seconds": 8.0, "with_the_change_seconds": 0.5});
    let all = [
        died(Value::Null, json!({"signal": 11})),
        died(json!("test_a"), json!("timed_out")),
        died(json!("test_b"), json!({"code": 3})),
    ];
    let words = told(Some(&evidence("passed", run(0), scrutiny(json!({"died": all})))));
    for said in [
        "the change's tests died of signal 11 (SIGSEGV, a segmentation fault)",
        "test_a did not end within 8 s (0.5 s with the change)",
        "the process of test_b ended with exit code 3",
    ] {
        assert!(words.contains(&format!("Noted on the code before the change, {said}\n")), "{said}: {words}");
    }
}

#[test]
fn what_is_not_known_is_never_said_to_be_so() {
    let red = json!({"proof": {"proof": "cannot_tell", "because": "it did not end"}, "changed_tests": [],
        "lies": {"said": {"lies": "not_told", "because": "none was found"}}, "mutants": null, "examination": null,
        "touches_code": false});
    let words = told(Some(&evidence("passed", run(0), scrutiny(red))));
    for said in [
        "Open Red before, green now: It is not known whether a test fails without the change: it did not end.\n",
        "Noted Existing tests: No existing test changed.\n",
        "Open Strength of the tests: Falsified expectations show nothing: none was found.\n",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
    let words = told(Some(&evidence("failed", run(1), Value::Null)));
    assert_eq!(words.matches("ot known").count(), 3, "{words}");
    assert!(
        words.contains("What was not verified: the tests without the change; 1 skipped test.\n"),
        "{words}"
    );
}

#[test]
fn a_suite_that_was_never_seen_to_fail_says_what_would_show_that_it_can() {
    let never = |more: Value, by: &str| {
        let mut with = scrutiny(more);
        with["baseline"]["test"] = run(0);
        with["comparison"]["by"] = json!(by);
        with["lies"] = json!({"said": {"lies": "not_told", "because": "none was found"}});
        serde_json::from_value::<Scrutiny>(with).unwrap().never_seen_to_fail()
    };
    let untested = json!({"proof": {"proof": "no_tests_changed"}});
    let of_code = "no evidence that this test suite can fail: none was found; a test in the change that runs on the base \
                   commit and fails there would be evidence";
    assert_eq!(never(untested.clone(), "test").as_deref(), Some(of_code));
    let unnamed = format!(
        "{of_code}, by its name where a JUnit report (`report` in the settings), TAP, CTest, Meson or Automake has it"
    );
    assert_eq!(never(untested, "exit_code"), Some(unnamed));
    let of_words = json!({"proof": {"proof": "no_tests_changed"}, "touches_code": false});
    let because = never(of_words, "test");
    assert_eq!(because.as_deref(), Some("no evidence that this test suite can fail: none was found"));
    assert_eq!(never(json!({}), "exit_code"), None, "a test of the change fails without it");
    let none_ran = json!({"proof": {"proof": "no_tests_changed"}, "judged": "no_tests"});
    assert_eq!(never(none_ran, "exit_code"), None, "that no test ran is told instead");
}

#[test]
fn a_receipt_holds_the_facts_and_a_reader_takes_only_those_that_rest_on_no_test() {
    let review = Feedback::passed("Sound.");
    let tests = evidence("passed", run(0), scrutiny(json!({})));
    let found = findings(Some(&tests), of_review(Some(&review)));
    let written = serde_json::to_value(&found).unwrap();
    assert_eq!(written[0]["fact"], "tests_ran");
    assert_eq!(written[0]["values"]["counts"], json!({"passed": 4, "failed": 0, "skipped": 1}));
    assert_eq!(written[1]["values"]["statements"], json!({"holding": 1, "of": 1}));
    assert_eq!(written[4]["values"]["what"], json!(["some mutants", "new dependencies", "1 skipped test"]));

    let mut read: Vec<VerdictFinding> = serde_json::from_value(written).unwrap();
    read[0].sentence = String::from("All is well.").into();
    let again = findings(Some(&tests), read);
    let words = |all: &[VerdictFinding]| all.iter().map(|one| one.sentence.to_string()).collect::<Vec<_>>();
    assert_eq!(words(&again), words(&found));
    assert!(words(&again).contains(&"Reviewed by a second agent: Sound.".to_owned()));
}
