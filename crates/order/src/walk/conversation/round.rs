//! The worker's round over what people and checks ask for, with every check that the pipeline knows.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::branch::{Arrived, Base};
use super::points::{Point, Source};
use super::{Ended, Occasion, text_key};
use crate::agent_run::AgentRun;
use crate::answer;
use crate::conversation::Done;
use crate::effect_name::Reserved;
use crate::feedback::{Category, Feedback};
use crate::ids::{CommitSha, PullNumber};
use crate::pipeline::{BeginsWith, Check, Escalation, Output, Stage, Uses};
use crate::settlement::Settlement;
use crate::trace::StageState;
use crate::walk::judge::Judged;
use crate::walk::rounds::{GivenUp, Rounds};
use crate::walk::work::Onto;
use crate::walk::{Halt, Walk};

/// The template for what people and checks ask for.
const ANSWER: &str = "answer";
/// The template for a base branch that contradicts.
const RESOLVE: &str = "resolve";

/// What the worker says of one point.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PointAnswer {
    point: String,
    done: bool,
    text: String,
}

#[derive(Debug, Deserialize)]
struct Answers {
    answers: Vec<PointAnswer>,
}

/// What the worker is to answer: each point, once.
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

macro_rules! passed {
    ($judged:expr) => {
        match $judged.or_the_end() {
            Ok(value) => value,
            Err(ended) => return Ok(ended),
        }
    };
}

impl Walk<'_> {
    /// Whether the pipeline has tests at all.
    pub(super) fn runs_tests(&self) -> bool {
        let tests = |stage: &Stage| stage.uses == Uses::Tests || stage.checks.contains(&Check::Tests);
        self.pipeline.stages.iter().any(tests)
    }

    /// The stage that answers: who made the work, with every check that the pipeline has for work.
    fn answering_stage(&self) -> Option<Stage> {
        let makes = |stage: &&Stage| stage.checks.contains(&Check::PushedCommit);
        let maker = self.pipeline.stages.iter().rfind(makes)?;
        let of_work = || self.pipeline.stages.iter().filter(makes);
        let mut checks = vec![Check::PushedCommit, Check::Policy];
        if self.runs_tests() {
            checks.push(Check::Tests);
        }
        let judge =
            of_work().rfind(|stage| stage.checks.contains(&Check::Verifier) && stage.verifier.is_some());
        if judge.is_some() {
            checks.push(Check::Verifier);
        }
        let output = self.output(maker);
        Some(Stage {
            name: Reserved::Answer.word().to_owned(),
            depends_on: Vec::new(),
            command: Some(ANSWER.to_owned()),
            arguments: Vec::new(),
            inputs: BTreeMap::new(),
            output: Some(if output == Output::CodeArtifact { output } else { Output::Text }),
            checks,
            begins_with: BeginsWith::Worker,
            verifier: judge.and_then(|stage| stage.verifier.clone()),
            max_adversarial_rounds: judge.map_or(0, |stage| stage.max_adversarial_rounds),
            escalate_on_exhaust: Escalation::HumanApproval,
            budget: None,
            when: None,
            ..maker.clone()
        })
    }

    /// The worker hears every point, its commit goes through all checks, and every point is answered.
    pub(super) fn answering_round(
        &mut self,
        answer: u32,
        pull: PullNumber,
        batch: &[&Occasion],
        points: &[Point],
        moved: Base,
    ) -> Result<Ended, Halt> {
        let (Some(stage), Some(head), Some(before)) =
            (self.answering_stage(), self.trace.pushed.clone(), self.trace.work.clone())
        else {
            return Ok(Ended::Settled(self.as_it_stands(pull)));
        };
        let onto = onto(&moved, &head);
        let mut worker = self.worker(&stage, &format!("{}/{answer}", Reserved::Answer.word()))?;
        let branch = self.branch_or_default();
        // A contradiction by itself has words of its own.
        let conflict = match (&moved, points) {
            (Base::Conflict { paths, .. }, [_]) => Some(paths.join("\n")),
            _ => None,
        };
        let issue = &self.journal.opened().issue;
        let known = [branch.to_string(), issue.title.clone(), issue.body.clone(), before.patch.clone()];
        let by_deed = conflict.is_some() || stage.output == Some(Output::CodeArtifact);
        let asked = match conflict {
            Some(paths) => {
                worker.command = RESOLVE.to_owned();
                vec![paths]
            }
            None => vec![
                told(points, |source| !matches!(source, Source::Check | Source::Asked)),
                told(points, |source| *source == Source::Check),
                told(points, |source| *source == Source::Asked),
            ],
        };
        worker.arguments = known.into_iter().chain(asked).collect();
        worker.branch = Some(branch);
        worker.start = Some(onto.start.clone());
        worker.session = before.session.clone().filter(|_| before.agent == worker.agent);
        worker.previous = Some(before.answer.clone());
        if !by_deed {
            worker.schema = Some(schema());
        }
        self.trace.begin(Reserved::Answer.word());
        // Another request may want a proof of its own.
        self.asked_for_proof.remove(Reserved::Answer.word());
        let rounds = self.rounds(&worker, |walk, round, run| {
            let Some(run) = run else { return Ok(Judged::invalid_output(Feedback::passed(""))) };
            let answers = if by_deed {
                passed!(walk.judge_output(&stage, &worker, round, run)?);
                points.iter().map(PointAnswer::by_deed).collect()
            } else {
                passed!(answers(run, points))
            };
            // Where words are all there is to say, nothing has to be pushed.
            if !by_deed && answers.iter().all(|answer| !answer.done) {
                return Ok(Judged::Passed((answers, None)));
            }
            let made = passed!(walk.judge_import(&stage, &worker, round, run, onto.clone())?);
            let Some(mut work) = made else { return Ok(Judged::Passed((answers, None))) };
            work.changed = union(&before.changed, &work.changed);
            let work = passed!(walk.judge_tests(&stage, &worker, round, work)?);
            let work = passed!(walk.judge_review(&stage, &worker, round, work)?);
            Ok(Judged::Passed((answers, Some(work))))
        });
        let rounds = match rounds {
            Ok(rounds) => rounds,
            Err(halt) => {
                if !matches!(halt, Halt::Do(..) | Halt::Wait(_)) {
                    self.trace.conclude(Reserved::Answer.word(), StageState::Failed);
                }
                return Err(halt);
            }
        };
        match rounds {
            Rounds::Passed((answers, Some(work))) => {
                if self.push_over(answer, &work, &head)? == Arrived::Overtaken {
                    self.trace.conclude(Reserved::Answer.word(), StageState::Failed);
                    return Ok(Ended::Overtaken);
                }
                let commit = work.commit.clone();
                self.work_is(work);
                self.bring_text_up_to_date(&text_key(answer, "text"))?;
                self.say_what_was_done(answer, pull, batch, points, &answers, Some(&commit))?;
                self.trace.conclude(Reserved::Answer.word(), StageState::Passed);
                Ok(Ended::Settled(self.as_it_stands(pull)))
            }
            Rounds::Passed((answers, None)) => {
                self.bring_text_up_to_date(&text_key(answer, "text"))?;
                self.say_what_was_done(answer, pull, batch, points, &answers, None)?;
                self.trace.conclude(Reserved::Answer.word(), StageState::Passed);
                Ok(Ended::Settled(self.as_it_stands(pull)))
            }
            Rounds::Approved { mut work, by } => {
                let because = work.checks.objection().unwrap_or_default();
                self.accept(&mut work, by, because);
                if self.push_over(answer, &work, &head)? == Arrived::Overtaken {
                    return Ok(Ended::Overtaken);
                }
                let commit = work.commit.clone();
                self.work_is(*work);
                self.bring_text_up_to_date(&text_key(answer, "text"))?;
                let deeds: Vec<PointAnswer> = points.iter().map(PointAnswer::by_deed).collect();
                self.say_what_was_done(answer, pull, batch, points, &deeds, Some(&commit))?;
                self.trace.conclude(Reserved::Answer.word(), StageState::Approved);
                Ok(Ended::Settled(self.as_it_stands(pull)))
            }
            Rounds::GivenUp(GivenUp { because, .. }) => {
                self.trace.conclude(Reserved::Answer.word(), StageState::Escalated);
                self.say_it_was_in_vain(answer, pull, points, &because)?;
                Ok(Ended::GivenUp(Settlement::Escalated { pull: Some(pull), because }))
            }
        }
    }
}

