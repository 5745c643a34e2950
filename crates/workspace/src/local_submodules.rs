//! Submodules of a repository on this machine: those that its clone has checked out are here, and nothing is fetched.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository};
use url::Url;

use super::remote::sha;
use super::submodules::{keep, kept};
use super::worktree_base::copy_pack;
use super::{GitError, Workspaces};
use journeyman_order::RepositoryName;

/// Where git keeps them, and folders below that are looked at: names of submodules have slashes.
const FOLDER: &str = "modules";
const MOST_FOLDERS: usize = 2_000;
const MISSING: &str = "it is not in this clone; `git submodule update --init --recursive` gets it";

impl Workspaces {
    /// Those of the commit that is checked out.
    pub(super) fn import_local_submodules(
        &self,
        repository: &RepositoryName,
        lender: &Repository,
    ) -> Result<(), GitError> {
        let Ok(head) = lender.head().and_then(|head| head.peel_to_commit()) else { return Ok(()) };
        let modules = repositories_below(&lender.commondir().join(FOLDER));
        // Addresses are nobody's concern here.
        let nowhere =
            Url::parse("https://localhost/").map_err(|error| GitError::broken(error.to_string()))?;
        let take = |store: &Repository, id: Oid, of: &Url, _: &str| {
            if let Some(tree) = kept(store, id)? {
                return Ok(Ok((tree, of.clone())));
            }
            let mut opened = modules.iter().filter_map(|path| Repository::open_bare(path).ok());
            let Some(module) = opened.find(|module| module.find_commit(id).is_ok()) else {
                return Ok(Err(MISSING.to_owned()));
            };
            let copied = copy(&module, store, id);
            let tree = copied.map_err(|error| GitError::local("copy a submodule", &error))?;
            Ok(keep(store, id, tree)?.map(|()| (tree, of.clone())))
        };
        self.gather_submodules(repository, (lender, &sha(head.id())?), &nowhere, &take)
    }
}

/// A commit with its tree, without those before it.
fn copy(from: &Repository, to: &Repository, id: Oid) -> Result<Oid, git2::Error> {
    let tree = from.find_commit(id)?.tree_id();
    copy_pack(from, to, |pack| {
        pack.insert_object(id, None)?;
        pack.insert_tree(tree)
    })?;
    Ok(tree)
}

fn repositories_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open, mut looked) = (Vec::new(), vec![folder.to_owned()], 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            let path = entry.path();
            if looked > MOST_FOLDERS || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let is_repository = path.join("HEAD").is_file() && path.join("objects").is_dir();
            // Those in one another lie in its own folder of this name.
            open.push(if is_repository { path.join(FOLDER) } else { path.clone() });
            if is_repository {
                found.push(path);
            }
        }
    }
    found
}
