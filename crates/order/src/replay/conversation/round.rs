//! The worker's round for what people and checks ask, with every check that the pipeline has.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::branch::{BaseUpdateOutcome, BranchPushOutcome};
use super::points::{FeedbackPoint, PointSource};
use super::{AnswerOutcome, PullEvent, PullEventKind, answer_key};
use crate::agent_run::AgentRun;
use crate::answer;
use crate::conversation::{AnswerNote, AnsweredPoint, PointResolution, ThreadReply};
use crate::effect_name::ReservedWord;
use crate::feedback::{Category, Feedback};
use crate::ids::{CommitSha, Person, PullNumber, UserId};
use crate::moves::{AgentTask, Move, MoveKey};
use crate::pipeline::{Check, Escalation, Stage, StageKind, StageOutput, StageStart};
use crate::replay::escalation::WorkerOutcome;
use crate::replay::judge::{RoundCheck, RoundEnd};
use crate::replay::publish::push_declined;
use crate::replay::work::CommitParents;
use crate::replay::worker::Worker;
use crate::replay::{Replay, Suspension};
use crate::settlement::Settlement;
use crate::signal::ReviewVerdict;
use crate::trace::{PullTrace, StageState};

/// The template for requests of people and checks.
const ANSWER: &str = "answer";
/// The template that asks only for the words about a pushed commit.
const WORDS: &str = "answer_words";
/// The template for a conflict with the base branch.
const RESOLVE: &str = "resolve";

/// The worker's answer to one point.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PointAnswer {
    point: String,
    done: bool,
    text: String,
}

#[derive(Debug, Deserialize)]
struct PointAnswers {
    answers: Vec<PointAnswer>,
}

/// The JSON schema of the worker's answer.
fn schema() -> serde_json::Value {
    let answer = json!({
        "type": "object",
        "properties": {
            "point": {"type": "string"},
            "done": {"type": "boolean", "description": "true when the commit that you pushed addresses the point"},
            "text": {"type": "string", "maxLength": 4000, "description": "what you did; or why nothing was changed"},
        },
        "required": ["point", "done", "text"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "answers": {"type": "array", "maxItems": 200, "items": answer},
        },
        "required": ["summary", "answers"],
        "additionalProperties": false,
    })
}

