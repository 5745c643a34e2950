//! The plan, where a person is to approve it, or to answer what it leaves open, before money goes into code.

use super::graph::StageFields;
use super::judge::{RoundCheck, RoundEnd, UnmadeCheck};
use super::signal_log::PlanDecision;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::conversation::{CommentTarget, NoticeComment};
use crate::feedback::{Category, Feedback};
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::pipeline::StageOutput;
use crate::plan_questions::PlanQuestions;
use crate::settings::PlanApproval;
use crate::trace::PendingApproval;

/// How often people are asked in one order.
const MOST_ASKED: usize = 2;
/// The effect that asks.
pub(super) const QUESTIONS: &str = "ask";

/// That a person wants another plan than the one of this round.
pub(crate) struct OtherPlan<'a> {
    pub(crate) said: u64,
    pub(crate) guidance: Option<&'a str>,
    /// Whether the plan was there before they said so.
    pub(crate) was_made: bool,
}

/// The end of a round whose plan is not the one that is wanted.
pub(crate) fn another_plan(guidance: Option<&str>) -> RoundEnd {
    let wanted = guidance.unwrap_or("They do not say what should be different.");
    let feedback = Feedback::failed(Category::Architecture, format!("a person wants another plan: {wanted}"))
        .suggest("Write the plan anew, in the same file, so that it does what they ask for.");
    RoundEnd::failed(RoundCheck::Person, feedback)
}

/// The end of a round in which a person was asked.
pub(super) fn a_person_says(wanted: &str) -> RoundEnd {
    let said = format!("a person was asked, and says: {wanted}");
    RoundEnd::failed(RoundCheck::Person, Feedback::failed(Category::InvalidOutput, said))
}

impl<'a> Replay<'a> {
    /// Whether another plan is wanted than the one of this round, whether it was made or is being made.
    pub(crate) fn other_plan(&self, worker: &Worker<'_>, round: u32, key: &MoveKey) -> Option<OtherPlan<'a>> {
        let begun = self.begun(key).filter(|_| worker.plans)?;
        let next = self.begun(&worker.key(round + 1, "agent")).unwrap_or(u64::MAX);
        let (said, guidance) = self.signals.other_plan_within(begun + 1..next)?;
        let mut ended = self.prefix.before(said).observed(key);
        let was_made = ended.any(|seen| matches!(seen.outcome, EffectOutcome::AgentRan(_)));
        Some(OtherPlan { said, guidance, was_made })
    }

    /// What was advised before the plan was begun.
    pub(crate) fn advice_for_the_plan(&self, worker: &Worker<'_>, key: &MoveKey) -> Option<&'a str> {
        let begun = self.begun(key).unwrap_or(u64::MAX);
        self.signals.other_plan_within(0..begun).filter(|_| worker.plans).and_then(|(_, guidance)| guidance)
    }

    /// The plan is shown, or what it leaves open is asked, and a person says how to go on.
    pub(crate) fn judge_plan(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        fields: StageFields,
    ) -> Result<StageFields, RoundEnd> {
        let field =
            |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, text)| text.as_str());
        let output = self.output(worker.stage);
        let found = match &output {
            StageOutput::File(_) => PlanQuestions::of(field("content").unwrap_or_default()),
            // An analysis asks as a plan does.
            StageOutput::JsonSchema(_) if !self.is_of_form_3() => {
                PlanQuestions::listed(field("blocking_questions"), field("open_questions"))
            }
            StageOutput::JsonSchema(_)
            | StageOutput::Text
            | StageOutput::OneOf(_)
            | StageOutput::CodeArtifact => return Ok(fields),
        };
        let (key, saying, asks) = match (self.settings.plan, &output) {
            (PlanApproval::Approve, StageOutput::File(_)) => {
                let text = field("content").unwrap_or_default().to_owned();
                (worker.key(round, "show"), NoticeComment::Plan { round, text }, PendingApproval::Plan)
            }
            (PlanApproval::Approve | PlanApproval::Auto | PlanApproval::Ask, _) => {
                let Some(questions) = self.questions(worker, round, found) else {
                    return Ok(fields);
                };
                (worker.key(round, QUESTIONS), questions, PendingApproval::Answers)
            }
        };
        match self.put_to_people(&key, saying, asks)? {
            (_, PlanDecision::Approved) => Ok(fields),
            (said, PlanDecision::Again { guidance }) => {
                self.position = self.position.max(*said);
                Err(another_plan(guidance.as_deref()))
            }
        }
    }

