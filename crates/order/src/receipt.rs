//! The published verdict: what was verified, on which commit, with what result and cost. Each line names its evidence,
//! and states what was not verified as plainly.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_run::AgentUsage;
use super::effect_name::{EffectScope, ReservedWord};
use super::feedback::Feedback;
use super::ids::{BranchName, CommitSha, IssueNumber, OrderId, PullNumber, RepositoryName, TreeSha};
use super::journal::{Journal, JournalEvent};
use super::moves::{EffectOutcome, MoveKey};
use super::network::NetworkRefusal;
use super::next::OrderProjection;
use super::replay::signal_log::SignalAnswer;
use super::scrutiny::Scrutiny;
use super::surfaces::AttestationResult;
use super::test_run::{CommandRun, TestCounts, TestRun, TestVerdict};
use super::verdict::Verdict;
use crate::bounds::MOST_LISTED;

/// What was verified. Made from the journal alone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Receipt {
    /// The form of this record.
    pub version: u32,
    pub order: OrderId,
    pub repository: RepositoryName,
    pub issue: IssueNumber,
    /// The pipeline and its version.
    pub pipeline: String,
    /// The agent that was chosen for this order, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The branch that was chosen for this order, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// How the order stands: `working`, or how it ended.
    pub outcome: &'static str,
    /// Why, when it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Whether every check passed on `commit`.
    pub verified: bool,
    /// The same in words: `verified`, `unverified`, `passing, not proven`, `not verified`, `approved by a person, not
    /// verified`; none while
    /// it is at work, and where there is no commit.
    pub verdict: Option<&'static str>,
    /// What the signed statement of it comes to.
    #[serde(skip)]
    pub result: AttestationResult,
    /// Who accepted it as it is, where a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    pub branch: Option<BranchName>,
    pub pull_request: Option<PullNumber>,
    /// The commit that the work starts from.
    pub base: Option<CommitSha>,
    /// The commit that was tested and published.
    pub commit: Option<CommitSha>,
    pub tree: Option<TreeSha>,
    /// Whether the remote was asked and has `commit` on `branch`.
    pub on_remote: bool,
    /// The run of the tests on `commit`.
    pub tests: Option<TestEvidence>,
    /// What the verifier said of `commit`; none where none was asked.
    pub review: Option<Feedback>,
    /// Every round of every stage whose work was checked.
    pub rounds: Vec<ReceiptRound>,
    /// Tokens and dollars, as the agents say.
    pub usage: AgentUsage,
    /// Seconds from the opening to what ended the work.
    pub seconds: i64,
    /// What agents were kept from on the network, as the door saw it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<ReceiptRefusal>,
    /// Credentials that an agent's program had to hold itself, inside its sandbox; all others stayed outside.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub held: BTreeSet<String>,
    /// What went another way than asked.
    pub notes: Vec<String>,
}

/// Something that an agent was kept from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReceiptRefusal {
    pub run: MoveKey,
    #[serde(flatten)]
    pub refused: NetworkRefusal,
}

/// Evidence of a run of the tests. Signed receipts of older versions are read as this: what is added has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestEvidence {
    /// What it comes to.
    pub verdict: TestVerdict,
    /// Why a pass verifies nothing.
    #[serde(default)]
    pub doubt: Option<String>,
    /// Folders of `tests:` whose tests were not run, as the change concerns nothing there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What installed what the tests need.
    pub setup: Option<CommandRun>,
    pub test: Option<CommandRun>,
    pub counts: Option<TestCounts>,
    pub failing: Vec<String>,
    /// The sandbox it ran in.
    pub sandbox: String,
    /// The image that it ran in, by its digest; none: the machine's own system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What was done to find out whether a pass can be believed.
    #[serde(default)]
    pub scrutiny: Option<Box<Scrutiny>>,
}