impl Replay<'_> {
    /// Whether the pipeline has tests at all.
    pub(crate) fn runs_tests(&self) -> bool {
        let tests = |stage: &Stage| stage.uses == StageKind::Tests || stage.checks.contains(&Check::Tests);
        self.pipeline.stages.iter().any(tests)
    }

    /// The stage that answers: the maker of the work, with every check that the pipeline has for work.
    fn answering_stage(&self) -> Option<Stage> {
        let makes = |stage: &&Stage| stage.checks.contains(&Check::PushedCommit);
        let maker = self.pipeline.stages.iter().rfind(makes)?;
        let of_work = || self.pipeline.stages.iter().filter(makes);
        let mut checks = vec![Check::PushedCommit, Check::Policy];
        if self.runs_tests() {
            checks.push(Check::Tests);
        }
        let judge =
            of_work().rfind(|stage| stage.checks.contains(&Check::Verifier) && !stage.verifier.is_empty());
        if judge.is_some() {
            checks.push(Check::Verifier);
        }
        let output = self.output(maker);
        Some(Stage {
            name: ReservedWord::Answer.word().to_owned(),
            depends_on: Vec::new(),
            command: Some(ANSWER.to_owned()),
            arguments: Vec::new(),
            inputs: BTreeMap::new(),
            output: Some(if output == StageOutput::CodeArtifact { output } else { StageOutput::Text }),
            checks,
            begins_with: StageStart::Worker,
            verifier: judge.map(|stage| stage.verifier.clone()).unwrap_or_default(),
            max_adversarial_rounds: judge.map_or(0, |stage| stage.max_adversarial_rounds),
            escalate_on_exhaust: Escalation::HumanApproval,
            budget: None,
            when: None,
            ..maker.clone()
        })
    }

    /// Gives the worker every point, runs all checks on its commit, and answers every point.
    pub(super) fn answering_round(
        &mut self,
        answer: u32,
        pull: PullNumber,
        batch: &[&PullEvent],
        points: &[FeedbackPoint],
        moved: BaseUpdateOutcome,
    ) -> Result<AnswerOutcome, Suspension> {
        let (Some(stage), Some(head), Some(before)) =
            (self.answering_stage(), self.trace.pushed.clone(), self.trace.work.clone())
        else {
            return Ok(self.as_it_stands(pull));
        };
        let onto = commit_parents(&moved, &head);
        let mut worker = self.worker(&stage, &format!("{}/{answer}", ReservedWord::Answer.word()))?;
        let branch = self.branch_or_default();
        // A conflict alone has its own template.
        let conflict = match (&moved, points) {
            (BaseUpdateOutcome::Conflict { paths, .. }, [_]) => Some(paths.join("\n")),
            _ => None,
        };
        let task = &self.task;
        let known = [branch.to_string(), task.title.clone(), task.body.clone(), before.patch.clone()];
        let by_deed = conflict.is_some() || stage.output == Some(StageOutput::CodeArtifact);
        let asked = match conflict {
            Some(paths) => {
                worker.task.command = RESOLVE.to_owned();
                vec![paths]
            }
            None => vec![
                prompt_text(points, |source| !matches!(source, PointSource::Check | PointSource::Asked)),
                prompt_text(points, |source| *source == PointSource::Check),
                prompt_text(points, |source| *source == PointSource::Asked),
            ],
        };
        worker.task.arguments = known.into_iter().chain(asked).collect();
        worker.task.branch = Some(branch);
        worker.task.start = Some(onto.start.clone());
        worker.task.session = before.session.clone().filter(|_| before.agent == worker.task.agent);
        worker.task.previous = Some(before.answer.clone());
        if !by_deed {
            worker.task.schema = Some(schema());
        }
        self.trace.begin(ReservedWord::Answer.word());
        // A new request may need its own proof.
        self.asked_for_proof.remove(ReservedWord::Answer.word());
        let mut is_overtaken = false;
        let rounds = self.rounds(&worker, |replay, round, run| {
            let Some(run) = run else { return Err(RoundEnd::invalid_output(Feedback::passed(""))) };
            let said = if by_deed {
                replay.judge_output(&worker, round, run)?;
                Ok(PointAnswer::without_words(points, true))
            } else {
                answers(run, points)
            };
            // If the worker answers only in words, nothing has to be pushed.
            if let Ok(said) = &said
                && !by_deed
                && said.iter().all(|answer| !answer.done)
            {
                return Ok((said.clone(), None));
            }
            let mut work = match (replay.judge_import(&worker, round, run, onto.clone()), &said) {
                (Err(end), Err(fault)) if end.is_by(RoundCheck::PushedCommit) => {
                    return Err(RoundEnd::invalid_output(fault.clone()));
                }
                (Err(end), Ok(said))
                    if end.is_by(RoundCheck::PushedCommit)
                        && !by_deed
                        && points.iter().all(|point| point.source != PointSource::Base)
                        && replay.was_told_of_a_missing_commit(round) =>
                {
                    return Ok((said.clone(), None));
                }
                (made, _) => made?,
            };
            let answers = match said {
                Ok(said) => said,
                // A pushed commit is not discarded because of the words around it.
                Err(fault) => replay.words_on(&worker, round, run.session_id.clone(), fault, points)?,
            };
            work.changed = union(&before.changed, &work.changed);
            let work = replay.judge_tests(&worker, round, work)?;
            let work = replay.judge_review(&worker, round, work)?;
            match replay.push_over(answer, &work, &head)? {
                BranchPushOutcome::Yes => {}
                BranchPushOutcome::Overtaken => is_overtaken = true,
                BranchPushOutcome::Declined(declined) => return Err(push_declined(work, declined)),
            }
            Ok((answers, Some(work)))
        });
        let rounds = rounds.inspect_err(|suspension| {
            if !matches!(
                suspension,
                Suspension::PendingMove(..) | Suspension::Timer(_) | Suspension::SideBySide(_)
            ) {
                self.trace.conclude(ReservedWord::Answer.word(), StageState::Failed);
            }
        })?;
        let (answers, work, state) = match rounds {
            WorkerOutcome::Passed(_) if is_overtaken => {
                self.trace.conclude(ReservedWord::Answer.word(), StageState::Failed);
                return Ok(AnswerOutcome::Overtaken);
            }
            WorkerOutcome::Passed((answers, work)) => (answers, work, StageState::Passed),
            WorkerOutcome::Decided { mut work, approved_by } => {
                let state = match approved_by {
                    Some(by) => {
                        let because = work.checks.objection().unwrap_or_default();
                        self.accept(&mut work, by, because);
                        StageState::Approved
                    }
                    None => StageState::Passed,
                };
                match self.push_over(answer, &work, &head)? {
                    BranchPushOutcome::Yes => {}
                    BranchPushOutcome::Overtaken => return Ok(AnswerOutcome::Overtaken),
                    BranchPushOutcome::Declined(declined) => {
                        let because = declined.summary;
                        return Err(Suspension::Settled(Settlement::Escalated { pull: Some(pull), because }));
                    }
                }
                (PointAnswer::without_words(points, true), Some(*work), state)
            }
            WorkerOutcome::GivenUp { because, .. } => {
                self.trace.conclude(ReservedWord::Answer.word(), StageState::Escalated);
                let in_vain = |_: &FeedbackPoint| (PointResolution::InVain, because.clone());
                self.say_to_each((answer, pull), points, None, in_vain)?;
                let settlement = Settlement::Escalated { pull: Some(pull), because };
                return Ok(AnswerOutcome::Settled { settlement, given_up: true });
            }
        };
        let commit = work.as_ref().map(|work| work.commit.clone());
        if let Some(work) = work {
            self.work_is(work);
        }
        self.bring_text_up_to_date(&answer_key(answer, "text"))?;
        self.say_what_was_done(answer, pull, batch, points, &answers, commit.as_ref())?;
        self.trace.conclude(ReservedWord::Answer.word(), state);
        Ok(self.as_it_stands(pull))
    }

    /// Whether the previous round was sent back because nothing was pushed.
    fn was_told_of_a_missing_commit(&mut self, round: u32) -> bool {
        let before = self.trace.round(ReservedWord::Answer.word(), round.saturating_sub(1));
        let feedback = before.filter(|_| round > 1).and_then(|seen| seen.feedback.as_ref());
        feedback.is_some_and(|feedback| {
            feedback.issues.iter().any(|finding| finding.category == Category::MissingCommit)
        })
    }

    /// Asks once, in the same session, for the words about a pushed commit. Without an answer, Journeyman says so.
    fn words_on(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        session: Option<String>,
        fault: Feedback,
        points: &[FeedbackPoint],
    ) -> Result<Vec<PointAnswer>, Suspension> {
        let key = worker.key(round, "words");
        let asked_for = vec![prompt_text(points, |_| true), fault.summary];
        let mut asked = worker.asks(&worker.task.stage, worker.prefix.clone(), WORDS, asked_for);
        asked.task.schema = Some(schema());
        let task = AgentTask { round, session, ..asked.task.clone() };
        let said = match self.run_agent(&key, task, &asked) {
            Ok((run, _)) => answers(run, points),
            Err(Suspension::OverBudget { .. } | Suspension::Settled(_)) => Err(Feedback::passed("")),
            Err(suspension) => return Err(suspension),
        };
        if let Ok(said) = said {
            return Ok(said);
        }
        self.trace.note(
            "The agent pushed a commit and did not say what it does about each point, so Journeyman answered.".to_owned(),
        );
        Ok(PointAnswer::without_words(points, false))
    }

    /// Replies in every thread, answers all other points in one comment, and requests a new review from everyone who
    /// asked for changes.
    fn say_what_was_done(
        &mut self,
        answer: u32,
        pull: PullNumber,
        batch: &[&PullEvent],
        points: &[FeedbackPoint],
        answers: &[PointAnswer],
        commit: Option<&CommitSha>,
    ) -> Result<(), Suspension> {
        let said = |point: &FeedbackPoint| {
            let found = answers.iter().find(|answer| answer.point == point.id);
            let done = found.map_or(PointResolution::Nothing, |answer| answer.outcome(commit));
            (done, found.map(|answer| answer.text.clone()).unwrap_or_default())
        };
        self.say_to_each((answer, pull), points, commit, said)?;
        let reviewers = asked_for_changes(batch);
        if !reviewers.is_empty() {
            self.tell(&answer_key(answer, "request"), Move::RequestReview { pull, reviewers })?;
        }
        Ok(())
    }

    fn say_to_each(
        &mut self,
        (answer, pull): (u32, PullNumber),
        points: &[FeedbackPoint],
        commit: Option<&CommitSha>,
        said: impl Fn(&FeedbackPoint) -> (PointResolution, String),
    ) -> Result<(), Suspension> {
        let mut replies = Vec::new();
        let mut others = Vec::new();
        for point in points {
            let (done, text) = said(point);
            match &point.source {
                PointSource::Thread { id, last } => {
                    replies.push(ThreadReply { thread: id.clone(), answers: *last, done, text });
                }
                PointSource::Remark | PointSource::Asked | PointSource::Check | PointSource::Base => {
                    let (by, asked) = (point.by.clone(), point.in_short.clone());
                    others.push(AnsweredPoint { by, asked, done, text });
                }
            }
        }
        // The key names the commit, so that a retry with another commit is answered again.
        let how = commit.map_or("words", CommitSha::short);
        if !replies.is_empty() {
            let key = answer_key(answer, format_args!("threads/{how}"));
            self.tell(&key, Move::AnswerThreads { pull, replies })?;
        }
        if !others.is_empty() {
            let note = AnswerNote { pull, answer, points: others, commit: commit.cloned() };
            let key = answer_key(answer, format_args!("note/{how}"));
            self.tell(&key, Move::ShowAnswer(note))?;
        }
        Ok(())
    }

    /// Updates the pull request's text. Verified work leaves its draft; other work stays as it was.
    pub(super) fn bring_text_up_to_date(&mut self, key: &MoveKey) -> Result<(), Suspension> {
        let (Some(_), Some(pull)) = (&self.trace.work, self.trace.pull.clone()) else { return Ok(()) };
        // Once out of draft it stays out, because people are looking at it.
        let ready = self.verdict(None).leaves_draft();
        if !self.adopts() {
            self.tell(key, pull.finish(ready))?;
        }
        let ready = ready || pull.ready;
        self.trace.pull = Some(PullTrace { ready, ..pull });
        Ok(())
    }
}

