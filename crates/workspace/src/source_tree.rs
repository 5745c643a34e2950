//! The content of a checkout: a commit's files, and files laid over it. All is read from git, never from a folder that
//! a job could have written.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ObjectType, Odb, Oid};
use sha2::{Digest as _, Sha256};

use super::bounds::{self, SubmoduleTree, TreeSize};
use super::large_files::pointer::LargeFilePointer;
use super::large_files::store::{LargeFileStore, is_held_at, open_plain};
use super::large_files::{self, LargeFiles};
use super::remote::oid;
use super::submodules::{self, FetchedSubmodules};
use super::tree::{EntryMode, parse};
use super::{GitError, Workspaces, names, remove_all};
use journeyman_order::bounds::{LARGEST_SOURCE, MOST_ENTRIES, MOST_NAMED};
use journeyman_order::{CommitSha, RepositoryName, TreeSha};

/// The files of a commit and those laid over it. Folders are not listed, nor are submodules that were not fetched.
#[derive(Debug, Clone)]
pub struct SourceTree {
    workspaces: Workspaces,
    repository: RepositoryName,
    commit: CommitSha,
    files: BTreeMap<PathBuf, SourceFile>,
    submodules: SourceSubmodules,
    large: LargeFiles,
}

/// The submodules of a commit.
#[derive(Debug, Default, Clone)]
struct SourceSubmodules {
    fetched: FetchedSubmodules,
    /// Those whose files are here, by path.
    present: BTreeMap<PathBuf, Oid>,
    absent: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceFile {
    id: Oid,
    /// Never a link.
    is_executable: bool,
    bytes: SourceBytes,
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SourceBytes {
    Git,
    /// In git too, the target of a link.
    Link,
    /// A Git LFS file whose content is here: a checkout gets the content, not the pointer.
    Large(LargeFilePointer),
    Laid(Arc<[u8]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceContent {
    File {
        bytes: Vec<u8>,
        is_executable: bool,
    },
    /// Too large to pass as bytes.
    Large(LargeSourceContent),
    /// The link's target.
    Link(PathBuf),
}

/// A content to copy to its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeSourceContent {
    store: LargeFileStore,
    pointer: LargeFilePointer,
    is_executable: bool,
}

impl LargeSourceContent {
    /// Writes it to a new file.
    pub fn write(&self, to: &Path) -> Result<(), GitError> {
        self.store.copy(&self.pointer, to, if self.is_executable { 0o755 } else { 0o644 })
    }
}

impl Workspaces {
    pub fn source_tree(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
    ) -> Result<SourceTree, GitError> {
        self.sized_source_tree(repository, commit).map(|(source, _)| source)
    }

    /// Writes a commit's files into a folder after emptying it, byte for byte as in git. Filters, line endings and
    /// attributes do not apply, so that tests see what is pushed. Files of Git LFS have their content, as in any clone,
    /// or stay pointers if it is missing. There is no `.git`, and missing submodules are empty folders.
    pub fn checkout(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        into: &Path,
    ) -> Result<(), GitError> {
        let (source, size) = self.sized_source_tree(repository, commit)?;
        remove_all(into)?;
        size.require_room(into)?;
        let make = |folder: &Path| {
            std::fs::create_dir_all(folder).map_err(|error| GitError::file("make", folder, &error))
        };
        make(into)?;
        // Links come last, so that nothing is written through one.
        let is_link =
            |path: &&PathBuf| source.files.get(*path).is_some_and(|file| file.bytes == SourceBytes::Link);
        let (links, files): (Vec<&PathBuf>, Vec<&PathBuf>) = source.files.keys().partition(is_link);
        let paths: Vec<PathBuf> = files.into_iter().chain(links).cloned().collect();
        source.each_content(&paths, |path, content| {
            let place = into.join(path);
            let said = |error: io::Error| GitError::file("write", &place, &error);
            make(place.parent().unwrap_or(into))?;
            match content {
                Some(SourceContent::File { bytes, is_executable }) => {
                    let mode = if is_executable { 0o755 } else { 0o644 };
                    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&place);
                    file.and_then(|mut file| file.write_all(&bytes)).map_err(said)
                }
                Some(SourceContent::Large(content)) => content.write(&place),
                Some(SourceContent::Link(target)) => symlink(target, &place).map_err(said),
                None => Ok(()),
            }
        })??;
        source.submodules.absent.iter().try_for_each(|path| make(&into.join(path)))
    }

    fn sized_source_tree(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
    ) -> Result<(SourceTree, TreeSize), GitError> {
        let commits = self.commits(repository)?;
        let tree = commits.find_commit(oid(commit)?)?.tree_id();
        let (repository, commit) = (repository.clone(), commit.clone());
        let fetched = self.fetched_submodules(&repository)?;
        let odb = fetched.odb(&commits)?;
        let id = oid(&commit)?;
        let finder = fetched.finder();
        let size =
            self.size_within(&odb, finder.as_ref().map(|finder| finder as &SubmoduleTree<'_>), (id, tree))?;
        drop(finder);
        let submodules = SourceSubmodules { fetched, ..SourceSubmodules::default() };
        let (files, large) = (BTreeMap::new(), self.large_files(&repository, &odb, tree)?);
        let here = large.pointers().values().filter(|pointer| large.store.has(pointer));
        let size = bounds::require(size.with_files(here.map(|pointer| pointer.size)), id)?;
        let mut source =
            SourceTree { workspaces: self.clone(), repository, commit, files, submodules, large };
        source.collect(&odb, tree, Path::new(""), 0)?;
        Ok((source, size))
    }

    pub fn tree_of(&self, repository: &RepositoryName, commit: &CommitSha) -> Result<TreeSha, GitError> {
        let commits = self.commits(repository)?;
        let tree = commits.find_commit(oid(commit)?)?.tree_id().to_string().parse();
        tree.map_err(|_| GitError::broken(format!("the tree of {commit} has no name that we know")))
    }
}

impl SourceTree {
    fn collect(&mut self, odb: &Odb<'_>, tree: Oid, folder: &Path, depth: usize) -> Result<(), GitError> {
        let malformed = || GitError::broken(format!("the folder {folder:?} is malformed in git"));
        let object = odb.read(tree)?;
        for entry in parse(object.data()).ok_or_else(malformed)? {
            let name = String::from_utf8_lossy(&entry.name);
            // Old repositories may have odd names: refuse only those that would leave the folder or steer git.
            if matches!(&*name, "." | "..") || name.contains('/') || names::is_dot_git(&name) {
                return Err(malformed());
            }
            let path = folder.join(OsStr::from_bytes(&entry.name));
            let (is_executable, bytes) = match entry.mode {
                EntryMode::Tree | EntryMode::Other(0o40_000) => {
                    self.collect(odb, entry.id, &path, depth)?;
                    continue;
                }
                EntryMode::Gitlink => {
                    let tree = self.submodules.fetched.tree(entry.id).filter(|_| depth < submodules::DEEPEST);
                    match tree {
                        Some(tree) => {
                            self.submodules.present.insert(path.clone(), entry.id);
                            self.collect(odb, tree, &path, depth + 1)?;
                        }
                        None => self.submodules.absent.push(path),
                    }
                    continue;
                }
                EntryMode::Link => (false, SourceBytes::Link),
                EntryMode::File | EntryMode::Executable => {
                    // Large files of submodules belong to another repository.
                    let large = self.large.at(&path).filter(|_| depth == 0).cloned();
                    let is_executable = entry.mode == EntryMode::Executable;
                    (is_executable, large.map_or(SourceBytes::Git, SourceBytes::Large))
                }
                EntryMode::Other(_) => (false, SourceBytes::Git),
            };
            if self.files.len() >= MOST_ENTRIES {
                return Err(GitError::broken(format!("the commit has more than {MOST_ENTRIES} files")));
            }
            self.files.insert(path, SourceFile { id: entry.id, is_executable, bytes });
        }
        Ok(())
    }

    /// The submodules whose files are missing, each with the reason.
    pub fn missing_submodules(&self) -> Vec<String> {
        let known = self.workspaces.missing_submodules(&self.repository, &self.commit);
        let absent =
            || self.submodules.absent.iter().map(|path| format!("{}: it was not fetched", path.display()));
        known.unwrap_or_else(|| absent().take(MOST_NAMED).collect())
    }

    /// The Git LFS files whose content is missing, each with the reason. Their files are pointers.
    pub fn missing_large_files(&self) -> Vec<String> {
        let is_large = |file: &SourceFile| matches!(file.bytes, SourceBytes::Large(_));
        let is_here = |path: &Path| self.files.get(path).is_some_and(is_large);
        let all = self.large.pointers().iter().map(|(path, pointer)| (path.as_path(), pointer));
        large_files::missing(&self.large.store, all.filter(|(path, _)| !is_here(path)))
    }

    /// Identifies the large files whose contents are here.
    pub fn large_files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().filter_map(|(path, file)| match &file.bytes {
            SourceBytes::Large(pointer) => Some((path.as_path(), pointer.id.as_str())),
            SourceBytes::Git | SourceBytes::Link | SourceBytes::Laid(_) => None,
        })
    }

    /// Identifies the submodules whose files are here.
    pub fn submodules(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.submodules.present.iter().map(|(path, commit)| (path.as_path(), commit.as_bytes()))
    }

    /// The tag of the newest version reachable from its commit, if known.
    pub fn version_tag(&self) -> Option<String> {
        self.workspaces.version_tag(&self.repository, &self.commit).ok().flatten()
    }

    /// The public address of its repository, if known.
    pub fn public_address(&self) -> Option<String> {
        self.workspaces.public_address(&self.repository)
    }

    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    pub fn has(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Whether the folder contains a file.
    pub fn has_folder(&self, folder: &Path) -> bool {
        let from = (Bound::Excluded(folder), Bound::Unbounded);
        let next = self.files.range::<Path, _>(from).next();
        folder.as_os_str().is_empty() || next.is_some_and(|(path, _)| path.starts_with(folder))
    }

    /// Lays files over the commit or removes them. A Git LFS pointer becomes a large file if one of the commits in
    /// `from` has it at the same path.
    pub fn lay_all<'l>(
        &mut self,
        laid: impl IntoIterator<Item = (&'l Path, Option<&'l [u8]>)>,
        from: &[&CommitSha],
    ) -> Result<(), GitError> {
        let (workspaces, repository) = (self.workspaces.clone(), self.repository.clone());
        let mut origins: Option<Vec<Self>> = None;
        for (path, bytes) in laid {
            self.lay(path, bytes)?;
            let is_here = |pointer: &LargeFilePointer| self.large.store.has(pointer);
            if bytes.and_then(LargeFilePointer::parse).filter(is_here).is_none() {
                continue;
            }
            let origins = match &mut origins {
                Some(origins) => origins,
                none @ None => {
                    let read = |commit: &&CommitSha| workspaces.source_tree(&repository, commit);
                    none.insert(from.iter().map(read).collect::<Result<_, _>>()?)
                }
            };
            let Some(laid) = self.files.get_mut(path) else { continue };
            let is_same = |file: &&SourceFile| file.id == laid.id;
            let origin = origins.iter().find_map(|origin| origin.files.get(path).filter(is_same));
            if let Some(SourceFile { bytes: large @ SourceBytes::Large(_), .. }) = origin {
                laid.bytes = large.clone();
            }
        }
        Ok(())
    }

    /// Lays one file over the commit unchanged, or removes one.
    pub fn lay(&mut self, path: &Path, bytes: Option<&[u8]>) -> Result<(), GitError> {
        let Some(bytes) = bytes else {
            self.files.retain(|known, _| !known.starts_with(path));
            return Ok(());
        };
        let is_executable = match self.files.get(path) {
            Some(file) if file.bytes != SourceBytes::Link => file.is_executable,
            Some(_) | None => bytes.starts_with(b"#!"),
        };
        self.make_room(path);
        let id = Oid::hash_object(ObjectType::Blob, bytes)?;
        let bytes = SourceBytes::Laid(bytes.into());
        self.files.insert(path.to_owned(), SourceFile { id, is_executable, bytes });
        Ok(())
    }

    /// Removes the files that are not kept.
    pub fn retain(&mut self, is_kept: impl Fn(&Path) -> bool) {
        self.files.retain(|path, _| is_kept(path));
    }

    /// Takes files of any kind and size from another commit, and removes those that it lacks.
    pub fn lay_as_in(&mut self, commit: &CommitSha, paths: &[&Path]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut origin = self.workspaces.source_tree(&self.repository, commit)?;
        for path in paths {
            let file = origin.files.remove(*path);
            self.make_room(path);
            self.files.remove(*path);
            self.files.extend(file.map(|file| ((*path).to_owned(), file)));
        }
        Ok(())
    }

    /// A file replaces a folder at its path, and the reverse.
    fn make_room(&mut self, path: &Path) {
        let below: Vec<PathBuf> = self
            .files
            .range::<Path, _>((Bound::Excluded(path), Bound::Unbounded))
            .map_while(|(known, _)| known.starts_with(path).then(|| known.clone()))
            .collect();
        for known in below.iter().map(PathBuf::as_path).chain(path.ancestors().skip(1)) {
            self.files.remove(known);
        }
    }

    /// The paths that differ, including those in only one of the two.
    pub fn difference(&self, other: &Self) -> Vec<PathBuf> {
        let differs = |(path, file): &(&PathBuf, &SourceFile)| {
            other.files.get(*path).is_none_or(|there| there.identity() != file.identity())
        };
        let mut paths: Vec<PathBuf> =
            self.files.iter().filter(differs).map(|(path, _)| path.clone()).collect();
        paths.extend(other.files.keys().filter(|path| !self.files.contains_key(*path)).cloned());
        paths
    }

    /// The digest of these paths' content, with missing files distinct from empty ones; without paths, of everything.
    pub fn digest(&self, only: Option<&[String]>) -> [u8; 32] {
        let mut digest = Sha256::new();
        let mut add = |path: &Path, file: Option<&SourceFile>| {
            let path = path.as_os_str().as_bytes();
            digest.update((path.len() as u64).to_be_bytes());
            digest.update(path);
            match file.map(SourceFile::identity) {
                None => digest.update([0]),
                Some((kind, id)) => {
                    digest.update([kind]);
                    digest.update(id.as_bytes());
                }
            }
        };
        match only {
            Some(paths) => paths.iter().for_each(|path| add(path.as_ref(), self.files.get(Path::new(path)))),
            None => self.files.iter().for_each(|(path, file)| add(path, Some(file))),
        }
        digest.finalize().into()
    }

    /// The bytes of a file that is not large; `None` for a link.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.files.get(Path::new(path))?;
        match &file.bytes {
            SourceBytes::Laid(bytes) => Some(bytes.to_vec()),
            SourceBytes::Link => None,
            SourceBytes::Large(pointer) => self.large.store.read(pointer, LARGEST_SOURCE),
            SourceBytes::Git => {
                let commits = self.workspaces.commits(&self.repository).ok()?;
                let odb = self.submodules.fetched.odb(&commits).ok()?;
                let (size, _) = odb.read_header(file.id).ok()?;
                (size <= LARGEST_SOURCE)
                    .then(|| odb.read(file.id).ok().map(|object| object.data().to_vec()))?
            }
        }
    }

    /// Passes the content of each path to `take` until that fails; `None` if the path must be absent.
    pub fn each_content<E>(
        &self,
        paths: &[PathBuf],
        mut take: impl FnMut(&Path, Option<SourceContent>) -> Result<(), E>,
    ) -> Result<Result<(), E>, GitError> {
        let commits = self.workspaces.commits(&self.repository)?;
        let odb = self.submodules.fetched.odb(&commits)?;
        let content = |file: &SourceFile| -> Result<SourceContent, GitError> {
            let in_git = || odb.read(file.id).map(|object| object.data().to_vec());
            let is_executable = file.is_executable;
            Ok(match &file.bytes {
                SourceBytes::Laid(bytes) => SourceContent::File { bytes: bytes.to_vec(), is_executable },
                SourceBytes::Git => SourceContent::File { bytes: in_git()?, is_executable },
                SourceBytes::Large(pointer) => {
                    let (store, pointer) = (self.large.store.clone(), pointer.clone());
                    SourceContent::Large(LargeSourceContent { store, pointer, is_executable })
                }
                SourceBytes::Link => SourceContent::Link(OsStr::from_bytes(&in_git()?).into()),
            })
        };
        for path in paths {
            if let Err(error) = take(path, self.files.get(path).map(&content).transpose()?) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// The paths whose place on disk differs from the expected content. Each comes with that place, which a job may
    /// have replaced with anything.
    pub fn differing(&self, places: &[(PathBuf, PathBuf)]) -> Result<Vec<PathBuf>, GitError> {
        let commits = self.workspaces.commits(&self.repository)?;
        let odb = self.submodules.fetched.odb(&commits)?;
        let is_other = |(path, place): &&(PathBuf, PathBuf)| {
            let held = self.files.get(path).map(|file| file.is_held_at(&odb, place));
            !matches!(held, Some(Ok(true)))
        };
        Ok(places.iter().filter(is_other).map(|(path, _)| path.clone()).collect())
    }
}

impl SourceFile {
    fn identity(&self) -> (u8, Oid) {
        let kind = match self.bytes {
            SourceBytes::Git | SourceBytes::Laid(_) => 1,
            SourceBytes::Link => 3,
            // If the content is missing, a checkout has the pointer, which is different content.
            SourceBytes::Large(_) => 4,
        };
        (kind + u8::from(self.is_executable), self.id)
    }

    fn is_held_at(&self, odb: &Odb<'_>, place: &Path) -> io::Result<bool> {
        let found = std::fs::symlink_metadata(place)?;
        let size = match &self.bytes {
            SourceBytes::Link if found.is_symlink() => {
                return is_blob(self.id, std::fs::read_link(place)?.as_os_str().as_bytes());
            }
            SourceBytes::Link => return Ok(false),
            SourceBytes::Git => odb.read_header(self.id).ok().map(|(size, _)| size as u64),
            SourceBytes::Laid(bytes) => Some(bytes.len() as u64),
            SourceBytes::Large(pointer) => Some(pointer.size),
        };
        let is_as_runnable = (found.permissions().mode() & 0o100 != 0) == self.is_executable;
        // A different length needs no reading.
        if !found.is_file() || !is_as_runnable || size != Some(found.len()) {
            return Ok(false);
        }
        if let SourceBytes::Large(pointer) = &self.bytes {
            return is_held_at(pointer, place);
        }
        let mut bytes = Vec::new();
        open_plain(place)?.take(found.len().saturating_add(1)).read_to_end(&mut bytes)?;
        is_blob(self.id, &bytes)
    }
}

fn is_blob(id: Oid, bytes: &[u8]) -> io::Result<bool> {
    Oid::hash_object(ObjectType::Blob, bytes).map(|there| there == id).map_err(io::Error::other)
}
