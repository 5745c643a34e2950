//! The one loop: worker, checks, feedback, worker again, until it passes or a check runs out.

use std::collections::BTreeMap;

use super::agent_run::AgentRun;
use super::feedback::Feedback;
use super::ids::BranchName;
use super::moves::{AgentTask, Answers, MoveKey, Place, Rework};
use super::pipeline::Stage;
use super::settlement::Settlement;
use super::test_run::TestRun;
use super::variables::substitute;
use super::walk::{Halt, Walk};

/// How often a check may send the worker back, the first run included.
const MOST_RUNS: u32 = 3;
/// How much of the history a worker is told.
const MOST_FEEDBACK: usize = 5;

/// What judges a round. Each has a counter of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judge {
    Output,
    PushedCommit,
    Tests,
}

/// What a round comes to.
pub(super) enum Judged<T> {
    Passed(T),
    Failed { by: Judge, feedback: Feedback, tests: Option<Box<TestRun>> },
}

impl<T> Judged<T> {
    pub(super) fn invalid_output(feedback: Feedback) -> Self {
        Self::Failed { by: Judge::Output, feedback, tests: None }
    }
}

/// What a worker's rounds come to.
pub(super) enum Rounds<T> {
    Passed(T),
    /// A check ran out, or the budget did.
    Exhausted {
        because: String,
    },
}

/// A worker, and what it is told.
pub(super) struct Worker {
    /// The name of the stage or operation, for the agent's environment and its prompt.
    pub(super) name: String,
    /// What the names of its effects begin with.
    pub(super) prefix: String,
    pub(super) agent: String,
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    pub(super) branch: Option<BranchName>,
}

impl Worker {
    pub(super) fn key(&self, round: u32, kind: &str) -> MoveKey {
        MoveKey(format!("{}/{round}/{kind}", self.prefix))
    }
}

impl Walk<'_> {
    /// The agent's name in the settings for a role of the pipeline.
    fn agent_for(&self, role: &str) -> String {
        self.settings.agents.get(role).unwrap_or(&self.journal.opened().agent).clone()
    }

    /// The worker of a stage, its variables filled in.
    pub(super) fn worker(&self, stage: &Stage, prefix: &str) -> Result<Worker, Halt> {
        let fill = |text: &str| {
            substitute(text, &self.variables).map_err(|unknown| {
                let because = format!("stage {}: {unknown}", stage.name);
                Halt::Settled(Settlement::Failed { because })
            })
        };
        let command = fill(stage.command.as_deref().unwrap_or_default())?;
        let arguments = stage.arguments.iter().map(|text| fill(text)).collect::<Result<_, _>>()?;
        Ok(Worker {
            name: stage.name.clone(),
            prefix: prefix.to_owned(),
            agent: self.agent_for(stage.agent.as_deref().unwrap_or_default()),
            command: command.trim().trim_start_matches('/').to_owned(),
            arguments,
            branch: self.trace.branch.clone(),
        })
    }

    /// The loop. `judge` looks at one run of the worker; what fails is told to the next.
    pub(super) fn rounds<T>(
        &mut self,
        worker: &Worker,
        mut judge: impl FnMut(&mut Self, u32, &AgentRun) -> Result<Judged<T>, Halt>,
    ) -> Result<Rounds<T>, Halt> {
        let mut failures: BTreeMap<Judge, u32> = BTreeMap::new();
        let mut history: Vec<Feedback> = Vec::new();
        let mut rework: Option<Rework> = None;
        let mut session = None;
        for round in 1.. {
            // Advice is for the first run after the `/retry`, whatever the order had stopped at.
            let key = worker.key(round, "agent");
            let advice = self.heard.guidance_after(self.last_run_but(&key)).map(str::to_owned);
            if let Some(advice) = advice {
                let none = || Rework { attempt: 1, of: MOST_RUNS, ..Rework::default() };
                rework.get_or_insert_with(none).guidance = Some(advice);
            }
            let task = AgentTask {
                stage: worker.name.clone(),
                agent: worker.agent.clone(),
                round,
                command: worker.command.clone(),
                arguments: worker.arguments.clone(),
                rework: rework.take(),
                session: session.clone(),
                branch: worker.branch.clone(),
                timeout_seconds: 0,
                role: String::new(),
                inputs: BTreeMap::new(),
                schema: None,
                previous: None,
                place: Place::default(),
                answers: Answers::default(),
            };
            let run = match self.run_agent(&key, task) {
                Ok(run) => run,
                Err(Halt::OverBudget { because }) => return Ok(Rounds::Exhausted { because }),
                Err(halt) => return Err(halt),
            };
            session = run.session_id.clone().or(session);
            if let Some(seen) = self.trace.round(&worker.name, round) {
                seen.result.clone_from(&run.result);
            }
            let (by, feedback, tests) = match judge(self, round, run)? {
                Judged::Passed(value) => return Ok(Rounds::Passed(value)),
                Judged::Failed { by, feedback, tests } => (by, feedback, tests),
            };
            if let Some(seen) = self.trace.round(&worker.name, round) {
                seen.feedback = Some(feedback.clone());
            }
            let count = failures.entry(by).or_default();
            *count += 1;
            let mut attempt = *count + 1;
            if *count >= MOST_RUNS {
                if self.heard.retry_after(self.last_seen()).is_none() {
                    let because = format!("{} (tried {count} times)", feedback.summary);
                    return Ok(Rounds::Exhausted { because });
                }
                failures.clear();
                attempt = 1;
            }
            history.insert(0, feedback);
            history.truncate(MOST_FEEDBACK);
            rework = Some(Rework {
                attempt,
                of: MOST_RUNS,
                feedback: history.clone(),
                test_output: tests.as_ref().map(|run| run.tail.clone()),
                failing_tests: tests.map(|run| run.failing).unwrap_or_default(),
                guidance: None,
                diagnosis: None,
                mode: super::pipeline::FeedbackMode::default(),
            });
        }
        Ok(Rounds::Exhausted { because: "there are no more rounds".to_owned() })
    }
}