impl PointAnswer {
    /// For a commit that is the whole answer, or if the worker's words are unusable.
    fn without_words(points: &[FeedbackPoint], done: bool) -> Vec<Self> {
        points.iter().map(|point| Self { point: point.id.clone(), done, text: String::new() }).collect()
    }

    fn outcome(&self, commit: Option<&CommitSha>) -> PointResolution {
        match commit {
            Some(commit) if self.done => PointResolution::In(commit.clone()),
            // Every undone point needs a text, so an empty one means that the worker said nothing.
            Some(commit) if self.text.is_empty() => PointResolution::Unsaid(commit.clone()),
            Some(_) | None => PointResolution::Nothing,
        }
    }
}

/// Where the worker's commit starts, and its parents.
fn commit_parents(moved: &BaseUpdateOutcome, head: &CommitSha) -> CommitParents {
    match moved {
        BaseUpdateOutcome::Conflict { marked, base, .. } => {
            CommitParents { start: marked.clone(), parent: head.clone(), merges: Some(base.clone()) }
        }
        BaseUpdateOutcome::Red { work, .. } => {
            CommitParents { start: work.commit.clone(), parent: work.commit.clone(), merges: None }
        }
        BaseUpdateOutcome::AsItWas | BaseUpdateOutcome::BroughtIn | BaseUpdateOutcome::Overtaken => {
            CommitParents { start: head.clone(), parent: head.clone(), merges: None }
        }
    }
}

