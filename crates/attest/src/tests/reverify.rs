//! A receipt is checked again, and differences are named.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{ReceiptClaims, ReverificationResult, ReverifiedStatement, RunOfToday, compare};
use super::verified;
use journeyman_order::findings::{findings, of_review};
use journeyman_order::receipt::TestEvidence;
use journeyman_order::scrutiny::ExampleVerdict;
use journeyman_order::{Exit, Feedback, Proof, ProofGrade, TestCounts, TestVerdict};

/// A run of today whose image, if any, was requested by tag.
fn by_tag(tests: &TestEvidence) -> RunOfToday<'_> {
    RunOfToday { tests, is_image_by_digest: false }
}

fn told() -> TestEvidence {
    verified().tests.unwrap()
}

fn rows(change: impl FnOnce(&mut TestEvidence)) -> Vec<ReverifiedStatement> {
    let mut here = told();
    change(&mut here);
    compare(&serde_json::to_value(told()).unwrap(), &told(), by_tag(&here)).unwrap()
}

fn differing(rows: &[ReverifiedStatement]) -> Vec<&str> {
    rows.iter()
        .filter(|row| row.found == ReverificationResult::Differs)
        .map(|row| row.statement.as_str())
        .collect()
}

#[test]
fn the_same_run_says_the_same_of_everything() {
    let rows = rows(|here| here.test.as_mut().unwrap().duration_seconds = 99.0);
    assert!(rows.iter().all(|row| row.found == ReverificationResult::Same), "{rows:#?}");
    let statements: Vec<&str> = rows.iter().map(|row| row.statement.as_str()).collect();
    for about in [
        "verdict", "setup", "test: command", "test: exit", "test: output sha256", "counts", "failing",
        "sandbox",
    ] {
        assert!(statements.contains(&about), "{about}: {statements:?}");
    }
    let exit = rows.iter().find(|row| row.statement == "test: exit").unwrap();
    assert_eq!((exit.receipt.as_str(), exit.here.as_str()), ("code 0", "code 0"));
}

#[test]
fn what_differs_is_named_and_nothing_else() {
    let red = rows(|here| {
        here.verdict = TestVerdict::Failed;
        here.test.as_mut().unwrap().exit = Exit::Code(1);
        here.counts = Some(TestCounts { passed: 2, failed: 1, skipped: 0 });
        here.failing = vec!["test_sum".to_owned()];
    });
    assert_eq!(differing(&red), ["test: exit", "verdict", "counts", "failing"]);
    let failing = red.iter().find(|row| row.statement == "failing").unwrap();
    assert_eq!((failing.receipt.as_str(), failing.here.as_str()), ("none", "test_sum"));
    assert_eq!(
        differing(&rows(|here| here.test.as_mut().unwrap().command = "true".to_owned())),
        ["test: command"]
    );
    assert_eq!(differing(&rows(|here| here.test = None)), ["test"]);
    assert_eq!(differing(&rows(|here| here.setup.clone_from(&told().test))), ["setup"]);
}

#[test]
fn what_cannot_be_repeated_is_not_held_against_it() {
    let rows = rows(|here| {
        here.sandbox = "none".to_owned();
        here.test.as_mut().unwrap().output_sha256 = "cd".repeat(32);
    });
    assert_eq!(differing(&rows), [""; 0]);
    let open = rows.iter().filter(|row| matches!(row.found, ReverificationResult::CannotBeRepeated { .. }));
    assert_eq!(
        open.map(|row| row.statement.as_str()).collect::<Vec<_>>(),
        ["test: output sha256", "sandbox"]
    );
}

#[test]
fn receipts_of_other_versions_are_compared_as_far_as_they_go() {
    let mut said = serde_json::to_value(told()).unwrap();
    said.as_object_mut().unwrap().remove("counts");
    said["mutants"] = json!({"killed": 3});
    let rows = compare(&said, &told(), by_tag(&told())).unwrap();
    assert!(!rows.iter().any(|row| row.statement == "counts"), "an older one says nothing of it");
    let newer = rows.iter().find(|row| row.statement == "mutants").unwrap();
    assert!(matches!(newer.found, ReverificationResult::CannotBeRepeated { .. }), "{newer:?}");
    assert_eq!(newer.receipt, "killed 3");
}

