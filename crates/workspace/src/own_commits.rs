//! Commits of ours that are on GitHub and not here any more, as where the data folder is another.

use super::commit_origin::CommitOrigin;
use super::remote::oid;
use super::{GitError, Remote, Workspaces};
use journeyman_order::{BranchName, CommitSha, OrderId};

impl Workspaces {
    /// Fetches the order's branch, if it is where we pushed it last; otherwise it is somebody else's by now, and is left
    /// for [`Workspaces::fetch_human`]. `made` are the commits that the order's journal says we made: those of them that
    /// are found count as ours again, and no others do.
    ///
    /// # Errors
    /// As the server answers, or when the disk fails.
    pub fn fetch_own(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        branch: &BranchName,
        pushed: &CommitSha,
        made: &[CommitSha],
    ) -> Result<(), GitError> {
        if self.remote_head(remote, branch.as_str())?.as_ref() != Some(pushed) {
            return Ok(());
        }
        let commits = self.commits(remote.repository)?;
        self.fetch_into(&commits, remote, branch.as_str(), pushed, &format!("refs/fetched/{order}"))?;
        for commit in made {
            let id = oid(commit)?;
            if commits.find_commit(id).is_ok() {
                commits
                    .reference(&CommitOrigin::Bot.reference(order, "brought", id), id, true, "")
                    .map_err(|error| GitError::local("keep what was fetched", &error))?;
            }
        }
        Ok(())
    }
}
