//! Detects what a user's clone lacks. git would fetch it on demand; we do not.
//!
//! May know: git's own files and settings. Must never know: what the clone is for.

use std::path::Path;

use super::UsageError;
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
pub(super) fn is_shallow(repository: &git2::Repository) -> bool {
    let ends = repository.commondir().join("shallow").metadata();
    repository.is_shallow() || ends.is_ok_and(|found| found.len() > 0)
}

/// Whether git omits objects until they are needed.
pub(super) fn is_partial(repository: &git2::Repository) -> bool {
    let Ok(config) = repository.config() else { return false };
    let Ok(mut promisors) = config.entries(Some(r"^remote\..*\.promisor$")) else { return false };
    promisors.next().is_some_and(|entry| entry.is_ok())
}

/// Whether it has all files of a commit, whatever its history.
pub(super) fn has_files_of(repository: &git2::Repository, commit: &git2::Commit<'_>) -> bool {
    let Ok(objects) = repository.odb() else { return false };
    let mut is_whole = true;
    let Ok(tree) = bounded_tree(repository, commit.id()) else { return false };
    let walked = tree.walk(git2::TreeWalkMode::PreOrder, |_, entry| {
        // A submodule's commit belongs to another repository.
        is_whole &= entry.kind() == Some(git2::ObjectType::Commit) || objects.exists(entry.id());
        if is_whole { git2::TreeWalkResult::Ok } else { git2::TreeWalkResult::Abort }
    });
    is_whole && walked.is_ok()
}
