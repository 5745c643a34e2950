//! The tests, run by us on a commit of the order's; how is [`crate::testing`]'s affair.

use std::time::Duration;

use super::{EffectContext, EffectResult, never};
use crate::testing::{CommitTester, TestRunRequest};
use journeyman_order::{CommitSha, EffectError, EffectOutcome, JournalEvent, Move, PinnedImages, TreeSha};

impl EffectContext {
    pub(super) async fn run_tests(&self, commit: &CommitSha) -> EffectResult {
        // The last commit of people that was taken in: what they do to the tests of the branch is theirs to do.
        let theirs = self.outcomes().rev().find_map(|outcome| {
            if let EffectOutcome::TakenIn { commit, .. } = outcome { Some(commit.clone()) } else { None }
        });
        let is_of_the_default_branch = theirs.is_none() && self.is_on_the_default_branch();
        let base = match theirs {
            Some(theirs) => theirs,
            // Where the commit left the base branch, or what it merged of it since.
            None => {
                let (branch, base, of) = (self.base_branch(), self.base()?, commit.clone());
                self.git(move |workspaces, repository| workspaces.fork(repository, &branch, &base, &of))
                    .await?
            }
        };
        let task = self.journal.task();
        let ask = TestRunRequest {
            issue: format!("{}\n\n{}", task.title, task.body),
            examination: self.journal.examination(),
            ..self.test_request((base, is_of_the_default_branch), commit, self.tree_of(commit)?)
        };
        self.bring_large_files(vec![ask.base.clone(), ask.commit.clone()]).await?;
        let mut testing = self.tester();
        if let Some(seconds) = self.settings().prove.mutants {
            let time = &mut testing.settings.mutant_time;
            *time = (*time).min(Duration::from_secs(seconds.into()));
        }
        // On the heap: what several sandboxes need is more than a thread's stack is for.
        let mut tested = match Box::pin(testing.run(&ask)).await {
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

    pub(super) fn tester(&self) -> CommitTester {
        CommitTester {
            sandbox: self.parts.sandbox.clone(),
            workspaces: self.parts.workspaces.clone(),
            environments: self.parts.environments.clone(),
            settings: self.parts.settings.testing.clone(),
        }
    }

    /// A run of the tests on a commit, as far as nothing of the issue decides it.
    pub(super) fn test_request(
        &self,
        (base, base_is_of_the_default_branch): (CommitSha, bool),
        commit: &CommitSha,
        tree: TreeSha,
    ) -> TestRunRequest {
        let name = format!("{}.{}", self.key.file_name(), self.attempt);
        TestRunRequest {
            repository: self.opened().repository.clone(),
            base,
            base_is_of_the_default_branch,
            commit: commit.clone(),
            tree,
            settings: self.settings(),
            issue: String::new(),
            examination: None,
            images: self.pinned_images(),
            folder: self.parts.workspaces.order_dirs(self.order).tests.join(name),
            environments: self.order_environments(),
        }
    }

    /// What names of images mean for this order: what they meant when its environment was prepared.
    pub(super) fn pinned_images(&self) -> PinnedImages {
        let mut known = self.outcomes().rev().filter_map(|outcome| {
            if let EffectOutcome::EnvironmentPrepared(report) = outcome { Some(&report.images) } else { None }
        });
        known.find(|images| !images.is_empty()).cloned().unwrap_or_default()
    }

    /// The tree that the commit was made of, or came with.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other outcome brings a commit")]
    pub(super) fn tree_of(&self, commit: &CommitSha) -> Result<TreeSha, EffectError> {
        let mut made = None;
        for entry in self.journal.entries() {
            match &entry.event {
                JournalEvent::Intended { r#move, .. } => {
                    if let Move::Commit { tree, .. } = &**r#move {
                        made = Some(tree.clone());
                    }
                }
                JournalEvent::Observed { outcome, .. } => {
                    let found = match &**outcome {
                        EffectOutcome::Committed { commit, .. } => made.as_ref().map(|tree| (commit, tree)),
                        EffectOutcome::TakenIn { commit, tree, .. }
                        | EffectOutcome::BranchUpdated { commit, tree, .. } => Some((commit, tree)),
                        _ => None,
                    };
                    if let Some((_, tree)) = found.filter(|(known, _)| *known == commit) {
                        return Ok(tree.clone());
                    }
                }
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            }
        }
        Err(never(format!("{} is no commit of this order", commit.short())))
    }
}
