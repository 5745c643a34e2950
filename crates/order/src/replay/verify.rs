//! Somebody else's pull request. The stage that judges it fetches, tests and reviews its commit: nobody writes, so a
//! check that fails ends the stage. An order that goes on with it starts from that commit.

use super::graph::StageResult;
use super::judge::{RoundEnd, UnmadeCheck};
use super::stages::work_fields;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::effect_name::ReservedWord;
use crate::feedback::{Category, Feedback};
use crate::given_change::GivenChange;
use crate::ids::CommitSha;
use crate::inconclusive::Inconclusive;
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::pipeline::{Check, Stage};
use crate::settlement::Settlement;
use crate::trace::{CandidateWork, PullTrace, StageChecksOutcome, StageState};

impl Replay<'_> {
    /// Points the trace at the pull request that is to be verified or mended, if the order was opened for one.
    pub(super) fn point_at_given_change(&mut self) {
        let Some(change) = &self.journal.opened().change else { return };
        if change.continued.is_some() {
            self.trace.branch = Some(self.new_branch(&self.journal.opened().issue.title));
            // A fork's pull request gets no commit.
            if change.adopted_branch().is_none() {
                return;
            }
        } else {
            self.trace.is_given = true;
            self.trace.pushed = Some(change.head.clone());
        }
        self.trace.pull = Some(PullTrace {
            number: change.pull,
            url: change.url.clone(),
            summary: String::new(),
            title: self.journal.opened().issue.title.clone(),
            ready: false,
        });
    }

    pub(super) fn verify_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let Some(change) = self.journal.opened().change.clone() else {
            let because =
                format!("stage {}: the order was opened for an issue, not for a pull request", stage.name);
            return Err(Suspension::Settled(Settlement::Failed { because }));
        };
        let worker = self.worker(stage, &stage.name)?;
        for again in 1.. {
            let fetched = self.fetch_change(&worker, again, &change)?;
            let judged = match self.judge_tests(&worker, again, fetched.clone()) {
                Ok(work) => self.judge_review(&worker, again, work),
                Err(end) => Err(end),
            };
            let work = match judged {
                Ok(work) => work,
                Err(RoundEnd::Suspended(suspension)) => return Err(suspension),
                Err(RoundEnd::Failed(failed)) => {
                    self.in_round(&worker, again, |seen| seen.feedback = Some(failed.feedback.clone()));
                    let because = failed.feedback.summary.clone();
                    let checks = StageChecksOutcome::Failed { because };
                    failed.candidate.unwrap_or(CandidateWork { checks, ..fetched })
                }
                Err(RoundEnd::NotMade(unmade, tested)) => {
                    let (UnmadeCheck::NotPaid(because) | UnmadeCheck::Nonsense(because)) = unmade;
                    self.trace.note(format!("The review could not be made: {because}"));
                    let feedback = Feedback::failed(Category::InvalidOutput, because);
                    self.in_round(&worker, again, |seen| seen.feedback = Some(feedback));
                    let by = stage.verifier.to_string();
                    let checks = StageChecksOutcome::Lacking(Inconclusive::NotReviewed { by });
                    CandidateWork { checks, ..tested.map_or(fetched, |work| *work) }
                }
            };
            let is_faultless = work.checks == StageChecksOutcome::Passed;
            if !is_faultless && self.signals.retried_after(self.position) {
                continue;
            }
            let has_failed = matches!(work.checks, StageChecksOutcome::Failed { .. });
            let state = if has_failed { StageState::Failed } else { StageState::Passed };
            return Ok(StageResult { state, ..StageResult::passed(work_fields(&work), Some(work)) });
        }
        Err(Suspension::failed("it was verified too often"))
    }

    /// Fetches the commit that the work starts from, if it is of somebody's pull request. What cannot be worked with
    /// ends the order before anything is paid for.
    pub(super) fn fetch_start(&mut self) -> Result<(), Suspension> {
        let Some(change) = self.journal.opened().continued() else { return Ok(()) };
        let key = MoveKey::beside(ReservedWord::Prepare, "change");
        self.observe(&key, Move::FetchChange { head: change.head.clone() }).map(drop)
    }

    /// The commit that the work starts from: the base, or the head of the pull request that it goes on with.
    pub(super) fn start(&self) -> Option<CommitSha> {
        let given = self.journal.opened().continued().map(|change| change.head.clone());
        given.or_else(|| self.base.clone())
    }

    /// What was found wrong before the work began, for the worker that mends it.
    pub(super) fn found_before(&self, worker: &Worker<'_>) -> Option<Feedback> {
        let stage = worker.stage;
        let makes = worker.prefix == stage.name && stage.checks.contains(&Check::PushedCommit);
        let change = self.journal.opened().continued().filter(|_| makes)?;
        change.continued.as_ref()?.found.clone()
    }

    fn fetch_change(
        &mut self,
        worker: &Worker<'_>,
        again: u32,
        change: &GivenChange,
    ) -> Result<CandidateWork, Suspension> {
        let key = worker.key(again, "fetch");
        let seen = self.observe(&key, Move::FetchChange { head: change.head.clone() })?;
        let EffectOutcome::ChangeFetched { tree, changed, patch } = seen.outcome else {
            return Err(self.mismatch(&key));
        };
        self.in_round(worker, again, |seen| seen.commit = Some(change.head.clone()));
        Ok(CandidateWork::untested((again, key), (&change.head, tree), changed, patch))
    }
}
