//! Files of Git LFS: in git stands a pointer, and the content lies on a server beside. Each checkout has the content.
//!
//! May know: trees, the server of the repository, files of ours. Must never know: what the files are needed for.
//! `git-lfs` is never run: it does what the repository says. Nor are attributes read: a text that is a pointer is one.
//!
//! The contents of a repository lie in `lfs/OWNER/NAME.git`, each under its SHA-256, so that no other repository's work ever
//! sees them. Only the server's own answer decides who may read one. Whatever is not to be had is written down with the
//! reason, and its pointer stays what the file holds.

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

use super::{GitError, Workspaces, folder};
use journeyman_order::RepositoryName;
use journeyman_order::bounds::{MOST_NAMED, MOST_PARTS};
use pointer::{LargeFilePointer, POINTER_SIZES};
use store::LargeFileStore;

/// Trees whose pointers are remembered, and the pointers in all of them.
const MOST_REMEMBERED: usize = 64;

/// The pointers of a tree, by their paths.
pub(super) type LargeFilePointers = BTreeMap<PathBuf, LargeFilePointer>;

/// What a tree has of large files, and where their contents are.
#[derive(Debug, Clone, Default)]
pub(super) struct LargeFiles {
    pointers: Arc<LargeFilePointers>,
    pub(super) store: LargeFileStore,
}

impl LargeFiles {
    /// What is at a path, where its content is here.
    pub(super) fn at(&self, path: &Path) -> Option<&LargeFilePointer> {
        self.pointers.get(path).filter(|pointer| self.store.has(pointer))
    }

    pub(super) fn pointers(&self) -> &LargeFilePointers {
        &self.pointers
    }
}

impl Workspaces {
    pub(super) fn large_file_store(&self, repository: &RepositoryName) -> LargeFileStore {
        LargeFileStore::at(self.inner.data.join("lfs").join(folder(repository)))
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

/// Each of these with the reason why its content is not here.
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

/// Those of submodules are not among them: they are another repository's.
pub(super) fn pointers_of(odb: &Odb<'_>, tree: Oid) -> Result<LargeFilePointers, GitError> {
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

/// An object of this kind; none where it is of another.
fn read(odb: &Odb<'_>, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>, GitError> {
    match odb.read(id) {
        Ok(object) if object.kind() == kind => Ok(Some(object.data().to_vec())),
        Ok(_) => Ok(None),
        Err(error) => Err(GitError::local("read an object", &error)),
    }
}
