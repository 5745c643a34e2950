//! The push: done by us with a short-lived token, and believed only when the remote confirms it.

use super::{EffectContext, EffectResult, never};
use journeyman_github::{BranchRestriction, GitAccess, InstalledRepository};
use journeyman_order::{BranchName, CommitSha, EffectError, EffectOutcome};
use journeyman_workspace::PushOutcome;

impl EffectContext {
    pub(super) async fn push(
        &self,
        branch: BranchName,
        commit: CommitSha,
        lease: Option<CommitSha>,
    ) -> EffectResult {
        let at = self.at().await?;
        // The person may have lost write access since the work began.
        if let Some(person) = &self.projection.trace.authorized_by
            && !self.parts.github.can_write(&at, person).await?
        {
            return Err(never(format!(
                "{} has no write access any more, so nothing was pushed",
                person.login
            )));
        }
        let mut pushed = self.push_with_lease(&branch, &commit, lease.clone()).await?;
        // The order may not know of its own push, as after a restored backup.
        if let (None, PushOutcome::StaleLease { at: Some(head) }) = (&lease, &pushed)
            && self.is_own_branch(&at, &branch, head).await?
        {
            tracing::warn!(order = %self.order, %branch, %head, "was pushed by this order, and is forgotten here");
            pushed = self.push_with_lease(&branch, &commit, Some(head.clone())).await?;
        }
        Ok(match pushed {
            PushOutcome::Pushed => EffectOutcome::Pushed,
            PushOutcome::Declined { said } => self.declined(&at, &branch, said).await,
            PushOutcome::StaleLease { at } => EffectOutcome::BranchTaken { at },
        })
    }

    /// What the server said, and what the rules for the branch ask for: GitHub does not name a rule's pattern.
    async fn declined(&self, at: &InstalledRepository, branch: &BranchName, said: String) -> EffectOutcome {
        let branch = self.head_branch(branch);
        let rules = self.parts.github.branch_restrictions(at, branch.as_str(), true);
        let rules = self.ask_in_time("which rules hold for the branch", rules).await.unwrap_or_default();
        let rules = rules.into_iter().map(|rule| match rule {
            BranchRestriction::Forbids(what) | BranchRestriction::MayForbid(what) => what,
            BranchRestriction::RequiresSignatures => "requires signed commits".to_owned(),
        });
        let rules: String = rules.map(|what| format!("; a ruleset of the repository {what}")).collect();
        EffectOutcome::PushDeclined { because: format!("{said}{rules}") }
    }

    async fn push_with_lease(
        &self,
        branch: &BranchName,
        commit: &CommitSha,
        lease: Option<CommitSha>,
    ) -> Result<PushOutcome, EffectError> {
        let (order, branch, commit, known) =
            (self.order, self.head_branch(branch), commit.clone(), self.journaled_commits());
        let pushed = self.blocking_with_remote(GitAccess::Push, move |workspaces, remote| {
            // On a machine that did not push it, only the journal shows that the replaced commit is ours.
            if let Some(old) = lease.as_ref().filter(|old| known.all().contains(old))
                && workspaces.tree_of(remote.repository, old).is_err()
                && workspaces.remote_head(remote, branch.as_str())?.as_ref() == Some(old)
            {
                workspaces.fetch_behind(order, remote, branch.clone(), &known)?;
            }
            workspaces.adopt(order, remote.repository, &known)?;
            workspaces.push(order, remote, branch, &commit, lease.as_ref())
        });
        let pushed = pushed.await?;
        self.unless_damaged(pushed).await
    }

    /// Whether the journal lost this push: our App opened the pull request, and all commits of the branch are ours.
    async fn is_own_branch(
        &self,
        at: &InstalledRepository,
        branch: &BranchName,
        head: &CommitSha,
    ) -> Result<bool, EffectError> {
        let other = self.parts.store.order_by_branch(self.opened().repository_id, branch).await?;
        if other.is_some_and(|other| other.id != self.order) {
            return Ok(false);
        }
        let pull = self.parts.github.own_pull_from(at, branch, &self.base_branch()).await?;
        if pull.is_none_or(|pull| pull.head_sha != *head) {
            return Ok(false);
        }
        let (order, branch, head) = (self.order, branch.clone(), head.clone());
        self.with_remote(move |workspaces, remote| workspaces.reclaim(order, remote, &branch, &head)).await
    }
}
