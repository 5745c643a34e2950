//! What is taken away once nothing more is to be done: our labels, the branch where that is wished, and
//! the order's folders.

use super::{EffectContext, EffectResult};
use journeyman_github::{BranchDeletion, OrderLabel};
use journeyman_order::{BranchName, CommitSha, EffectOutcome};

impl EffectContext {
    pub(super) async fn tidy(&self, branch: Option<(BranchName, CommitSha)>) -> EffectResult {
        let at = self.at().await?;
        let github = &self.parts.github;
        github.set_order_label(&at, self.opened().issue.number, OrderLabel::None).await?;
        if let Some((branch, commit)) = branch {
            match github.delete_branch(&at, &branch, &commit).await? {
                BranchDeletion::Gone => {}
                BranchDeletion::Kept { because } => {
                    tracing::info!(order = %self.order, %branch, because, "the branch is kept");
                }
            }
        }
        // Last: where something before it fails, the work is still there for the next try.
        let order = self.order;
        self.git(move |workspaces, _| workspaces.remove(order)).await?;
        Ok(EffectOutcome::Done)
    }
}
