//! What a commit changes, file by file with their bytes, for code that analyses a change rather than shows it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use git2::{Diff, DiffFile, DiffOptions, ObjectType, Odb, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::remote::oid;
use super::{GitError, Workspaces};
use journeyman_order::bounds::{LARGEST_FILE, LARGEST_SOURCE, MOST_PARTS};
use journeyman_order::{CommitSha, RepositoryName};

/// Total bytes read, each text once. Later files get no content; files that only moved come last.
const MOST: usize = 128 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// Its bytes before; `None` if it was added.
    pub before: Option<ChangedContent>,
    /// Its bytes now; `None` if it was deleted.
    pub after: Option<ChangedContent>,
    /// Size of the larger side in bytes.
    pub size: u64,
    /// Whether a side is unread only because the total was used up. False for a text of the base under another name.
    pub is_past_total: bool,
    /// Whether all its present content is in the base, under any name. Also true for a deleted file.
    pub is_moved: bool,
}

/// One side of a file, still to be read.
struct ChangedSide {
    index: usize,
    is_after: bool,
    id: Oid,
    is_link: bool,
    /// A file of the base has the same bytes as a file of the change.
    is_moved: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedContent {
    Whole(Arc<[u8]>),
    /// Too large, not a regular file, or a path that is not UTF-8.
    NotRead,
}

impl ChangedContent {
    /// The bytes; `None` if they were not read.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::NotRead => None,
        }
    }
}

impl Workspaces {
    /// The diff of two commits, and the objects to read their files from.
    pub(super) fn compare<'r>(
        &self,
        commits: &'r Repository,
        before: &CommitSha,
        after: &CommitSha,
    ) -> Result<(Diff<'r>, Odb<'r>), GitError> {
        let (old, new) = (self.tree_within(commits, oid(before)?)?, self.tree_within(commits, oid(after)?)?);
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let diff = commits.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
        Ok((diff, commits.odb()?))
    }

    /// The files that differ between two commits, by path. A rename is one deleted and one added file.
    pub fn changes(
        &self,
        repository: &RepositoryName,
        before: &CommitSha,
        after: &CommitSha,
    ) -> Result<Vec<ChangedFile>, GitError> {
        let commits = self.commits(repository)?;
        let (diff, odb) = self.compare(&commits, before, after)?;
        let (mut changed, mut sides) = listed(&diff);
        // Read moved files last, so that a moved folder does not use up the total.
        sides.sort_by_key(|side| side.is_moved);
        read_sides(&odb, &sides, MOST, &mut changed);
        changed.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(changed)
    }

    /// Files of a commit at the wanted paths, by path: at most `most` bytes in total, large files skipped.
    pub fn some_files(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        most: usize,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(String, Vec<u8>)>, GitError> {
        let commits = self.commits(repository)?;
        let tree = self.tree_within(&commits, oid(commit)?)?;
        let odb = commits.odb()?;
        let (mut left, mut looked_at, mut found) = (most, 0, Vec::new());
        let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
            looked_at += 1;
            if looked_at > MOST_PARTS {
                return TreeWalkResult::Abort;
            }
            let is_file = matches!(entry.filemode(), 0o100_644 | 0o100_664 | 0o100_755);
            if let (Some(folder), Ok(name), true) = (Some(folder), entry.name(), is_file) {
                let path = format!("{folder}{name}");
                if is_wanted(&path)
                    && let Some(bytes) = read_blob(&odb, entry.id(), LARGEST_SOURCE.min(left))
                {
                    left -= bytes.len();
                    found.push((path, bytes));
                }
            }
            TreeWalkResult::Ok
        });
        // A walk that we stopped early has found enough.
        match walked {
            Err(error) if looked_at <= MOST_PARTS => Err(error.into()),
            Ok(()) | Err(_) => Ok(found),
        }
    }
}

/// The files that differ, and their sides, not yet read.
fn listed(diff: &Diff<'_>) -> (Vec<ChangedFile>, Vec<ChangedSide>) {
    // A link's target is not a file's text, though both may be the same blob.
    let ids = |of: for<'d> fn(&git2::DiffDelta<'d>) -> DiffFile<'d>| -> HashSet<Oid> {
        diff.deltas().map(|delta| of(&delta)).filter(|file| !is_link(file)).map(|file| file.id()).collect()
    };
    let (before, after) = (ids(|delta| delta.old_file()), ids(|delta| delta.new_file()));
    let (mut changed, mut sides) = (Vec::new(), Vec::new());
    for delta in diff.deltas() {
        let (from, to) = (delta.old_file(), delta.new_file());
        let Some(path) = to.path_bytes().or_else(|| from.path_bytes()) else { continue };
        for (file, is_after) in [(&from, false), (&to, true)] {
            if file.exists() {
                let (id, is_link) = (file.id(), is_link(file));
                let is_moved = !is_link && before.contains(&id) && after.contains(&id);
                sides.push(ChangedSide { index: changed.len(), is_after, id, is_link, is_moved });
            }
        }
        changed.push(ChangedFile {
            path: String::from_utf8_lossy(path).into_owned(),
            before: None,
            after: None,
            size: 0,
            is_past_total: false,
            is_moved: !to.exists() || !is_link(&to) && before.contains(&to.id()),
        });
    }
    (changed, sides)
}

