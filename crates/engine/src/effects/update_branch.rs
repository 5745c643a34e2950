//! The base branch brought into ours.

use chrono::{DateTime, Utc};

use super::{EffectContext, EffectResult};
use journeyman_order::conversation::BranchUpdateMethod;
use journeyman_order::{CommitSha, EffectOutcome};
use journeyman_workspace::{BranchUpdate, BranchUpdateOutcome};

impl EffectContext {
    pub(super) async fn update_branch(
        &self,
        head: CommitSha,
        how: BranchUpdateMethod,
        date: DateTime<Utc>,
    ) -> EffectResult {
        let (order, name, base_branch) = (self.order, self.key.file_name(), self.base_branch());
        let branch = self.projection.trace.branch.clone();
        let protected = self.protected();
        let updated = self
            .with_remote(move |workspaces, remote| {
                let new = BranchUpdate {
                    order,
                    name: &name,
                    head: &head,
                    branch: branch.as_ref(),
                    base_branch: &base_branch,
                    how,
                    date,
                    protected: &protected,
                };
                workspaces.update_branch(remote, new)
            })
            .await?;
        Ok(match updated {
            BranchUpdateOutcome::UpToDate => EffectOutcome::UpToDate,
            BranchUpdateOutcome::Clean { base, commit, tree, changed, patch } => {
                EffectOutcome::BranchUpdated { base, commit, tree, changed, patch }
            }
            BranchUpdateOutcome::Conflicts { base, marked, paths } => {
                EffectOutcome::Conflicted { base, marked, paths }
            }
        })
    }
}
