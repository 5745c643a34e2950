//! Limits on the size of a tree. Writing, comparing or walking a tree costs as much as its depth and names ask for: a
//! repository of a few kilobytes can name one folder in another a thousand times over, or one file a million times.
//!
//! May know: trees and the sizes of what is in them. Must never know: what they are needed for.
//!
//! Every tree of a commit passes [`Workspaces::tree_within`] before libgit2 or our code recurses into it. This module
//! does not recurse: it reads folders one after the other, each once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::PoisonError;

use git2::{ObjectType, Odb, Oid, Repository, Tree};

use super::tree::raw_entries;
use super::{GitError, GitErrorKind, Workspaces, walk};
use journeyman_order::bounds::MOST_ENTRIES;

/// Nested folders.
const DEEPEST: u64 = 256;
/// Total size of all files, counted once per name.
const MOST_CONTENT: u64 = 16 << 30;
/// Size of one file, which is read as a whole.
const LARGEST_FILE: u64 = 1 << 30;
/// Total length of all paths.
const MOST_PATHS: u64 = 512 << 20;
/// Size of one folder's object: about a million names.
pub(super) const LARGEST_FOLDER: u64 = 64 << 20;
/// Bytes that must stay free on a disk where files are written.
const KEPT_FREE: u64 = 1 << 30;
/// Bytes that must stay free for git's objects. With less, nothing is fetched or imported.
pub const KEPT_FREE_OF_OBJECTS: u64 = 256 << 20;
/// A tree is small if this many times its size stays free.
const SMALL_PART: u64 = 16;
/// Least disk space of a file or folder.
const BLOCK: u64 = 4 << 10;
/// Number of trees whose sizes are cached.
const MOST_KNOWN: usize = 4_000;

/// Measured trees of all repositories: an object with this id is the same everywhere.
pub(super) type KnownTreeSizes = HashMap<Oid, Result<TreeSize, String>>;

/// The tree of a submodule's commit, if it is here, by the number of submodules around it.
pub(super) type SubmoduleTree<'a> = dyn Fn(Oid, usize) -> Option<Oid> + 'a;

/// The size of a tree. Each folder and file counts once per name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreeSize {
    deep: u64,
    entries: u64,
    content: u64,
    paths: u64,
}

impl TreeSize {
    /// Adds files of these sizes that are not in git.
    pub(super) fn with_files(self, sizes: impl Iterator<Item = u64>) -> Self {
        Self { content: sizes.fold(self.content, u64::saturating_add), ..self }
    }

    /// The limit that the tree exceeds, if any.
    pub(super) fn excess(self) -> Option<String> {
        match self {
            Self { deep, .. } if deep > DEEPEST => Some(too_deep()),
            Self { entries, .. } if entries > MOST_ENTRIES as u64 => Some(too_many()),
            Self { content, .. } if content > MOST_CONTENT => {
                Some(format!("holds more than {} GiB, each file counted by every name", MOST_CONTENT >> 30))
            }
            Self { paths, .. } if paths > MOST_PATHS => {
                Some(format!("has paths of more than {} MiB", MOST_PATHS >> 20))
            }
            Self { .. } => None,
        }
    }

    /// Checks for room on the disk. A small tree needs little reserve, so it fits even on a small disk.
    pub(super) fn require_room(self, at: &Path) -> Result<(), GitError> {
        let needed = self.content.saturating_add(self.entries.saturating_mul(BLOCK));
        require_room(at, needed, KEPT_FREE.min(needed.saturating_mul(SMALL_PART)))
    }

    fn add_folder(&mut self, name: u64, folder: Self) {
        self.deep = self.deep.max(folder.deep.saturating_add(1));
        self.entries = self.entries.saturating_add(folder.entries);
        self.content = self.content.saturating_add(folder.content);
        let above = name.saturating_add(1).saturating_mul(folder.entries);
        self.paths = self.paths.saturating_add(folder.paths).saturating_add(above);
    }
}

fn too_deep() -> String {
    format!("has folders more than {DEEPEST} deep")
}

fn too_many() -> String {
    format!("has more than {MOST_ENTRIES} files and folders")
}

