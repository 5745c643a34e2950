//! What an agent pushed and this machine has lost, with a disk or a machine that ended: taken in once more from the agent's
//! own repository, where that has it. Where nothing has it, the round says so and the next one begins.
//!
//! May know: what the journal says was taken in, and the commits that were made of it. Must never know: why it is gone.

use std::collections::HashMap;

use super::{EffectContext, EffectResult, soon};
use journeyman_order::moves::{AgentTaskWorkspace, Retry};
use journeyman_order::{
    BranchName, CommitSha, EffectError, EffectOutcome, Exit, JournalEvent, Move, MoveKey, TreeSha,
};
use journeyman_workspace::{GitErrorKind, ImportOutcome, NewCommit, ObjectNames};

/// What was taken in, and made of it.
struct PastImport {
    branch: BranchName,
    base: CommitSha,
    /// Where the agent's branch was.
    pushed: CommitSha,
    tree: TreeSha,
    commits: Vec<PastCommit>,
}

/// What was, or was to be, committed of it.
#[derive(Clone)]
struct PastCommit {
    /// Its effect.
    key: MoveKey,
    r#move: Move,
    /// None where nothing was observed of it.
    made: Option<CommitSha>,
}

impl PastImport {
    fn objects(&self) -> ObjectNames {
        let commits = self.commits.iter().filter_map(|commit| commit.made.clone()).collect();
        ObjectNames { trees: vec![self.tree.clone()], commits }
    }
}

impl EffectContext {
    /// Whether what agents pushed is there, and can be read with what it rests on.
    pub(super) async fn has_origin(&self) -> Result<bool, EffectError> {
        let (order, repository) = (self.order, self.opened().repository.clone());
        let renewed = self.blocking_git(move |workspaces| workspaces.renew_order_packs(order, &repository));
        let renewed = renewed.await?;
        let places = self.parts.workspaces.order_dirs(order);
        match renewed {
            Err(error) if places.origin.is_dir() && !places.packs.is_dir() => {
                return Err(soon(error.message));
            }
            Err(error) => {
                tracing::warn!(%order, "what the agent pushed is read with the packs that are there: {error}");
            }
            Ok(()) => {}
        }
        Ok(places.origin.is_dir())
    }

    /// Takes in again what the journal says was taken in, the oldest first, since later work rests on it, and makes the commits
    /// of it again; all comes to the same names. Whether something was missing, and is here now; and what kept others from
    /// coming again.
    pub(super) async fn taken_in_again(&self) -> (bool, Vec<EffectError>) {
        let (mut is_better, mut troubles) = (false, Vec::new());
        let imports = self.past_imports();
        let mut all = ObjectNames::default();
        for objects in imports.iter().map(PastImport::objects) {
            all.trees.extend(objects.trees);
            all.commits.extend(objects.commits);
        }
        let lacking = match self.lacking(all).await {
            Ok(lacking) => lacking,
            // What cannot be looked at now is not lost.
            Err(error) => return (false, vec![error]),
        };
        let is_lost = |import: &&PastImport| {
            let objects = import.objects();
            objects.trees.iter().any(|tree| lacking.trees.contains(tree))
                || objects.commits.iter().any(|commit| lacking.commits.contains(commit))
        };
        for import in imports.iter().filter(is_lost) {
            let tree_is_here = !lacking.trees.contains(&import.tree);
            match self.take_in_again(import, tree_is_here).await {
                Ok(true) => {
                    tracing::warn!(order = %self.order, commit = %import.pushed, "what was pushed was lost here, and is taken in again");
                    is_better = true;
                }
                Ok(false) => {}
                Err(error) => troubles.push(error),
            }
        }
        (is_better, troubles)
    }

    /// Whether all of it is here now. An error says nothing of what the agent pushed.
    async fn take_in_again(&self, import: &PastImport, tree_is_here: bool) -> Result<bool, EffectError> {
        if !tree_is_here && !self.import_again(import).await? {
            return Ok(false);
        }
        let (order, repository, commits) =
            (self.order, self.opened().repository.clone(), import.commits.clone());
        let made = self.blocking_git(move |workspaces| {
            for PastCommit { key, r#move, .. } in &commits {
                let Move::Commit { tree, parent, merges, message, date } = r#move else { continue };
                let (name, merges, date) = (key.file_name(), merges.as_ref(), *date);
                let new = NewCommit { order, name: &name, tree, parent, merges, message, date };
                workspaces.commit(&repository, new)?;
            }
            Ok(())
        });
        match made.await? {
            Ok(()) => {}
            Err(error) if error.kind == GitErrorKind::Unavailable => return Err(error.into()),
            Err(_) => return Ok(false),
        }
        Ok(self.lacking(import.objects()).await? == ObjectNames::default())
    }

