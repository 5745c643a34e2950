//! What an agent pushed and this machine has lost, with a disk or a machine that ended: taken in once more from the agent's
//! own repository, where that has it. Where nothing has it, the round says so and the next one begins.
//!
//! May know: what the journal says was taken in, and the commits that were made of it. Must never know: why it is gone.

use super::agent_filesystem::AgentFilesystem;
use super::{EffectContext, EffectResult};
use journeyman_order::moves::Retry;
use journeyman_order::{
    BranchName, CommitSha, EffectError, EffectOutcome, JournalEvent, Move, MoveKey, TreeSha,
};
use journeyman_workspace::{GitError, ImportOutcome, NewCommit, Workspaces};

/// What was taken in last.
struct LastImport {
    branch: BranchName,
    base: CommitSha,
    tree: TreeSha,
    /// The commits of this tree, by their effects.
    commits: Vec<(MoveKey, Move)>,
}

impl EffectContext {
    /// Makes the agent's place anew where it is gone; none where it is there. What was pushed may be there still.
    pub(super) async fn place_for_import(
        &self,
        branch: &BranchName,
    ) -> Result<Option<AgentFilesystem>, EffectError> {
        if self.agent_place().is_ok() {
            return Ok(None);
        }
        tracing::warn!(order = %self.order, "the agent's work tree is gone, and is made again");
        let start = self.sibling("import", "agent").and_then(|run| self.start_of(&run).cloned());
        self.ready_workspace(Some(branch), start.as_ref()).await.map(Some)
    }

    /// Takes in again what the journal says was taken in last, and makes the commits of it again; both come to the same names.
    /// Whether something was missing, and is here now.
    pub(super) async fn taken_in_again(&self) -> Result<bool, EffectError> {
        let Some(last) = self.last_import() else { return Ok(false) };
        if self.has_all(&last).await? || self.agent_place().is_err() {
            return Ok(false);
        }
        let export = self.export(&last.branch, &last.base).await?;
        match self.import_export(&last.branch, &last.base, export).await? {
            Ok(ImportOutcome::Imported { tree, .. }) if tree == last.tree => {}
            Ok(
                ImportOutcome::Imported { .. }
                | ImportOutcome::NothingPushed { .. }
                | ImportOutcome::Refused(_),
            )
            | Err(_) => return Ok(false),
        }
        let (order, repository) = (self.order, self.opened().repository.clone());
        let made = self.blocking_git(move |workspaces| {
            for (key, r#move) in &last.commits {
                let Move::Commit { tree, parent, merges, message, date } = r#move else { continue };
                let (name, merges, date) = (key.file_name(), merges.as_ref(), *date);
                let new = NewCommit { order, name: &name, tree, parent, merges, message, date };
                workspaces.commit(&repository, new)?;
            }
            Ok(())
        });
        let is_whole = made.await?.is_ok();
        if is_whole {
            tracing::warn!(order = %self.order, "what was pushed was lost here, and is taken in again");
        }
        Ok(is_whole)
    }

    /// What came of an effect of a round that needs this tree. Where nothing has it any more, the round has nothing to show.
    pub(super) async fn unless_lost(
        &self,
        tree: Option<TreeSha>,
        of: &str,
        tried: EffectResult,
    ) -> EffectResult {
        let (Err(error), Some(tree)) = (&tried, tree) else { return tried };
        let is_of_a_round =
            self.sibling(of, "import").is_some_and(|import| self.journal.observed(&import).next().is_some());
        if error.retry != Retry::Never || !is_of_a_round || self.has_tree(&tree).await? {
            return tried;
        }
        tracing::error!(order = %self.order, "what was pushed is lost: {}", error.message);
        let because = "what was pushed before is gone from the machine that Journeyman runs on".to_owned();
        Ok(EffectOutcome::NothingPushed { because })
    }

    /// Another effect of the same round.
    fn sibling(&self, of: &str, wanted: &str) -> Option<MoveKey> {
        let round = self.key.0.strip_suffix(of)?;
        Some(MoveKey(format!("{round}{wanted}")))
    }

    fn last_import(&self) -> Option<LastImport> {
        let entries = self.journal.entries();
        let (at, import, tree) = entries.iter().enumerate().rev().find_map(|(at, entry)| {
            let JournalEvent::Observed { key, outcome } = &entry.event else { return None };
            let EffectOutcome::Imported { tree, .. } = &**outcome else { return None };
            Some((at, key, tree.clone()))
        })?;
        let (branch, base) = self.journal.intended(import).rev().find_map(|intended| {
            let Move::Import { branch, base } = intended else { return None };
            Some((branch.clone(), base.clone()))
        })?;
        let commits = entries.iter().skip(at).filter_map(|entry| {
            let JournalEvent::Intended { key, r#move } = &entry.event else { return None };
            let is_of_it = matches!(&**r#move, Move::Commit { tree: of, .. } if *of == tree);
            is_of_it.then(|| (key.clone(), (**r#move).clone()))
        });
        Some(LastImport { branch, base, commits: commits.collect(), tree })
    }

    async fn has_all(&self, last: &LastImport) -> Result<bool, EffectError> {
        let repository = self.opened().repository.clone();
        let mut made = self.commits_made();
        made.retain(|commit| self.tree_of(commit).is_ok_and(|tree| tree == last.tree));
        let has = move |workspaces: Workspaces| -> Result<bool, GitError> {
            Ok(made.iter().all(|commit| workspaces.tree_of(&repository, commit).is_ok()))
        };
        Ok(self.has_tree(&last.tree).await? && self.blocking_git(has).await?.unwrap_or(true))
    }

    async fn has_tree(&self, tree: &TreeSha) -> Result<bool, EffectError> {
        let (repository, tree) = (self.opened().repository.clone(), tree.clone());
        let found = self.blocking_git(move |workspaces| workspaces.has_tree(&repository, &tree)).await?;
        Ok(found.unwrap_or(true))
    }
}
