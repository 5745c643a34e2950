//! The verdict on the commit that an order publishes. This is its only source: every surface is a function of the
//! settlement and this verdict (`surfaces`).

use super::change_kind::ChangeKind;
use super::effect_name::{EffectScope, ReservedWord};
use super::ids::CommitSha;
use super::inconclusive::Inconclusive;
use super::pipeline::{Check, Pipeline, Stage, StageKind, StageStart};
use super::scrutiny::TestChange;
use super::settlement::Settlement;
use super::trace::{Acceptance, CandidateWork, OrderTrace, RoleReview, StageChecksOutcome, StageState};

/// Caveats shown beside the word *verified*.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifiedCaveats {
    /// No examiner stated the requirements before seeing the change.
    pub not_examined: bool,
    /// Tests that fail with the change and on the base as well.
    pub red_on_base: u64,
}

/// The verdict on the published commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// There is no commit.
    None,
    /// Some stages still have to judge.
    Pending { stages: Vec<String> },
    /// Every check of every stage passed on exactly the published commit, and nothing it depends on was accepted by a
    /// person, superseded, or not judged.
    Verified(VerifiedCaveats),
    /// No check failed, but not everything was verified.
    Inconclusive { why: Inconclusive },
    /// A check failed on the commit.
    Rejected { why: String },
    /// A person accepted the commit, or something it depends on, as it is.
    Approved {
        by: String,
        /// The objection that the person overruled.
        why: String,
        /// Whether a check failed, rather than being inconclusive.
        failed: bool,
    },
}

impl Verdict {
    /// The reason, if there is one to give.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Self::None => Some("no stage of the pipeline makes a commit".to_owned()),
            Self::Pending { .. } | Self::Verified(_) => None,
            Self::Inconclusive { why } => Some(why.sentence()),
            Self::Rejected { why } | Self::Approved { why, .. } => Some(why.clone()),
        }
    }

    /// The objection that a person could accept, and has not.
    pub fn objection(&self) -> Option<String> {
        let is_open = matches!(self, Self::Inconclusive { .. } | Self::Rejected { .. });
        self.sentence().filter(|_| is_open)
    }

    /// Whether the pull request leaves draft.
    pub fn leaves_draft(&self) -> bool {
        matches!(self, Self::Verified(_) | Self::Approved { .. })
    }

    /// The verdict on the work in the trace, given how the order ended, if it did.
    pub fn of(pipeline: &Pipeline, trace: &OrderTrace, settled: Option<&Settlement>) -> Self {
        let Some(work) = &trace.work else { return Self::None };
        Self::of_work(pipeline, trace, work, settled)
    }

    /// The verdict on work that is about to be published.
    pub(crate) fn of_work(
        pipeline: &Pipeline,
        trace: &OrderTrace,
        work: &CandidateWork,
        settled: Option<&Settlement>,
    ) -> Self {
        if let Some(Settlement::Escalated { because, .. } | Settlement::Blocked { because }) = settled {
            return Self::Rejected { why: because.clone() };
        }
        if let (StageChecksOutcome::Failed { because }, None) = (&work.checks, &work.accepted) {
            return Self::Rejected { why: because.clone() };
        }
        // Permanent: later work builds on it.
        if let Some(Acceptance { by, because, failed }) = work.accepted.as_ref().or(trace.accepted.last()) {
            return Self::Approved { by: by.clone(), why: because.clone(), failed: *failed };
        }
        if let StageChecksOutcome::Lacking(why) = &work.checks
            && *why != Inconclusive::NotTested
        {
            return Self::Inconclusive { why: why.clone() };
        }
        let inconclusive = |why| Self::Inconclusive { why };
        let open = open_judges(pipeline, trace, work);
        if settled.is_none() && !open.is_empty() && !trace.answering {
            return Self::Pending { stages: open };
        }
        if !open.is_empty() || is_broken_off(settled) {
            return inconclusive(Inconclusive::NotJudged { ended: settled.and_then(ended), stages: open });
        }
        if !is_tested(work) {
            return inconclusive(Inconclusive::NotTested);
        }
        if let Some(by) = reviewers(pipeline, trace).find(|by| !has_passed(trace, by, &work.commit)) {
            return inconclusive(Inconclusive::NotReviewed { by: by.to_owned() });
        }
        let tests = unwanted_changes(trace, work);
        if !tests.is_empty() {
            return inconclusive(Inconclusive::TestsChanged { tests });
        }
        if trace.pushed.as_ref() != Some(&work.commit) {
            let publisher = pipeline.stages.iter().find(|stage| stage.uses == StageKind::Publish);
            match (settled, publisher) {
                (None, Some(stage)) => return Self::Pending { stages: vec![stage.name.clone()] },
                (Some(_), Some(_)) => return inconclusive(Inconclusive::NotPublished),
                // People see an attempt that was handed over earlier.
                (_, None) if trace.has_pushed => return inconclusive(Inconclusive::NotPublished),
                // A pipeline without publishing ends with the commit itself.
                (_, None) => {}
            }
        }
        let caveats = VerifiedCaveats::of(trace, work);
        if caveats.not_examined && trace.requires_examination {
            return inconclusive(Inconclusive::NotExamined);
        }
        Self::Verified(caveats)
    }
}

impl VerifiedCaveats {
    fn of(trace: &OrderTrace, work: &CandidateWork) -> Self {
        let scrutiny = work.tests.as_ref().and_then(|run| run.scrutiny.as_ref());
        let is_upkeep = matches!(trace.kind, None | Some(ChangeKind::Chore));
        let touches_code = scrutiny.is_none_or(|scrutiny| scrutiny.touches_code);
        let is_examined = scrutiny.is_some_and(|scrutiny| scrutiny.is_examined());
        let red = work.tests.as_ref().filter(|run| run.is_accepted_red());
        Self {
            not_examined: !is_upkeep && touches_code && !is_examined,
            red_on_base: red.and_then(|run| run.counts).map_or(0, |counts| counts.failed),
        }
    }