/// One round, in a line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReceiptRound {
    pub stage: String,
    /// From 1.
    pub round: u32,
    /// The commit made of what was pushed; none when nothing was.
    pub commit: Option<CommitSha>,
    pub counts: Option<TestCounts>,
    /// Whether its checks passed.
    pub passed: bool,
    /// From 0 to 1, where a verifier gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What the failing check said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What was odd about the agent's run and did no harm.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Receipt {
    /// The receipt of an order in its current state.
    pub fn of(journal: &Journal, projection: &OrderProjection) -> Self {
        let opened = journal.opened();
        let trace = &projection.trace;
        let work = trace.work.as_ref();
        let on_remote = work.is_some_and(|work| trace.pushed.as_ref() == Some(&work.commit));
        let shown = projection.surfaces();
        let approved_by =
            if let Verdict::Approved { by, .. } = &projection.verdict { Some(by.clone()) } else { None };
        Self {
            version: 1,
            order: opened.order,
            repository: opened.repository.clone(),
            issue: opened.issue.number,
            pipeline: format!("{} v{}", journal.pipeline().name, journal.pipeline().version),
            agent: trace.request.agent().map(str::to_owned),
            base_branch: trace.request.base().map(str::to_owned),
            outcome: shown.outcome,
            because: shown.because,
            verified: shown.verified,
            verdict: shown.verdict,
            result: shown.result,
            approved_by,
            branch: trace.branch.clone(),
            pull_request: trace.pull.as_ref().map(|pull| pull.number),
            base: trace.base.clone(),
            commit: work.map(|work| work.commit.clone()),
            tree: work.map(|work| work.tree.clone()),
            on_remote,
            tests: work.and_then(|work| work.tests.as_ref()).map(TestEvidence::of),
            review: work.and_then(|work| work.review.clone()),
            rounds: round_lines(projection),
            usage: trace.usage,
            seconds: (said_at(journal, projection) - journal.opened_at()).num_seconds(),
            refused: refused(journal),
            held: held(journal),
            notes: trace.notes.clone(),
        }
    }
}

/// A receipt's timestamp: after the work has ended, that of the entry that ended it. Later entries that only add notes
/// or change nothing do not make a new receipt.
pub fn said_at(journal: &Journal, projection: &OrderProjection) -> DateTime<Utc> {
    let has_ended = projection.next.settled.is_some();
    let is_taken = |seq: u64| {
        projection.answers.iter().any(|told| told.signal == seq && told.answer == SignalAnswer::Taken)
    };
    let counts = |event: &JournalEvent, seq: u64| match event {
        JournalEvent::Opened(_) => true,
        JournalEvent::Signaled { .. } => is_taken(seq),
        JournalEvent::Intended { .. } => false,
        JournalEvent::Observed { key, outcome } => match key.scope() {
            EffectScope::Stage(_) => true,
            // A mere read changes nothing.
            EffectScope::Beside(ReservedWord::Answer) => !matches!(**outcome, EffectOutcome::PullRead(_)),
            EffectScope::Beside(word) => matches!(
                word,
                ReservedWord::CommitMessage
                    | ReservedWord::Environment
                    | ReservedWord::IssueText
                    | ReservedWord::Preflight
                    | ReservedWord::Prepare
            ),
        },
    };
    let last = journal.entries().iter().rev().find(|entry| !has_ended || counts(&entry.event, entry.seq));
    last.map_or(journal.opened_at(), |entry| entry.at)
}

/// Network access that agents were refused, up to a limit.
pub fn refused(journal: &Journal) -> Vec<ReceiptRefusal> {
    let each = journal.whole().runs().filter_map(|(_, run, ran)| Some((run, ran.network.as_ref()?)));
    each.flat_map(|(run, record)| {
        record.refused.iter().map(|refused| ReceiptRefusal { run: run.clone(), refused: refused.clone() })
    })
    .take(MOST_LISTED)
    .collect()
}

/// Variables whose credentials agents' programs had to hold themselves.
pub fn held(journal: &Journal) -> BTreeSet<String> {
    journal.whole().runs().flat_map(|(_, _, run)| run.held.iter().cloned()).collect()
}

impl TestEvidence {
    /// A test run's evidence.
    pub fn of(tests: &TestRun) -> Self {
        Self {
            verdict: tests.verdict,
            doubt: tests.doubt.clone(),
            left_out: tests.left_out.clone(),
            setup: tests.setup.clone(),
            test: tests.test.clone(),
            counts: tests.counts,
            failing: tests.failing.clone(),
            sandbox: tests.sandbox.clone(),
            image: tests.image.clone(),
            scrutiny: tests.scrutiny.clone(),
        }
    }
}

fn round_lines(projection: &OrderProjection) -> Vec<ReceiptRound> {
    let mut lines = Vec::new();
    for stage in &projection.trace.stages {
        for round in &stage.rounds {
            let checked = round.commit.is_some() || round.tests.is_some() || round.review.is_some();
            if !checked && round.feedback.is_none() && round.warnings.is_empty() {
                continue;
            }
            lines.push(ReceiptRound {
                stage: stage.name.clone(),
                round: round.round,
                commit: round.commit.clone(),
                counts: round.tests.as_ref().and_then(|tests| tests.counts),
                passed: round.feedback.is_none(),
                score: round.review.as_ref().map(|review| review.score),
                because: round.feedback.as_ref().map(|feedback| feedback.summary.clone()),
                warnings: round.warnings.clone(),
            });
        }
    }
    lines
}