    /// Whether the tree came again from the agent's own repository.
    async fn import_again(&self, import: &PastImport) -> Result<bool, EffectError> {
        if !self.has_origin().await? {
            return Ok(false);
        }
        let export = self.export(&import.branch, &import.base, Some(&import.pushed)).await?;
        if !matches!(export.ended, Exit::Code(_)) {
            return Err(soon(format!("reading again what the agent pushed ended with {}", export.ended)));
        }
        match self.import_export(&import.branch, &import.base, export).await? {
            Ok(ImportOutcome::Imported { tree, .. }) => Ok(tree == import.tree),
            Ok(ImportOutcome::NothingPushed { .. } | ImportOutcome::Refused(_)) => Ok(false),
            Err(error) if error.kind == GitErrorKind::Unavailable => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    /// What is to be said where everything was asked and nothing came again: whether the commit that the move is about is
    /// gone, or one of ours that it rests on.
    pub(super) async fn gone_for_good(&self, error: EffectError) -> EffectError {
        let commits = self.line_of_commits();
        let Ok(gone) = self.lacking(ObjectNames { commits, trees: Vec::new() }).await else { return error };
        let Some(commit) = gone.commits.first() else { return error };
        let message = format!(
            "the commit {commit} is gone from the machine that Journeyman runs on, and does not come again from what the agent \
             pushed or from the order's branch on GitHub: take the label away and set it again ({})",
            error.message
        );
        EffectError { message, ..error }
    }

    /// The commit that the move is about, and those of ours that it rests on, the latest first.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other move is about a commit of ours")]
    fn line_of_commits(&self) -> Vec<CommitSha> {
        let mut parents: HashMap<CommitSha, CommitSha> = HashMap::new();
        for commit in self.past_imports().into_iter().flat_map(|import| import.commits) {
            if let (Move::Commit { parent, .. }, Some(made)) = (commit.r#move, commit.made) {
                parents.insert(made, parent);
            }
        }
        let ours = self.journaled_commits().all();
        let about = self.journal.intended(&self.key).next_back().and_then(|r#move| match r#move {
            Move::RunTests { commit } | Move::Push { commit, .. } => Some(commit.clone()),
            Move::Commit { parent, .. } => Some(parent.clone()),
            Move::Import { base, .. } => Some(base.clone()),
            Move::UpdateBranch { head, .. } => Some(head.clone()),
            Move::RunAgent(task) => match &task.place {
                AgentTaskWorkspace::Checkout { commit } => Some(commit.clone()),
                AgentTaskWorkspace::Workspace => task.start.clone(),
            },
            _ => None,
        });
        let (mut line, mut next) = (Vec::new(), about);
        while let Some(commit) = next.filter(|commit| ours.contains(commit)) {
            next = parents.remove(&commit);
            line.push(commit);
        }
        line
    }

    async fn lacking(&self, wanted: ObjectNames) -> Result<ObjectNames, EffectError> {
        let repository = self.opened().repository.clone();
        Ok(self.blocking_git(move |workspaces| workspaces.lacking(&repository, wanted)).await??)
    }

    /// What came of an effect of a round that needs these. Where nothing has it any more, the round has nothing to show.
    pub(super) async fn unless_lost(
        &self,
        needed: ObjectNames,
        of: &str,
        tried: EffectResult,
    ) -> EffectResult {
        let Err(error) = &tried else { return tried };
        let is_of_a_round =
            self.sibling(of, "import").is_some_and(|import| self.journal.observed(&import).next().is_some());
        if error.retry != Retry::Never || !is_of_a_round {
            return tried;
        }
        // What cannot be looked at now is not lost.
        if self.lacking(needed).await.map_or(true, |lacking| lacking == ObjectNames::default()) {
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
                        import.commits.retain(|commit| commit.key != *key);
                        let (key, r#move) = (key.clone(), (**r#move).clone());
                        import.commits.push(PastCommit { key, r#move, made: None });
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
                        }));
                    }
                    EffectOutcome::Committed { commit, .. } => {
                        let mut intended = imports.iter_mut().rev().flat_map(|import| &mut import.commits);
                        if let Some(intended) = intended.find(|intended| intended.key == *key) {
                            intended.made = Some(commit.clone());
                        }
                    }
                    _ => {}
                },
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            }
        }
        imports
    }
}
