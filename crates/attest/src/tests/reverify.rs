//! A receipt is tried again, and what differs is named.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{ReverificationResult, ReverifiedStatement, compare};
use super::verified;
use journeyman_order::receipt::TestEvidence;
use journeyman_order::{Exit, TestCounts, TestVerdict};

fn told() -> TestEvidence {
    verified().tests.unwrap()
}

fn rows(change: impl FnOnce(&mut TestEvidence)) -> Vec<ReverifiedStatement> {
    let mut here = told();
    change(&mut here);
    compare(&serde_json::to_value(told()).unwrap(), &told(), &here).unwrap()
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
        "verdict",
        "setup",
        "test: command",
        "test: exit",
        "test: output sha256",
        "counts",
        "failing",
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
    let rows = compare(&said, &told(), &told()).unwrap();
    assert!(!rows.iter().any(|row| row.statement == "counts"), "an older one says nothing of it");
    let newer = rows.iter().find(|row| row.statement == "mutants").unwrap();
    assert!(matches!(newer.found, ReverificationResult::CannotBeRepeated { .. }), "{newer:?}");
    assert_eq!(newer.receipt, "killed 3");
}

proptest! {
    /// Whatever somebody puts into a receipt: it is compared in bounded words, and never as the same when it is not.
    #[test]
    fn no_receipt_chokes_the_comparison(key in "[a-z_]{1,12}", text in any::<String>(), number in any::<i64>()) {
        for value in [json!(text), json!(number), json!([text, number]), json!({"a": {"b": text}}), Value::Null] {
            let mut said = serde_json::to_value(told()).unwrap();
            said[&key] = value;
            for row in compare(&said, &told(), &told()).unwrap() {
                prop_assert!(row.receipt.chars().count() <= 301 && row.here.chars().count() <= 301);
                if row.found == ReverificationResult::Same {
                    prop_assert_eq!(row.receipt, row.here);
                }
            }
        }
    }
}