fn is_link(file: &DiffFile<'_>) -> bool {
    file.mode() == git2::FileMode::Link
}

/// Reads the sides into their files, at most `most` bytes in total.
fn read_sides(odb: &Odb<'_>, sides: &[ChangedSide], most: usize, changed: &mut [ChangedFile]) {
    let (mut left, mut texts): (usize, HashMap<Oid, Arc<[u8]>>) = (most, HashMap::new());
    for side in sides {
        let Some(file) = changed.get_mut(side.index) else { continue };
        let header = odb.read_header(side.id).ok().filter(|(_, kind)| *kind == ObjectType::Blob);
        // Links are not read as text.
        let size = header.map(|(size, _)| size).filter(|size| !side.is_link && *size <= LARGEST_FILE);
        file.size = file.size.max(header.map_or(0, |(size, _)| size as u64));
        if size.is_some()
            && !texts.contains_key(&side.id)
            && let Some(bytes) = read_blob(odb, side.id, left)
        {
            left -= bytes.len();
            texts.insert(side.id, bytes.into());
        }
        let read = size.and_then(|_| texts.get(&side.id)).cloned();
        let is_known = side.is_moved && file.is_moved;
        file.is_past_total |= !is_known && read.is_none() && size > Some(left);
        let read = read.map_or(ChangedContent::NotRead, ChangedContent::Whole);
        *(if side.is_after { &mut file.after } else { &mut file.before }) = Some(read);
    }
}

/// The bytes of a blob; `None` if it is larger than `largest`.
fn read_blob(odb: &Odb<'_>, id: Oid, largest: usize) -> Option<Vec<u8>> {
    let (size, kind) = odb.read_header(id).ok()?;
    let is_small = kind == ObjectType::Blob && size <= largest;
    is_small.then(|| odb.read(id).ok().map(|object| object.data().to_vec()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_read_once_and_what_the_total_leaves_out_says_so() {
        let read = read_of(&[("a", false), ("a", false), ("b", false), ("c", false)]);
        assert_eq!(read, [(true, false), (true, false), (true, false), (false, true)]);
    }

    #[test]
    fn what_only_moved_is_read_once_and_leaves_nothing_unread_and_is_not_past_the_total() {
        let read = read_of(&[("a", true), ("a", true), ("b", false), ("c", true), ("c", true)]);
        assert_eq!(read, [(true, false), (true, false), (true, false), (false, false), (false, false)]);
    }

    #[test]
    fn a_file_that_has_a_text_of_the_base_is_moved_and_a_link_that_says_it_is_not() {
        const LINK: i32 = 0o120_000;
        const FILE: i32 = 0o100_644;
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let odb = repository.odb().unwrap();
        let tree = |files: &[(&str, &str, i32)]| {
            let mut tree = repository.treebuilder(None).unwrap();
            for (name, text, mode) in files {
                tree.insert(name, odb.write(ObjectType::Blob, text.as_bytes()).unwrap(), *mode).unwrap();
            }
            repository.find_tree(tree.write().unwrap()).unwrap()
        };
        let base = tree(&[("a.py", "code", FILE), ("b.py", "else", FILE), ("version", "1.2", FILE)]);
        let now = tree(&[
            ("a.py", "1.2", LINK),
            ("b.py", "else", 0o100_755),
            ("c.py", "code", FILE),
            ("d.py", "new", FILE),
        ]);
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let diff = repository.diff_tree_to_tree(Some(&base), Some(&now), Some(&mut options)).unwrap();
        let (changed, _) = listed(&diff);
        let moved: Vec<&str> =
            changed.iter().filter(|file| file.is_moved).map(|file| file.path.as_str()).collect();
        assert_eq!(moved, ["b.py", "c.py", "version"], "{changed:?}");
    }

    /// For each side of eight bytes: whether it was read, and whether it is past the total of twenty.
    fn read_of(sides: &[(&str, bool)]) -> Vec<(bool, bool)> {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let odb = repository.odb().unwrap();
        let mut changed = Vec::new();
        let mut all: Vec<ChangedSide> = Vec::new();
        for (index, (name, is_moved)) in sides.iter().enumerate() {
            let id = odb.write(ObjectType::Blob, name.repeat(8).as_bytes()).unwrap();
            all.push(ChangedSide { index, is_after: true, id, is_link: false, is_moved: *is_moved });
            changed.push(ChangedFile {
                path: (*name).to_owned(),
                before: None,
                after: None,
                size: 0,
                is_past_total: false,
                is_moved: *is_moved,
            });
        }
        all.sort_by_key(|side| side.is_moved);
        read_sides(&odb, &all, 20, &mut changed);
        let is_read = |file: &ChangedFile| file.after.as_ref().unwrap().bytes().is_some();
        assert!(changed.iter().all(|file| file.size == 8));
        changed.iter().map(|file| (is_read(file), file.is_past_total)).collect()
    }
}
