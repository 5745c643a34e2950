//! The plan, where a person is to approve it before money goes into code.

use super::judge::{RoundCheck, RoundOutcome};
use super::signal_log::PlanDecision;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::conversation::{CommentTarget, NoticeComment};
use crate::feedback::{Category, Feedback};
use crate::journal::JournalEvent;
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::pipeline::{Stage, StageOutput};
use crate::settings::PlanApproval;
use crate::trace::PendingApproval;

/// That a person wants another plan than the one of this round.
pub(crate) struct OtherPlan<'a> {
    pub(crate) said: u64,
    guidance: Option<&'a str>,
    /// Whether the plan was there before they said so.
    pub(crate) was_made: bool,
}

impl OtherPlan<'_> {
    pub(crate) fn outcome<T>(&self) -> RoundOutcome<T> {
        another_plan(self.guidance)
    }
}

fn another_plan<T>(guidance: Option<&str>) -> RoundOutcome<T> {
    let wanted = guidance.unwrap_or("They do not say what should be different.");
    let feedback = Feedback::failed(Category::Architecture, format!("a person wants another plan: {wanted}"))
        .suggest("Write the plan anew, in the same file, so that it does what they ask for.");
    RoundOutcome::failed(RoundCheck::Person, feedback)
}

impl<'a> Replay<'a> {
    /// Whether another plan is wanted than the one of this round, whether it was made or is being made.
    pub(crate) fn other_plan(&self, worker: &Worker, round: u32, key: &MoveKey) -> Option<OtherPlan<'a>> {
        let begun = self.begun(key).filter(|_| worker.plans)?;
        let next = self.begun(&worker.key(round + 1, "agent")).unwrap_or(u64::MAX);
        let (said, guidance) = self.signals.other_plan_within(begun + 1..next)?;
        let was_made = self.made_before(key, said);
        Some(OtherPlan { said, guidance, was_made })
    }

    /// What was advised before the plan was begun.
    pub(crate) fn advice_for_the_plan(&self, worker: &Worker, key: &MoveKey) -> Option<&'a str> {
        let begun = self.begun(key).unwrap_or(u64::MAX);
        self.signals.other_plan_within(0..begun).filter(|_| worker.plans).and_then(|(_, guidance)| guidance)
    }

    /// Whether an agent's run came to its end before this entry.
    fn made_before(&self, key: &MoveKey, said: u64) -> bool {
        self.entries.iter().take_while(|entry| entry.seq < said).any(|entry| match &entry.event {
            JournalEvent::Observed { key: known, outcome } => {
                known == key && matches!(**outcome, EffectOutcome::AgentRan(_))
            }
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Intended { .. } => false,
        })
    }

    /// The plan is shown, and a person says whether it is the one.
    pub(crate) fn judge_plan(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        fields: Vec<(String, String)>,
    ) -> Result<RoundOutcome<Vec<(String, String)>>, Suspension> {
        let is_plan = matches!(self.output(stage), StageOutput::File(_));
        if !is_plan || self.settings.plan != PlanApproval::Approve {
            return Ok(RoundOutcome::Passed(fields));
        }
        let content = fields.iter().find(|(field, _)| field == "content");
        let text = content.map(|(_, text)| text.clone()).unwrap_or_default();
        let key = worker.key(round, "show");
        let on = CommentTarget::Issue(self.journal.opened().issue.number);
        let seen = self.observe(&key, |_| Move::Say { on, saying: NoticeComment::Plan { round, text } })?;
        if !matches!(seen.outcome, EffectOutcome::Done) {
            return Err(self.mismatch(&key));
        }
        match self.signals.plan_decision_after(self.position) {
            Some((_, PlanDecision::Approved)) => Ok(RoundOutcome::Passed(fields)),
            Some((said, PlanDecision::Again { guidance })) => {
                self.position = self.position.max(*said);
                Ok(another_plan(guidance.as_deref()))
            }
            None => {
                self.trace.asks = Some(PendingApproval::Plan);
                Err(Suspension::PlanReview)
            }
        }
    }
}
