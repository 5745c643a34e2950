//! Files of Git LFS: git stores a pointer, and a server has the content. Each checkout gets the content.
//!
//! May know: trees, the server of the repository, our own files. Must never know: what the files are needed for.
//! `git-lfs` never runs, because the repository controls it. Attributes are ignored: the text alone makes a pointer.
//!
//! The contents of a repository are in `lfs/OWNER/NAME.git`, each under its SHA-256, hidden from the work on other
//! repositories. Only the server's answer decides who may read one. If a content is unavailable, the reason is
//! recorded and the file stays a pointer.

mod batch;
mod fetch;
pub(super) mod filter;
mod local;
mod near;
pub(super) mod pointer;
pub(super) mod refusals;
pub(super) mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use git2::{ObjectType, Odb, Oid};

use super::{GitError, Workspaces};
use journeyman_order::RepositoryName;
use journeyman_order::bounds::{MOST_NAMED, MOST_PARTS};
use pointer::{LargeFilePointer, POINTER_SIZES};
use store::LargeFileStore;

/// Most trees whose pointers are cached.
const MOST_REMEMBERED: usize = 64;

/// The pointers of a tree, by path.
pub(super) type LargeFilePointers = BTreeMap<PathBuf, LargeFilePointer>;

/// The large files of a tree, and the store of their contents.
#[derive(Debug, Clone, Default)]
pub(super) struct LargeFiles {
    pointers: Arc<LargeFilePointers>,
    pub(super) store: LargeFileStore,
}

impl LargeFiles {
    /// The pointer at a path, if its content is here.
    pub(super) fn at(&self, path: &Path) -> Option<&LargeFilePointer> {
        self.pointers.get(path).filter(|pointer| self.store.has(pointer))
    }

    pub(super) fn pointers(&self) -> &LargeFilePointers {
        &self.pointers
    }
}

impl Workspaces {
    pub(super) fn large_file_store(&self, repository: &RepositoryName) -> LargeFileStore {
        LargeFileStore::at(self.own_path("lfs", repository))
    }

    /// The large files of a tree that is here.
    pub(super) fn large_files(
        &self,
        repository: &RepositoryName,
        odb: &Odb<'_>,
        tree: Oid,
    ) -> Result<LargeFiles, GitError> {
        let store = self.large_file_store(repository);
        let remembered = || self.inner.large_files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pointers) = remembered().get(&tree) {
            return Ok(LargeFiles { pointers: Arc::clone(pointers), store });
        }
        let pointers = Arc::new(pointers_of(odb, tree)?);
        let mut all = remembered();
        let count = all.values().map(|pointers| pointers.len()).sum::<usize>();
        if all.len() >= MOST_REMEMBERED || count > MOST_PARTS {
            all.clear();
        }
        all.insert(tree, Arc::clone(&pointers));
        Ok(LargeFiles { pointers, store })
    }
}

/// Each file with the reason why its content is not here.
pub(super) fn missing<'p>(
    store: &LargeFileStore,
    absent: impl Iterator<Item = (&'p Path, &'p LargeFilePointer)>,
) -> Vec<String> {
    let reason =
        |pointer: &LargeFilePointer| store.reason(pointer).unwrap_or_else(|| "it was not fetched".to_owned());
    absent
        .take(MOST_NAMED)
        .map(|(path, pointer)| format!("{}: {}", path.display(), reason(pointer)))
        .collect()
}

/// The pointers of a tree, without those of submodules, which belong to other repositories.
fn pointers_of(odb: &Odb<'_>, tree: Oid) -> Result<LargeFilePointers, GitError> {
    use super::tree::{EntryMode, parse};
    let mut pointers = LargeFilePointers::new();
    let mut open = vec![(tree, Vec::new())];
    while let Some((tree, folder)) = open.pop() {
        let entries = read(odb, tree, ObjectType::Tree)?.and_then(|bytes| parse(&bytes)).unwrap_or_default();
        for entry in entries {
            let path = [folder.as_slice(), &entry.name].concat();
            match entry.mode {
                EntryMode::Tree | EntryMode::Other(0o40_000) => {
                    open.push((entry.id, [path.as_slice(), b"/"].concat()));
                }
                EntryMode::File | EntryMode::Executable => {
                    let may_be_one = |(size, kind)| kind == ObjectType::Blob && POINTER_SIZES.contains(&size);
                    if !odb.read_header(entry.id).is_ok_and(may_be_one) {
                        continue;
                    }
                    let bytes = read(odb, entry.id, ObjectType::Blob)?.unwrap_or_default();
                    if let Some(pointer) = LargeFilePointer::parse(&bytes) {
                        pointers.insert(OsStr::from_bytes(&path).into(), pointer);
                    }
                }
                EntryMode::Link | EntryMode::Gitlink | EntryMode::Other(_) => {}
            }
        }
    }
    Ok(pointers)
}

/// An object of this kind; `None` if it is of another kind.
fn read(odb: &Odb<'_>, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>, GitError> {
    match odb.read(id) {
        Ok(object) if object.kind() == kind => Ok(Some(object.data().to_vec())),
        Ok(_) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
