//! Moves that read from GitHub or write to it.

use std::sync::Arc;

use super::{EffectContext, EffectResult, never, soon};
use crate::live_journal::JournalSnapshot;
use journeyman_github::{BranchDeletion, NewPullRequest, OrderLabel};
use journeyman_order::moves::ReviewNote;
use journeyman_order::{BranchName, CommitSha, EffectError, EffectOutcome, Person, PullNumber};
use journeyman_render as render;

impl EffectContext {
    pub(super) async fn authorize(&self, person: &Person) -> EffectResult {
        let at = self.at().await?;
        Ok(EffectOutcome::Authorized { allowed: self.parts.github.can_write(&at, person).await? })
    }

    pub(super) async fn open_pull(&self, branch: &BranchName, title: &str, summary: &str) -> EffectResult {
        let at = self.at().await?;
        let body = self.pull_body(summary)?;
        let base = self.base_branch();
        let title = &render::title(title);
        let new = NewPullRequest { head: branch, base: &base, title, body: &body, draft: true };
        let pull = self.parts.github.open_pull(&at, new).await?;
        Ok(EffectOutcome::PullOpened { number: pull.number, url: pull.url })
    }

    /// The last check before a pull request becomes ready: its head must be the commit that was tested.
    pub(super) async fn finish_pull(
        &self,
        number: PullNumber,
        title: &str,
        summary: &str,
        ready: bool,
    ) -> EffectResult {
        let at = self.at().await?;
        let github = &self.parts.github;
        let body = self.pull_body(summary)?;
        github.update_pull(&at, number, Some(&render::title(title)), &body).await?;
        if ready {
            let pull = github.pull(&at, number).await?;
            match &self.projection.trace.work {
                Some(work) if work.commit == pull.head_sha => github.mark_ready(&at, &pull).await?,
                Some(work) => {
                    return Err(soon(format!(
                        "the head of pull request #{number} is {}, and {} was tested",
                        pull.head_sha.short(),
                        work.commit.short()
                    )));
                }
                None => return Err(never("there is no tested commit")),
            }
        }
        Ok(EffectOutcome::PullFinished)
    }

    pub(super) async fn show_status(&self) -> EffectResult {
        let at = self.at().await?;
        let issue = self.opened().issue.number;
        let github = &self.parts.github;
        let known = self.outcomes().rev().find_map(|outcome| {
            if let EffectOutcome::StatusShown { comment } = outcome { *comment } else { None }
        });
        let text = || async {
            // The state at this moment: the status waits behind everything more important.
            let JournalSnapshot { journal, projection } = self.turns.borrow().clone();
            render::status(&journal, &projection, self.parts.settings.public_url.as_ref())
        };
        if self.opened().change.is_some() {
            // All verifications of a pull request share a comment, and only the newest writes it.
            let newest = self.parts.store.latest_order(self.opened().repository_id, issue, None).await?;
            if newest.is_some_and(|newest| newest.id != self.order) {
                return Ok(EffectOutcome::StatusShown { comment: known });
            }
            let comment = github.set_status_comment(&at, issue, "verification", known, text).await?;
            return Ok(EffectOutcome::StatusShown { comment: Some(comment) });
        }
        let comment = github.set_status_comment(&at, issue, self.order, known, text).await?;
        let projection = Arc::clone(&self.turns.borrow().projection);
        github.set_order_label(&at, issue, render::label(&projection)).await?;
        Ok(EffectOutcome::StatusShown { comment: Some(comment) })
    }

    pub(super) async fn show_review(&self, note: &ReviewNote) -> EffectResult {
        let at = self.at().await?;
        let body = render::review(&self.journal, note);
        // A stage's name may contain two hyphens, but no full stop.
        let marker = format!("review:{}:{}:{}", self.order, note.stage.replace('-', "."), note.round);
        self.parts.github.set_pull_comment(&at, note.pull, &marker, &body).await?;
        Ok(EffectOutcome::ReviewShown)
    }

    /// Deletes our labels, the branch if requested, and the order's folders, once nothing is left to do.
    pub(super) async fn tidy(&self, branch: Option<(BranchName, CommitSha)>) -> EffectResult {
        let at = self.at().await?;
        let github = &self.parts.github;
        if self.opened().change.is_none() {
            github.set_order_label(&at, self.opened().issue.number, OrderLabel::None).await?;
        }
        if let Some((branch, commit)) = branch {
            let deletion = github.delete_branch(&at, &branch, &commit).await?;
            if let BranchDeletion::Kept { because } = deletion {
                tracing::info!(order = %self.order, %branch, because, "the branch is kept");
            }
        }
        // Last: if an earlier step fails, the work is still there for the retry.
        let order = self.order;
        self.git(move |workspaces, _| workspaces.remove(order)).await?;
        Ok(EffectOutcome::Done)
    }

    fn pull_body(&self, summary: &str) -> Result<String, EffectError> {
        render::pull(&self.journal, &self.projection, summary)
            .ok_or_else(|| never("there is no work to publish"))
    }
}