/// Checks that `needed` bytes can be written and `kept` bytes stay free. Passes if the disk does not report its free
/// space.
pub(super) fn require_room(at: &Path, needed: u64, kept: u64) -> Result<(), GitError> {
    let Some(free) = free_bytes(at) else { return Ok(()) };
    if free >= needed.saturating_add(kept) {
        return Ok(());
    }
    let message = format!(
        "there is no room: {} MiB are needed in {at:?}, {} MiB have to stay free and {} MiB are free (it will be tried again)",
        needed >> 20,
        kept >> 20,
        free >> 20
    );
    Err(GitError::new(GitErrorKind::Unavailable, message))
}

/// Free bytes on the disk of a path that may not exist yet; `None` if the file system does not say.
#[must_use]
pub fn free_bytes(at: &Path) -> Option<u64> {
    let found = at.ancestors().find_map(|place| rustix::fs::statvfs(place).ok())?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

pub(super) trait TreeObjects {
    /// Kind and size; `None` if the object is missing.
    fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError>;
    fn folder(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError>;
}

impl TreeObjects for Odb<'_> {
    fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError> {
        match self.read_header(id) {
            Ok((size, kind)) => Ok(Some((kind, size as u64))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn folder(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError> {
        Ok(Some(self.read(id)?.data().to_vec()))
    }
}

struct TreeMeasure<'a, O> {
    objects: &'a O,
    submodules: Option<&'a SubmoduleTree<'a>>,
    /// Sizes of folders, by id and number of submodules around them.
    known: HashMap<(Oid, usize), TreeSize>,
    sizes: HashMap<Oid, u64>,
    seen: u64,
    is_whole: bool,
}

/// A folder that is being measured.
struct MeasuredFolder {
    key: (Oid, usize),
    size: TreeSize,
    /// Its subfolders, each with the length of its name.
    folders: Vec<((Oid, usize), u64)>,
}

impl<'a, O: TreeObjects> TreeMeasure<'a, O> {
    fn new(objects: &'a O, submodules: Option<&'a SubmoduleTree<'a>>) -> Self {
        let (known, sizes) = (HashMap::new(), HashMap::new());
        Self { objects, submodules, known, sizes, seen: 0, is_whole: true }
    }

    /// The size of a tree, or the limit that it exceeds.
    fn measure(&mut self, tree: Oid) -> Result<Result<TreeSize, String>, GitError> {
        let mut open = Vec::new();
        match self.open((tree, 0))? {
            Ok(folder) => open.push(folder),
            Err(why) => return Ok(Err(why)),
        }
        while let Some(folder) = open.last_mut() {
            if let Some((inner, name)) = folder.folders.pop() {
                if let Some(size) = self.known.get(&inner).copied() {
                    folder.size.add_folder(name, size);
                    if let Some(why) = folder.size.excess() {
                        return Ok(Err(why));
                    }
                    continue;
                }
                // Measure the inner folder first, then come back.
                folder.folders.push((inner, name));
                if open.len() as u64 > DEEPEST {
                    return Ok(Err(too_deep()));
                }
                match self.open(inner)? {
                    Ok(folder) => open.push(folder),
                    Err(why) => return Ok(Err(why)),
                }
            } else if let Some(done) = open.pop() {
                self.known.insert(done.key, done.size);
                if open.is_empty() {
                    return Ok(Ok(done.size));
                }
            }
        }
        Ok(Ok(TreeSize::default()))
    }

    fn file(&mut self, id: Oid) -> Result<u64, GitError> {
        if let Some(size) = self.sizes.get(&id) {
            return Ok(*size);
        }
        let found = self.objects.header(id)?.map(|(_, size)| size);
        self.is_whole &= found.is_some();
        let size = found.unwrap_or_default();
        self.sizes.insert(id, size);
        Ok(size)
    }

    /// Reads a folder and counts its files. Reading stops at malformed data, where libgit2 stops too.
    fn open(&mut self, key: (Oid, usize)) -> Result<Result<MeasuredFolder, String>, GitError> {
        let (id, nested) = key;
        let mut folder = MeasuredFolder { key, size: TreeSize::default(), folders: Vec::new() };
        let bytes = match self.objects.header(id)? {
            Some((ObjectType::Tree, size)) if size > LARGEST_FOLDER => {
                return Ok(Err(format!("has a folder with names of more than {} MiB", LARGEST_FOLDER >> 20)));
            }
            Some((ObjectType::Tree, _)) => self.objects.folder(id)?,
            Some(_) | None => None,
        };
        self.is_whole &= bytes.is_some();
        for (mode, name, id) in raw_entries(bytes.as_deref().unwrap_or_default()) {
            self.seen += 1;
            folder.size.entries += 1;
            folder.size.paths += name.len() as u64 + 1;
            if self.seen > MOST_ENTRIES as u64 {
                return Ok(Err(too_many()));
            }
            match mode & 0o170_000 {
                0o040_000 => folder.folders.push(((id, nested), name.len() as u64)),
                0o160_000 => {
                    if let Some(tree) = self.submodules.and_then(|tree| tree(id, nested)) {
                        folder.folders.push(((tree, nested + 1), name.len() as u64));
                    }
                }
                _ => {
                    let size = self.file(id)?;
                    if size > LARGEST_FILE {
                        let name: String = String::from_utf8_lossy(name).escape_debug().take(100).collect();
                        return Ok(Err(format!(
                            "has a file of more than {} GiB: {name}",
                            LARGEST_FILE >> 30
                        )));
                    }
                    folder.size.content = folder.size.content.saturating_add(size);
                }
            }
        }
        Ok(folder.size.excess().map_or(Ok(folder), Err))
    }
}

/// The limit that a tree exceeds, if any.
pub(super) fn excess(objects: &impl TreeObjects, tree: Oid) -> Result<Option<String>, GitError> {
    let mut measure = TreeMeasure::new(objects, None);
    Ok(measure.measure(tree)?.err())
}

/// The tree of a commit, if within the limits, for callers with their own repository.
pub fn bounded_tree(repository: &Repository, commit: Oid) -> Result<Tree<'_>, GitError> {
    let tree = repository.find_commit(commit).and_then(|commit| commit.tree())?;
    match excess(&repository.odb()?, tree.id())? {
        Some(why) => Err(over(commit, &why)),
        None => Ok(tree),
    }
}

/// Returns the size if it is within the limits.
pub(super) fn require(size: TreeSize, commit: Oid) -> Result<TreeSize, GitError> {
    size.excess().map_or(Ok(size), |why| Err(over(commit, &why)))
}

fn over(commit: Oid, why: &str) -> GitError {
    GitError::new(GitErrorKind::NotForUs, format!("the commit {commit} {why}"))
}

impl Workspaces {
    /// The tree of a commit, if within the limits.
    ///
    /// # Errors
    /// [`GitErrorKind::NotForUs`] if it exceeds a limit or the commit is missing.
    pub(super) fn tree_within<'r>(
        &self,
        repository: &'r Repository,
        commit: Oid,
    ) -> Result<Tree<'r>, GitError> {
        let tree = repository.find_commit(commit).and_then(|commit| commit.tree())?;
        self.size_within(&repository.odb()?, None, (commit, tree.id()))?;
        Ok(tree)
    }

    /// The size of a commit's tree with its available submodules, if within the limits.
    pub(super) fn size_within(
        &self,
        objects: &Odb<'_>,
        submodules: Option<&SubmoduleTree<'_>>,
        (commit, tree): (Oid, Oid),
    ) -> Result<TreeSize, GitError> {
        self.measured(objects, submodules, tree)?.map_err(|why| over(commit, &why))
    }

    /// The size of a tree, or the limit that it exceeds.
    pub(super) fn measured(
        &self,
        objects: &impl TreeObjects,
        submodules: Option<&SubmoduleTree<'_>>,
        tree: Oid,
    ) -> Result<Result<TreeSize, String>, GitError> {
        // Later fetches change what is behind a submodule's commit, so that is not cached.
        let is_remembered = submodules.is_none();
        let remembered = || self.inner.tree_sizes.lock().unwrap_or_else(PoisonError::into_inner);
        if is_remembered && let Some(size) = remembered().get(&tree) {
            return Ok(size.clone());
        }
        let mut measure = TreeMeasure::new(objects, submodules);
        let measured = measure.measure(tree)?;
        // An incomplete size would ignore objects that arrive later.
        if is_remembered && (measure.is_whole || measured.is_err()) {
            let mut all = remembered();
            if all.len() >= MOST_KNOWN {
                all.clear();
            }
            all.insert(tree, measured.clone());
        }
        Ok(measured)
    }

    /// Checks that the trees of all commits for a pack are within the limits: libgit2 recurses into all of them.
    pub(super) fn require_walk_within(
        &self,
        commits: &Repository,
        tip: Oid,
        known: &[Oid],
    ) -> Result<(), GitError> {
        for commit in walk(commits, tip, known.iter().copied())? {
            self.tree_within(commits, commit?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
