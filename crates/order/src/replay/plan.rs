//! The plan, where a person is to approve it, or to answer what it leaves open, before money goes into code.

use super::judge::{RoundCheck, RoundOutcome};
use super::signal_log::PlanDecision;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::conversation::{CommentTarget, NoticeComment};
use crate::feedback::{Category, Feedback};
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::pipeline::{Stage, StageOutput};
use crate::plan_questions::PlanQuestions;
use crate::settings::PlanApproval;
use crate::trace::PendingApproval;

/// How often people are asked in one order.
const MOST_ASKED: usize = 2;
/// The effect that asks.
const QUESTIONS: &str = "ask";

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
        let mut ended = self.prefix.before(said).observed(key);
        ended.any(|seen| matches!(seen.outcome, EffectOutcome::AgentRan(_)))
    }

    /// The plan is shown, or what it leaves open is asked, and a person says how to go on.
    pub(crate) fn judge_plan(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        fields: Vec<(String, String)>,
    ) -> Result<RoundOutcome<Vec<(String, String)>>, Suspension> {
        if !matches!(self.output(stage), StageOutput::File(_)) {
            return Ok(RoundOutcome::Passed(fields));
        }
        let content = fields.iter().find(|(field, _)| field == "content");
        let text = content.map(|(_, text)| text.clone()).unwrap_or_default();
        let (key, saying, asks) = match self.settings.plan {
            PlanApproval::Approve => {
                (worker.key(round, "show"), NoticeComment::Plan { round, text }, PendingApproval::Plan)
            }
            PlanApproval::Auto | PlanApproval::Ask => {
                let Some(questions) = self.questions(worker, round, &text) else {
                    return Ok(RoundOutcome::Passed(fields));
                };
                (worker.key(round, QUESTIONS), questions, PendingApproval::Answers)
            }
        };
        let on = CommentTarget::Issue(self.journal.opened().issue.number);
        let seen = self.observe(&key, |_| Move::Say { on, saying })?;
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
                self.trace.asks = Some(asks);
                Err(Suspension::PlanReview)
            }
        }
    }

    /// What people are asked before this plan is carried out; nothing where they were asked often enough.
    fn questions(&mut self, worker: &Worker, round: u32, plan: &str) -> Option<NoticeComment> {
        let PlanQuestions { blocking, open } = PlanQuestions::of(plan);
        let is_blocked = !blocking.asked.is_empty();
        let (mut questions, mut more) = (blocking.asked, blocking.more);
        if self.settings.plan == PlanApproval::Ask {
            questions.extend(open.asked);
            more += open.more;
        }
        let asked = (1..round).filter(|before| self.begun(&worker.key(*before, QUESTIONS)).is_some()).count();
        if questions.is_empty() {
            return None;
        }
        if asked >= MOST_ASKED {
            self.trace.note("The plan still leaves questions open. It is carried out as it is.".to_owned());
            return None;
        }
        Some(NoticeComment::Questions { questions, more, blocking: is_blocked })
    }

    /// That people wrote on the issue after a plan had asked something.
    pub(crate) fn answered(&self, worker: &Worker, round: u32) -> Option<Feedback> {
        let key = worker.key(round, QUESTIONS);
        let questions = self.prefix.intended(&key).find_map(|(_, intended)| intended.questions())?;
        let asked = questions.join("\n- ");
        let summary =
            format!("people were asked what the plan left open, and wrote on the issue since:\n- {asked}");
        Some(Feedback::failed(Category::Architecture, summary).suggest(
            "Find the answers in the issue and its comments as they are given now, and write the plan anew in the same file. \
             Ask no question twice: where there is no answer, take what is simplest and say so.",
        ))
    }
}