#[test]
fn the_findings_of_a_receipt_are_made_of_its_evidence_whatever_it_says_of_them() {
    let words = |receipt: &Value| -> Vec<String> {
        let claims: ReceiptClaims = serde_json::from_value(receipt.clone()).unwrap();
        claims.all_findings().iter().map(|finding| finding.sentence.to_string()).collect()
    };
    let mut receipt = serde_json::to_value(verified()).unwrap();
    receipt.as_object_mut().unwrap().remove("findings");
    let older = words(&receipt);
    assert_eq!(older[0], "python3 -m unittest, exit code 0: 3 passed, 0 failed, 0 skipped.");
    assert!(older.iter().any(|said| said.contains("no second agent has reviewed")), "{older:?}");
    let review = of_review(Some(&Feedback::passed("Sound.")));
    receipt["findings"] = serde_json::to_value(findings(None, review)).unwrap();
    receipt["findings"].as_array_mut().unwrap().extend([json!({"fact": "of_a_later_version"}), json!(7)]);
    let said = words(&receipt);
    assert_eq!(said[0], older[0]);
    assert!(said.iter().any(|said| said == "Reviewed by a second agent: Sound."), "{said:?}");
}

/// An order's evidence for a bug: examples of its issue, its plan's test, mutants, and the change's tests.
fn bug(change: impl FnOnce(&mut TestEvidence)) -> TestEvidence {
    let mut tests = told();
    let scrutiny = json!({
        "baseline": {"commit": super::COMMIT, "test": tests.test, "counts": tests.counts, "kept": false},
        "comparison": {
            "by": "test", "base": tests.counts, "after": tests.counts, "still_green": 2, "still_skipped": 0,
            "fixed": {"total": 1, "names": ["test_sign"]}, "newly_broken": {"total": 0}, "already_red": {"total": 0},
            "flaky": {"total": 0}, "gone": {"total": 0}, "new": {"total": 0}, "new_failing": {"total": 0},
            "skipped": {"total": 0},
        },
        "judged": "passed",
        "proof": {"proof": "proven", "red": ["test_a", "test_b"]},
        "examples": [{"code": "cents(\"-1\")", "before": ["100"], "after": ["-100"], "said": "mended"}],
        "examination": {"statements": [{"number": 1, "kind": "changes", "quote": "It is -100.", "source": "issue",
            "said": {"verdict": "holds"}}]},
        "mutants": {"tried": 3, "caught": 2, "survivors": ["a.py:1: + for -"]},
        "lies": {"said": {"lies": "noticed"}, "told": [], "runs": []},
    });
    tests.scrutiny = Some(Box::new(serde_json::from_value(scrutiny).unwrap()));
    change(&mut tests);
    tests
}

fn scrutiny(tests: &mut TestEvidence) -> &mut journeyman_order::Scrutiny {
    tests.scrutiny.as_mut().unwrap()
}

/// The same as a run of today sees it.
fn today(tests: &mut TestEvidence) {
    let scrutiny = scrutiny(tests);
    scrutiny.examples.clear();
    (scrutiny.examination, scrutiny.mutants) = (None, None);
}

fn compared(said: &TestEvidence, here: &TestEvidence) -> Vec<ReverifiedStatement> {
    compare(&serde_json::to_value(said).unwrap(), said, by_tag(here)).unwrap()
}

