//! Writes a commit's files, byte for byte as they are in git: no filter, no line ending and no attribute has a say,
//! so that what is tested is what is pushed. But files
//! of Git LFS have their content, as they have for everybody who clones.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use git2::{ObjectType, Odb, Oid};

use super::bounds::{self, SubmoduleTree};
use super::large_files::LargeFiles;
use super::remote::oid;
use super::submodules::{self, FetchedSubmodules};
use super::tree::{EntryMode, parse};
use super::{GitError, Workspaces, names, remove_all};
use journeyman_order::{CommitSha, RepositoryName};

impl Workspaces {
    /// Writes a commit's tree into a folder, which is emptied before. There is no `.git` in it. Submodules that are not
    /// here are empty folders, and files of Git LFS whose content is not here are pointers.
    pub fn checkout(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        into: &Path,
    ) -> Result<(), GitError> {
        let commits = self.commits(repository)?;
        let said = |error: git2::Error| GitError::local("check out a commit", &error);
        let tree = commits.find_commit(oid(commit)?).map_err(said)?.tree_id();
        let submodules = self.fetched_submodules(repository)?;
        let odb = submodules.odb(&commits).map_err(said)?;
        let id = oid(commit)?;
        let finder = submodules.finder();
        let size =
            self.size_within(&odb, finder.as_ref().map(|finder| finder as &SubmoduleTree<'_>), (id, tree))?;
        remove_all(into)?;
        if let Some(parent) = into.parent() {
            std::fs::create_dir_all(parent).map_err(|error| GitError::file("make", parent, &error))?;
        }
        let large = self.large_files(repository, &odb, tree)?;
        let here = large.pointers().values().filter(|pointer| large.store.has(pointer));
        bounds::require(size.with_files(here.map(|pointer| pointer.size)), id)?.require_room(into)?;
        let checkout = Checkout { odb: &odb, submodules: &submodules, large: &large };
        checkout.write(tree, (into, Path::new("")), 0)
    }
}

struct Checkout<'a> {
    odb: &'a Odb<'a>,
    submodules: &'a FetchedSubmodules,
    large: &'a LargeFiles,
}

impl Checkout<'_> {
    /// Nothing is ever overwritten and no link is followed: folders and files are made anew, or it fails.
    fn write(&self, tree: Oid, (folder, below): (&Path, &Path), depth: usize) -> Result<(), GitError> {
        let odb = self.odb;
        std::fs::create_dir(folder).map_err(|error| GitError::file("make", folder, &error))?;
        let malformed = || GitError::broken(format!("the folder {folder:?} is malformed in git"));
        for entry in parse(odb_read(odb, tree, ObjectType::Tree)?.data()).ok_or_else(malformed)? {
            let text = String::from_utf8_lossy(&entry.name);
            // What an old repository may have is written; only what would leave the folder, or steer git, is not.
            if matches!(&*text, "." | "..") || text.contains('/') || names::is_dot_git(&text) {
                return Err(malformed());
            }
            let name = std::ffi::OsStr::from_bytes(&entry.name);
            let (path, below) = (folder.join(name), below.join(name));
            let said = |error: std::io::Error| GitError::file("write", &path, &error);
            match entry.mode {
                EntryMode::Tree | EntryMode::Other(0o40_000) => {
                    self.write(entry.id, (&path, &below), depth)?;
                }
                EntryMode::Gitlink => {
                    match self.submodules.tree(entry.id).filter(|_| depth < submodules::DEEPEST) {
                        Some(tree) => self.write(tree, (&path, &below), depth + 1)?,
                        None => std::fs::create_dir(&path).map_err(said)?,
                    }
                }
                EntryMode::Link => {
                    let target = odb_read(odb, entry.id, ObjectType::Blob)?;
                    symlink(std::ffi::OsStr::from_bytes(target.data()), &path).map_err(said)?;
                }
                EntryMode::File | EntryMode::Executable | EntryMode::Other(_) => {
                    let mode = if entry.mode == EntryMode::Executable { 0o755 } else { 0o644 };
                    // Those of submodules are another repository's.
                    if let Some(pointer) = self.large.at(&below).filter(|_| depth == 0) {
                        self.large.store.copy(pointer, &path, mode)?;
                        continue;
                    }
                    let blob = odb_read(odb, entry.id, ObjectType::Blob)?;
                    let mut file = OpenOptions::new()
                        .write(true)
                        .create_new(true)
                        .mode(mode)
                        .open(&path)
                        .map_err(said)?;
                    file.write_all(blob.data()).map_err(said)?;
                }
            }
        }
        Ok(())
    }
}

fn odb_read<'a>(odb: &'a Odb<'_>, id: Oid, kind: ObjectType) -> Result<git2::OdbObject<'a>, GitError> {
    let object = odb.read(id).map_err(|error| GitError::local("read an object", &error))?;
    if object.kind() == kind { Ok(object) } else { Err(GitError::broken(format!("{id} is not a {kind}"))) }
}
