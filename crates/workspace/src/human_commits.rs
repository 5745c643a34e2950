//! What people pushed to an order's branch. Their tree is theirs: it may touch what an agent must not. But our own code
//! works with it afterwards, and agents get it, so that names are examined as an agent's are.

use git2::{Oid, Repository};

use super::commit_origin::CommitOrigin;
use super::examine::Examination;
use super::protected::ProtectedPaths;
use super::remote::oid;
use super::source::ObjectSource;
use super::{GitError, GitErrorKind, Remote, Workspaces};
use journeyman_order::bounds::MOST_LOOKED_AT;
use journeyman_order::{BranchName, CommitSha, OrderId, TreeSha};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedBranch {
    pub commit: CommitSha,
    pub tree: TreeSha,
    /// Paths that differ from where the branch left the base branch, sorted, at most a thousand.
    pub changed: Vec<String>,
    /// What it changes, as [`Workspaces::patch`] tells it.
    pub patch: String,
}

impl Workspaces {
    /// Fetches the order's branch as it is now, and the base branch. What was fetched stands among the repository's
    /// commits, apart from ours: other orders' agents do not get it.
    ///
    /// # Errors
    /// [`GitErrorKind::NotFound`] when the branch is gone, [`GitErrorKind::NotForUs`] when something in it cannot be
    /// worked with; otherwise as the server answers.
    pub fn fetch_human(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        branch: &BranchName,
        base_branch: &str,
        base: &CommitSha,
    ) -> Result<FetchedBranch, GitError> {
        self.fetch(remote, base_branch)?;
        let commits = self.commits(remote.repository)?;
        let there = self.require_remote_head(remote, branch.as_str())?;
        let said = |error: git2::Error| GitError::local("keep what was fetched", &error);
        // What is here is named by references: without this one a first fetch would bring everything anew.
        let known = CommitOrigin::Human.reference(order, "base", oid(base)?);
        commits.reference(&known, oid(base)?, true, "").map_err(said)?;
        let commit =
            self.fetch_into(&commits, remote, branch.as_str(), &there, &format!("refs/fetched/{order}"))?;
        let id = oid(&commit)?;
        commits.reference(&CommitOrigin::Human.reference(order, "head", id), id, true, "").map_err(said)?;
        self.fetch_submodules(remote, &commit)?;
        self.fetch_large_files(remote, &commit)?;
        let fork = self.fork(remote.repository, base_branch, base, &commit)?;
        let (tree, changed) = examine_commit(&commits, oid(&fork)?, id)?;
        let patch = self.patch(remote.repository, &fork, &commit)?;
        Ok(FetchedBranch { commit, tree, changed, patch })
    }
}

/// The tree of a commit that is not an agent's, and the paths that differ from another, at most a thousand.
pub(super) fn examine_commit(
    commits: &Repository,
    base: Oid,
    commit: Oid,
) -> Result<(TreeSha, Vec<String>), GitError> {
    let said = |error: git2::Error| GitError::local("look through a commit", &error);
    let tree = |id: Oid| commits.find_commit(id).map(|commit| commit.tree_id()).map_err(said);
    let (before, after) = (tree(base)?, tree(commit)?);
    let odb = commits.odb().map_err(said)?;
    let (nothing, source) = (ProtectedPaths::nothing(), ObjectSource::new(None, &odb, before));
    let mut examination = Examination::new(&source, &nothing, None);
    examination.compare(before, after)?;
    if let Some(first) = examination.remarks.findings.first() {
        let message = format!("{commit} cannot be worked with: {}", first.description);
        return Err(GitError::new(GitErrorKind::NotForUs, message));
    }
    let mut changed = examination.changed;
    changed.truncate(MOST_LOOKED_AT);
    let tree = after.to_string().parse().map_err(|error| GitError::broken(format!("{error}")))?;
    Ok((tree, changed))
}
