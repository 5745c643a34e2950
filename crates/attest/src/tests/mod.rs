//! Receipts are signed, pass through hostile hands, and are read again.

mod envelopes;
mod keys;
mod reverify;

use chrono::{DateTime, Utc};

use super::{AttestationVerifier, Envelope, SigningKey};
use journeyman_order::receipt::TestEvidence;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{AgentUsage, Exit, IssueNumber, OrderId, Receipt, TestCounts, TestVerdict};

pub(super) const COMMIT: &str = "d20ace7968ba43c0219f62d71334c1095bab1602";
pub(super) const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

pub(super) fn verified() -> Receipt {
    Receipt {
        refused: Vec::new(),
        held: Default::default(),
        version: 1,
        order: OrderId(uuid::Uuid::from_u128(7)),
        repository: "octo-org/hello".parse().unwrap(),
        issue: IssueNumber(7),
        pipeline: "issue-to-pr v1".to_owned(),
        agent: None,
        base_branch: None,
        outcome: "verified",
        because: None,
        verified: true,
        verdict: Some("verified"),
        result: super::AttestationResult::Passed,
        approved_by: None,
        branch: Some("journeyman/issue-7-fix-the-sum".parse().unwrap()),
        pull_request: None,
        base: None,
        commit: Some(COMMIT.parse().unwrap()),
        tree: Some(TREE.parse().unwrap()),
        on_remote: true,
        tests: Some(TestEvidence {
            verdict: TestVerdict::Passed,
            setup: None,
            test: Some(CommandRun {
                command: "python3 -m unittest".to_owned(),
                exit: Exit::Code(0),
                duration_seconds: 0.25,
                output_sha256: "ab".repeat(32),
            }),
            signal: None,
            counts: Some(TestCounts { passed: 3, failed: 0, skipped: 0 }),
            failing: Vec::new(),
            left_out: Vec::new(),
            unrun: Vec::new(),
            image: None,
            sandbox: "bubblewrap".to_owned(),
            doubt: None,
            scrutiny: None,
        }),
        findings: Vec::new(),
        review: None,
        rounds: Vec::new(),
        usage: AgentUsage::default(),
        seconds: 12,
        notes: Vec::new(),
    }
}

pub(super) fn time() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

pub(super) fn verifier() -> AttestationVerifier {
    AttestationVerifier {
        name: "Journeyman".to_owned(),
        url: Some("https://journeyman.example.org/".to_owned()),
        versions: [("journeyman".to_owned(), "0.1.0".to_owned())].into(),
    }
}

pub(super) fn signed(receipt: &Receipt, key: &SigningKey) -> Envelope {
    Envelope::of(receipt, time(), &verifier(), key).unwrap()
}
