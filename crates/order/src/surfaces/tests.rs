//! Every pair of a settlement and a verdict, with its surfaces.

use super::super::ids::PullNumber;
use super::super::verdict::VerifiedCaveats;
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
        ("verified", Verdict::Verified(VerifiedCaveats::default())),
        ("no tests", lacks(Inconclusive::NoTests { because: because() })),
        ("one of two", lacks(Inconclusive::ProjectNotTested { because: because() })),
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
            // No surface claims more than the verdict.
            let is_verified = matches!(verdict, Verdict::Verified(_));
            let claims = [
                shown.verified,
                shown.outcome == "verified",
                shown.verdict == Some("verified"),
                shown.result == AttestationResult::Passed,
                shown.exit_code == 0,
                shown.heading.contains('✅'),
                shown.headline.starts_with("Verified"),
                shown.check == Some(CheckRunState::Success),
            ];
            assert!(is_verified || claims.iter().all(|claim| !claim), "{settled:?} {verdict:?}: {shown:?}");
            assert_eq!(shown.verified, shown.result == AttestationResult::Passed, "{settled:?} {verdict:?}");
            // The words of a receipt that is not `verified` say so as well.
            assert!(shown.verified || shown.verdict != Some("verified"), "{settled:?} {verdict:?}");
        }
    }
    insta::assert_snapshot!(table, @"
    working    none       1 -            FAILED  InProgress Working    Journeyman is working on this
    working    pending    1 -            FAILED  InProgress Working    Journeyman is working on this
    working    verified   1 -            FAILED  InProgress Working    Journeyman is working on this
    working    no tests   1 -            WARNED  InProgress Working    Journeyman is working on this
    working    one of two 1 -            WARNED  InProgress Working    Journeyman is working on this
    working    unproven   1 -            WARNED  InProgress Working    Journeyman is working on this
    working    not judged 1 -            FAILED  InProgress Working    Journeyman is working on this
    working    rejected   1 -            FAILED  InProgress Working    Journeyman is working on this
    working    approved   1 -            WARNED  InProgress Working    Journeyman is working on this
    working    overruled  1 -            FAILED  InProgress Working    Journeyman is working on this
    unverified none       4 -            FAILED  Neutral    Done       Done, nothing published
    unverified pending    4 not verified FAILED  Neutral    NeedsHuman Done, but unverified
    verified   verified   0 verified     PASSED  Success    Done       Verified: the pull request is ready for review
    unverified no tests   4 unverified   WARNED  Neutral    NeedsHuman Done, but unverified
    unverified one of two 4 unverified   WARNED  Neutral    NeedsHuman Done, but unverified: no test of a project that the change edits ran
    unproven   unproven   4 passing      WARNED  Neutral    NeedsHuman Passing, not proven
    unverified not judged 4 not verified FAILED  Neutral    NeedsHuman Done, but unverified
    escalated  rejected   3 not verified FAILED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    approved   approved   4 approved by a person WARNED  Neutral    Done       Approved by ada, not verified
    approved   overruled  4 approved by a person FAILED  Neutral    Done       Approved by ada, not verified
    escalated  none       3 -            FAILED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  pending    3 not verified FAILED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  verified   3 not verified FAILED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  no tests   3 unverified   WARNED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  one of two 3 unverified   WARNED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  unproven   3 passing      WARNED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  not judged 3 not verified FAILED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  rejected   3 not verified FAILED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  approved   3 approved by a person WARNED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    escalated  overruled  3 approved by a person FAILED  Failure    NeedsHuman Needs a person: the best attempt is not verified
    blocked    none       1 -            FAILED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    pending    1 not verified FAILED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    verified   1 not verified FAILED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    no tests   1 unverified   WARNED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    one of two 1 unverified   WARNED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    unproven   1 passing      WARNED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    not judged 1 not verified FAILED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    rejected   1 not verified FAILED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    approved   1 approved by a person WARNED  Failure    NeedsHuman Blocked: there is no usable attempt
    blocked    overruled  1 approved by a person FAILED  Failure    NeedsHuman Blocked: there is no usable attempt
    failed     none       1 -            FAILED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     pending    1 not verified FAILED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     verified   1 not verified FAILED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     no tests   1 unverified   WARNED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     one of two 1 unverified   WARNED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     unproven   1 passing      WARNED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     not judged 1 not verified FAILED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     rejected   1 not verified FAILED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     approved   1 approved by a person WARNED  Failure    NeedsHuman Failed: something has to be fixed first
    failed     overruled  1 approved by a person FAILED  Failure    NeedsHuman Failed: something has to be fixed first
    cancelled  none       1 -            FAILED  Cancelled  None       Cancelled
    cancelled  pending    1 not verified FAILED  Cancelled  None       Cancelled
    cancelled  verified   1 not verified FAILED  Cancelled  None       Cancelled
    cancelled  no tests   1 unverified   WARNED  Cancelled  None       Cancelled
    cancelled  one of two 1 unverified   WARNED  Cancelled  None       Cancelled
    cancelled  unproven   1 passing      WARNED  Cancelled  None       Cancelled
    cancelled  not judged 1 not verified FAILED  Cancelled  None       Cancelled
    cancelled  rejected   1 not verified FAILED  Cancelled  None       Cancelled
    cancelled  approved   1 approved by a person WARNED  Cancelled  None       Cancelled
    cancelled  overruled  1 approved by a person FAILED  Cancelled  None       Cancelled
    merged     none       4 -            FAILED  -          None       Merged by ada
    merged     pending    4 not verified FAILED  -          None       Merged by ada
    merged     verified   0 verified     PASSED  -          None       Merged by ada
    merged     no tests   4 unverified   WARNED  -          None       Merged by ada
    merged     one of two 4 unverified   WARNED  -          None       Merged by ada
    merged     unproven   4 passing      WARNED  -          None       Merged by ada
    merged     not judged 4 not verified FAILED  -          None       Merged by ada
    merged     rejected   4 not verified FAILED  -          None       Merged by ada
    merged     approved   4 approved by a person WARNED  -          None       Merged by ada
    merged     overruled  4 approved by a person FAILED  -          None       Merged by ada
    closed     none       1 -            FAILED  -          None       The pull request was closed by ada
    closed     pending    1 not verified FAILED  -          None       The pull request was closed by ada
    closed     verified   1 verified     PASSED  -          None       The pull request was closed by ada
    closed     no tests   1 unverified   WARNED  -          None       The pull request was closed by ada
    closed     one of two 1 unverified   WARNED  -          None       The pull request was closed by ada
    closed     unproven   1 passing      WARNED  -          None       The pull request was closed by ada
    closed     not judged 1 not verified FAILED  -          None       The pull request was closed by ada
    closed     rejected   1 not verified FAILED  -          None       The pull request was closed by ada
    closed     approved   1 approved by a person WARNED  -          None       The pull request was closed by ada
    closed     overruled  1 approved by a person FAILED  -          None       The pull request was closed by ada
    refused    none       1 -            FAILED  -          None       Refused
    refused    pending    1 not verified FAILED  -          None       Refused
    refused    verified   1 not verified FAILED  -          None       Refused
    refused    no tests   1 unverified   WARNED  -          None       Refused
    refused    one of two 1 unverified   WARNED  -          None       Refused
    refused    unproven   1 passing      WARNED  -          None       Refused
    refused    not judged 1 not verified FAILED  -          None       Refused
    refused    rejected   1 not verified FAILED  -          None       Refused
    refused    approved   1 approved by a person WARNED  -          None       Refused
    refused    overruled  1 approved by a person FAILED  -          None       Refused
    ");
}
