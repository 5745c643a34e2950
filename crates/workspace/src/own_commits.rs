//! Commits of ours that are on GitHub and not here any more, as where the data folder is another.

use super::commit_origin::{CommitOrigin, is_by_us};
use super::remote::{oid, sha};
use super::{GitError, Remote, Workspaces};
use journeyman_order::{BranchName, CommitSha, OrderId, RepositoryName};

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
        self.adopt(order, remote.repository, made)
    }

    /// Fetches a branch that the order's journal does not know of, as one that was pushed after the backup that a server was
    /// restored from. Where all that is on it is by us it counts as ours from now on. Whether it does.
    ///
    /// # Errors
    /// As the server answers, or when the disk fails.
    pub fn reclaim(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        branch: &BranchName,
        head: &CommitSha,
    ) -> Result<bool, GitError> {
        let commits = self.commits(remote.repository)?;
        let fetched = format!("refs/fetched/{order}");
        let there = self.fetch_into(&commits, remote, branch.as_str(), head, &fetched)?;
        let said = |error: git2::Error| GitError::local("look through a branch of ours", &error);
        let mut walk = commits.revwalk().map_err(said)?;
        walk.push(oid(&there)?).map_err(said)?;
        for base in self.known(remote.repository)? {
            walk.hide(base).map_err(said)?;
        }
        let mut found = Vec::new();
        for id in walk {
            let id = id.map_err(said)?;
            let commit = commits.find_commit(id).map_err(said)?;
            // Whoever amends or rebases leaves the author and becomes the committer.
            let committer = commit.committer();
            let is_committed_by_us = committer.email_bytes() == commit.author().email_bytes()
                || self
                    .signer()
                    .is_some_and(|signer| committer.email_bytes() == signer.committer().email.as_bytes());
            if !is_by_us(&commit) || !is_committed_by_us {
                return Ok(false);
            }
            found.push(sha(id)?);
        }
        if there != *head || found.is_empty() {
            return Ok(false);
        }
        self.adopt(order, remote.repository, &found).map(|()| true)
    }

    /// Has the commits count as ours that the order's journal says we made, as far as they are here: those of an order that
    /// was forgotten have no name any more.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn adopt(
        &self,
        order: OrderId,
        repository: &RepositoryName,
        made: &[CommitSha],
    ) -> Result<(), GitError> {
        let commits = self.commits(repository)?;
        let own = CommitOrigin::Bot.all(&commits, order)?;
        for commit in made {
            let id = oid(commit)?;
            if !own.contains(&id) && commits.find_commit(id).is_ok() {
                commits
                    .reference(&CommitOrigin::Bot.reference(order, "brought", id), id, true, "")
                    .map_err(|error| GitError::local("keep what was fetched", &error))?;
            }
        }
        Ok(())
    }
}
