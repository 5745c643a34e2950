//! The start of an order's work tree, and recreating it when that changes to another commit.
//!
//! The start is recorded in our own file, beside what the agent can write. The file says `making` while origin and work
//! tree are being replaced, so that a killed process does not leave a partial result in use.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use git2::{Oid, PackBuilder, Repository};

use super::remote::oid;
use super::{GitError, GitErrorKind, OrderDirs, Workspaces, keep_whole, remove_all, walk};
use journeyman_order::{BranchName, CommitSha, RepositoryName};

/// The file's content during a replacement.
const MAKING: &str = "making";
/// The agent's own notes beside its work, mainly plans; they outlast a work tree.
const KEPT: &str = ".journeyman";

/// The start of the work, if it is not the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartPoint<'a> {
    /// Any commit that is here: ours or a person's.
    pub commit: &'a CommitSha,
    /// The order's branch at that commit.
    pub branch: &'a BranchName,
}

/// The recorded form of a start: the commit, and the branch if it is not the base.
pub(super) fn line(base: &CommitSha, start: Option<StartPoint<'_>>) -> String {
    match start {
        None => base.to_string(),
        Some(StartPoint { commit, branch }) => format!("{commit} {branch}"),
    }
}

/// The recorded start; `None` for orders older than the file, which began with the base. During a replacement it
/// matches no start.
pub(super) fn recorded(places: &OrderDirs) -> Result<Option<String>, GitError> {
    let path = file(places);
    match std::fs::read(&path) {
        // A damaged file matches no start.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(GitError::file("read", &path, &error)),
    }
}

/// Records a replacement before it begins.
pub(super) fn making(places: &OrderDirs) -> Result<(), GitError> {
    record(places, MAKING)
}

/// Records the start once everything is in place.
pub(super) fn record(places: &OrderDirs, line: &str) -> Result<(), GitError> {
    keep_whole(&file(places), format!("{line}\n").as_bytes())
}

/// Deletes the record, because nothing is there any more.
pub(super) fn forget(places: &OrderDirs) -> Result<(), GitError> {
    remove_all(&file(places))
}

fn file(places: &OrderDirs) -> PathBuf {
    places.root.join("begins")
}

/// Empties a work tree except for the agent's notes. The folder itself stays. Follows no links.
pub(super) fn empty(work: &Path) -> Result<(), GitError> {
    let said = |error: std::io::Error| GitError::file("empty", work, &error);
    for entry in std::fs::read_dir(work).map_err(said)? {
        let entry = entry.map_err(said)?;
        if entry.file_name() == KEPT {
            continue;
        }
        if entry.file_type().map_err(said)?.is_dir() {
            remove_all(&entry.path())?;
        } else {
            std::fs::remove_file(entry.path()).map_err(said)?;
        }
    }
    Ok(())
}

impl Workspaces {
    /// The base branches' commits known to the mirror. A copy of its packs made afterwards contains them all.
    pub(super) fn known(&self, repository: &RepositoryName) -> Result<Vec<Oid>, GitError> {
        let mirror = self.mirror(repository)?;
        let heads = mirror.references_glob("refs/mirror/*")?;
        let mut known = Vec::new();
        for head in heads {
            known.extend(head?.target());
        }
        // Hiding a commit makes libgit2 walk its tree.
        let is_within = |known: &Oid| {
            self.tree_within(&mirror, *known)
                .map_or_else(|error| error.kind != GitErrorKind::NotForUs, |_| true)
        };
        known.retain(is_within);
        Ok(known)
    }

    /// Copies into an origin exactly what a commit needs beyond what is `known` there.
    pub(super) fn copy_commit(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        known: &[Oid],
        origin: &Repository,
    ) -> Result<(), GitError> {
        let commits = self.commits(repository)?;
        self.require_walk_within(&commits, oid(commit)?, known)?;
        let mut walk = walk(&commits, oid(commit)?, known.iter().copied())?;
        copy_pack(&commits, origin, |pack| pack.insert_walk(&mut walk)).map_err(GitError::from)
    }
}

/// Copies objects from one repository to another, as a pack.
pub(super) fn copy_pack(
    from: &Repository,
    to: &Repository,
    fill: impl FnOnce(&mut PackBuilder<'_>) -> Result<(), git2::Error>,
) -> Result<(), git2::Error> {
    let mut pack = from.packbuilder()?;
    pack.set_threads(1);
    fill(&mut pack)?;
    if pack.object_count() == 0 {
        return Ok(());
    }
    let odb = to.odb()?;
    let mut writer = odb.packwriter()?;
    let mut fault = None;
    pack.foreach(|bytes| match writer.write_all(bytes) {
        Ok(()) => true,
        Err(error) => {
            fault = Some(error);
            false
        }
    })
    .map_err(|error| fault.as_ref().map_or(error, |fault| git2::Error::from_str(&fault.to_string())))?;
    writer.commit()?;
    Ok(())
}
