//! Runs the tests on the order's commits, and before that on the base, through [`crate::testing`].

use super::{EffectContext, EffectResult};
use crate::testing::{BaselineSource, CommitTester, TestRunRequest};
use journeyman_order::{CommitSha, EffectError, EffectOutcome, GivenChange, PinnedImages};

impl EffectContext {
    pub(super) async fn run_tests(&self, commit: &CommitSha) -> EffectResult {
        // The last commit of people that was taken in: they may change the branch's tests as they like.
        let theirs = self.outcomes().rev().find_map(|outcome| {
            if let EffectOutcome::TakenIn { commit, .. } = outcome { Some(commit.clone()) } else { None }
        });
        let is_of_the_default_branch = theirs.is_none() && self.is_on_the_default_branch();
        let base = match theirs {
            Some(theirs) => theirs,
            // Where the commit left the base branch, or what it has merged from it since.
            None => {
                let (branch, base, of) = (self.base_branch(), self.base()?, commit.clone());
                self.git(move |workspaces, repository| workspaces.fork(repository, &branch, &base, &of))
                    .await?
            }
        };
        let ask = TestRunRequest {
            issue: self.issue(),
            examination: self.journal.examination(),
            ..self.test_request((base, is_of_the_default_branch), commit.clone())
        };
        self.bring_large_files(vec![ask.base.clone(), ask.commit.clone()]).await?;
        // Boxed: several sandboxes need more than a thread's stack should hold.
        let mut tested = match Box::pin(self.tester().run(&ask)).await {
            Ok(tested) => tested,
            Err(trouble) => return Err(self.after_trouble(trouble).await),
        };
        for output in tested.outputs {
            let artifact = format!("{}-{}.log", self.key.file_name(), output.name);
            let text = output.text.as_bytes();
            self.parts.store.put_artifact(self.order, &artifact, "text/plain", text).await?;
            tested.run.artifacts.push(artifact);
        }
        Ok(EffectOutcome::Tested(Box::new(tested.run)))
    }

    /// Prepares the environment before any agent runs, and runs the tests in it once. A problem is reported with its
    /// fix, and costs no round.
    pub(super) async fn prepare_environment(&self) -> EffectResult {
        let base = self.base_request()?;
        self.bring_large_files(vec![base.base.clone()]).await?;
        let comments = self.journal.task().comments.kept.into_iter().map(|comment| comment.body);
        let issue = comments.fold(self.issue(), |all, comment| format!("{all}\n\n{comment}"));
        let (ask, testing, folder) = (TestRunRequest { issue, ..base }, self.tester(), self.order_root());
        let surveyed = Box::pin(testing.survey_in(&folder, &ask, BaselineSource::KnownOrRun)).await;
        let survey = match surveyed {
            Ok(survey) => survey,
            Err(trouble) => return Err(self.after_trouble(trouble).await),
        };
        if let Some(printed) = &survey.setup_failure {
            let artifact = format!("{}-setup.log", self.key.file_name());
            let text = printed.text.as_bytes();
            self.parts.store.put_artifact(self.order, &artifact, "text/plain", text).await?;
        }
        Ok(EffectOutcome::EnvironmentPrepared(Box::new(survey.report)))
    }

    /// The issue's own text.
    fn issue(&self) -> String {
        let task = self.journal.task();
        format!("{}\n\n{}", task.title, task.body)
    }

    pub(super) fn tester(&self) -> CommitTester {
        let mut environments = self.parts.environments.clone();
        environments.board.order = Some(self.order);
        CommitTester {
            sandbox: self.parts.sandbox.clone(),
            workspaces: self.parts.workspaces.clone(),
            environments,
            settings: self.parts.settings.testing.clone(),
        }
    }

    /// The base itself.
    pub(super) fn base_request(&self) -> Result<TestRunRequest, EffectError> {
        let base = self.base()?;
        Ok(self.test_request((base.clone(), self.is_on_the_default_branch()), base))
    }

    /// A commit, without what depends on the issue.
    fn test_request(
        &self,
        (base, base_is_of_the_default_branch): (CommitSha, bool),
        commit: CommitSha,
    ) -> TestRunRequest {
        let name = format!("{}.{}", self.key.file_name(), self.attempt);
        let (repository, change) = (self.opened().repository.clone(), self.opened().change.as_ref());
        TestRunRequest {
            base_is_of_the_default_branch,
            is_of_a_fork: change.is_some_and(GivenChange::may_be_of_a_fork),
            images: self.pinned_images(),
            folder: self.parts.workspaces.order_dirs(self.order).tests.join(name),
            ..TestRunRequest::new(repository, [base, commit], self.settings(), &self.order_root())
        }
    }

    /// What image names mean for this order: what they meant when its environment was prepared.
    fn pinned_images(&self) -> PinnedImages {
        let mut known = self.outcomes().rev().filter_map(|outcome| {
            if let EffectOutcome::EnvironmentPrepared(report) = outcome { Some(&report.images) } else { None }
        });
        known.find(|images| !images.is_empty()).cloned().unwrap_or_default()
    }
}
