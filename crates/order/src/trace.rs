//! What a replay of the journal found, stage by stage. The status comment, the pull request's text, the receipt and the
//! live display use nothing else.

use chrono::{DateTime, Utc};

use super::agent_run::AgentUsage;
use super::change_kind::ChangeKind;
use super::environment_report::EnvironmentReport;
use super::feedback::{Category, Feedback, Finding};
use super::ids::{BranchName, CommitSha, Person, PullNumber, TreeSha};
use super::inconclusive::Inconclusive;
use super::moves::{Diagnosis, Move, MoveKey};
use super::order_request::OrderRequest;
use super::test_run::TestRun;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct OrderTrace {
    /// Options besides the issue, from people who may set them.
    pub request: OrderRequest,
    /// The authorized person who asked for the work; `None` if it was requested through the API.
    pub authorized_by: Option<Person>,
    pub base: Option<CommitSha>,
    pub branch: Option<BranchName>,
    pub stages: Vec<StageTrace>,
    /// The work that is or will be published.
    pub work: Option<CandidateWork>,
    /// The commit that the remote was seen to have.
    pub pushed: Option<CommitSha>,
    /// Whether the order ever pushed anything: people may still see an attempt that was handed over earlier.
    pub has_pushed: bool,
    pub pull: Option<PullTrace>,
    /// Whether that pull request is somebody else's, to be verified and never written to.
    pub is_given: bool,
    pub usage: AgentUsage,
    /// The last error, while the order waits for its retry.
    pub waiting: Option<EffectBackoff>,
    /// Deviations from the request, such as a fallback name.
    pub notes: Vec<String>,
    /// The kind of change that the issue asks for; `None` before a stage has ended.
    pub kind: Option<ChangeKind>,
    /// Whether the repository requires an examiner's statement to hold.
    pub requires_examination: bool,
    /// Problems found before anything was paid for.
    pub problems: Vec<String>,
    pub environment: Option<EnvironmentReport>,
    pub asks: Option<PendingApproval>,
    /// The latest known state of other apps' checks on the head.
    pub ci: Option<CiTrace>,
    /// What people accepted as it is, in order. Everything later depends on it.
    pub accepted: Vec<Acceptance>,
    /// Whether the pipeline has ended and people are being answered: no judge of the pipeline runs on its own any more.
    pub answering: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StageTrace {
    pub name: String,
    pub state: StageState,
    pub rounds: Vec<RoundTrace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageState {
    Running,
    Passed,
    /// Its checks ran out, or something around it failed.
    Failed,
    /// A person has its best round to decide on.
    Escalated,
    /// A person accepted its best round as it is.
    Approved,
    /// Its `when` excludes it, or a person's approval made it unnecessary.
    Skipped,
    NotReached,
}

impl StageState {
    pub fn end(self) -> Option<&'static str> {
        match self {
            Self::Running | Self::Skipped | Self::NotReached => None,
            Self::Passed => Some("passed"),
            Self::Failed => Some("failed"),
            Self::Escalated => Some("escalated"),
            Self::Approved => Some("approved"),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundTrace {
    pub round: u32,
    /// The agent's name in the settings; `None` if no worker ran and existing work was judged.
    pub agent: Option<String>,
    pub result: Option<String>,
    /// Harmless oddities of the run.
    pub warnings: Vec<String>,
    pub commit: Option<CommitSha>,
    pub tests: Option<TestRun>,
    /// The failing check's feedback; `None` while it runs, or if all passed.
    pub feedback: Option<Feedback>,
    /// The verifiers' feedback, with or without objections.
    pub review: Option<Feedback>,
    /// The same feedback by role, for this commit.
    pub reviews: Vec<RoleReview>,
    /// The escalation agent's diagnosis after this round.
    pub diagnosis: Option<Diagnosis>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoleReview {
    pub role: String,
    pub feedback: Feedback,
}

/// Work that can be published.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateWork {
    pub round: u32,
    /// The agent's own commit; it is never published itself.
    pub pushed: CommitSha,
    /// The name in the settings of the agent that made it.
    pub agent: String,
    /// That agent's session, for resuming the work.
    pub session: Option<String>,
    pub answer: MoveKey,
    /// The change as a unified diff that may be cut.
    pub patch: String,
    pub review: Option<Feedback>,
    /// Open objections of its stage's reviewers; see [`OpenFindings`].
    pub open: OpenFindings,
    pub commit: CommitSha,
    pub tree: TreeSha,
    pub changed: Vec<String>,
    /// The test run; `None` if the stage has no such check.
    pub tests: Option<TestRun>,
    /// The journal entry of the test run; 0 if there is none.
    pub tested_at: u64,
    /// The result of its own stage's checks.
    pub checks: StageChecksOutcome,
    /// The person who accepted it as it is.
    pub accepted: Option<Acceptance>,
}

impl CandidateWork {
    /// A commit before its checks, which no agent of ours made and nobody accepted.
    pub(super) fn untested(
        (round, answer): (u32, MoveKey),
        (commit, tree): (&CommitSha, &TreeSha),
        changed: &[String],
        patch: &str,
    ) -> Self {
        Self {
            round,
            pushed: commit.clone(),
            agent: String::new(),
            session: None,
            answer,
            patch: patch.to_owned(),
            review: None,
            open: OpenFindings::default(),
            commit: commit.clone(),
            tree: tree.clone(),
            changed: changed.to_vec(),
            tests: None,
            tested_at: 0,
            checks: StageChecksOutcome::Lacking(Inconclusive::NotTested),
            accepted: None,
        }
    }
}

/// A round's open findings, for comparing rounds: the latest feedback of the reviewers on this round or an earlier one.
/// Before any review it is the failing check's feedback.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OpenFindings {
    pub critical: usize,
    pub major: usize,
    pub score: f64,
}

/// The result of one piece of work's checks, in the stage that made or tested it. Only the
/// [`Verdict`](super::Verdict) says what holds for the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageChecksOutcome {
    Passed,
    Lacking(Inconclusive),
    /// A check failed; this is the best attempt.
    Failed {
        because: String,
    },
}

impl StageChecksOutcome {
    /// Whether only a proof is missing.
    pub(super) fn is_unproven(&self) -> bool {
        matches!(self, Self::Lacking(Inconclusive::Unproven { .. }))
    }

    pub(super) fn objection(&self) -> Option<String> {
        match self {
            Self::Passed => None,
            Self::Lacking(why) => Some(why.sentence()),
            Self::Failed { because } => Some(because.clone()),
        }
    }
}

/// A person's `/approve` of work as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    pub by: String,
    pub because: String,
    pub failed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PullTrace {
    pub number: PullNumber,
    pub url: String,
    pub summary: String,
    pub title: String,
    pub ready: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingApproval {
    /// To approve the plan, or to ask for changes.
    Plan,
    /// To answer the plan's open questions.
    Answers,
}

/// Results of other apps' checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiTrace {
    pub commit: CommitSha,
    pub passed: u32,
    pub pending: Vec<String>,
    /// Names of the checks that fail here but not on the base.
    pub failing: Vec<String>,
    /// Names of the checks that fail on the base, too.
    pub failing_on_base: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectBackoff {
    pub message: String,
    pub until: DateTime<Utc>,
}

impl PullTrace {
    /// Updates its text and, if `ready`, takes it out of draft.
    pub(super) fn finish(&self, ready: bool) -> Move {
        let (title, summary) = (self.title.clone(), self.summary.clone());
        Move::FinishPull { pull: self.number, title, summary, ready }
    }
}

impl OrderTrace {
    pub fn running(&self) -> Option<&StageTrace> {
        self.stages.iter().find(|stage| stage.state == StageState::Running)
    }

    /// Every round of the work, in order, including paid rounds that pushed nothing and rounds without a worker that
    /// judged existing work.
    pub fn rounds_of_work(&self) -> impl Iterator<Item = (&StageTrace, &RoundTrace)> {
        let stages = self.stages.iter().filter(|stage| stage.is_of_work());
        stages.flat_map(|stage| stage.rounds.iter().map(move |round| (stage, round)))
    }

    pub fn worker_rounds(&self) -> usize {
        self.rounds_of_work().filter(|(_, round)| round.agent.is_some()).count()
    }

    pub(super) fn begin(&mut self, name: &str) {
        let (name, state) = (name.to_owned(), StageState::Running);
        self.stages.push(StageTrace { name, state, rounds: Vec::new() });
    }

    /// Records a deviation from the request once, however often it happens.
    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn conclude(&mut self, name: &str, state: StageState) {
        if let Some(stage) = self.stages.iter_mut().rfind(|stage| stage.name == name) {
            stage.state = state;
        }
    }

    /// The round with that number; it is created if new.
    pub(super) fn round(&mut self, stage: &str, round: u32) -> Option<&mut RoundTrace> {
        let stage = self.stages.iter_mut().rfind(|known| known.name == stage)?;
        let place = match stage.rounds.iter().position(|known| known.round == round) {
            Some(place) => place,
            None => {
                stage.rounds.push(RoundTrace { round, ..RoundTrace::default() });
                stage.rounds.len() - 1
            }
        };
        stage.rounds.get_mut(place)
    }
}

impl StageTrace {
    /// Whether it makes or tests commits, or was sent back because it made none.
    fn is_of_work(&self) -> bool {
        let is_of_commit =
            |finding: &Finding| matches!(finding.category, Category::MissingCommit | Category::Policy);
        self.rounds.iter().any(|round| {
            round.commit.is_some()
                || round.tests.is_some()
                || round.feedback.as_ref().is_some_and(|feedback| feedback.issues.iter().any(is_of_commit))
        })
    }
}
