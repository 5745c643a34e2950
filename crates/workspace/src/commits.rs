//! Making our commits, and reading any commits.

use chrono::{DateTime, Utc};
use git2::{ObjectType, TreeWalkMode, TreeWalkResult};

use super::commit_origin::{CommitOrigin, plain, signature};
use super::remote::{oid, sha};
use super::{GitError, Workspaces};
use journeyman_order::bounds::LARGEST_FILE;
use journeyman_order::{CommitSha, OrderId, RepositoryName, TreeSha};

/// A commit to make. The same input gives the same commit, byte for byte.
#[derive(Debug, Clone, Copy)]
pub struct NewCommit<'a> {
    pub order: OrderId,
    /// Its name within the order, of `[A-Za-z0-9_-]`; part of the reference that keeps the commit.
    pub name: &'a str,
    pub tree: &'a TreeSha,
    /// Its first parent: any commit that is here, including a person's.
    pub parent: &'a CommitSha,
    /// Its second parent, if it is a merge.
    pub merges: Option<&'a CommitSha>,
    pub message: &'a str,
    /// Its date, in whole seconds.
    pub date: DateTime<Utc>,
}

impl Workspaces {
    /// Makes one of our commits, signed if there is a key, and keeps it under `refs/journeyman/ORDER/NAME.SHA`.
    ///
    /// # Errors
    /// If the tree or a parent is missing or the name is invalid; [`GitErrorKind::Unavailable`] if it cannot be signed.
    ///
    /// [`GitErrorKind::Unavailable`]: super::GitErrorKind::Unavailable
    pub fn commit(&self, repository: &RepositoryName, new: NewCommit<'_>) -> Result<CommitSha, GitError> {
        plain(new.name)?;
        let commits = self.commits(repository)?;
        let tree = git2::Oid::from_str(new.tree.as_str()).and_then(|id| commits.find_tree(id))?;
        let mut parents = vec![commits.find_commit(oid(new.parent)?)?];
        if let Some(second) = new.merges {
            parents.push(commits.find_commit(oid(second)?)?);
        }
        let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
        let author = signature(new.date.timestamp())?;
        let made = match self.signer() {
            None => commits.commit(None, &author, &author, new.message, &tree, &parents)?,
            Some(signer) => {
                let committer = signer.committed(new.date.timestamp())?;
                let content =
                    commits.commit_create_buffer(&author, &committer, new.message, &tree, &parents)?;
                let before = CommitOrigin::Bot.named(&commits, new.order, new.name)?;
                signer.keep(&commits, before.into_iter(), content.as_str()?)?
            }
        };
        let reference = CommitOrigin::Bot.reference(new.order, new.name, made);
        commits.reference(&reference, made, true, "")?;
        sha(made)
    }

    /// The paths of a commit's files in its root and in the folders that `enters` accepts.
    pub fn paths_within(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        enters: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, GitError> {
        let commits = self.commits(repository)?;
        let tree = self.tree_within(&commits, oid(commit)?)?;
        let mut paths = Vec::new();
        tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
            let Ok(name) = entry.name() else { return TreeWalkResult::Skip };
            let path = format!("{folder}{name}");
            match entry.kind() {
                Some(ObjectType::Tree) if enters(&path) => TreeWalkResult::Ok,
                Some(ObjectType::Blob) => {
                    paths.push(path);
                    TreeWalkResult::Ok
                }
                _ => TreeWalkResult::Skip,
            }
        })?;
        Ok(paths)
    }

    /// A file of a commit; `None` if the path is missing or not a file.
    pub fn file(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        path: &str,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let commits = self.commits(repository)?;
        let tree = self.tree_within(&commits, oid(commit)?)?;
        let path = std::path::Path::new(path);
        if path.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return Ok(None);
        }
        let entry = match tree.get_path(path) {
            Ok(entry) => entry,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !matches!(entry.filemode(), 0o100_644 | 0o100_664 | 0o100_755) {
            return Ok(None);
        }
        let odb = commits.odb()?;
        let (size, kind) = odb.read_header(entry.id())?;
        if kind != ObjectType::Blob {
            return Ok(None);
        }
        if size > LARGEST_FILE {
            return Err(GitError::broken(format!("{path:?} is larger than {} MiB", LARGEST_FILE >> 20)));
        }
        Ok(Some(odb.read(entry.id())?.data().to_vec()))
    }

    /// The entries in a commit's root, sorted: files by name, folders with a trailing slash. Names that are not UTF-8
    /// are left out.
    pub fn root_files(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
    ) -> Result<Vec<String>, GitError> {
        let commits = self.commits(repository)?;
        let tree = self.tree_within(&commits, oid(commit)?)?;
        let mut names = Vec::new();
        for entry in &tree {
            if let (Ok(name), Some(kind)) = (entry.name(), entry.kind()) {
                let slash = if kind == ObjectType::Tree { "/" } else { "" };
                names.push(format!("{name}{slash}"));
            }
        }
        names.sort();
        Ok(names)
    }
}