    /// The words after *verified* in a heading.
    pub fn words(self) -> String {
        let red = match self.red_on_base {
            0 => String::new(),
            1 => " beside 1 test that fails on the base as well".to_owned(),
            red => format!(" beside {red} tests that fail on the base as well"),
        };
        let examined = if self.not_examined { ", not examined" } else { "" };
        format!("{red}{examined}")
    }
}

/// Whether its own tests ran on exactly this commit, with a pass that counts.
fn is_tested(work: &CandidateWork) -> bool {
    let is_of_it = |run: &super::test_run::TestRun| {
        run.commit == work.commit && run.verdict.is_pass() && run.doubt.is_none()
    };
    work.checks == StageChecksOutcome::Passed && work.tests.as_ref().is_some_and(is_of_it)
}

/// Whether a stage's checks judge a commit, not an answer.
fn judges_work(stage: &Stage) -> bool {
    matches!(stage.uses, StageKind::Tests | StageKind::Verify)
        || stage.checks.contains(&Check::PushedCommit)
        || stage.begins_with == StageStart::Checks
}

/// The roles that judge commits in this pipeline, without those of skipped stages.
fn reviewers<'p>(pipeline: &'p Pipeline, trace: &'p OrderTrace) -> impl Iterator<Item = &'p str> {
    let asks = |stage: &&Stage| {
        stage.checks.contains(&Check::Verifier)
            && stage.max_adversarial_rounds > 0
            && judges_work(stage)
            && state_of(trace, &stage.name) != Some(StageState::Skipped)
    };
    pipeline.stages.iter().filter(asks).flat_map(|stage| stage.verifier.roles()).map(String::as_str)
}

/// Whether a role's latest review of exactly this commit is a pass.
fn has_passed(trace: &OrderTrace, role: &str, commit: &CommitSha) -> bool {
    let mut said = reviews_of(trace, commit).filter(|review| review.role == role);
    said.next_back().is_some_and(|review| review.feedback.passed)
}

/// The reviews of exactly this commit.
fn reviews_of<'t>(
    trace: &'t OrderTrace,
    commit: &CommitSha,
) -> impl DoubleEndedIterator<Item = &'t RoleReview> {
    let rounds = trace.stages.iter().flat_map(|stage| &stage.rounds);
    rounds.filter(move |round| round.commit.as_ref() == Some(commit)).flat_map(|round| &round.reviews)
}

/// Tests whose base version fails on this commit, and which no reviewer confirms as wanted by the issue.
fn unwanted_changes(trace: &OrderTrace, work: &CandidateWork) -> Vec<String> {
    let scrutiny = work.tests.iter().filter_map(|tests| tests.scrutiny.as_ref());
    let failing = scrutiny.flat_map(|scrutiny| &scrutiny.changed_tests);
    let failing = failing.filter(|test| test.how == TestChange::FailsAsItWas);
    let is_wanted = |name: &str| {
        let mut said = reviews_of(trace, &work.commit).filter(|review| review.feedback.passed);
        said.any(|review| review.feedback.changed_tests.iter().any(|said| said.wanted && said.test == name))
    };
    failing.filter(|test| !is_wanted(&test.test)).map(|test| test.test.clone()).collect()
}

fn state_of(trace: &OrderTrace, name: &str) -> Option<StageState> {
    trace.stages.iter().rfind(|stage| stage.name == name).map(|stage| stage.state)
}

/// The stages that have yet to judge. Work that answers people already passed all checks of commits in the pipeline, so
/// only other judges remain.
fn open_judges(pipeline: &Pipeline, trace: &OrderTrace, work: &CandidateWork) -> Vec<String> {
    let is_an_answer = work.answer.scope() == EffectScope::Beside(ReservedWord::Answer);
    let judges = pipeline.stages.iter().filter(|stage| {
        let judges = stage.uses == StageKind::Tests || !stage.checks.is_empty();
        judges && !(is_an_answer && judges_work(stage))
    });
    let has_judged = |name: &str| {
        matches!(state_of(trace, name), Some(StageState::Passed | StageState::Approved | StageState::Skipped))
    };
    judges.filter(|stage| !has_judged(&stage.name)).map(|stage| stage.name.clone()).collect()
}

/// How an order ended, in words; `None` if its pipeline ran to the end.
fn ended(settled: &Settlement) -> Option<String> {
    match settled {
        Settlement::Finished { .. } => None,
        Settlement::Merged { by, .. } => Some(format!("The pull request was merged by {by} before that.")),
        Settlement::Closed { by, .. } => Some(format!("The pull request was closed by {by} before that.")),
        Settlement::Cancelled { because } => Some(format!("Cancelled: {because}")),
        Settlement::Failed { because } => Some(format!("Failed: {because}")),
        Settlement::Escalated { because, .. }
        | Settlement::Blocked { because }
        | Settlement::Unprepared { because }
        | Settlement::Refused { because } => Some(because.clone()),
    }
}

/// Whether the order was stopped, so that earlier checks do not count.
fn is_broken_off(settled: Option<&Settlement>) -> bool {
    matches!(
        settled,
        Some(
            Settlement::Cancelled { .. }
                | Settlement::Failed { .. }
                | Settlement::Unprepared { .. }
                | Settlement::Refused { .. }
        )
    )
}
