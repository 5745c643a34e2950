//! How large a tree may be. Whoever writes, compares or walks through one goes as deep as its folders and writes as much as
//! its names say: a repository of a few kilobytes can name one folder in another a thousand times over, or one file a million
//! times.
//!
//! May know: trees and the sizes of what is in them. Must never know: what they are needed for.
//!
//! Every tree of a commit passes [`Workspaces::tree_within`] before anything of libgit2's or ours goes down into it. Here
//! nothing does: folders are looked at one after the other, and each once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::PoisonError;

use git2::{ObjectType, Odb, Oid, Repository, Tree};

use super::tree::raw_entries;
use super::{GitError, GitErrorKind, Workspaces};
use journeyman_order::bounds::MOST_ENTRIES;

/// Folders in folders.
const DEEPEST: u64 = 256;
/// What all files hold, each by every name that it has.
const MOST_CONTENT: u64 = 16 << 30;
/// What one file holds: it is read as a whole.
const LARGEST_FILE: u64 = 1 << 30;
/// All paths, one after the other.
const MOST_PATHS: u64 = 512 << 20;
/// Names of one folder: a million of them.
pub(super) const LARGEST_FOLDER: u64 = 64 << 20;
/// Bytes that stay free on a disk where files are written.
const KEPT_FREE: u64 = 1 << 30;
/// Bytes that stay free where git's objects are: with less nothing is fetched and nothing taken in.
pub const KEPT_FREE_OF_OBJECTS: u64 = 256 << 20;
/// A tree is small where so many of it stay free as well.
const SMALL_PART: u64 = 16;
/// The least that a file or a folder takes of a disk.
const BLOCK: u64 = 4 << 10;
/// Whole trees whose sizes are remembered.
const MOST_KNOWN: usize = 4_000;

/// Trees of any repository of ours that were measured: an object of this name is the same everywhere.
pub(super) type KnownTreeSizes = HashMap<Oid, Result<TreeSize, String>>;

/// The tree of a submodule's commit that is here, and that lies in so many others.
pub(super) type SubmoduleTree<'a> = dyn Fn(Oid, usize) -> Option<Oid> + 'a;

/// How large a tree is, with each folder and file counted under every name that it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreeSize {
    deep: u64,
    entries: u64,
    content: u64,
    paths: u64,
}

impl TreeSize {
    /// The same, with files of these sizes that are not in git.
    pub(super) fn with_files(self, sizes: impl Iterator<Item = u64>) -> Self {
        Self { content: sizes.fold(self.content, u64::saturating_add), ..self }
    }

    /// What is more than may be, if anything is.
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

