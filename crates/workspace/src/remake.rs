//! Deletes our damaged repositories and fetches them again. Commits that were not pushed are lost.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use git2::{ObjectType, Oid, Repository};

use super::bounds::LARGEST_FOLDER;
use super::tree::raw_entries;
use super::{GitError, GitErrorKind, Remote, Workspaces, folder};
use journeyman_order::{CommitSha, RepositoryName};

impl Workspaces {
    /// Reads the mirror of a repository, the commits based on it and whatever is here of `needed`. If anything is
    /// damaged, it deletes both. Returns whether it did.
    pub fn discard_damaged(&self, repository: &RepositoryName, needed: &[String]) -> Result<bool, GitError> {
        // Another order with the same damage must not delete a fresh fetch.
        let _alone = self.lock_of(format!("damaged {repository}"));
        let read_needed = || {
            needed.iter().try_for_each(|object| match self.read_through(repository, object) {
                Err(error) if error.kind == GitErrorKind::NotFound => Ok(()),
                read => read,
            })
        };
        let Err(damage) = self.read_all(repository).and_then(|()| read_needed()) else { return Ok(false) };
        if !damage.is_ours {
            return Err(damage);
        }
        tracing::warn!(%repository, "repository discarded and fetched again: {damage}");
        let _held = self.lock(repository);
        for kind in ["commits", "mirrors"] {
            // The next access deletes an incomplete repository.
            let complete = self.own_path(kind, repository).join("complete");
            match std::fs::remove_file(&complete) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(GitError::file("remove", &complete, &error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(true)
    }

    /// Reads all commits, and the files of the latest ones.
    fn read_all(&self, repository: &RepositoryName) -> Result<(), GitError> {
        let (mirror, commits) = (self.mirror(repository)?, self.commits(repository)?);
        let mut tips = self.known(repository)?;
        for own in commits.references()? {
            tips.extend(own?.target());
        }
        for here in [&mirror, &commits] {
            here.find_reference("HEAD")?;
        }
        let mut walk = commits.revwalk()?;
        tips.iter().try_for_each(|tip| walk.push(*tip))?;
        walk.try_for_each(|commit| commit.map(drop))?;
        read_trees(&commits, &tips).map_err(GitError::from)
    }

    /// Fetches a branch, and the order's known head even if the branch has moved.
    pub fn fetch_again(&self, remote: &Remote<'_>, branch: &str, head: &CommitSha) -> Result<(), GitError> {
        let fetched = self.fetch(remote, branch);
        match self.tree_of(remote.repository, head) {
            Ok(_) => drop(fetched?),
            Err(_) => self.fetch_commit(remote, branch, head)?,
        }
        self.fetch_large_files(remote, head)
    }

    /// Reads a commit or tree with all its files.
    pub fn read_through(&self, repository: &RepositoryName, object: &str) -> Result<(), GitError> {
        let id = object.parse::<Oid>()?;
        read_trees(&self.commits(repository)?, &[id]).map_err(GitError::from)
    }

    pub(super) fn own_path(&self, kind: &str, repository: &RepositoryName) -> PathBuf {
        self.inner.data.join(kind).join(folder(repository))
    }
}

fn read_trees(repository: &Repository, tips: &[Oid]) -> Result<(), git2::Error> {
    let (objects, mut known) = (repository.odb()?, HashSet::new());
    for tip in tips {
        let mut open = vec![repository.find_object(*tip, None)?.peel_to_tree()?.id()];
        while let Some(id) = open.pop() {
            // A larger object is a file, and too large for memory.
            if !known.insert(id) || objects.read_header(id)?.0 as u64 > LARGEST_FOLDER {
                continue;
            }
            let object = objects.read(id)?;
            if object.kind() == ObjectType::Tree {
                let inside = raw_entries(object.data()).filter(|(mode, ..)| mode & 0o170_000 != 0o160_000);
                open.extend(inside.map(|(.., id)| id));
            }
        }
    }
    Ok(())
}

/// The path from the commits repository to the mirror's objects. Relative, so that the data folder can be moved.
pub(super) fn seen(repository: &RepositoryName) -> String {
    format!("../../../../mirrors/{}/objects\n", folder(repository))
}

/// Syncs objects and references before anything refers to them.
pub(super) fn sync_what_is_written(repository: &Repository) -> Result<(), git2::Error> {
    let mut config = repository.config()?;
    if config.get_bool("core.fsyncObjectFiles").unwrap_or(false) {
        return Ok(());
    }
    config.set_bool("core.fsyncObjectFiles", true)
}
