//! After the pipeline: people review, push and command, CI finishes, the base moves. Events that come together get one
//! answer: read the pull request once, take in pushed commits, bring in the base if needed. Then one worker round
//! covers everything that was asked, with all its checks.
//!
//! - `points` is what people and checks ask, `round` the worker's round and its replies, `branch` what moved under it.
//!
//! May know: the replay. Must never know: how GitHub reports any of this.

mod branch;
mod points;
mod round;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use super::signal_log::{PullEvent, PullEventKind};
use super::{Replay, ReplayResult, Suspension};
use crate::conversation::{Mergeability, PullSnapshot, PullSnapshotState};
use crate::effect_name::ReservedWord;
use crate::ids::{CommitSha, Person, PullNumber, UserId};
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::settings::BaseMovePolicy;
use crate::settlement::Settlement;
use crate::signal::ReviewVerdict;
use crate::trace::{CandidateWork, CiTrace};

/// How often failing CI checks are answered before a person must look.
const MOST_CI_ROUNDS: u32 = 3;

fn answer_key(answer: u32, effect: impl Display) -> MoveKey {
    MoveKey::beside(ReservedWord::Answer, format_args!("{answer}/{effect}"))
}

/// State kept from one answer to the next.
#[derive(Default)]
struct ConversationState {
    /// People who may review, by id.
    reviewers: BTreeMap<UserId, Person>,
    asking_reviews: BTreeSet<u64>,
    /// Rounds spent on failing CI checks since they last passed.
    ci_rounds: u32,
    ci_answered: BTreeSet<CommitSha>,
    rerun: BTreeSet<CommitSha>,
    /// Whether people committed to the branch.
    has_theirs: bool,
}

enum AnswerOutcome {
    /// The pull request as it is now. `given_up` if the rounds ran out; the branch keeps what it has.
    Settled { settlement: Settlement, given_up: bool },
    /// Somebody pushed meanwhile: repeat from the new head.
    Overtaken,
}

impl<'a> Replay<'a> {
    /// Answers people and CI checks while there is something to answer, after the pipeline ended.
    pub(crate) fn converse(&mut self, ran: &mut ReplayResult) {
        // Somebody else's pull request is answered by who opened it, until there is a commit of ours on it.
        let has_work = self.trace.work.is_some() && self.trace.pushed.is_some() && !self.trace.is_given;
        let Some(pull) = self.trace.pull.as_ref().map(|pull| pull.number).filter(|_| has_work) else {
            return;
        };
        if !matches!(ran.settled, Some(Settlement::Finished { .. } | Settlement::Escalated { .. })) {
            return;
        }
        let mut talk = ConversationState::default();
        let mut carried: Vec<&'a PullEvent> = Vec::new();
        let mut since = 0;
        for answer in 1_u32.. {
            let begun = self.begun(&answer_key(answer, "read"));
            let batch = self.signals.log.pull_events_within(since, begun);
            let mut batch: Vec<&'a PullEvent> = batch.iter().filter(|event| self.concerns(event)).collect();
            if begun.is_none() && carried.is_empty() && !self.is_due(&batch, ran) {
                return;
            }
            batch.append(&mut carried);
            talk.remember(&batch);
            ran.answers_begun = answer;
            self.trace.answering = true;
            self.signals.segment = answer;
            if let Some(begun) = begun {
                (self.position, self.last_run) = (begun, begun);
            }
            match self.answer(answer, pull, &batch, &mut talk) {
                Ok(AnswerOutcome::Settled { settlement, given_up }) => {
                    ran.given_up = given_up;
                    if let Err(suspension) = self.accepted_as_it_is(answer, settlement, ran) {
                        ran.settled = None;
                        return ran.take(suspension);
                    }
                }
                Ok(AnswerOutcome::Overtaken) => carried = batch,
                Err(Suspension::Settled(settlement)) => {
                    (ran.given_up, ran.approvable) = (true, false);
                    ran.settled = Some(settlement);
                    return;
                }
                Err(Suspension::OverBudget { because }) => {
                    (ran.given_up, ran.approvable) = (true, false);
                    ran.settled = Some(Settlement::Escalated { pull: Some(pull), because });
                    return;
                }
                Err(suspension) => {
                    ran.settled = None;
                    return ran.take(suspension);
                }
            }
            since = begun.unwrap_or(since);
        }
    }