    /// Looks whether there is room for it, with enough left for all else. A small tree fills no disk, however small that is.
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

/// Looks whether so many bytes can be written and so many stay free; where the disk does not say, they can. That there is no
/// room is ours to mend.
pub(super) fn require_room(at: &Path, needed: u64, kept: u64) -> Result<(), GitError> {
    let Some(free) = room(at) else { return Ok(()) };
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

/// Bytes that are free where a path is or will be.
pub(super) fn room(at: &Path) -> Option<u64> {
    let found = at.ancestors().find_map(|place| rustix::fs::statvfs(place).ok())?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

pub(super) trait TreeObjects {
    /// Kind and size; none of what is not here.
    fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError>;
    fn folder(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError>;
}

impl TreeObjects for Odb<'_> {
    fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError> {
        match self.read_header(id) {
            Ok((size, kind)) => Ok(Some((kind, size as u64))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(GitError::local("read an object", &error)),
        }
    }

    fn folder(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError> {
        self.read(id)
            .map(|object| Some(object.data().to_vec()))
            .map_err(|error| GitError::local("read a folder", &error))
    }
}

struct TreeMeasure<'a, O> {
    objects: &'a O,
    submodules: Option<&'a SubmoduleTree<'a>>,
    /// Of folders, by how many submodules they lie in.
    known: HashMap<(Oid, usize), TreeSize>,
    sizes: HashMap<Oid, u64>,
    seen: u64,
    is_whole: bool,
}

/// A folder, as far as it was looked at.
struct MeasuredFolder {
    key: (Oid, usize),
    size: TreeSize,
    /// Those in it, each with the length of its name.
    folders: Vec<((Oid, usize), u64)>,
}

impl<'a, O: TreeObjects> TreeMeasure<'a, O> {
    fn new(objects: &'a O, submodules: Option<&'a SubmoduleTree<'a>>) -> Self {
        let (known, sizes) = (HashMap::new(), HashMap::new());
        Self { objects, submodules, known, sizes, seen: 0, is_whole: true }
    }

    /// The size of a tree, or what is more than may be.
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
                // Again, once it is known.
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

    /// Reads a folder and counts the files in it. What is malformed ends where libgit2 cannot read on either.
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

/// What is more in a tree than may be, if anything is.
pub(super) fn excess(objects: &impl TreeObjects, tree: Oid) -> Result<Option<String>, GitError> {
    let mut measure = TreeMeasure::new(objects, None);
    Ok(measure.measure(tree)?.err())
}

/// The tree of a commit, if it is no larger than a tree may be: for whoever has a repository of their own.
pub fn bounded_tree(repository: &Repository, commit: Oid) -> Result<Tree<'_>, GitError> {
    let said = |error: git2::Error| GitError::local("read the tree of a commit", &error);
    let tree = repository.find_commit(commit).and_then(|commit| commit.tree()).map_err(said)?;
    match excess(&repository.odb().map_err(said)?, tree.id())? {
        Some(why) => Err(over(commit, &why)),
        None => Ok(tree),
    }
}

/// A size that is no more than may be.
pub(super) fn require(size: TreeSize, commit: Oid) -> Result<TreeSize, GitError> {
    size.excess().map_or(Ok(size), |why| Err(over(commit, &why)))
}

fn over(commit: Oid, why: &str) -> GitError {
    GitError::new(GitErrorKind::NotForUs, format!("the commit {commit} {why}"))
}

impl Workspaces {
    /// The tree of a commit that is no larger than a tree may be.
    ///
    /// # Errors
    /// [`GitErrorKind::NotForUs`] when it is, and when the commit is not here.
    pub(super) fn tree_within<'r>(
        &self,
        repository: &'r Repository,
        commit: Oid,
    ) -> Result<Tree<'r>, GitError> {
        let said = |error: git2::Error| GitError::local("read the tree of a commit", &error);
        let tree = repository.find_commit(commit).and_then(|commit| commit.tree()).map_err(said)?;
        self.size_within(&repository.odb().map_err(said)?, None, (commit, tree.id()))?;
        Ok(tree)
    }

    /// How large the tree of a commit is that is no larger than a tree may be, with the submodules that are here.
    pub(super) fn size_within(
        &self,
        objects: &Odb<'_>,
        submodules: Option<&SubmoduleTree<'_>>,
        (commit, tree): (Oid, Oid),
    ) -> Result<TreeSize, GitError> {
        self.measured(objects, submodules, tree)?.map_err(|why| over(commit, &why))
    }

    /// How large a tree is, or what is more in it than may be.
    pub(super) fn measured(
        &self,
        objects: &impl TreeObjects,
        submodules: Option<&SubmoduleTree<'_>>,
        tree: Oid,
    ) -> Result<Result<TreeSize, String>, GitError> {
        // What is behind a submodule's commit changes with what was fetched.
        let is_remembered = submodules.is_none();
        let remembered = || self.inner.tree_sizes.lock().unwrap_or_else(PoisonError::into_inner);
        if is_remembered && let Some(size) = remembered().get(&tree) {
            return Ok(size.clone());
        }
        let mut measure = TreeMeasure::new(objects, submodules);
        let measured = measure.measure(tree)?;
        // An object that comes later would count for nothing.
        if is_remembered && (measure.is_whole || measured.is_err()) {
            let mut all = remembered();
            if all.len() >= MOST_KNOWN {
                all.clear();
            }
            all.insert(tree, measured.clone());
        }
        Ok(measured)
    }

    /// Looks whether the commits that a pack is made of have trees that are no larger than a tree may be: libgit2 goes down
    /// into all of them.
    pub(super) fn require_walk_within(
        &self,
        commits: &Repository,
        tip: Oid,
        known: &[Oid],
    ) -> Result<(), GitError> {
        let said = |error: git2::Error| GitError::local("walk over commits", &error);
        let mut walk = commits.revwalk().map_err(said)?;
        walk.push(tip).map_err(said)?;
        for known in known {
            walk.hide(*known).map_err(said)?;
        }
        for commit in walk {
            self.tree_within(commits, commit.map_err(said)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
