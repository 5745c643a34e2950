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
use journeyman_workspace::{ImportOutcome, NewCommit};

/// What was taken in, and made of it.
struct PastImport {
    branch: BranchName,
    base: CommitSha,
    /// Where the agent's branch was.
    pushed: CommitSha,
    tree: TreeSha,
    /// The commits of this tree, by their effects.
    commits: Vec<(MoveKey, Move)>,
    /// Their names.
    made: Vec<CommitSha>,
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

    /// Takes in again what the journal says was taken in, the oldest first, since later work rests on it, and makes the commits
    /// of it again; all comes to the same names. Whether something was missing, and is here now.
    pub(super) async fn taken_in_again(&self) -> Result<bool, EffectError> {
        let mut is_better = false;
        for import in self.past_imports() {
            if !self.has_all(&import).await?
                && self.agent_place().is_ok()
                && self.take_in_again(&import).await?
            {
                tracing::warn!(order = %self.order, commit = %import.pushed, "what was pushed was lost here, and is taken in again");
                is_better = true;
            }
        }
        Ok(is_better)
    }

    async fn take_in_again(&self, import: &PastImport) -> Result<bool, EffectError> {
        let export = self.export(&import.branch, &import.base, Some(&import.pushed)).await?;
        match self.import_export(&import.branch, &import.base, export).await? {
            Ok(ImportOutcome::Imported { tree, .. }) if tree == import.tree => {}
            Ok(
                ImportOutcome::Imported { .. }
                | ImportOutcome::NothingPushed { .. }
                | ImportOutcome::Refused(_),
            )
            | Err(_) => return Ok(false),
        }
        let (order, repository, commits) =
            (self.order, self.opened().repository.clone(), import.commits.clone());
        let made = self.blocking_git(move |workspaces| {
            for (key, r#move) in &commits {
                let Move::Commit { tree, parent, merges, message, date } = r#move else { continue };
                let (name, merges, date) = (key.file_name(), merges.as_ref(), *date);
                let new = NewCommit { order, name: &name, tree, parent, merges, message, date };
                workspaces.commit(&repository, new)?;
            }
            Ok(())
        });
        Ok(made.await?.is_ok() && self.has_all(import).await?)
    }

    /// What is to be said where nothing came again, and the commit that the order is about is gone.
    pub(super) async fn gone_for_good(&self, error: EffectError) -> EffectError {
        let Some(commit) = self.journaled_commits().made.pop() else { return error };
        let (repository, wanted) = (self.opened().repository.clone(), [commit.clone()]);
        let found = self.blocking_git(move |workspaces| workspaces.lacking(&repository, &wanted)).await;
        let is_gone = matches!(found, Ok(Ok(lacking)) if !lacking.is_empty());
        let message = format!(
            "the commit {commit} is gone from the machine that Journeyman runs on, and nothing has it any more: take the label \
             away and set it again ({})",
            error.message
        );
        if is_gone { EffectError { message, ..error } } else { error }
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

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only what was taken in, and its commits, are asked for"
    )]
    fn past_imports(&self) -> Vec<PastImport> {
        let mut imports: Vec<PastImport> = Vec::new();
        for entry in self.journal.entries() {
            match &entry.event {
                JournalEvent::Intended { key, r#move } => {
                    if let Move::Commit { tree, .. } = &**r#move
                        && let Some(import) = imports.iter_mut().rev().find(|import| import.tree == *tree)
                    {
                        import.commits.push((key.clone(), (**r#move).clone()));
                    }
                }
                JournalEvent::Observed { key, outcome } => match &**outcome {
                    EffectOutcome::Imported { pushed, tree, .. } => {
                        let intended = self.journal.intended(key).rev().find_map(|intended| match intended {
                            Move::Import { branch, base } => Some((branch.clone(), base.clone())),
                            _ => None,
                        });
                        imports.extend(intended.map(|(branch, base)| PastImport {
                            branch,
                            base,
                            pushed: pushed.clone(),
                            tree: tree.clone(),
                            commits: Vec::new(),
                            made: Vec::new(),
                        }));
                    }
                    EffectOutcome::Committed { commit, .. } => {
                        let of = imports
                            .iter_mut()
                            .rev()
                            .find(|import| import.commits.iter().any(|(of, _)| of == key));
                        if let Some(import) = of {
                            import.made.push(commit.clone());
                        }
                    }
                    _ => {}
                },
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            }
        }
        imports
    }

    async fn has_all(&self, import: &PastImport) -> Result<bool, EffectError> {
        let (repository, made) = (self.opened().repository.clone(), import.made.clone());
        let has = self.blocking_git(move |workspaces| Ok(workspaces.lacking(&repository, &made)?.is_empty()));
        // What cannot be looked at now is not lost.
        Ok(self.has_tree(&import.tree).await? && has.await?.unwrap_or(true))
    }

    async fn has_tree(&self, tree: &TreeSha) -> Result<bool, EffectError> {
        let (repository, tree) = (self.opened().repository.clone(), tree.clone());
        let found =
            self.blocking_git(move |workspaces| workspaces.has_whole_tree(&repository, &tree)).await?;
        Ok(found.unwrap_or(true))
    }
}
