//! Process-wide settings of libgit2, and its transport.

use std::sync::OnceLock;

use git2::{ConfigLevel, Oid};

use super::GitError;
use journeyman_order::CommitSha;

/// Makes libgit2 ignore the machine's configuration and refuse objects with a wrong hash or missing references. Runs
/// once.
pub(super) fn harden() -> Result<(), GitError> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    DONE.get_or_init(|| set().map_err(|error| error.message().to_owned()))
        .clone()
        .map_err(|said| GitError::broken(format!("the settings of libgit2 could not be made: {said}")))
}

#[allow(unsafe_code)]
fn set() -> Result<(), git2::Error> {
    git2::opts::strict_object_creation(true);
    git2::opts::strict_hash_verification(true);
    super::git_wire::register()?;
    let levels = [ConfigLevel::ProgramData, ConfigLevel::System, ConfigLevel::XDG, ConfigLevel::Global];
    // SAFETY: these write process-wide variables of libgit2. Whoever uses it here first makes a `Workspaces`, which
    // comes through here, and `OnceLock` lets one thread in and the others wait.
    unsafe {
        for level in levels {
            git2::opts::set_search_path(level, "")?;
        }
        // A person's `safe.directory` was checked when their clone was first opened; from here on it is not read.
        git2::opts::set_verify_owner_validation(false)?;
    }
    Ok(())
}

pub(super) fn sha(id: Oid) -> Result<CommitSha, GitError> {
    id.to_string().parse().map_err(|error| GitError::broken(format!("{error}")))
}

pub(super) fn oid(sha: &CommitSha) -> Result<Oid, GitError> {
    Oid::from_str(sha.as_str()).map_err(GitError::from)
}
