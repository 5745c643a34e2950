//! What people pushed to an order's branch. They may change what an agent must not. But our code works with the tree
//! and agents get it, so its names are examined like an agent's.

use git2::{Oid, Repository};

use super::commit_origin::CommitOrigin;
use super::examine::Examination;
use super::protected::ProtectedPaths;
use super::remote::oid;
use super::source::ObjectSource;
use super::{GitError, GitErrorKind, Remote, Workspaces};
use journeyman_order::bounds::MOST_LOOKED_AT;
use journeyman_order::{CommitSha, HeadBranch, OrderId, TreeSha};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedBranch {
    pub commit: CommitSha,
    pub tree: TreeSha,
    /// Paths that differ from the fork point with the base branch, sorted, at most a thousand.
    pub changed: Vec<String>,
    /// Its changes, in the form of [`Workspaces::patch`].
    pub patch: String,
}

impl Workspaces {
    /// Fetches the order's branch and the base branch. The result stays in the repository of our commits, apart from
    /// ours: agents of other orders do not get it.
    ///
    /// # Errors
    /// [`GitErrorKind::NotFound`] if the branch is gone, [`GitErrorKind::NotForUs`] if we cannot work with its content;
    /// otherwise as the server answers.
    pub fn fetch_human(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        branch: impl Into<HeadBranch>,
        base_branch: &str,
        base: &CommitSha,
    ) -> Result<FetchedBranch, GitError> {
        let branch = branch.into();
        self.fetch(remote, base_branch)?;
        let commits = self.commits(remote.repository)?;
        let there = self.require_remote_head(remote, branch.as_str())?;
        // A fetch announces what references name: without this one, a first fetch would transfer everything again.
        let known = CommitOrigin::Human.reference(order, "base", oid(base)?);
        commits.reference(&known, oid(base)?, true, "")?;
        let commit =
            self.fetch_into(&commits, remote, branch.as_str(), &there, &format!("refs/fetched/{order}"))?;
        let id = oid(&commit)?;
        commits.reference(&CommitOrigin::Human.reference(order, "head", id), id, true, "")?;
        self.fetch_submodules(remote, &commit)?;
        self.fetch_large_files(remote, &commit)?;
        let fork = self.fork(remote.repository, base_branch, base, &commit)?;
        let (tree, changed) = examine_commit(&commits, oid(&fork)?, id, &ProtectedPaths::nothing())?;
        let patch = self.patch(remote.repository, &fork, &commit)?;
        Ok(FetchedBranch { commit, tree, changed, patch })
    }

    /// Fetches the commit of a pull request and the branch that it is to be merged into. Nothing of ours is written.
    /// `protected` are globs of paths that it must not change, if it is to be published.
    ///
    /// # Errors
    /// If the pull request no longer leads to the commit, or its tree is nothing to work with.
    pub fn fetch_change(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        head: &CommitSha,
        (base_branch, base): (&str, &CommitSha),
        protected: Option<&[String]>,
    ) -> Result<FetchedBranch, GitError> {
        let protected = protected.map_or_else(|| Ok(ProtectedPaths::nothing()), ProtectedPaths::new)?;
        self.fetch(remote, base_branch)?;
        let commits = self.commits(remote.repository)?;
        let id = oid(head)?;
        self.fetch_commit_into(&commits, remote, head, &CommitOrigin::Human.reference(order, "head", id))?;
        self.fetch_submodules(remote, head)?;
        self.fetch_large_files(remote, head)?;
        let fork = self.fork(remote.repository, base_branch, base, head)?;
        let (tree, changed) = examine_commit(&commits, oid(&fork)?, id, &protected)?;
        let patch = self.patch(remote.repository, &fork, head)?;
        Ok(FetchedBranch { commit: head.clone(), tree, changed, patch })
    }
}

/// The tree of a commit that a person made, and up to a thousand paths that differ from `base`.
pub(super) fn examine_commit(
    commits: &Repository,
    base: Oid,
    commit: Oid,
    protected: &ProtectedPaths,
) -> Result<(TreeSha, Vec<String>), GitError> {
    let tree = |id: Oid| commits.find_commit(id).map(|commit| commit.tree_id()).map_err(GitError::from);
    let (before, after) = (tree(base)?, tree(commit)?);
    let odb = commits.odb()?;
    let source = ObjectSource::new(None, &odb, before);
    let mut examination = Examination::new(&source, protected, None);
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
