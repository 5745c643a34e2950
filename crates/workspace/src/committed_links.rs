//! The links of a commit, for whoever reads what they lead to.

use super::links::{LinkTarget, TreeLinks};
use super::remote::oid;
use super::source::ObjectSource;
use super::{GitError, Workspaces};
use journeyman_order::{CommitSha, RepositoryName};

#[derive(Debug, Default)]
pub struct CommittedLinks {
    links: TreeLinks,
}

impl Workspaces {
    /// The links of a commit; none of one that has too many files to be looked through.
    pub fn links(&self, repository: &RepositoryName, commit: &CommitSha) -> Result<CommittedLinks, GitError> {
        let said = |error: git2::Error| GitError::local("read the links of a commit", &error);
        let commits = self.commits(repository)?;
        let tree = self.tree_within(&commits, oid(commit)?)?.id();
        let ours = commits.odb().map_err(said)?;
        let links = TreeLinks::of(&ObjectSource::new(None, &ours, tree), tree)?;
        Ok(CommittedLinks { links: links.unwrap_or_default() })
    }
}

impl CommittedLinks {
    /// The other path that a path leads to within the commit; none where no link is on it, or one leads out.
    pub fn behind(&self, path: &str) -> Option<String> {
        match self.links.follow(path) {
            LinkTarget::Inside(end) => (end != path).then_some(end),
            LinkTarget::Outside | LinkTarget::Endless => None,
        }
    }

    /// The names under which links show these paths, each with the path that it stands for.
    pub fn seen_as(&self, paths: &[String]) -> Vec<(String, String)> {
        self.links.seen_as(paths)
    }
}
