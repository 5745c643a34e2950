//! What a commit changes, file by file with their bytes, for whoever reads the change rather than shows it.

use std::collections::HashSet;

use git2::{Diff, DiffOptions, ObjectType, Odb, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::remote::oid;
use super::{GitError, Workspaces};
use journeyman_order::{CommitSha, RepositoryName};

/// Bytes of a file that is read; a larger one has none here.
const LARGEST: usize = 1 << 20;
/// Bytes of all of them. Files after that have none; copies of what was read come last.
const MOST: usize = 128 << 20;
/// Entries of a tree that are looked at.
const MOST_ENTRIES: usize = 200_000;

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// Its bytes before; none where it was not there.
    pub before: Option<ChangedContent>,
    /// Its bytes now; none where it is gone.
    pub after: Option<ChangedContent>,
    /// Whether one of the two was not read only since all that is read of a change was read.
    pub is_past_total: bool,
}

/// One side of a file, to be read.
struct ChangedSide {
    /// Of which of the files.
    index: usize,
    is_after: bool,
    id: Oid,
    is_link: bool,
    /// Whether another has the same bytes.
    is_copy: bool,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedContent {
    Whole(Vec<u8>),
    /// Too large to be read, no file, or a path that is not UTF-8.
    NotRead,
}

impl ChangedContent {
    /// The bytes; none where they were not read.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::NotRead => None,
        }
    }
}

impl Workspaces {
    /// How two commits differ, and where the files of both are read from.
    pub(super) fn compare<'r>(
        &self,
        commits: &'r Repository,
        before: &CommitSha,
        after: &CommitSha,
    ) -> Result<(Diff<'r>, Odb<'r>), GitError> {
        let said = |error: git2::Error| GitError::local("compare two commits", &error);
        let (old, new) = (self.tree_within(commits, oid(before)?)?, self.tree_within(commits, oid(after)?)?);
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let diff = commits.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options)).map_err(said)?;
        Ok((diff, commits.odb().map_err(said)?))
    }

    /// The files that differ between two commits, by path; a renamed one is one gone and one new.
    ///
    /// # Errors
    /// When one of the two is not here.
    pub fn changes(
        &self,
        repository: &RepositoryName,
        before: &CommitSha,
        after: &CommitSha,
    ) -> Result<Vec<ChangedFile>, GitError> {
        let commits = self.commits(repository)?;
        let (diff, odb) = self.compare(&commits, before, after)?;
        let (mut changed, mut sides, mut known) = (Vec::new(), Vec::new(), HashSet::new());
        for delta in diff.deltas() {
            let (from, to) = (delta.old_file(), delta.new_file());
            let Some(path) = to.path_bytes().or_else(|| from.path_bytes()) else { continue };
            for (file, is_after) in [(&from, false), (&to, true)] {
                if file.exists() {
                    sides.push(ChangedSide {
                        index: changed.len(),
                        is_after,
                        id: file.id(),
                        is_link: file.mode() == git2::FileMode::Link,
                        is_copy: !known.insert(file.id()),
                    });
                }
            }
            changed.push(ChangedFile {
                path: String::from_utf8_lossy(path).into_owned(),
                before: None,
                after: None,
                is_past_total: false,
            });
        }
        // One blob under many names leaves no other file unread.
        sides.sort_by_key(|side| side.is_copy);
        read_sides(&odb, &sides, MOST, &mut changed);
        changed.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(changed)
    }

    /// Files of a commit whose paths are wanted, by path; at most `most` bytes of them, and none that is large.
    ///
    /// # Errors
    /// When the commit is not here.
    pub fn some_files(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        most: usize,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(String, Vec<u8>)>, GitError> {
        let commits = self.commits(repository)?;
        let said = |error: git2::Error| GitError::local("read the files of a commit", &error);
        let tree = self.tree_within(&commits, oid(commit)?)?;
        let odb = commits.odb().map_err(said)?;
        let (mut left, mut looked_at, mut found) = (most, 0, Vec::new());
        let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
            looked_at += 1;
            if looked_at > MOST_ENTRIES {
                return TreeWalkResult::Abort;
            }
            let is_file = matches!(entry.filemode(), 0o100_644 | 0o100_664 | 0o100_755);
            if let (Some(folder), Ok(name), true) = (Some(folder), entry.name(), is_file) {
                let path = format!("{folder}{name}");
                if is_wanted(&path)
                    && let ChangedContent::Whole(bytes) = content(&odb, entry.id(), &mut left)
                {
                    found.push((path, bytes));
                }
            }
            TreeWalkResult::Ok
        });
        // A walk that was ended early has found enough.
        match walked {
            Err(error) if looked_at <= MOST_ENTRIES => Err(said(error)),
            Ok(()) | Err(_) => Ok(found),
        }
    }
}

/// Reads sides into their files, at most `most` bytes of them.
fn read_sides(odb: &Odb<'_>, sides: &[ChangedSide], most: usize, changed: &mut [ChangedFile]) {
    let mut left = most;
    for side in sides {
        let Some(file) = changed.get_mut(side.index) else { continue };
        // What a link leads to is not its text.
        let read = match side.is_link {
            true => ChangedContent::NotRead,
            false => content(odb, side.id, &mut left),
        };
        let would_fit =
            |(size, kind): (usize, ObjectType)| kind == ObjectType::Blob && size <= LARGEST && size > left;
        file.is_past_total |=
            !side.is_link && read == ChangedContent::NotRead && odb.read_header(side.id).is_ok_and(would_fit);
        *(if side.is_after { &mut file.after } else { &mut file.before }) = Some(read);
    }
}

fn content(odb: &Odb<'_>, id: Oid, left: &mut usize) -> ChangedContent {
    let fits = |&(size, kind): &(usize, ObjectType)| kind == ObjectType::Blob && size <= LARGEST.min(*left);
    let Some((size, _)) = odb.read_header(id).ok().filter(fits) else { return ChangedContent::NotRead };
    match odb.read(id) {
        Ok(object) => {
            *left -= size;
            ChangedContent::Whole(object.data().to_vec())
        }
        Err(_) => ChangedContent::NotRead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_read_last_and_what_the_total_leaves_out_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let odb = repository.odb().unwrap();
        let blob = |bytes: &[u8]| odb.write(ObjectType::Blob, bytes).unwrap();
        let (one, other) = (blob(b"12345678"), blob(b"abcdefgh"));
        let ids = [(one, false), (one, true), (other, false)];
        let mut changed: Vec<ChangedFile> = ["a", "b", "c"]
            .iter()
            .map(|path| ChangedFile {
                path: (*path).to_owned(),
                before: None,
                after: None,
                is_past_total: false,
            })
            .collect();
        let mut sides: Vec<ChangedSide> = ids
            .iter()
            .enumerate()
            .map(|(index, (id, is_copy))| ChangedSide {
                index,
                is_after: true,
                id: *id,
                is_link: false,
                is_copy: *is_copy,
            })
            .collect();
        sides.sort_by_key(|side| side.is_copy);
        read_sides(&odb, &sides, 20, &mut changed);
        let read: Vec<_> = changed.iter().map(|file| (file.after.is_some(), file.is_past_total)).collect();
        assert_eq!(read, [(true, false), (true, true), (true, false)]);
        assert_eq!(changed[1].after, Some(ChangedContent::NotRead));
        assert_eq!(changed[2].after, Some(ChangedContent::Whole(b"abcdefgh".to_vec())));
    }
}
