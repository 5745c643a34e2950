//! What a commit changes, file by file with their bytes, for whoever reads the change rather than shows it.

use git2::{Diff, DiffOptions, ObjectType, Odb, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::remote::oid;
use super::{GitError, Workspaces};
use journeyman_order::{CommitSha, RepositoryName};

/// Bytes of a file that is read; a larger one has none here.
const LARGEST: usize = 1 << 20;
/// Bytes of all of them. Files after that have none.
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
        let mut left = MOST;
        let mut changed = Vec::new();
        for delta in diff.deltas() {
            let (from, to) = (delta.old_file(), delta.new_file());
            let Some(path) = to.path_bytes().or_else(|| from.path_bytes()) else { continue };
            changed.push(ChangedFile {
                path: String::from_utf8_lossy(path).into_owned(),
                before: from.exists().then(|| file(&odb, &from, &mut left)),
                after: to.exists().then(|| file(&odb, &to, &mut left)),
            });
        }
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

/// What a link leads to is not its text.
fn file(odb: &Odb<'_>, file: &git2::DiffFile<'_>, left: &mut usize) -> ChangedContent {
    if file.mode() == git2::FileMode::Link {
        return ChangedContent::NotRead;
    }
    content(odb, file.id(), left)
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
