//! The plan, if a person must approve it or answer its open questions before code is paid for.

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

/// How often one stage may ask people.
const MOST_ASKED: usize = 2;
/// The effect that asks people.
pub(super) const QUESTIONS: &str = "ask";

/// A person's request for another plan than this round's.
pub(crate) struct OtherPlan<'a> {
    pub(crate) said: u64,
    pub(crate) guidance: Option<&'a str>,
    /// Whether the plan existed when they asked.
    pub(crate) was_made: bool,
}

/// The end of a round after a person asked for another plan.
pub(crate) fn another_plan(guidance: Option<&str>) -> RoundEnd {
    let wanted = guidance.unwrap_or("They do not say what should be different.");
    let feedback = Feedback::failed(Category::Architecture, format!("a person wants another plan: {wanted}"))
        .suggest("Write the plan anew, in the same file, so that it does what they ask for.");
    RoundEnd::failed(RoundCheck::Person, feedback)
}

/// The end of a round after a person answered a question.
pub(super) fn a_person_says(wanted: &str) -> RoundEnd {
    let said = format!("a person was asked, and says: {wanted}");
    RoundEnd::failed(RoundCheck::Person, Feedback::failed(Category::InvalidOutput, said))
}

impl<'a> Replay<'a> {
    /// Whether a person wants another plan than this round's, finished or not.
    pub(crate) fn other_plan(&self, worker: &Worker<'_>, round: u32, key: &MoveKey) -> Option<OtherPlan<'a>> {
        let begun = self.begun(key).filter(|_| worker.plans)?;
        let next = self.begun(&worker.key(round + 1, "agent")).unwrap_or(u64::MAX);
        let (said, guidance) = self.signals.other_plan_within(begun + 1..next)?;
        let mut ended = self.prefix.before(said).observed(key);
        let was_made = ended.any(|seen| matches!(seen.outcome, EffectOutcome::AgentRan(_)));
        Some(OtherPlan { said, guidance, was_made })
    }

    /// The advice that was given before the plan began.
    pub(crate) fn advice_for_the_plan(&self, worker: &Worker<'_>, key: &MoveKey) -> Option<&'a str> {
        let begun = self.begun(key).unwrap_or(u64::MAX);
        self.signals.other_plan_within(0..begun).filter(|_| worker.plans).and_then(|(_, guidance)| guidance)
    }

    /// Shows the plan, or asks its open questions, and waits for a person's decision.
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
            // An analysis can ask questions like a plan.
            StageOutput::JsonSchema(_) => {
                PlanQuestions::listed(field("blocking_questions"), field("open_questions"))
            }
            StageOutput::Text | StageOutput::OneOf(_) | StageOutput::CodeArtifact => return Ok(fields),
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

    /// Posts on the issue and waits for a person's decision. Returns it with its entry.
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

    /// The questions to ask before this plan is carried out. `None` if there are none, or people were asked too often.
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

    /// No choice fits: asks a person which one it is, before another agent is paid to choose.
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

    /// In how many earlier rounds people were asked.
    fn times_asked(&self, worker: &Worker<'_>, round: u32) -> usize {
        (1..round).filter(|before| self.begun(&worker.key(*before, QUESTIONS)).is_some()).count()
    }

    /// Feedback for the worker: people wrote on the issue after its questions.
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