    /// Settles the order after an answer, as approved if a person accepted the work as it is.
    fn accepted_as_it_is(
        &mut self,
        answer: u32,
        settled: Settlement,
        ran: &mut ReplayResult,
    ) -> Result<(), Suspension> {
        let Some(because) = self.verdict(Some(&settled)).objection() else {
            ran.approvable = false;
            ran.settled = Some(settled);
            return Ok(());
        };
        let (Some(by), Some(mut work), Some(pull)) = (
            self.signals.approved_after(self.position).map(str::to_owned),
            self.trace.work.clone(),
            self.trace.pull.as_ref().map(|pull| pull.number),
        ) else {
            ran.approvable = true;
            ran.settled = Some(settled);
            return Ok(());
        };
        self.accept(&mut work, by, because);
        self.trace.work = Some(work);
        self.bring_text_up_to_date(&answer_key(answer, "approved"))?;
        (ran.given_up, ran.approvable) = (false, false);
        ran.settled = Some(self.settled_as(Some(pull)));
        Ok(())
    }

    /// Whether an event concerns the pull request as it is now.
    fn concerns(&self, occasion: &PullEvent) -> bool {
        match &occasion.kind {
            PullEventKind::Reviewed { .. } | PullEventKind::Remarked { .. } | PullEventKind::Asked { .. } => {
                true
            }
            PullEventKind::Checked { head } => self.trace.pushed.as_ref() == Some(head),
            PullEventKind::Pushed { head } => {
                !self.pushed_by_us(head) && self.trace.pushed.as_ref() != Some(head)
            }
            PullEventKind::BaseMoved => self.settings.when_base_moves != BaseMovePolicy::Leave,
        }
    }

    /// Whether to answer now. Waits a little, so that events close together get one answer.
    fn is_due(&self, batch: &[&PullEvent], ran: &mut ReplayResult) -> bool {
        let Some(last) = batch.iter().map(|occasion| occasion.at).max() else { return false };
        ran.gathers = batch.iter().any(|event| {
            use PullEventKind::{Asked, Remarked, Reviewed};
            matches!(event.kind, Asked { .. } | Reviewed { .. } | Remarked { .. })
        });
        if self.signals.log.asks_for_reviewers {
            return false;
        }
        let gathering = Duration::from_secs(u64::from(self.journal.opened().limits.gather_seconds));
        let due = last + gathering;
        if self.now < due {
            ran.wake_at = Some(ran.wake_at.map_or(due, |known| known.min(due)));
            return false;
        }
        true
    }

    fn answer(
        &mut self,
        answer: u32,
        pull: PullNumber,
        batch: &[&PullEvent],
        talk: &mut ConversationState,
    ) -> Result<AnswerOutcome, Suspension> {
        let Some(head) = self.trace.pushed.clone() else { return Ok(self.as_it_stands(pull)) };
        let key = answer_key(answer, "read");
        let seen = self.observe(&key, Move::ReadPull { pull, head: head.clone() })?;
        let EffectOutcome::PullRead(reading) = seen.outcome else { return Err(self.mismatch(&key)) };
        if reading.state != PullSnapshotState::Open {
            return Ok(self.as_it_stands(pull));
        }
        if reading.head == head {
            self.note_checks(reading, &head);
        } else {
            self.take_in(answer, &reading.head)?;
            talk.has_theirs = true;
        }
        let moved = match reading.mergeable {
            Mergeability::Conflicts | Mergeability::Behind => self.bring_in_base(answer, talk)?,
            Mergeability::Cleanly | Mergeability::Unknown => branch::BaseUpdateOutcome::AsItWas,
        };
        if matches!(moved, branch::BaseUpdateOutcome::Overtaken) {
            return Ok(AnswerOutcome::Overtaken);
        }
        let failing = reading.head == head;
        let points = self.points(reading, batch, talk, &moved, failing.then_some(&head));
        if points.is_empty() {
            if failing && self.rerun_first(answer, reading, &head, talk)? {
                return Ok(self.as_it_stands(pull));
            }
            return self.without_a_round(answer, pull, reading, talk);
        }
        if points.iter().any(|point| point.source == points::PointSource::Check) {
            talk.ci_rounds += 1;
            talk.ci_answered.insert(head);
        }
        self.answering_round(answer, pull, batch, &points, moved)
    }

