//! The base branch brought into ours.

use chrono::{DateTime, Utc};

use super::{Context, Tried};
use journeyman_order::conversation::Update;
use journeyman_order::{CommitSha, Outcome};
use journeyman_workspace::{Updated, Updating};

impl Context {
    pub(super) async fn update_branch(&self, head: CommitSha, how: Update, date: DateTime<Utc>) -> Tried {
        let (order, name, base_branch) =
            (self.order, self.key.file_name(), self.opened().default_branch.clone());
        let branch = self.survey.trace.branch.clone();
        let protected = self.protected();
        let updated = self
            .reading(move |workspaces, remote| {
                let new = Updating {
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
            Updated::UpToDate => Outcome::UpToDate,
            Updated::Clean { base, commit, tree, changed, patch } => {
                Outcome::BranchUpdated { base, commit, tree, changed, patch }
            }
            Updated::Conflicts { base, marked, paths } => Outcome::Conflicted { base, marked, paths },
        })
    }
}
