//! The tests, run by us on a commit of the order's; how is [`crate::testing`]'s affair.

use std::time::Duration;

use super::{Context, Tried, never};
use crate::testing::{Ask, Testing};
use journeyman_order::{CommitSha, Event, Move, Outcome, TreeSha, Trouble};

impl Context {
    pub(super) async fn run_tests(&self, commit: &CommitSha) -> Tried {
        let name = format!("{}.{}", self.key.file_name(), self.attempt);
        let theirs = self.taken_in();
        let base_is_of_the_default_branch = theirs.is_none();
        let base = match theirs {
            // What people do to the tests of the branch is theirs to do.
            Some(theirs) => theirs,
            None => self.fork(commit).await?,
        };
        let ask = Ask {
            repository: self.opened().repository.clone(),
            base,
            base_is_of_the_default_branch,
            commit: commit.clone(),
            tree: self.tree_of(commit)?,
            settings: self.settings(),
            folder: self.parts.workspaces.places(self.order).tests.join(name),
        };
        let testing = Testing {
            sandbox: self.parts.sandbox.clone(),
            workspaces: self.parts.workspaces.clone(),
            setup_time: self.parts.rules.setup_time,
            setup_network: self.parts.rules.setup_network.clone(),
            setup_network_for_changes: self.parts.rules.setup_network_for_changes,
            test_network: self.parts.rules.test_network.clone(),
            test_time: self.parts.rules.test_time,
            mutant_time: match self.settings().prove.mutants {
                Some(seconds) => self.parts.rules.mutant_time.min(Duration::from_secs(seconds.into())),
                None => self.parts.rules.mutant_time,
            },
        };
        // On the heap: what several sandboxes need is more than a thread's stack is for.
        let mut tested = Box::pin(testing.run(&ask)).await?;
        for output in tested.outputs {
            let artifact = format!("{}-{}.log", self.key.file_name(), output.name);
            self.parts
                .store
                .put_artifact(self.order, &artifact, "text/plain", output.text.as_bytes())
                .await?;
            tested.run.artifacts.push(artifact);
        }
        Ok(Outcome::Tested(Box::new(tested.run)))
    }

    /// Where a commit left the default branch, or what it merged of it since.
    async fn fork(&self, commit: &CommitSha) -> Result<CommitSha, Trouble> {
        let (repository, base, commit) = (self.opened().repository.clone(), self.base()?, commit.clone());
        let base_branch = self.opened().default_branch.clone();
        self.git(move |workspaces| workspaces.fork(&repository, &base_branch, &base, &commit)).await
    }

    /// The last commit of people that was taken in.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other outcome brings people's commits")]
    fn taken_in(&self) -> Option<CommitSha> {
        self.journal.entries().iter().rev().find_map(|entry| match &entry.event {
            Event::Observed { outcome, .. } => match &**outcome {
                Outcome::TakenIn { commit, .. } => Some(commit.clone()),
                _ => None,
            },
            Event::Intended { .. } | Event::Opened(_) | Event::Signaled { .. } => None,
        })
    }

    /// The tree that the commit was made of, or came with.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other outcome brings a commit")]
    fn tree_of(&self, commit: &CommitSha) -> Result<TreeSha, Trouble> {
        let mut made = None;
        for entry in self.journal.entries() {
            match &entry.event {
                Event::Intended { r#move, .. } => {
                    if let Move::Commit { tree, .. } = &**r#move {
                        made = Some(tree.clone());
                    }
                }
                Event::Observed { outcome, .. } => {
                    let found = match &**outcome {
                        Outcome::Committed { commit, .. } => made.as_ref().map(|tree| (commit, tree)),
                        Outcome::TakenIn { commit, tree, .. }
                        | Outcome::BranchUpdated { commit, tree, .. } => Some((commit, tree)),
                        _ => None,
                    };
                    if let Some((_, tree)) = found.filter(|(known, _)| *known == commit) {
                        return Ok(tree.clone());
                    }
                }
                Event::Opened(_) | Event::Signaled { .. } => {}
            }
        }
        Err(never(format!("{} is no commit of this order", commit.short())))
    }
}
