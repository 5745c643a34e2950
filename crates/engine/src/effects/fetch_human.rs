//! People's commits on our branch, fetched: the next round starts from them.

use super::{EffectContext, EffectResult};
use journeyman_order::{BranchName, CommitSha, EffectOutcome};
use journeyman_workspace::FetchedBranch;

impl EffectContext {
    /// Takes what is there, which can be more than what was heard of.
    pub(super) async fn fetch_human(&self, branch: BranchName, head: CommitSha) -> EffectResult {
        let (order, base_branch, base) = (self.order, self.base_branch(), self.base()?);
        let taken = self
            .with_remote(move |workspaces, remote| {
                workspaces.fetch_human(order, remote, &branch, &base_branch, &base)
            })
            .await?;
        let FetchedBranch { commit, tree, changed, patch } = taken;
        if commit != head {
            tracing::info!(order = %self.order, heard = %head, there = %commit, "the branch has moved on");
        }
        Ok(EffectOutcome::TakenIn { commit, tree, changed, patch })
    }
}
