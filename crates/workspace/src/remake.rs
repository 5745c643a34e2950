//! Repositories of ours that are damaged: Journeyman deletes them and fetches them again. Commits that were not pushed are lost.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use git2::{ObjectType, Oid, Repository};

use super::bounds::LARGEST_FOLDER;
use super::tree::raw_entries;
use super::{GitError, GitErrorKind, Remote, Workspaces, folder};
use journeyman_order::{CommitSha, RepositoryName};

impl Workspaces {
    /// Reads through the mirror of a repository, the commits that rest on it and what else is `needed` as far as it is here. If
    /// something is damaged, both are deleted. Says whether they were.
    pub fn discard_damaged(&self, repository: &RepositoryName, needed: &[String]) -> Result<bool, GitError> {
        // Another order that met the same damage must not delete what was fetched since.
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
            // Whoever opens it next deletes what is not complete.
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

    /// All commits, and the files of the latest ones.
    fn read_all(&self, repository: &RepositoryName) -> Result<(), GitError> {
        let said = |error: git2::Error| GitError::local("read through a repository of ours", &error);
        let (mirror, commits) = (self.mirror(repository)?, self.commits(repository)?);
        let mut tips = self.known(repository)?;
        for own in commits.references().map_err(said)? {
            tips.extend(own.map_err(said)?.target());
        }
        for here in [&mirror, &commits] {
            here.find_reference("HEAD").map_err(said)?;
        }
        let mut walk = commits.revwalk().map_err(said)?;
        tips.iter().try_for_each(|tip| walk.push(*tip)).map_err(said)?;
        walk.try_for_each(|commit| commit.map(drop)).map_err(said)?;
        read_trees(&commits, &tips).map_err(said)
    }

    /// Fetches a branch, and the commit that an order knows as its head, wherever the branch is by now.
    pub fn fetch_again(&self, remote: &Remote<'_>, branch: &str, head: &CommitSha) -> Result<(), GitError> {
        let fetched = self.fetch(remote, branch);
        match self.tree_of(remote.repository, head) {
            Ok(_) => drop(fetched?),
            Err(_) => self.fetch_commit(remote, branch, head)?,
        }
        self.fetch_large_files(remote, head)
    }

    /// Reads a commit, or a tree, with all files in it.
    pub fn read_through(&self, repository: &RepositoryName, object: &str) -> Result<(), GitError> {
        let said = |error: git2::Error| GitError::local("read all files of a commit", &error);
        let id = object.parse::<Oid>().map_err(said)?;
        read_trees(&self.commits(repository)?, &[id]).map_err(said)
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
            // A larger one is a file, and too much for the memory.
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

/// Where the repository of commits finds the mirror's objects. Relative, so that the data folder can be moved.
pub(super) fn seen(repository: &RepositoryName) -> String {
    format!("../../../../mirrors/{}/objects\n", folder(repository))
}

/// Has what is written here synced before anything names it, objects and references.
pub(super) fn sync_what_is_written(repository: &Repository) -> Result<(), git2::Error> {
    let mut config = repository.config()?;
    if config.get_bool("core.fsyncObjectFiles").unwrap_or(false) {
        return Ok(());
    }
    config.set_bool("core.fsyncObjectFiles", true)
}
