//! What an order's work tree begins with, and making it anew when that is another commit than before.
//!
//! Which commit it was is kept in a file of ours beside what the agent can write. The file says `making` while origin and
//! work tree are being replaced, so that a process that is killed meanwhile leaves something that is made again.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use git2::{Oid, PackBuilder, Repository};

use super::remote::oid;
use super::{GitError, GitErrorKind, OrderDirs, Workspaces, remove_all, write_whole};
use journeyman_order::{BranchName, CommitSha, RepositoryName};

/// What stands in the file while things are replaced.
const MAKING: &str = "making";
/// What an agent wrote for itself beside its work, plans above all: it outlasts a work tree.
const KEPT: &str = ".journeyman";

/// Where work begins, when that is not the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartPoint<'a> {
    /// Any commit that is here: one of ours, or a person's.
    pub commit: &'a CommitSha,
    /// The order's branch, which is at that commit.
    pub branch: &'a BranchName,
}

/// What is written of a start: the commit, and the branch when it is not the base.
pub(super) fn line(base: &CommitSha, start: Option<StartPoint<'_>>) -> String {
    match start {
        None => base.to_string(),
        Some(StartPoint { commit, branch }) => format!("{commit} {branch}"),
    }
}

/// What is there began with this; none in orders from before there was the file, where it was the base. While things are
/// replaced it is no start.
pub(super) fn recorded(places: &OrderDirs) -> Result<Option<String>, GitError> {
    let path = file(places);
    match std::fs::read(&path) {
        // A damaged one says that something else is there.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(GitError::file("read", &path, &error)),
    }
}

/// Says that things are being replaced, before the first is touched.
pub(super) fn making(places: &OrderDirs) -> Result<(), GitError> {
    record(places, MAKING)
}

/// Says what is there, after the last was made.
pub(super) fn record(places: &OrderDirs, line: &str) -> Result<(), GitError> {
    let path = file(places);
    write_whole(&path, format!("{line}\n").as_bytes()).map_err(|error| GitError::file("write", &path, &error))
}

/// Says nothing any more: there is nothing.
pub(super) fn forget(places: &OrderDirs) -> Result<(), GitError> {
    remove_all(&file(places))
}

fn file(places: &OrderDirs) -> PathBuf {
    places.root.join("begins")
}

/// Empties a work tree, but for what the agent wrote for itself. The folder stays where it is. No link is followed.
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
    /// What the mirror has been told of the base branches: a copy of its packs that is made afterwards has it all.
    pub(super) fn known(&self, repository: &RepositoryName) -> Result<Vec<Oid>, GitError> {
        let said = |error: git2::Error| GitError::local("look into the mirror", &error);
        let mirror = self.mirror(repository)?;
        let heads = mirror.references_glob("refs/mirror/*").map_err(said)?;
        let mut known = Vec::new();
        for head in heads {
            known.extend(head.map_err(said)?.target());
        }
        // Whoever hides a commit goes down into its tree.
        let is_within = |known: &Oid| {
            self.tree_within(&mirror, *known)
                .map_or_else(|error| error.kind != GitErrorKind::NotForUs, |_| true)
        };
        known.retain(is_within);
        Ok(known)
    }

    /// Copies into an origin what a commit needs besides what is `known` there, and nothing else.
    pub(super) fn copy_commit(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        known: &[Oid],
        origin: &Repository,
    ) -> Result<(), GitError> {
        let said = |error: git2::Error| GitError::local("copy the commit to start from", &error);
        let commits = self.commits(repository)?;
        self.require_walk_within(&commits, oid(commit)?, known)?;
        let mut walk = commits.revwalk().map_err(said)?;
        walk.push(oid(commit)?).map_err(said)?;
        for known in known {
            walk.hide(*known).map_err(said)?;
        }
        copy_pack(&commits, origin, |pack| pack.insert_walk(&mut walk)).map_err(said)
    }
}

/// Copies objects of one repository into another, as a pack.
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
