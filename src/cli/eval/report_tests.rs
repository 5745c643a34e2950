//! Counts and drawings from handmade records.

use proptest::prelude::*;

use super::record::{Attempt, AttemptEnd, CaseRecord, HiddenVerdict};
use super::report::{EvalReport, EvalSetup, report};
use super::simulation::Simulation;
use super::{page, table};
use crate::order::moves::DiagnosisDecision;
use crate::order::{Category, TestCounts};

/// One letter per attempt: p passed, u unverified, x cut off, m nothing pushed; a digit: the first so many of 8 tests
/// fail. A capital or a digit after `>` comes after guidance.
fn attempts(letters: &str) -> Vec<Attempt> {
    let (before, after) = letters.split_once('>').unwrap_or((letters, ""));
    let told = before.chars().map(|letter| (letter, false)).chain(after.chars().map(|letter| (letter, true)));
    let mut attempts: Vec<Attempt> = Vec::new();
    for (letter, guided) in told {
        let same = attempts.iter().filter(|attempt| attempt.guided == guided).count() as u32;
        let failed = letter.to_digit(10).unwrap_or(0);
        let (end, kinds) = match letter {
            'p' => (AttemptEnd::Passed, vec![]),
            'u' => (AttemptEnd::Unverified, vec![]),
            'x' => (AttemptEnd::Unfinished, vec![]),
            'm' => (AttemptEnd::Failed, vec![Category::MissingCommit]),
            _ => (AttemptEnd::Failed, vec![Category::TestFailure]),
        };
        let is_tested = letter == 'p' || failed > 0;
        attempts.push(Attempt {
            round: attempts.len() as u32 + 1,
            attempt: same + 1,
            guided,
            end,
            kinds,
            tests: is_tested.then(|| TestCounts {
                passed: u64::from(8 - failed),
                failed: failed.into(),
                skipped: 0,
            }),
            failing: (1..=failed).map(|test| format!("test {test}")).collect(),
            usd: 0.1,
            seconds: 2.0,
        });
    }
    attempts
}

fn case(name: &str, outcome: &str, hidden: HiddenVerdict, letters: &str) -> CaseRecord {
    let attempts = attempts(letters);
    let best = attempts.iter().rev().max_by_key(|attempt| attempt.tests.map_or(0, |tests| tests.passed));
    CaseRecord {
        case: name.to_owned(),
        title: format!("The issue of {name} <script>"),
        order: "01a20115-56fc-75bd-bf62-4ed0bf475960".to_owned(),
        outcome: outcome.to_owned(),
        because: (outcome != "verified").then(|| "1 passed, 1 failed & more".to_owned()),
        hidden,
        hidden_output: (hidden == HiddenVerdict::Failed).then(|| "exit code 1: no\u{1b}[2J".to_owned()),
        false_green: outcome == "verified" && hidden == HiddenVerdict::Failed,
        taken: best.map(|attempt| attempt.round),
        usd: 0.1 * attempts.len() as f64 + 0.02,
        seconds: 2.0 * attempts.len() as f64 + 1.0,
        tokens: [1000, 200],
        advice: letters.contains('>').then_some(DiagnosisDecision::Guide),
        replay: None,
        escalation_usd: if letters.contains('>') { 0.02 } else { 0.0 },
        attempts,
    }
}

fn setting(cases: u64) -> EvalSetup {
    EvalSetup {
        journeyman: "0.1.0".to_owned(),
        suite: "by hand".to_owned(),
        description: "Six cases & <b>".to_owned(),
        cases,
        agent: "claude".to_owned(),
        pipeline: "issue-to-pr".to_owned(),
        simulation: None,
        parallel: 4,
        began: "2026-01-02T03:04:05Z".to_owned(),
        seconds: 61.2,
        interrupted: false,
    }
}

fn by_hand() -> EvalReport {
    let (passed, failed, not_run) = (HiddenVerdict::Passed, HiddenVerdict::Failed, HiddenVerdict::NotRun);
    let records = vec![
        case("at-once", "verified", passed, "p"),
        case("second", "verified", passed, "2p"),
        case("false-green", "verified", failed, "p"),
        case("stopped-early", "escalated", failed, "33"),
        case("best-was-first", "escalated", failed, "125"),
        case("best-was-no-better", "escalated", failed, "242"),
        case("advised", "verified", passed, "123>4p"),
        case("nothing-pushed", "blocked", not_run, "mmm"),
        case("cut-off", "failed", not_run, "1x"),
    ];
    report(setting(10), records, vec!["odd: no place".to_owned()])
}

#[test]
fn the_table_tells_all_of_it() {
    insta::assert_snapshot!(table::text(&by_hand()));
}