/// The points of one kind, as text for the prompt.
fn prompt_text(points: &[FeedbackPoint], is_wanted: impl Fn(&PointSource) -> bool) -> String {
    let mut text = String::new();
    for point in points.iter().filter(|point| is_wanted(&point.source)) {
        text.push_str(&format!("### {} (from {})\n\n{}\n\n", point.id, point.by, point.asked.trim()));
    }
    text
}

/// Parses the worker's answers. Every point must have exactly one.
fn answers(run: &AgentRun, points: &[FeedbackPoint]) -> Result<Vec<PointAnswer>, Feedback> {
    let said = run.result.as_deref().unwrap_or_default();
    let value = answer::fitting(said, &schema(), &[]).map_err(|fault| run.fault_of(said, fault))?;
    let PointAnswers { answers } = answer::read(value)?;
    let invalid = |what: String| Err(Feedback::failed(Category::InvalidOutput, what));
    let mut seen = BTreeSet::new();
    if let Some(twice) = answers.iter().find(|answer| !seen.insert(answer.point.as_str())) {
        return invalid(format!("point {} is answered twice", in_short(&twice.point)));
    }
    let missing: Vec<&str> =
        points.iter().map(|point| point.id.as_str()).filter(|id| !seen.contains(id)).collect();
    if !missing.is_empty() {
        return invalid(format!("these points are not answered: {}", missing.join(", ")));
    }
    let unsaid = answers.iter().find(|answer| !answer.done && answer.text.trim().is_empty());
    if let Some(unsaid) = unsaid {
        return invalid(format!(
            "point {}: nothing was done about it, and the text does not say why",
            in_short(&unsaid.point)
        ));
    }
    let is_undone =
        |point: &FeedbackPoint| answers.iter().any(|answer| answer.point == point.id && !answer.done);
    let undone = points.iter().find(|point| point.source == PointSource::Base && is_undone(point));
    if let Some(point) = undone {
        return invalid(format!("point {} has to be done: words do not answer it", point.id));
    }
    Ok(answers)
}

fn in_short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn union(before: &[String], now: &[String]) -> Vec<String> {
    let all: BTreeSet<&String> = before.iter().chain(now).collect();
    all.into_iter().take(1_000).cloned().collect()
}

/// The people who asked for changes, each once.
fn asked_for_changes(batch: &[&PullEvent]) -> Vec<Person> {
    let mut people: BTreeMap<UserId, Person> = BTreeMap::new();
    for occasion in batch {
        if let PullEventKind::Reviewed { by, verdict: ReviewVerdict::ChangesRequested, .. } = &occasion.kind {
            people.insert(by.id, by.clone());
        }
    }
    people.into_values().collect()
}
