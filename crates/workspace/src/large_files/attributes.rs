//! To which paths a tree's `.gitattributes` give the filter of Git LFS, as git decides it: libgit2 is asked.
//!
//! May know: the texts of these files, and where they lie. Must never know: what is in any other file.

use git2::{AttrCheckFlags, Index, IndexEntry, IndexTime, ObjectType, Odb, Oid, Repository};
use std::path::Path;

use crate::GitError;
use crate::tree::{EntryMode, parse};

pub(crate) const NAME: &[u8] = b".gitattributes";
/// Git reads larger ones; they are none of a project's, and an agent's are refused.
pub(crate) const LARGEST: usize = 1 << 20;
/// Files with attributes that are read, and entries of a tree that are looked at for them.
const MOST: usize = 50_000;
const MOST_ENTRIES: usize = 2_000_000;

/// The attributes of one tree.
pub(crate) struct TreeAttributes {
    /// In memory, with nothing in it but these files; none where none of them speaks of Git LFS.
    repository: Option<Repository>,
}

impl TreeAttributes {
    /// Of these files, each with its path from the root.
    pub(crate) fn new(files: &[(Vec<u8>, Vec<u8>)]) -> Result<Self, GitError> {
        let says_lfs = |(_, bytes): &(Vec<u8>, Vec<u8>)| bytes.windows(3).any(|piece| piece == b"lfs");
        if !files.iter().any(says_lfs) {
            return Ok(Self { repository: None });
        }
        let made = |error: git2::Error| GitError::local("read .gitattributes", &error);
        Ok(Self { repository: Some(in_memory(files).map_err(made)?) })
    }

    /// Of a tree whose objects are read so; an object that is not there has nothing to say.
    pub(crate) fn of_tree(read: &ReadObject<'_>, tree: Oid) -> Result<Self, GitError> {
        let (mut files, mut open, mut looked) = (Vec::new(), vec![(tree, Vec::new())], 0);
        while let Some((tree, folder)) = open.pop() {
            let entries = read(tree, ObjectType::Tree)?.and_then(|bytes| parse(&bytes)).unwrap_or_default();
            for entry in entries {
                looked += 1;
                let path = [folder.as_slice(), &entry.name].concat();
                match entry.mode {
                    EntryMode::Tree | EntryMode::Other(0o40_000) => {
                        open.push((entry.id, [path.as_slice(), b"/"].concat()));
                    }
                    // Git reads none through a link.
                    EntryMode::File | EntryMode::Executable if entry.name == NAME => {
                        files.extend(read(entry.id, ObjectType::Blob)?.map(|bytes| (path, bytes)));
                    }
                    EntryMode::File
                    | EntryMode::Executable
                    | EntryMode::Link
                    | EntryMode::Gitlink
                    | EntryMode::Other(_) => {}
                }
            }
            if looked > MOST_ENTRIES || files.len() > MOST {
                return Err(GitError::broken("the tree has too many files to look for attributes"));
            }
        }
        Self::new(&files)
    }

    /// Whether no path can have the filter.
    pub(crate) fn are_without_lfs(&self) -> bool {
        self.repository.is_none()
    }

    /// Whether a path has the filter.
    pub(crate) fn is_lfs(&self, path: &[u8]) -> bool {
        use std::os::unix::ffi::OsStrExt as _;
        let Some(repository) = &self.repository else { return false };
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let flags = AttrCheckFlags::INDEX_ONLY | AttrCheckFlags::NO_SYSTEM;
        repository.get_attr_bytes(path, "filter", flags).is_ok_and(|value| value == Some(b"lfs"))
    }
}

/// How objects of a tree are read: none where there is none of this kind.
pub(crate) type ReadObject<'a> = dyn Fn(Oid, ObjectType) -> Result<Option<Vec<u8>>, GitError> + 'a;

fn in_memory(files: &[(Vec<u8>, Vec<u8>)]) -> Result<Repository, git2::Error> {
    let odb = Odb::new()?;
    odb.add_new_mempack_backend(1)?;
    let repository = Repository::from_odb(odb)?;
    let mut index = Index::new()?;
    for (path, bytes) in files.iter().filter(|(_, bytes)| bytes.len() <= LARGEST) {
        let id = repository.blob(bytes)?;
        let time = IndexTime::new(0, 0);
        index.add(&IndexEntry {
            ctime: time,
            mtime: time,
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path: path.clone(),
        })?;
    }
    repository.set_index(&mut index)?;
    Ok(repository)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> TreeAttributes {
        let owned = |(path, text): &(&str, &str)| (path.as_bytes().to_vec(), text.as_bytes().to_vec());
        TreeAttributes::new(&files.iter().map(owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_last_line_that_matches_the_deepest_file_and_macros_decide_as_for_git() {
        let attributes = of(&[
            (
                ".gitattributes",
                "[attr]big filter=lfs -text\n*.bin filter=lfs diff=lfs\n/top.dat big\nsmall.bin !filter\nplain/** -filter\n",
            ),
            (
                "deep/.gitattributes",
                "*.png filter=lfs\nmine.bin filter=other\n[attr]huge filter=lfs\n*.huge huge\n",
            ),
        ]);
        for path in ["a.bin", "x/y/a.bin", "top.dat", "deep/a.png", "deep/er/a.png", "deep/a.bin"] {
            assert!(attributes.is_lfs(path.as_bytes()), "{path}");
        }
        for path in [
            "a.png",
            "small.bin",
            "x/small.bin",
            "x/top.dat",
            "plain/a.bin",
            "deep/mine.bin",
            "a",
            "deep/a.huge",
        ] {
            assert!(!attributes.is_lfs(path.as_bytes()), "{path}");
        }
        assert!(of(&[(".gitattributes", "*.md text\n")]).are_without_lfs());
        assert!(of(&[]).are_without_lfs());
    }
}
