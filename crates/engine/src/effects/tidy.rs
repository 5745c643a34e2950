//! What is taken away once nothing more is to be done: our labels, the branch where that is wished, and
//! the order's folders.

use super::{Context, Tried};
use journeyman_github::{Deleted, OrderLabel};
use journeyman_order::{BranchName, CommitSha, Outcome};

impl Context {
    pub(super) async fn tidy(&self, branch: Option<(BranchName, CommitSha)>) -> Tried {
        let at = self.at().await?;
        let github = &self.parts.github;
        github.set_order_label(&at, self.opened().issue.number, OrderLabel::None).await?;
        if let Some((branch, commit)) = branch {
            match github.delete_branch(&at, &branch, &commit).await? {
                Deleted::Gone => {}
                Deleted::Kept { because } => {
                    tracing::info!(order = %self.order, %branch, because, "the branch is kept");
                }
            }
        }
        // Last: where something before it fails, the work is still there for the next try.
        let order = self.order;
        self.git(move |workspaces| workspaces.remove(order)).await?;
        Ok(Outcome::Done)
    }
}
