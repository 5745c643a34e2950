//! A git repository of the user's: its commit, and the uncommitted changes in its work tree.
//!
//! May know: git. Must never know: what the commit is used for.

use std::path::{Path, PathBuf};

use super::super::{UsageError, local_clone};
use crate::app::open_clone;
use crate::engine::SETTINGS_FILE;
use crate::order::CommitSha;

pub(super) struct LocalCheckout {
    /// The work tree, or the bare repository.
    pub(super) folder: PathBuf,
    /// Where git keeps its own files.
    pub(super) git_folder: PathBuf,
    pub(super) commit: CommitSha,
    /// The branch that is checked out, if any.
    pub(super) branch: Option<String>,
    work_tree: Option<PathBuf>,
}

/// What is in the work tree but not in the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UncommittedFiles {
    pub(super) files: usize,
    /// Whether the repository's settings for Journeyman are among them.
    pub(super) settings: bool,
}

impl LocalCheckout {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let wrong = |error: git2::Error| local_clone::without_commit(path, &error);
        let repository =
            open_clone(path).map_err(|error| UsageError(format!("--repo {}: {error}", path.display())))?;
        let head = repository.head().map_err(wrong)?;
        let commit = head.peel_to_commit().map_err(wrong)?;
        let is_whole = || matches!(local_clone::missing_object(&repository, commit.id()), Ok(None));
        if local_clone::is_partial(&repository) && !is_whole() {
            let problem = format!("--repo {}: {}", path.display(), local_clone::PARTIAL);
            return Err(UsageError(problem).into());
        }
        let commit = commit.id().to_string().parse()?;
        let branch = head.is_branch().then(|| head.shorthand().ok().map(str::to_owned)).flatten();
        let work_tree = repository.workdir().map(Path::to_owned);
        let folder = work_tree.clone().unwrap_or_else(|| repository.path().to_owned());
        let folder = folder.components().collect();
        Ok(Self { folder, git_folder: repository.path().to_owned(), commit, branch, work_tree })
    }

    /// The folder for writing files; an error for a bare repository.
    pub(super) fn work_tree(&self) -> anyhow::Result<&Path> {
        let folder = self.folder.display();
        let bare = || UsageError(format!("--init: {folder} is a bare repository; use one with a work tree"));
        Ok(self.work_tree.as_deref().ok_or_else(bare)?)
    }
}

impl UncommittedFiles {
    pub(super) fn of(git_folder: &Path) -> anyhow::Result<Self> {
        let repository = git2::Repository::open(git_folder)?;
        if repository.is_bare() {
            return Ok(Self { files: 0, settings: false });
        }
        let mut options = git2::StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).exclude_submodules(true);
        let statuses = repository.statuses(Some(&mut options))?;
        let settings = statuses.iter().any(|entry| entry.path().is_ok_and(|path| path == SETTINGS_FILE));
        Ok(Self { files: statuses.len(), settings })
    }
}