    /// Says something on the issue, and waits for what a person decides, and in which entry.
    pub(super) fn put_to_people(
        &mut self,
        key: &MoveKey,
        saying: NoticeComment,
        asks: PendingApproval,
    ) -> Result<&'a (u64, PlanDecision), Suspension> {
        let on = CommentTarget::Issue(self.journal.opened().issue.number);
        self.observe(key, Move::Say { on, saying })?;
        self.signals.plan_decision_after(self.position).ok_or_else(|| {
            self.trace.asks = Some(asks);
            Suspension::PlanReview
        })
    }

    /// What people are asked before this plan is carried out; nothing where they were asked often enough.
    pub(super) fn questions(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        found: PlanQuestions,
    ) -> Option<NoticeComment> {
        let PlanQuestions { blocking, open } = found;
        let is_blocked = !blocking.asked.is_empty();
        let (mut questions, mut more) = (blocking.asked, blocking.more);
        if self.settings.plan != PlanApproval::Auto {
            questions.extend(open.asked);
            more += open.more;
        }
        if questions.is_empty() {
            return None;
        }
        if self.times_asked(worker, round) >= MOST_ASKED {
            self.trace.note(format!(
                "Stage {} still leaves questions open. The work goes on without.",
                worker.task.stage
            ));
            return None;
        }
        Some(NoticeComment::Questions { questions, more, blocking: is_blocked })
    }

    /// No choice fits: a person is asked which it is, before another agent is paid to choose.
    pub(crate) fn ask_which(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        choices: &[String],
    ) -> Result<StageFields, RoundEnd> {
        let choices = choices.join(", ");
        if self.times_asked(worker, round) >= MOST_ASKED {
            let because = format!("the answer is again that none of {choices} fits");
            return Err(RoundEnd::NotMade(UnmadeCheck::Nonsense(because), None));
        }
        let questions = vec![format!("Which of {choices} is this issue? The agent says: none of them.")];
        let saying = NoticeComment::Questions { questions, more: 0, blocking: true };
        let key = worker.key(round, QUESTIONS);
        let (said, decision) = self.put_to_people(&key, saying, PendingApproval::Answers)?;
        self.position = self.position.max(*said);
        let wanted = match decision {
            PlanDecision::Again { guidance } => guidance.as_deref(),
            PlanDecision::Approved => None,
        };
        Err(a_person_says(wanted.unwrap_or("choose what comes closest")))
    }

    /// In how many rounds before this one people were asked something.
    fn times_asked(&self, worker: &Worker<'_>, round: u32) -> usize {
        (1..round).filter(|before| self.begun(&worker.key(*before, QUESTIONS)).is_some()).count()
    }

    /// That people wrote on the issue after a plan had asked something.
    pub(crate) fn answered(&self, worker: &Worker<'_>, round: u32) -> Option<Feedback> {
        let key = worker.key(round, QUESTIONS);
        let questions = self.prefix.intended(&key).find_map(|(_, intended)| intended.questions())?;
        let asked = questions.join("\n- ");
        let (open, task) = match worker.plans {
            true => ("what the plan left open", "write the plan anew in the same file"),
            false => ("what was left open", "do the whole task again with them"),
        };
        let summary = format!("people were asked {open}, and wrote on the issue since:\n- {asked}");
        Some(Feedback::failed(Category::Architecture, summary).suggest(format!(
            "Find the answers in the issue and its comments as they are given now, and {task}. Ask no question twice: where there \
             is no answer, take what is simplest and say so."
        )))
    }
}
