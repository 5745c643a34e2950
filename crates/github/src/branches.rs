//! Branches of ours are deleted when they are no longer needed.

use serde::Deserialize;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, Result, found};
use super::gate::WritePriority;
use super::permissions::TokenPermissions;
use super::queries::percent_encoded;
use super::service::GitHub;
use super::transport::GitHubRequest;
use journeyman_order::{BranchName, CommitSha};

/// What became of a branch that was to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchDeletion {
    /// It is gone, now or before.
    Gone,
    /// It stays: somebody's commit is on it, or it is protected.
    Kept { because: String },
}

impl GitHub {
    /// Takes a branch away if it is at this commit. Between the look and the deletion lies a moment in which somebody
    /// could push; the pull request keeps what they pushed, and offers to restore the branch.
    pub async fn delete_branch(
        &self,
        at: &InstalledRepository,
        branch: &BranchName,
        commit: &CommitSha,
    ) -> Result<BranchDeletion> {
        #[derive(Deserialize)]
        struct Wire {
            object: ObjectWire,
        }
        #[derive(Deserialize)]
        struct ObjectWire {
            sha: CommitSha,
        }
        let name = branch.as_str().split('/').map(percent_encoded).collect::<Vec<_>>().join("/");
        let look = GitHubRequest::get(at.route(&format!("/git/ref/heads/{name}")));
        let Some(there) = found(self.call(at, TokenPermissions::ReadContents, &look).await)? else {
            return Ok(BranchDeletion::Gone);
        };
        let there: Wire = there.json()?;
        if there.object.sha != *commit {
            let because = format!("it is at {}, and not at {}", there.object.sha.short(), commit.short());
            return Ok(BranchDeletion::Kept { because });
        }
        let delete = GitHubRequest::delete(at.route(&format!("/git/refs/heads/{name}")))
            .yielding(WritePriority::Ordinary);
        match found(self.call(at, TokenPermissions::WriteContents, &delete).await) {
            Ok(_) => Ok(BranchDeletion::Gone),
            // "Reference does not exist", or a rule that forbids it: whichever it is, nothing more is to be done.
            Err(error)
                if error.is_forbidden() || matches!(error.kind, ErrorKind::Invalid | ErrorKind::Conflict) =>
            {
                Ok(BranchDeletion::Kept { because: error.message })
            }
            Err(error) => Err(error),
        }
    }
}
