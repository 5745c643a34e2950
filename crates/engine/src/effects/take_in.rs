//! People's commits on our branch, fetched: the next round starts from them.

use super::{Context, Tried};
use journeyman_order::{BranchName, CommitSha, Outcome};
use journeyman_workspace::Taken;

impl Context {
    /// Takes what is there, which can be more than what was heard of.
    pub(super) async fn take_in(&self, branch: BranchName, head: CommitSha) -> Tried {
        let (order, base_branch, base) = (self.order, self.opened().default_branch.clone(), self.base()?);
        let taken = self
            .reading(move |workspaces, remote| {
                workspaces.take_in(order, remote, &branch, &base_branch, &base)
            })
            .await?;
        let Taken { commit, tree, changed, patch } = taken;
        if commit != head {
            tracing::info!(order = %self.order, heard = %head, there = %commit, "the branch has moved on");
        }
        Ok(Outcome::TakenIn { commit, tree, changed, patch })
    }
}
