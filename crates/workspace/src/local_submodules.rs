//! Submodules of a local repository: we copy those checked out in the clone and fetch nothing.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository};
use url::Url;

use super::bounds;
use super::submodules::{keep, kept};
use super::worktree_base::copy_pack;
use super::{GitError, Workspaces};
use journeyman_order::bounds::{MOST_ENTRIES, MOST_LOOKED_AT};
use journeyman_order::{CommitSha, RepositoryName};

/// Git's folder for submodules. Their names may contain slashes, so folders below are searched too.
const FOLDER: &str = "modules";
const MISSING: &str = "it is not in this clone; `git submodule update --init --recursive` gets it";
const NOT_ABSORBED: &str = "its repository lies in its own folder; `git submodule absorbgitdirs` moves it to .git/modules, \
    from where it is taken";
const LEFT_OUT: &str =
    "a repository in .git/modules was left out, since it has links, or objects of other repositories";

impl Workspaces {
    /// Copies the submodules of the checked-out commit.
    pub(super) fn import_local_submodules(
        &self,
        repository: &RepositoryName,
        lender: &Repository,
        head: &CommitSha,
    ) -> Result<(), GitError> {
        let (modules, others): (Vec<_>, Vec<_>) = repositories_below(&lender.commondir().join(FOLDER))
            .into_iter()
            .partition(|path| is_self_contained(path));
        // The advice depends on what is at the submodule's path.
        let missing = |path: &str| {
            let there = lender.workdir().map(|folder| folder.join(path).join(".git"));
            match (there, others.len()) {
                (Some(there), _) if there.is_dir() => NOT_ABSORBED.to_owned(),
                (Some(there), 0) if there.is_file() => format!(
                    "the commit that is recorded is not in its repository; `git submodule update --init {path}` gets it"
                ),
                (_, 0) => MISSING.to_owned(),
                (_, 1) => format!("{MISSING}. {LEFT_OUT}"),
                (_, several) => format!("{MISSING}. {several} times: {LEFT_OUT}"),
            }
        };
        // Addresses do not matter here.
        let nowhere =
            Url::parse("https://localhost/").map_err(|error| GitError::broken(error.to_string()))?;
        let take = |store: &Repository, id: Oid, (of, path): (&Url, &str), _: &str| {
            if let Some(tree) = kept(store, id)? {
                return Ok(Ok((tree, of.clone())));
            }
            let mut opened = modules.iter().filter_map(|path| Repository::open_bare(path).ok());
            let Some(module) = opened.find(|module| module.find_commit(id).is_ok()) else {
                return Ok(Err(missing(path)));
            };
            let tree = module.find_commit(id)?.tree_id();
            if let Some(why) = bounds::excess(&module.odb()?, tree)? {
                return Ok(Err(format!("it {why}")));
            }
            copy(&module, store, (id, tree))?;
            Ok(keep(store, id, tree)?.map(|()| (tree, of.clone())))
        };
        self.gather_submodules(repository, (lender, head), &nowhere, &take)
    }
}

/// Copies a commit with its tree, without its history.
fn copy(from: &Repository, to: &Repository, (id, tree): (Oid, Oid)) -> Result<(), git2::Error> {
    copy_pack(from, to, |pack| {
        pack.insert_object(id, None)?;
        pack.insert_tree(tree)
    })
}

fn repositories_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open, mut looked) = (Vec::new(), vec![folder.to_owned()], 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            let path = entry.path();
            if looked > MOST_LOOKED_AT || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let is_repository = path.join("HEAD").is_file() && path.join("objects").is_dir();
            // Nested submodules are in its own folder of this name.
            open.push(if is_repository { path.join(FOLDER) } else { path.clone() });
            if is_repository {
                found.push(path);
            }
        }
    }
    found
}

/// Whether a repository consists of its own files and folders: no links out of it, nothing that blocks on reading, no
/// objects elsewhere. Another user may have made the clone.
fn is_self_contained(repository: &Path) -> bool {
    let kind = |path: &Path| std::fs::symlink_metadata(path).map(|found| found.file_type());
    let is_there = |name: &str| kind(&repository.join(name)).is_ok();
    let is_file_if_there = |name: &str| kind(&repository.join(name)).map_or(true, |kind| kind.is_file());
    if is_there("commondir") || is_there("objects/info/alternates") {
        return false;
    }
    let mut looked = 0;
    let mut open = vec![repository.join("objects"), repository.join("refs")];
    while let Some(folder) = open.pop() {
        if !kind(&folder).is_ok_and(|kind| kind.is_dir()) {
            return false;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            match entry.file_type() {
                Ok(kind) if looked <= MOST_ENTRIES && kind.is_dir() => open.push(entry.path()),
                Ok(kind) if looked <= MOST_ENTRIES && kind.is_file() => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }
    ["HEAD", "config", "packed-refs", "shallow"].into_iter().all(is_file_if_there)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_repository_with_anything_of_elsewhere_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let other = place.path().join("other");
        Repository::init_bare(&other).unwrap();
        fs::write(other.join("objects/pack/pack-1.pack"), "theirs").unwrap();
        let made = |name: &str, change: &dyn Fn(&Path)| {
            let path = place.path().join(name);
            Repository::init_bare(&path).unwrap();
            change(&path);
            is_self_contained(&path)
        };
        assert!(made("plain", &|_| {}));
        assert!(!made("alternates", &|path| {
            fs::write(path.join("objects/info/alternates"), other.join("objects").to_str().unwrap()).unwrap();
        }));
        assert!(!made("commondir", &|path| fs::write(path.join("commondir"), "../other").unwrap()));
        assert!(!made("objects", &|path| {
            fs::remove_dir_all(path.join("objects")).unwrap();
            symlink(other.join("objects"), path.join("objects")).unwrap();
        }));
        assert!(!made("pack", &|path| {
            symlink(other.join("objects/pack/pack-1.pack"), path.join("objects/pack/pack-1.pack")).unwrap();
        }));
        assert!(!made("waits", &|path| {
            fs::remove_file(path.join("config")).unwrap();
            let mode = rustix::fs::Mode::RUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path.join("config"), rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }));
    }
}
