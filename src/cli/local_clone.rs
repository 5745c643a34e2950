//! Detects what a user's clone lacks. git would fetch it on demand; we do not.
//!
//! May know: git's own files and settings. Must never know: what the clone is for.

use std::path::Path;

use git2::{Oid, Repository};

use super::UsageError;
#[cfg(feature = "emulator")]
use super::live::one_line;
use crate::app::bounded_tree;

/// Why there is no commit to work on.
pub(super) fn without_commit(path: &Path, error: &git2::Error) -> UsageError {
    let is_new = error.code() == git2::ErrorCode::UnbornBranch;
    let what = if is_new { "it has no commit yet" } else { error.message() };
    UsageError(format!("--repo {}: {what}; name a git repository with at least one commit", path.display()))
}

/// The error if needed files are missing in a clone.
pub(super) const PARTIAL: &str =
    "the clone is partial, and work needs all files: clone it again without `--filter`";

/// Whether the history is cut off. For an additional work tree, git stores that in the main one's folder, where libgit2
/// does not look.
#[cfg(feature = "emulator")]
pub(super) fn is_shallow(repository: &Repository) -> bool {
    let ends = repository.commondir().join("shallow").metadata();
    repository.is_shallow() || ends.is_ok_and(|found| found.len() > 0)
}

/// Whether git omits objects until they are needed.
pub(super) fn is_partial(repository: &Repository) -> bool {
    let Ok(config) = repository.config() else { return false };
    let Ok(mut promisors) = config.entries(Some(r"^remote\..*\.promisor$")) else { return false };
    promisors.next().is_some_and(|entry| entry.is_ok())
}

/// Refuses a clone that lost one of a commit's files: a fetch from it fails as if a server were down. Whatever else is
/// wrong with the tree is noticed where it is read.
#[cfg(feature = "emulator")]
pub(super) fn require_files_of(repository: &Repository, commit: Oid) -> Result<(), UsageError> {
    let Ok(Some((id, file))) = missing_object(repository, commit) else { return Ok(()) };
    let id: String = id.to_string().chars().take(8).collect();
    let file = one_line(&file);
    let fix = "`git fetch --refetch` may bring it, or clone it again";
    Err(UsageError(format!("--repo: the clone lacks the object {id} of {file}: {fix}")))
}

/// The first missing object of a commit's tree and its path; `None` if all files are there, whatever its history.
pub(super) fn missing_object(repository: &Repository, commit: Oid) -> anyhow::Result<Option<(Oid, String)>> {
    let objects = repository.odb()?;
    let root = repository.find_commit(commit)?.tree_id();
    if !objects.exists(root) {
        return Ok(Some((root, ".".to_owned())));
    }
    let mut missing = None;
    let walked = bounded_tree(repository, commit)?.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        // A submodule's commit belongs to another repository.
        if entry.kind() == Some(git2::ObjectType::Commit) || objects.exists(entry.id()) {
            return git2::TreeWalkResult::Ok;
        }
        let name = String::from_utf8_lossy(entry.name_bytes());
        missing = Some((entry.id(), format!("{folder}{name}")));
        git2::TreeWalkResult::Abort
    });
    if missing.is_none() {
        walked?;
    }
    Ok(missing)
}
