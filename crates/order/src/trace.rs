//! What a replay of the journal found, stage by stage. The status comment, the pull request's text, the receipt
//! and the live display are made from this and from nothing else.

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
    /// What was asked for besides the issue, by whoever may.
    pub request: OrderRequest,
    /// Who asked for the work and may; none when it was asked for through the API.
    pub authorized_by: Option<Person>,
    pub base: Option<CommitSha>,
    pub branch: Option<BranchName>,
    pub stages: Vec<StageTrace>,
    /// The work that is published or about to be.
    pub work: Option<CandidateWork>,
    /// The commit that the remote was seen to have.
    pub pushed: Option<CommitSha>,
    /// Whether anything of the order's was ever pushed: an attempt that was handed over may still be what people see.
    pub has_pushed: bool,
    pub pull: Option<PullTrace>,
    pub usage: AgentUsage,
    /// The last trouble, while it is being waited for.
    pub waiting: Option<EffectBackoff>,
    /// Things that went another way than asked, such as a fallback name.
    pub notes: Vec<String>,
    /// What the issue is taken for; none before a stage has ended.
    pub kind: Option<ChangeKind>,
    /// Whether the repository wants a statement of an examiner's to hold.
    pub requires_examination: bool,
    /// What stood in the way before anything was paid for.
    pub problems: Vec<String>,
    pub environment: Option<EnvironmentReport>,
    pub asks: Option<PendingApproval>,
    /// What the checks of others came to on the head, when it was looked at last.
    pub ci: Option<CiTrace>,
    /// What people accepted as it is, in order. Whatever comes after rests on it.
    pub accepted: Vec<Acceptance>,
    /// Whether its pipeline has come to its end and people are being answered: no judge of the pipeline comes by itself.
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
    /// Its best round is with a person.
    Escalated,
    /// A person accepted its best round as it is.
    Approved,
    /// Not wanted, by its `when`; or a person's approval made it needless.
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
    /// The agent that worked in it, by its name in the settings; none where what was there was judged.
    pub agent: Option<String>,
    pub result: Option<String>,
    /// What was odd about its run and did no harm.
    pub warnings: Vec<String>,
    pub commit: Option<CommitSha>,
    pub tests: Option<TestRun>,
    /// What the failing check said; none while it runs and when all passed.
    pub feedback: Option<Feedback>,
    /// What the verifiers said, whether or not they had something to object.
    pub review: Option<Feedback>,
    /// The same as each of them said it of the commit.
    pub reviews: Vec<RoleReview>,
    /// What the escalation's agent said after it.
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
    /// The commit that the agent pushed; never published itself.
    pub pushed: CommitSha,
    /// The agent that made it, by its name in the settings.
    pub agent: String,
    /// The session of the agent that made it, for whoever goes on with it.
    pub session: Option<String>,
    pub answer: MoveKey,
    /// What it changes, as a unified diff that may be cut.
    pub patch: String,
    pub review: Option<Feedback>,
    /// What its stage's reviewers object to; see [`OpenFindings`].
    pub open: OpenFindings,
    pub commit: CommitSha,
    pub tree: TreeSha,
    pub changed: Vec<String>,
    /// What its tests came to; none when the stage has no such check.
    pub tests: Option<TestRun>,
    /// The journal's entry that says so; 0 where there is none.
    pub tested_at: u64,
    /// What the checks of its own stage came to.
    pub checks: StageChecksOutcome,
    /// Who accepted it as it is, where a person did.
    pub accepted: Option<Acceptance>,
}

/// What stands against a round of a stage when it is compared with others: what the reviewers said last, of this round or of one
/// before it. If none has spoken yet, what the failing check said.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OpenFindings {
    pub critical: usize,
    pub major: usize,
    pub score: f64,
}

/// What the checks of one piece of work came to, in the stage that made or tested it. What may be said of the commit is
/// the [`Verdict`](super::Verdict)'s to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageChecksOutcome {
    Passed,
    Lacking(Inconclusive),
    /// One failed; it is the best attempt.
    Failed {
        because: String,
    },
}

impl StageChecksOutcome {
    /// Whether all that is missing is a proof.
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
    /// To approve the plan, or to say what is to be different.
    Plan,
    /// To answer what the plan leaves open.
    Answers,
}

/// What the checks of others came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiTrace {
    pub commit: CommitSha,
    pub passed: u32,
    pub pending: Vec<String>,
    /// The names of those that fail here and not on the base.
    pub failing: Vec<String>,
    /// The names of those that fail on the base, too.
    pub failing_on_base: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectBackoff {
    pub message: String,
    pub until: DateTime<Utc>,
}

impl PullTrace {
    /// Its text brought up to date, and where it is ready, out of its draft.
    pub(super) fn finish(&self, ready: bool) -> Move {
        let (title, summary) = (self.title.clone(), self.summary.clone());
        Move::FinishPull { pull: self.number, title, summary, ready }
    }
}

impl OrderTrace {
    pub fn running(&self) -> Option<&StageTrace> {
        self.stages.iter().find(|stage| stage.state == StageState::Running)
    }

    /// Every round of the work, in order, also those that were paid for and pushed nothing, and those in which no worker ran
    /// because what was there was judged.
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

    /// Something that went another way than asked; said once, however often it happens.
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

    /// The round of that number, begun when it is new.
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
    /// Whether it makes or tests commits, or was sent back since it made none.
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
