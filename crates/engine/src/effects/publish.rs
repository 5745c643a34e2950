//! The push: by us, with a token that lives for it, and believed only when the remote says so.

use super::{EffectContext, EffectResult, never};
use journeyman_github::GitAccess;
use journeyman_order::{BranchName, CommitSha, EffectOutcome};
use journeyman_workspace::{PushOutcome, Remote};

impl EffectContext {
    pub(super) async fn push(
        &self,
        branch: BranchName,
        commit: CommitSha,
        lease: Option<CommitSha>,
    ) -> EffectResult {
        let at = self.at().await?;
        // The right can be gone since the work began.
        if let Some(person) = &self.survey.trace.authorized_by
            && !self.parts.github.can_write(&at, person).await?
        {
            return Err(never(format!(
                "{} has no write access any more, so nothing was pushed",
                person.login
            )));
        }
        let token = self.parts.github.git_token(&at, GitAccess::Push).await?;
        let url = self.parts.github.git_url(&at.repository);
        let (order, repository, secret) = (self.order, at.repository.clone(), token.secret.clone());
        let made = self.commits_made();
        let pushed = self
            .git(move |workspaces| {
                let remote = Remote { repository: &repository, url, token: Some(secret) };
                // On another machine than the one that pushed it, what is replaced is known to be ours by the journal alone.
                if let Some(old) = lease.as_ref().filter(|old| made.contains(old))
                    && workspaces.tree_of(&repository, old).is_err()
                {
                    workspaces.fetch_own(order, &remote, &branch, old, &made)?;
                }
                workspaces.push(order, &remote, &branch, &commit, lease.as_ref())
            })
            .await;
        token.revoke().await;
        Ok(match pushed? {
            PushOutcome::Pushed => EffectOutcome::Pushed,
            PushOutcome::StaleLease { at } => EffectOutcome::BranchTaken { at },
        })
    }
}
