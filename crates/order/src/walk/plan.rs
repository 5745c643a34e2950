//! The plan, where a person is to approve it before money goes into code.

use super::heard::PlanWord;
use super::judge::{Judge, Judged};
use super::worker::Worker;
use super::{Halt, Walk};
use crate::conversation::{CommentPlace, Saying};
use crate::feedback::{Category, Feedback};
use crate::moves::{Move, Outcome};
use crate::pipeline::{Output, Stage};
use crate::settings::PlanApproval;
use crate::trace::Ask;

impl Walk<'_> {
    /// The plan is shown, and a person says whether it is the one.
    pub(crate) fn judge_plan(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        fields: Vec<(String, String)>,
    ) -> Result<Judged<Vec<(String, String)>>, Halt> {
        let is_plan = matches!(self.output(stage), Output::File(_));
        if !is_plan || self.settings.plan != PlanApproval::Approve {
            return Ok(Judged::Passed(fields));
        }
        let content = fields.iter().find(|(field, _)| field == "content");
        let text = content.map(|(_, text)| text.clone()).unwrap_or_default();
        let key = worker.key(round, "show");
        let on = CommentPlace::Issue(self.journal.opened().issue.number);
        let seen = self.observe(&key, |_| Move::Say { on, saying: Saying::Plan { round, text } })?;
        if !matches!(seen.outcome, Outcome::Done) {
            return Err(self.mismatch(&key));
        }
        match self.heard.plan_word_after(self.position) {
            Some((_, PlanWord::Approved)) => Ok(Judged::Passed(fields)),
            Some((said, PlanWord::Again { guidance })) => {
                self.position = self.position.max(*said);
                let wanted = guidance.as_deref().unwrap_or("They do not say what should be different.");
                let feedback = Feedback::failed(
                    Category::Architecture,
                    format!("a person wants another plan: {wanted}"),
                )
                .suggest("Write the plan anew, in the same file, so that it does what they ask for.");
                Ok(Judged::failed(Judge::Person, feedback))
            }
            None => {
                self.trace.asks = Some(Ask::Plan);
                Err(Halt::PlanWaits)
            }
        }
    }
}
