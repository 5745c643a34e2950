//! Recovers commits that are on GitHub but no longer here, for example with a new data folder.

use super::commit_origin::{CommitOrigin, is_by_us};
use super::remote::{oid, sha};
use super::{GitError, GitErrorKind, Remote, Workspaces, walk};
use journeyman_order::{BranchName, CommitSha, HeadBranch, OrderId, RepositoryName};

/// The commits in an order's journal.
#[derive(Debug, Clone, Default)]
pub struct JournaledCommits {
    pub made: Vec<CommitSha>,
    /// People's commits that the order took in.
    pub taken: Vec<CommitSha>,
}

impl JournaledCommits {
    pub fn all(&self) -> Vec<CommitSha> {
        self.made.iter().chain(&self.taken).cloned().collect()
    }
}

impl Workspaces {
    /// Fetches the order's branch at its present head. Earlier pushes are behind it unless they were removed. Only
    /// commits in the journal get their former role back.
    pub fn fetch_behind(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        branch: impl Into<HeadBranch>,
        known: &JournaledCommits,
    ) -> Result<(), GitError> {
        let branch = branch.into();
        let Some(head) = self.remote_head(remote, branch.as_str())? else { return Ok(()) };
        let commits = self.commits(remote.repository)?;
        match self.fetch_into(&commits, remote, branch.as_str(), &head, &format!("refs/fetched/{order}")) {
            // The branch has changed hands; code that needs it reports the problem.
            Err(error) if matches!(error.kind, GitErrorKind::NotForUs | GitErrorKind::NotFound) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => self.adopt(order, remote.repository, known).map(drop),
        }
    }

    /// Fetches a branch that the order's journal does not know, such as one pushed after the backup that a server was
    /// restored from. If all its commits are ours, it becomes ours. Returns whether it did.
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
        let mut found = Vec::new();
        for id in walk(&commits, oid(&there)?, self.known(remote.repository)?)? {
            let id = id?;
            let commit = commits.find_commit(id)?;
            // An amend or rebase keeps the author and changes the committer.
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
        let known = JournaledCommits { made: found, taken: Vec::new() };
        self.adopt(order, remote.repository, &known).map(|nameless| nameless.is_empty())
    }

    /// Restores the references of commits in the journal, if all their objects and history are here: a forgotten order
    /// has no references any more. Incomplete commits get none, because a fetch would assume that everything is here.
    /// Returns the incomplete ones.
    pub fn adopt(
        &self,
        order: OrderId,
        repository: &RepositoryName,
        known: &JournaledCommits,
    ) -> Result<Vec<CommitSha>, GitError> {
        let commits = self.commits(repository)?;
        let mut nameless = Vec::new();
        let mut bases = self.known(repository)?;
        bases.retain(|base| commits.find_commit(*base).is_ok());
        // Checking commits is enough: other objects come and go with them.
        let is_here = |id: git2::Oid| {
            walk(&commits, id, bases.iter().copied())?
                .try_for_each(|commit| commits.find_commit(commit?)?.tree().map(drop))
        };
        for (origin, name, told) in
            [(CommitOrigin::Bot, "brought", &known.made), (CommitOrigin::Human, "head", &known.taken)]
        {
            let own = origin.all(&commits, order)?;
            for commit in told {
                let id = oid(commit)?;
                if own.contains(&id) {
                    continue;
                }
                match is_here(id) {
                    Ok(()) => {
                        commits.reference(&origin.reference(order, name, id), id, true, "")?;
                    }
                    Err(error) if error.code() == git2::ErrorCode::NotFound => nameless.push(commit.clone()),
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(nameless)
    }
}