    /// Records the results of CI checks for the receipt.
    fn note_checks(&mut self, reading: &PullSnapshot, head: &CommitSha) {
        let checks = &reading.checks;
        self.trace.ci = Some(CiTrace {
            commit: head.clone(),
            passed: checks.passed,
            pending: checks.pending.clone(),
            failing: checks.failing.iter().map(|job| job.name.clone()).collect(),
            failing_on_base: checks.failing_on_base.clone(),
        });
    }

    /// Reruns failing jobs once before they count, if the settings want it.
    fn rerun_first(
        &mut self,
        answer: u32,
        reading: &PullSnapshot,
        head: &CommitSha,
        talk: &mut ConversationState,
    ) -> Result<bool, Suspension> {
        let jobs: Vec<u64> = reading.checks.failing.iter().filter_map(|job| job.job).collect();
        if !self.settings.ci.rerun || jobs.is_empty() || !talk.rerun.insert(head.clone()) {
            return Ok(false);
        }
        self.tell(&answer_key(answer, "rerun"), Move::RerunJobs { head: head.clone(), jobs })?;
        Ok(true)
    }

    /// Nothing is asked of the worker: updates the text if something moved.
    fn without_a_round(
        &mut self,
        answer: u32,
        pull: PullNumber,
        reading: &PullSnapshot,
        talk: &mut ConversationState,
    ) -> Result<AnswerOutcome, Suspension> {
        let checks = &reading.checks;
        if checks.failing.is_empty() && checks.pending.is_empty() && checks.passed > 0 {
            talk.ci_rounds = 0;
        }
        // Unfinished checks are read again later.
        let has_moved = self.trace.pushed.as_ref() != Some(&reading.head) || talk.has_theirs;
        if has_moved || (checks.pending.is_empty() && checks.passed > 0) {
            self.bring_text_up_to_date(&answer_key(answer, "text"))?;
        }
        if !checks.failing.is_empty() && checks.pending.is_empty() && talk.ci_rounds >= MOST_CI_ROUNDS {
            let names: Vec<&str> = checks.failing.iter().map(|job| job.name.as_str()).collect();
            let because = format!(
                "the repository's own checks still fail after {MOST_CI_ROUNDS} answers: {}",
                names.join(", ")
            );
            let settlement = Settlement::Escalated { pull: Some(pull), because };
            return Ok(AnswerOutcome::Settled { settlement, given_up: false });
        }
        Ok(self.as_it_stands(pull))
    }

    fn as_it_stands(&self, pull: PullNumber) -> AnswerOutcome {
        AnswerOutcome::Settled { settlement: self.settled_as(Some(pull)), given_up: false }
    }

    /// Sends something to GitHub. On failure the work continues and the status says so.
    fn tell(&mut self, key: &MoveKey, r#move: Move) -> Result<(), Suspension> {
        let told = self.observe(key, r#move);
        self.or_note(told, |because| format!("Something could not be said on the pull request: {because}"))
    }

    fn work_is(&mut self, work: CandidateWork) {
        self.trace.pushed = Some(work.commit.clone());
        self.trace.work = Some(work);
    }
}

impl ConversationState {
    fn remember(&mut self, batch: &[&PullEvent]) {
        for occasion in batch {
            if let PullEventKind::Reviewed { by, .. } | PullEventKind::Remarked { by, .. } = &occasion.kind {
                self.reviewers.insert(by.id, by.clone());
            }
            if let PullEventKind::Reviewed { review, verdict: ReviewVerdict::ChangesRequested, .. } =
                &occasion.kind
            {
                self.asking_reviews.insert(*review);
            }
        }
    }
}