#[test]
fn what_more_than_rounds_added_is_counted() {
    let added = by_hand().added;
    assert_eq!((added.stopped_early, added.rounds_saved), (1, 1), "only 33, one round before its third");
    assert!((added.usd_saved - 0.1).abs() < 1e-9);
    assert_eq!((added.handed_over, added.best_was_earlier, added.tests_gained), (3, 1, 4));
    assert_eq!(
        (added.guided, added.rescued.count, added.guided_rounds, added.verified_without),
        (1, 1, 2, 3)
    );
    assert!((added.guidance_usd - 0.22).abs() < 1e-9);
}

#[test]
fn an_attempt_that_was_cut_off_counts_nowhere() {
    let report = by_hand();
    let reached: Vec<(bool, u32, u64, u64)> = report
        .attempts
        .iter()
        .map(|line| (line.guided, line.attempt, line.passed.count, line.passed.of))
        .collect();
    let expected = [(false, 1, 2, 9), (false, 2, 1, 6), (false, 3, 0, 4), (true, 1, 0, 1), (true, 2, 1, 1)];
    assert_eq!(reached, expected);
    assert_eq!(report.attempts.last().map(|line| line.cumulative.count), Some(4));
}

#[test]
fn a_false_green_is_of_those_that_were_called_verified() {
    let report = by_hand();
    assert_eq!((report.false_green.count, report.false_green.of), (1, 4));
    assert_eq!((report.hidden.count, report.hidden.of), (3, 7));
    assert_eq!((report.verified.count, report.verified.of), (4, 9));
}

#[test]
fn the_page_shows_foreign_text_as_text() {
    let page = page::html(&by_hand()).unwrap();
    assert!(!page.contains("<script") && !page.contains("<b>\n"), "{page}");
    assert!(page.contains("The issue of at-once &#60;script&#62;"), "{page}");
    assert!(page.contains("class=\"bad\">false green"));
    assert!(!page.contains("SIMULATED"));
    let empty = report(setting(0), vec![], vec![]);
    assert!(page::html(&empty).unwrap().contains("</html>"));
    assert!(table::text(&empty).contains("verified"));
}

#[test]
fn a_simulation_says_so_before_any_figure() {
    let simulation = Simulation { rates: "35,72,45".parse().unwrap(), seed: 7, stubborn: 0.0, guided: None };
    let setting = EvalSetup { simulation: Some(simulation), ..setting(9) };
    let report = report(setting, by_hand().cases, vec![]);
    let (text, page) = (table::text(&report), page::html(&report).unwrap());
    assert!(text.starts_with("The agent is SIMULATED"), "{text}");
    assert!(page.find("SIMULATED") < page.find("<svg"));
    assert!(
        serde_json::to_string(&report)
            .unwrap()
            .starts_with(r#"{"version":1,"notice":"The agent is SIMULATED"#)
    );
    // 44 % of 9 cases where 90 % are expected: more than three standard deviations off.
    assert_eq!(report.expectation.map(|expected| expected.within), Some(false));
    assert!(text.contains("NOT within") && page.contains("NOT within"));
}

proptest! {
    #[test]
    fn figures_of_any_suite_agree_with_one_another(
        suite in proptest::collection::vec(("[1-7m]{0,2}[1-7pmux](>[1-7]{0,2}[p1-7])?", any::<bool>()), 0..40)
    ) {
        let records: Vec<CaseRecord> = suite
            .iter()
            .map(|(letters, hidden)| {
                let outcome = if letters.ends_with('p') { "verified" } else { "escalated" };
                let hidden = if *hidden { HiddenVerdict::Passed } else { HiddenVerdict::Failed };
                case("a", outcome, hidden, letters)
            })
            .collect();
        let cases = records.len() as u64;
        let report = report(setting(cases), records, vec![]);
        prop_assert_eq!(report.outcomes.values().sum::<u64>(), cases);
        prop_assert_eq!(report.rounds.values().sum::<u64>(), cases);
        let passed: u64 = report.attempts.iter().map(|line| line.passed.count).sum();
        prop_assert!(report.verified.count <= passed);
        for pair in report.attempts.windows(2) {
            prop_assert!(pair[0].cumulative.count <= pair[1].cumulative.count);
            if pair[0].guided == pair[1].guided {
                prop_assert!(pair[1].passed.of <= pair[0].passed.of - pair[0].passed.count);
            }
        }
        prop_assert!(report.false_green.count <= report.false_green.of);
        let again: EvalReport = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
        prop_assert_eq!(again.attempts.len(), report.attempts.len());
        prop_assert!(page::html(&report).unwrap().contains("</html>"));
        prop_assert!(!table::text(&report).contains("NaN"));
    }
}
