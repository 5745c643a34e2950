//! The statement: in-toto, version 1, about a commit and its tree, with the order's receipt as what is said of them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::key::KeyError;
use journeyman_order::commit_message::is_hidden;
use journeyman_order::receipt::TestEvidence;
use journeyman_order::{
    BranchName, CommitSha, Feedback, IssueNumber, OrderId, PullNumber, Receipt, RepositoryName, TreeSha,
};

/// What a statement of in-toto is, of version 1.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// What is said here. Its version rises when a reader of the old one could be misled.
pub const PREDICATE_TYPE: &str = "urn:journeyman:receipt:v1";

pub use journeyman_order::surfaces::AttestationResult;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestationVerifier {
    pub name: String,
    /// Where it is, when it has an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Versions of it and of what it works with, by name.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// The order is at work: what is true now may not be so in a minute.
    #[error("the order is still running; it can be signed when it has ended")]
    AtWork,
    /// It ended, and no commit of it was tested or published.
    #[error("the order has no commit to sign a receipt for")]
    NoCommit,
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the receipt cannot be written as JSON: {0}")]
    Unwritable(#[from] serde_json::Error),
}

/// What was signed, as it is read again.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub result: AttestationResult,
    pub verifier: AttestationVerifier,
    /// When the work ended: the receipt says how it stood then.
    pub time: DateTime<Utc>,
    pub claims: ReceiptClaims,
    /// The whole receipt, also what this version does not know.
    pub receipt: Value,
}

/// What a receipt says, as far as it can be held against a repository. Read from a receipt that somebody hands over, so
/// what is missing is missing: only the commit and its tree have to be there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReceiptClaims {
    pub order: OrderId,
    pub repository: RepositoryName,
    pub issue: IssueNumber,
    pub outcome: String,
    pub because: Option<String>,
    /// Whether every check passed on `commit`.
    pub verified: bool,
    pub verdict: String,
    /// Who accepted it as it is, where a person did.
    pub approved_by: Option<String>,
    pub branch: Option<BranchName>,
    pub pull_request: Option<PullNumber>,
    pub base: Option<CommitSha>,
    pub commit: CommitSha,
    pub tree: TreeSha,
    /// Whether the remote had `commit` on `branch`.
    #[serde(default)]
    pub on_remote: bool,
    /// The run of the tests on `commit`.
    pub tests: Option<TestEvidence>,
    /// What the verifier said of `commit`.
    pub review: Option<Feedback>,
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Why signed bytes are no receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// They are something else, or a receipt of another version.
    #[error("it is no receipt that this version can read: {0}")]
    Form(String),
    /// It says one thing of itself in one place and another in another.
    #[error("it contradicts itself: {0}")]
    Contradiction(&'static str),
}

/// What is wrong with JSON of anybody's. It repeats what is there, which is shown in terminals: a line of it, and nothing
/// that cannot be seen.
pub(super) fn printable_error(error: &serde_json::Error) -> String {
    error.to_string().chars().filter(|c| !is_hidden(*c)).take(300).collect()
}

#[derive(Serialize, Deserialize)]
struct WireStatement<P> {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<StatementSubject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: P,
}

#[derive(Serialize, Deserialize)]
struct StatementSubject {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    digest: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct Predicate<V, R> {
    result: AttestationResult,
    verifier: V,
    time: DateTime<Utc>,
    receipt: R,
}

impl Statement {
    /// The bytes of what a receipt says. The same receipt, verifier and time give the same.
    pub(super) fn write(
        receipt: &Receipt,
        time: DateTime<Utc>,
        verifier: &AttestationVerifier,
    ) -> Result<Vec<u8>, SigningError> {
        if receipt.outcome == "working" {
            return Err(SigningError::AtWork);
        }
        let (Some(commit), Some(tree), Some(_)) = (&receipt.commit, &receipt.tree, receipt.verdict) else {
            return Err(SigningError::NoCommit);
        };
        let subject = |name: &str, kind: &str, digest: &str| StatementSubject {
            name: Some(name.to_owned()),
            digest: BTreeMap::from([(kind.to_owned(), digest.to_owned())]),
        };
        let wire = WireStatement {
            kind: STATEMENT_TYPE.to_owned(),
            subject: vec![
                subject("commit", "gitCommit", commit.as_str()),
                subject("tree", "gitTree", tree.as_str()),
            ],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: Predicate { result: receipt.result, verifier, time, receipt },
        };
        Ok(serde_json::to_vec(&wire)?)
    }

    /// Reads what was signed. Fields that are not known are allowed.
    pub(super) fn read(payload: &[u8]) -> Result<Self, StatementError> {
        let form = |what: String| StatementError::Form(what);
        let json = |error: serde_json::Error| form(printable_error(&error));
        let wire: WireStatement<Value> = serde_json::from_slice(payload).map_err(json)?;
        if wire.kind != STATEMENT_TYPE {
            return Err(form(format!("{STATEMENT_TYPE} is expected")));
        }
        if wire.predicate_type != PREDICATE_TYPE {
            return Err(form(format!("{PREDICATE_TYPE} is expected")));
        }
        let read: Predicate<AttestationVerifier, Value> =
            serde_json::from_value(wire.predicate).map_err(json)?;
        let Predicate { result, verifier, time, receipt } = read;
        let claims = ReceiptClaims::deserialize(&receipt).map_err(json)?;
        // What others match is the subject, and what we run again is the receipt's commit: they are one.
        let digests = |kind: &str| {
            wire.subject
                .iter()
                .filter_map(|subject| subject.digest.get(kind))
                .map(String::as_str)
                .collect::<Vec<_>>()
        };
        if digests("gitCommit") != [claims.commit.as_str()] || digests("gitTree") != [claims.tree.as_str()] {
            return Err(StatementError::Contradiction(
                "its subject is not the commit and tree of its receipt",
            ));
        }
        if (result == AttestationResult::Passed) != claims.verified {
            return Err(StatementError::Contradiction("its result is not its receipt's"));
        }
        let is_tested = |tests: &TestEvidence| tests.verdict.is_pass() && tests.doubt.is_none();
        if claims.verified && !claims.tests.as_ref().is_some_and(is_tested) {
            return Err(StatementError::Contradiction("it is verified, and its tests do not say so"));
        }
        Ok(Self { result, verifier, time, claims, receipt })
    }
}
