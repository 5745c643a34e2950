//! The one loop: worker, checks, feedback, worker again, until it passes or a check runs out.

use std::collections::BTreeMap;

use super::agent_run::AgentRun;
use super::checks;
use super::commit_message;
use super::feedback::{Category, Feedback};
use super::ids::{BranchName, CommitSha};
use super::moves::{AgentTask, Move, MoveKey, Outcome, Rework};
use super::pipeline::{Check, Output, Stage, Uses};
use super::settlement::Settlement;
use super::test_run::{TestRun, TestVerdict};
use super::trace::{StageState, Standing, Work};
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
    fn key(&self, round: u32, kind: &str) -> MoveKey {
        MoveKey(format!("{}/{round}/{kind}", self.prefix))
    }
}

impl Walk<'_> {
    /// Every stage in order, up to the end of the order.
    pub(super) fn stages(&mut self) -> Result<Settlement, Halt> {
        let stages = self.pipeline.stages.clone();
        let mut given_up: Option<String> = None;
        for stage in &stages {
            if given_up.is_some() && matches!(stage.uses, Uses::Agent | Uses::Branch) {
                continue;
            }
            self.trace.begin(&stage.name);
            match stage.uses {
                Uses::Agent => {
                    if let Some(because) = self.agent_stage(stage)? {
                        self.trace.conclude(&stage.name, StageState::Failed);
                        given_up = Some(because);
                        continue;
                    }
                }
                Uses::Branch => self.branch_stage(stage)?,
                Uses::Publish => self.publish_stage(stage)?,
                Uses::Ready => self.ready_stage(stage)?,
            }
            self.trace.conclude(&stage.name, StageState::Passed);
        }
        Ok(self.settlement())
    }

    fn settlement(&self) -> Settlement {
        let pull = self.trace.pull.as_ref().map(|pull| pull.number);
        match self.trace.work.as_ref().map(|work| work.standing.clone()) {
            Some(Standing::Verified) => Settlement::Verified { pull },
            Some(Standing::NotVerified { because }) => Settlement::Escalated { pull, because },
            Some(Standing::Unverified { because }) => Settlement::Unverified { pull, because },
            None => {
                Settlement::Unverified { pull, because: "no stage of the pipeline makes a commit".to_owned() }
            }
        }
    }

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
            };
            let run = match self.run_agent(&worker.key(round, "agent"), task) {
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
            let mut guidance = None;
            if *count >= MOST_RUNS {
                let Some(retry) = self.heard.retry_after(self.last_seen()) else {
                    let because = format!("{} (tried {count} times)", feedback.summary);
                    return Ok(Rounds::Exhausted { because });
                };
                guidance.clone_from(&retry.guidance);
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
                guidance,
            });
        }
        Ok(Rounds::Exhausted { because: "there are no more rounds".to_owned() })
    }

    /// A stage whose result is its output. Gives back why it was given up, when its best round goes to a person.
    fn agent_stage(&mut self, stage: &Stage) -> Result<Option<String>, Halt> {
        let worker = self.worker(stage, &stage.name)?;
        let mut best: Option<Work> = None;
        let mut pushed: Option<CommitSha> = None;
        let rounds = self.rounds(&worker, |walk, round, run| {
            let output = walk.judge_output(stage, &worker, round, run)?;
            let fields = match output {
                Judged::Passed(fields) => fields,
                Judged::Failed { by, feedback, tests } => return Ok(Judged::Failed { by, feedback, tests }),
            };
            let work = walk.judge_work(stage, &worker, round, &mut pushed)?;
            match work {
                Judged::Passed(work) => Ok(Judged::Passed((fields, work))),
                Judged::Failed { by, feedback, tests } => {
                    if let Some(candidate) = walk.candidate(stage, round) {
                        keep_better(&mut best, candidate);
                    }
                    Ok(Judged::Failed { by, feedback, tests })
                }
            }
        })?;
        match rounds {
            Rounds::Passed((fields, work)) => {
                for (field, value) in fields {
                    self.variables.insert(format!("{}.{field}", stage.name), value);
                }
                if let Some(work) = work {
                    self.set_work(&stage.name, work);
                }
                Ok(None)
            }
            Rounds::Exhausted { because } => match best {
                Some(mut work) => {
                    work.standing = Standing::NotVerified { because: because.clone() };
                    self.set_work(&stage.name, work);
                    Ok(Some(because))
                }
                None => {
                    self.trace.conclude(&stage.name, StageState::Failed);
                    let because = format!("stage {}: {because}", stage.name);
                    Err(Halt::Settled(if stage.checks.is_empty() {
                        Settlement::Failed { because }
                    } else {
                        Settlement::Blocked { because }
                    }))
                }
            },
        }
    }

    fn set_work(&mut self, stage: &str, work: Work) {
        self.variables.insert(format!("{stage}.changed"), work.changed.join("\n"));
        self.variables.insert(format!("{stage}.commit"), work.commit.to_string());
        self.trace.work = Some(work);
    }

    /// The result held against the form that the stage asks for.
    fn judge_output(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        run: &AgentRun,
    ) -> Result<Judged<Vec<(&'static str, String)>>, Halt> {
        let result = run.result.as_deref().unwrap_or_default().trim();
        match &stage.output {
            // What was pushed counts, not what is said about it.
            Output::Text if stage.checks.contains(&Check::PushedCommit) => {
                Ok(Judged::Passed(vec![("result", result.to_owned())]))
            }
            Output::Text if result.is_empty() => Ok(Judged::invalid_output(no_result(run))),
            Output::Text => Ok(Judged::Passed(vec![("result", result.to_owned())])),
            Output::OneOf(choices) => {
                let mut named = choices.iter().filter(|choice| mentions(result, choice));
                Ok(match (named.next(), named.next()) {
                    (Some(choice), None) => Judged::Passed(vec![("result", choice.clone())]),
                    (None, _) if result.is_empty() => Judged::invalid_output(no_result(run)),
                    (Some(_), Some(_)) | (None, _) => Judged::invalid_output(
                        Feedback::failed(
                            Category::InvalidOutput,
                            format!("the answer is not exactly one of {}", choices.join(", ")),
                        )
                        .suggest(format!("Answer with one of {} and nothing else.", choices.join(", "))),
                    ),
                })
            }
            Output::File(glob) => self.judge_file(glob, worker, round),
        }
    }

    /// The one file that the worker wrote. When there are several, the agent is asked which.
    fn judge_file(
        &mut self,
        glob: &str,
        worker: &Worker,
        round: u32,
    ) -> Result<Judged<Vec<(&'static str, String)>>, Halt> {
        let (files, content) = self.find_files(&worker.key(round, "files"), glob)?;
        if let (Some(file), Some(content), 1) = (files.first(), content, files.len()) {
            return Ok(Judged::Passed(vec![
                ("result", content.clone()),
                ("file", file.clone()),
                ("content", content),
            ]));
        }
        if files.is_empty() {
            let feedback = Feedback::failed(Category::InvalidOutput, format!("no file {glob} was written"))
                .suggest(format!("Write the file so that its path matches {glob}."));
            return Ok(Judged::invalid_output(feedback));
        }
        let asked = Worker {
            name: "find_plan_file".to_owned(),
            prefix: format!("{}/{round}/find", worker.prefix),
            agent: worker.agent.clone(),
            command: "find_plan_file".to_owned(),
            arguments: vec![files.join("\n")],
            branch: worker.branch.clone(),
        };
        let chosen = self.rounds(&asked, |_, _, run| {
            let answer = run.result.as_deref().unwrap_or_default();
            let mut named = files.iter().filter(|file| mentions(answer, file));
            Ok(match (named.next(), named.next()) {
                (Some(file), None) => Judged::Passed(file.clone()),
                (Some(_) | None, _) => Judged::invalid_output(
                    Feedback::failed(Category::InvalidOutput, "the answer is not exactly one of the files")
                        .suggest("Answer with one path of the list and nothing else."),
                ),
            })
        })?;
        match chosen {
            Rounds::Passed(file) => {
                let exact = file.chars().fold(String::new(), |glob, c| match c {
                    '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' => glob + "[" + &c.to_string() + "]",
                    c => glob + &c.to_string(),
                });
                let (_, content) = self.find_files(&worker.key(round, "read"), &exact)?;
                let content = content.unwrap_or_default();
                Ok(Judged::Passed(vec![("result", content.clone()), ("file", file), ("content", content)]))
            }
            Rounds::Exhausted { because } => {
                Ok(Judged::invalid_output(Feedback::failed(Category::InvalidOutput, because)))
            }
        }
    }

    fn find_files(&mut self, key: &MoveKey, glob: &str) -> Result<(Vec<String>, Option<String>), Halt> {
        let seen = self.observe(key, |_| Move::FindFiles { glob: glob.to_owned() })?;
        let Outcome::FilesFound { files, content } = seen.outcome else { return Err(self.mismatch(key)) };
        Ok((files.clone(), content.clone()))
    }

    /// The checks on what was pushed, the cheapest first.
    fn judge_work(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        pushed_before: &mut Option<CommitSha>,
    ) -> Result<Judged<Option<Work>>, Halt> {
        if !stage.checks.contains(&Check::PushedCommit) {
            return Ok(Judged::Passed(None));
        }
        let mut work = match self.import(worker, round, pushed_before)? {
            Judged::Passed(work) => work,
            Judged::Failed { by, feedback, tests } => return Ok(Judged::Failed { by, feedback, tests }),
        };
        if let Some(seen) = self.trace.round(&stage.name, round) {
            seen.commit = Some(work.commit.clone());
        }
        if !stage.checks.contains(&Check::Tests) {
            work.standing = Standing::Unverified { because: "the pipeline runs no tests".to_owned() };
            return Ok(Judged::Passed(Some(work)));
        }
        let key = worker.key(round, "tests");
        let seen = self.observe(&key, |_| Move::RunTests { commit: work.commit.clone() })?;
        let Outcome::Tested(tests) = seen.outcome else { return Err(self.mismatch(&key)) };
        if let Some(seen) = self.trace.round(&stage.name, round) {
            seen.tests = Some((**tests).clone());
        }
        work.tests = Some((**tests).clone());
        Ok(match tests.verdict {
            TestVerdict::Passed => Judged::Passed(Some(work)),
            TestVerdict::NoTests => {
                let because = match &tests.test {
                    Some(run) => format!("`{}` ran no test", run.command),
                    None => "the repository has no tests that Journeyman can find".to_owned(),
                };
                work.standing = Standing::Unverified { because };
                Judged::Passed(Some(work))
            }
            TestVerdict::Failed | TestVerdict::SetupFailed => Judged::Failed {
                by: Judge::Tests,
                feedback: checks::of_tests(tests).feedback,
                tests: Some(tests.clone()),
            },
        })
    }

    /// The check `pushed commit`, and the commit to publish made of what was pushed.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    fn import(
        &mut self,
        worker: &Worker,
        round: u32,
        pushed_before: &mut Option<CommitSha>,
    ) -> Result<Judged<Work>, Halt> {
        let missing = |feedback| Judged::Failed { by: Judge::PushedCommit, feedback, tests: None };
        let (Some(branch), Some(base)) = (worker.branch.clone(), self.base.clone()) else {
            let because = format!("stage {}: no stage before it names a branch", worker.name);
            return Err(Halt::Settled(Settlement::Failed { because }));
        };
        let key = worker.key(round, "import");
        let seen = self.observe(&key, |_| Move::Import { branch: branch.clone(), base: base.clone() })?;
        let at = seen.at;
        let (pushed, tree, message, changed) = match seen.outcome {
            Outcome::Imported { pushed, tree, message, changed } => (pushed, tree, message, changed),
            Outcome::NothingPushed { because } => return Ok(missing(nothing_pushed(because, &branch))),
            Outcome::ImportRefused(feedback) => return Ok(missing(feedback.clone())),
            _ => return Err(self.mismatch(&key)),
        };
        if pushed_before.replace(pushed.clone()).as_ref() == Some(pushed) {
            let because =
                format!("the branch is still at {}, the commit of the round before", pushed.short());
            return Ok(missing(nothing_pushed(&because, &branch)));
        }
        let message = match message {
            Some(message) => message.clone(),
            None => self.commit_message(worker, round, changed)?,
        };
        let key = worker.key(round, "commit");
        let seen =
            self.observe(&key, |_| Move::Commit { tree: tree.clone(), parent: base, message, date: at })?;
        let Outcome::Committed { commit } = seen.outcome else { return Err(self.mismatch(&key)) };
        Ok(Judged::Passed(Work {
            round,
            commit: commit.clone(),
            tree: tree.clone(),
            changed: changed.clone(),
            tests: None,
            standing: Standing::Verified,
        }))
    }

    /// A message where the agent's own is unusable: asked for, and made from the issue when that fails too.
    fn commit_message(&mut self, worker: &Worker, round: u32, changed: &[String]) -> Result<String, Halt> {
        let title = self.journal.opened().issue.title.clone();
        let asked = Worker {
            name: "commit_message".to_owned(),
            prefix: format!("{}/{round}/message", worker.prefix),
            agent: worker.agent.clone(),
            command: "create_commit".to_owned(),
            arguments: vec![title.clone(), changed.join("\n")],
            branch: worker.branch.clone(),
        };
        let message = self.rounds(&asked, |_, _, run| {
            Ok(match run.result.as_deref().and_then(commit_message::clean) {
                Some(message) => Judged::Passed(message),
                None => Judged::invalid_output(
                    Feedback::failed(Category::InvalidOutput, "the answer is no usable commit message")
                        .suggest("Answer with a subject of two words or more, at most 100 characters, and nothing else."),
                ),
            })
        })?;
        Ok(match message {
            Rounds::Passed(message) => message,
            Rounds::Exhausted { because } => {
                self.trace
                    .notes
                    .push(format!("The commit message was made from the issue's title: {because}."));
                let number = self.journal.opened().issue.number;
                commit_message::clean(&title).unwrap_or_else(|| format!("Change for issue {number}"))
            }
        })
    }

    /// What a failed round leaves that could be handed to a person.
    fn candidate(&self, stage: &Stage, round: u32) -> Option<Work> {
        let seen = self.trace.stages.iter().rfind(|known| known.name == stage.name)?;
        let seen = seen.rounds.iter().find(|known| known.round == round)?;
        let commit = seen.commit.clone()?;
        let tests = seen.tests.clone()?;
        let changed = match self.seen(&MoveKey(format!("{}/{round}/import", stage.name))) {
            Some(Outcome::Imported { changed, .. }) => changed.clone(),
            Some(_) | None => Vec::new(),
        };
        let standing = Standing::NotVerified { because: String::new() };
        Some(Work { round, commit, tree: tests.tree.clone(), changed, tests: Some(tests), standing })
    }
}

/// The better of two: most tests passing, then the earliest.
fn keep_better(best: &mut Option<Work>, candidate: Work) {
    let passing =
        |work: &Work| work.tests.as_ref().and_then(|tests| tests.counts).map_or(0, |counts| counts.passed);
    if best.as_ref().is_none_or(|known| passing(&candidate) > passing(known)) {
        *best = Some(candidate);
    }
}

/// Whether the answer names this choice as a word of its own.
fn mentions(answer: &str, choice: &str) -> bool {
    answer.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | '*' | '(' | ')')).any(
        |word| word.trim_end_matches(['.', ':', ';', '!']) == choice.trim_end_matches(['.', ':', ';', '!']),
    )
}

fn no_result(run: &AgentRun) -> Feedback {
    let because = run.failure.as_ref().map_or("the answer is empty", |failure| failure.message.as_str());
    Feedback::failed(Category::InvalidOutput, format!("the agent gave no answer: {because}"))
}

fn nothing_pushed(because: &str, branch: &BranchName) -> Feedback {
    Feedback::failed(Category::MissingCommit, format!("nothing was pushed: {because}"))
        .suggest(format!("Commit the change and run `git push origin HEAD:{branch}`."))
}
