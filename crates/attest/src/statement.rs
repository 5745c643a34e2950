//! The statement: in-toto version 1, about a commit and its tree, with the order's receipt as predicate.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::key::KeyError;
use journeyman_order::commit_message::is_hidden;
use journeyman_order::findings::{findings, of_review};
use journeyman_order::receipt::TestEvidence;
use journeyman_order::{
    BranchName, CommitSha, Feedback, IssueNumber, OrderId, PullNumber, Receipt, RepositoryName, TreeSha,
    VerdictFinding,
};

/// The type of an in-toto statement, version 1.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Our predicate type. Its version rises if a reader of the old one could be misled.
pub const PREDICATE_TYPE: &str = "urn:journeyman:receipt:v1";

pub use journeyman_order::surfaces::AttestationResult;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestationVerifier {
    pub name: String,
    /// The server's address, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Versions of the server and its tools, by name.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// The order is still at work, so its facts may change any minute.
    #[error("the order is still running; it can be signed when it has ended")]
    AtWork,
    /// It ended without a tested or published commit.
    #[error("the order has no commit to sign a receipt for")]
    NoCommit,
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the receipt cannot be written as JSON: {0}")]
    Unwritable(#[from] serde_json::Error),
}

/// A signed statement, read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub result: AttestationResult,
    pub verifier: AttestationVerifier,
    /// When the work ended; the receipt describes that moment.
    pub time: DateTime<Utc>,
    pub claims: ReceiptClaims,
    /// The whole receipt, including fields that this version does not know.
    pub receipt: Value,
}

/// A receipt's claims that can be checked against a repository. The receipt comes from outside, so only the commit and
/// its tree are required.
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
    /// The person who accepted it as it is.
    pub approved_by: Option<String>,
    pub branch: Option<BranchName>,
    pub pull_request: Option<PullNumber>,
    pub base: Option<CommitSha>,
    pub commit: CommitSha,
    pub tree: TreeSha,
    /// Whether the remote had `commit` on `branch`.
    #[serde(default)]
    pub on_remote: bool,
    /// The test run on `commit`.
    pub tests: Option<TestEvidence>,
    /// What people read about `commit`: the facts that this version knows.
    #[serde(default, deserialize_with = "known_findings")]
    pub findings: Vec<VerdictFinding>,
    /// The verifier's feedback on `commit`.
    pub review: Option<Feedback>,
    #[serde(default)]
    pub notes: Vec<String>,
}

impl ReceiptClaims {
    /// The findings, made of the receipt's evidence. Only those that rest on no test run are taken as the receipt has
    /// them.
    pub fn all_findings(&self) -> Vec<VerdictFinding> {
        let beside = match self.findings.is_empty() {
            true => of_review(self.review.as_ref()),
            false => self.findings.clone(),
        };
        findings(self.tests.as_ref(), beside)
    }
}

fn known_findings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<VerdictFinding>, D::Error> {
    let all = Vec::<Value>::deserialize(from)?;
    Ok(all.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect())
}

/// Why signed bytes are not a receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// They are something else, or a receipt of another version.
    #[error("it is no receipt that this version can read: {0}")]
    Form(String),
    /// It contradicts itself.
    #[error("it contradicts itself: {0}")]
    Contradiction(&'static str),
}

/// An error in untrusted JSON. The message quotes the input and is shown in terminals, so it is one line of visible
/// characters.
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
    /// The bytes of a statement. The same receipt, verifier and time give the same bytes.
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

    /// Parses what was signed. Unknown fields are allowed.
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
        // Others match the subject, and we rerun the receipt's commit: both must be the same.
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
