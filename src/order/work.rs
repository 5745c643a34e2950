//! What a worker pushed: imported, made into the commit to publish, tested.

use super::checks;
use super::commit_message;
use super::feedback::{Category, Feedback};
use super::ids::{BranchName, CommitSha};
use super::moves::{Move, MoveKey, Outcome};
use super::pipeline::{Check, Stage};
use super::rounds::{Judge, Judged, Rounds, Worker};
use super::settlement::Settlement;
use super::test_run::{TestRun, TestVerdict};
use super::trace::{Standing, Work};
use super::walk::{Halt, Walk};

impl Walk<'_> {
    /// The checks on what was pushed, the cheapest first.
    pub(super) fn judge_work(
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
            TestVerdict::Passed if tests.doubt.is_none() => Judged::Passed(Some(work)),
            TestVerdict::Passed | TestVerdict::NoTests
                if self.heard.retry_after(self.last_seen()).is_some() =>
            {
                let feedback = Feedback::failed(
                    Category::TestFailure,
                    format!("nothing could be verified: {}", unverified(tests)),
                )
                .suggest("A person asked for another attempt; see what they advise.");
                Judged::Failed { by: Judge::Tests, feedback, tests: None }
            }
            TestVerdict::Passed | TestVerdict::NoTests => {
                let because = unverified(tests);
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
        let Outcome::Committed { commit, .. } = seen.outcome else { return Err(self.mismatch(&key)) };
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
                self.trace.note(format!("The commit message was made from the issue's title: {because}."));
                let number = self.journal.opened().issue.number;
                commit_message::clean(&title).unwrap_or_else(|| format!("Change for issue {number}"))
            }
        })
    }

    /// What a failed round leaves that could be handed to a person.
    pub(super) fn candidate(&self, stage: &Stage, round: u32, because: &str) -> Option<Work> {
        let seen = self.trace.stages.iter().rfind(|known| known.name == stage.name)?;
        let seen = seen.rounds.iter().find(|known| known.round == round)?;
        let commit = seen.commit.clone()?;
        let tests = seen.tests.clone()?;
        let changed = match self.seen(&MoveKey(format!("{}/{round}/import", stage.name))) {
            Some(Outcome::Imported { changed, .. }) => changed.clone(),
            Some(_) | None => Vec::new(),
        };
        let standing = Standing::NotVerified { because: because.to_owned() };
        Some(Work { round, commit, tree: tests.tree.clone(), changed, tests: Some(tests), standing })
    }
}

fn nothing_pushed(because: &str, branch: &BranchName) -> Feedback {
    Feedback::failed(Category::MissingCommit, format!("nothing was pushed: {because}"))
        .suggest(format!("Commit the change and run `git push origin HEAD:{branch}`."))
}

/// Why a run that did not fail verifies nothing.
fn unverified(tests: &TestRun) -> String {
    match (&tests.doubt, &tests.test) {
        (Some(doubt), _) => doubt.clone(),
        (None, Some(run)) => format!("`{}` ran no test", run.command),
        (None, None) => "the repository has no tests that Journeyman can find".to_owned(),
    }
}
