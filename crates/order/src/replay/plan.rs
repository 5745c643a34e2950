//! The plan, where a person is to approve it before money goes into code.

use super::judge::{RoundCheck, RoundOutcome};
use super::signal_log::PlanDecision;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::conversation::{CommentTarget, NoticeComment};
use crate::feedback::{Category, Feedback};
use crate::moves::{EffectOutcome, Move};
use crate::pipeline::{Stage, StageOutput};
use crate::settings::PlanApproval;
use crate::trace::PendingApproval;

impl Replay<'_> {
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
                let wanted = guidance.as_deref().unwrap_or("They do not say what should be different.");
                let feedback = Feedback::failed(
                    Category::Architecture,
                    format!("a person wants another plan: {wanted}"),
                )
                .suggest("Write the plan anew, in the same file, so that it does what they ask for.");
                Ok(RoundOutcome::failed(RoundCheck::Person, feedback))
            }
            None => {
                self.trace.asks = Some(PendingApproval::Plan);
                Err(Suspension::PlanReview)
            }
        }
    }
}
