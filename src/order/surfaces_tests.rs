//! Every pair of a settlement and a verdict, and what is shown of it.

use super::super::ids::PullNumber;
use super::*;

fn settlements() -> Vec<Option<Settlement>> {
    let because = || "because".to_owned();
    let (pull, by) = (PullNumber(8), || "ada".to_owned());
    vec![
        None,
        Some(Settlement::Finished { pull: Some(pull) }),
        Some(Settlement::Escalated { pull: Some(pull), because: because() }),
        Some(Settlement::Blocked { because: because() }),
        Some(Settlement::Failed { because: because() }),
        Some(Settlement::Cancelled { because: because() }),
        Some(Settlement::Merged { pull, by: by() }),
        Some(Settlement::Closed { pull, by: by() }),
        Some(Settlement::Refused { because: because() }),
    ]
}

fn verdicts() -> Vec<(&'static str, Verdict)> {
    let lacks = |why| Verdict::Inconclusive { why };
    let because = || "why".to_owned();
    vec![
        ("none", Verdict::None),
        ("pending", Verdict::Pending { stages: vec!["review".to_owned()] }),
        ("verified", Verdict::Verified),
        ("no tests", lacks(Inconclusive::NoTests { because: because() })),
        ("unproven", lacks(Inconclusive::Unproven { because: because() })),
        ("not judged", lacks(Inconclusive::NotJudged { ended: None, stages: vec!["review".to_owned()] })),
        ("rejected", Verdict::Rejected { why: because() }),
        ("approved", Verdict::Approved { by: "ada".to_owned(), why: because(), failed: false }),
        ("overruled", Verdict::Approved { by: "ada".to_owned(), why: because(), failed: true }),
    ]
}

#[test]
fn every_pair_is_shown_as_one_thing() {
    let mut table = String::new();
    for settled in settlements() {
        for (name, verdict) in verdicts() {
            let shown = Surfaces::of(settled.as_ref(), &verdict);
            let check = shown.check.map_or("-".to_owned(), |check| format!("{check:?}"));
            table += &format!(
                "{:10} {name:10} {} {:12} {:7} {:10} {:10} {}\n",
                shown.outcome,
                shown.exit_code,
                shown.verdict.map_or("-", |words| words.split(',').next().unwrap_or_default()),
                shown.result.word(),
                check,
                format!("{:?}", shown.label),
                shown.headline,
            );
            // Whatever is claimed anywhere is claimed of a verdict that says so.
            let is_verified = verdict == Verdict::Verified;
            let claims = [
                shown.verified,
                shown.outcome == "verified",
                shown.verdict == Some("verified"),
                shown.result == TestResult::Passed,
                shown.exit_code == 0,
                shown.heading.contains('✅'),
                shown.headline.starts_with("Verified"),
                shown.check == Some(CheckState::Success),
            ];
            assert!(is_verified || claims.iter().all(|claim| !claim), "{settled:?} {verdict:?}: {shown:?}");
            assert_eq!(shown.verified, shown.result == TestResult::Passed, "{settled:?} {verdict:?}");
            // A signed receipt that is not `verified` says so in words as well.
            assert!(shown.verified || shown.verdict != Some("verified"), "{settled:?} {verdict:?}");
        }
    }
    insta::assert_snapshot!(table, @"");
}