#[test]
fn what_only_the_issue_the_plan_or_mutants_tell_is_no_difference() {
    let rows = compared(&bug(|_| ()), &bug(today));
    assert_eq!(differing(&rows), [""; 0]);
    for about in ["examples", "examination", "mutants"] {
        let row = rows.iter().find(|row| row.statement == format!("scrutiny: {about}")).unwrap();
        assert!(matches!(row.found, ReverificationResult::CannotBeRepeated { .. }), "{row:?}");
    }
    let proves = |red: &[&str]| {
        let red = red.iter().map(|name| (*name).to_owned()).collect();
        bug(move |said| scrutiny(said).proof = Some(Proof::Proven { by: ProofGrade::Test, red }))
    };
    let is_unmended = bug(|said| {
        said.verdict = TestVerdict::Unmended;
        let example = scrutiny(said).examples.first_mut().unwrap();
        (example.after, example.said) = (example.before.clone(), ExampleVerdict::AsBefore);
    });
    assert_eq!(differing(&compared(&is_unmended, &bug(today))), [""; 0]);
    let is_unmended_by_nothing = bug(|said| said.verdict = TestVerdict::Unmended);
    assert_eq!(differing(&compared(&is_unmended_by_nothing, &bug(today))), ["verdict"]);
    // A receipt that claims more than today's run finds is false.
    for (more, statement) in [
        (proves(&["test_a", "test_b", "test_c"]), "scrutiny: proof"),
        (bug(|said| scrutiny(said).comparison.fixed.add("test_x")), "scrutiny: comparison: fixed"),
    ] {
        assert_eq!(differing(&compared(&more, &bug(today))), [statement]);
    }
}

#[test]
fn what_is_not_tried_for_lack_of_time_is_no_difference() {
    let lie = |line: u32| json!({"path": "t.py", "line": line, "was": "1", "now": "2", "noticed": true});
    let seen = |lines: &[u32], without_result: Value| {
        let told: Vec<Value> = lines.iter().map(|line| lie(*line)).collect();
        let lies = json!({"said": {"lies": "noticed"}, "told": told});
        bug(|tests| {
            let scrutiny = scrutiny(tests);
            scrutiny.lies = serde_json::from_value(lies).unwrap();
            scrutiny.without_result = serde_json::from_value(without_result).unwrap();
        })
    };
    let cut = || json!([{"name": "tests-lie-2", "shows": "whether it is noticed", "because": "left_out"}]);
    assert_eq!(differing(&compared(&seen(&[3, 9], json!([])), &seen(&[3], cut()))), [""; 0]);
    assert_eq!(differing(&compared(&seen(&[3], cut()), &seen(&[3, 9], json!([])))), [""; 0]);
    let told = ["scrutiny: lies: told"];
    assert_eq!(differing(&compared(&seen(&[3, 9], json!([])), &seen(&[3], json!([])))), told);
    assert_eq!(differing(&compared(&seen(&[3, 9], json!([])), &seen(&[4], cut()))), told);
}

#[test]
fn an_image_that_has_another_digest_today_is_told_as_that() {
    let in_image = |image: &str| bug(|tests| tests.image = Some(image.to_owned()));
    let digest = |digit: &str| format!("docker.io/library/python@sha256:{}", digit.repeat(64));
    let image = |here: &str| {
        let rows = compared(&in_image(&digest("a")), &in_image(here));
        rows.into_iter().find(|row| row.statement == "image").unwrap().found
    };
    assert!(matches!(image(&digest("b")), ReverificationResult::CannotBeRepeated { .. }));
    assert_eq!(image(&digest("a")), ReverificationResult::Same);
    assert_eq!(image(&digest("b").replace("python", "node")), ReverificationResult::Differs);
    assert_eq!(image("docker.io/library/python@sha256:abc"), ReverificationResult::Differs);
    // An image requested by digest never changes.
    let (said, here) = (in_image(&digest("a")), in_image(&digest("b")));
    let today = RunOfToday { tests: &here, is_image_by_digest: true };
    let rows = compare(&serde_json::to_value(&said).unwrap(), &said, today).unwrap();
    assert_eq!(differing(&rows), ["image"]);
}

proptest! {
    /// Any content of a receipt: the comparison is bounded, and never reports a difference as the same.
    #[test]
    fn no_receipt_chokes_the_comparison(key in "[a-z_]{1,12}", text in any::<String>(), number in any::<i64>()) {
        for value in [json!(text), json!(number), json!([text, number]), json!({"a": {"b": text}}), Value::Null] {
            let mut said = serde_json::to_value(told()).unwrap();
            said[&key] = value;
            for row in compare(&said, &told(), by_tag(&told())).unwrap() {
                prop_assert!(row.receipt.chars().count() <= 301 && row.here.chars().count() <= 301);
                if row.found == ReverificationResult::Same {
                    prop_assert_eq!(row.receipt, row.here);
                }
            }
        }
    }
}