impl PointAnswer {
    /// Where the commit is all the answer there is.
    fn by_deed(point: &Point) -> Self {
        Self { point: point.id.clone(), done: true, text: String::new() }
    }

    pub(super) fn outcome(&self, commit: Option<&CommitSha>) -> Done {
        match commit {
            Some(commit) if self.done => Done::In(commit.clone()),
            Some(_) | None => Done::Nothing,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_for(&self, point: &Point) -> bool {
        self.point == point.id
    }
}

/// What the worker's commit stands on.
fn onto(moved: &Base, head: &CommitSha) -> Onto {
    match moved {
        Base::Conflict { marked, base, .. } => {
            Onto { start: marked.clone(), parent: head.clone(), merges: Some(base.clone()) }
        }
        Base::Red { work, .. } => {
            Onto { start: work.commit.clone(), parent: work.commit.clone(), merges: None }
        }
        Base::AsItWas | Base::BroughtIn | Base::Overtaken => {
            Onto { start: head.clone(), parent: head.clone(), merges: None }
        }
    }
}

/// The points of one kind, as the worker is told them.
fn told(points: &[Point], is_wanted: impl Fn(&Source) -> bool) -> String {
    let mut text = String::new();
    for point in points.iter().filter(|point| is_wanted(&point.source)) {
        text.push_str(&format!("### {} (from {})\n\n{}\n\n", point.id, point.by, point.asked.trim()));
    }
    text
}

/// What the worker says of each point; every point once.
fn answers(run: &AgentRun, points: &[Point]) -> Judged<Vec<PointAnswer>> {
    let result = run.result.as_deref().unwrap_or_default();
    let value = match answer::fitting(result, &schema(), &[]) {
        Ok(value) => value,
        Err(feedback) => return Judged::invalid_output(feedback),
    };
    let invalid = |what: String| Judged::invalid_output(Feedback::failed(Category::InvalidOutput, what));
    let answers = match serde_json::from_value::<Answers>(value) {
        Ok(Answers { answers }) => answers,
        Err(error) => return invalid(format!("the answer is not of its form: {error}")),
    };
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
    let is_undone = |point: &Point| answers.iter().any(|answer| answer.is_for(point) && !answer.done);
    let undone = points.iter().find(|point| point.needs_a_commit() && is_undone(point));
    if let Some(point) = undone {
        return invalid(format!("point {} has to be done: words do not answer it", point.id));
    }
    Judged::Passed(answers)
}

fn in_short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn union(before: &[String], now: &[String]) -> Vec<String> {
    let all: BTreeSet<&String> = before.iter().chain(now).collect();
    all.into_iter().take(1_000).cloned().collect()
}
