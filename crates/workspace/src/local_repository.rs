//! A repository on this machine whose commits are looked at where they are: nothing is copied, and nothing is changed.

use std::path::Path;

use git2::Repository;

use super::{GitError, Workspaces, address};
use journeyman_order::RepositoryName;

impl Workspaces {
    /// Lets the mirror see the objects of a repository at `path`. For as long as that repository is there.
    ///
    /// # Errors
    /// When there is no repository, or its path cannot be written down.
    pub fn import_local(&self, repository: &RepositoryName, path: &Path) -> Result<(), GitError> {
        let lender = open(path)?;
        // Of a work tree beside the first one, the objects are the first one's.
        let objects = lender.commondir().join("objects");
        let objects = objects
            .canonicalize()
            .map_err(|error| GitError::file("find the objects in", &objects, &error))?;
        let Some(line) = objects.to_str().filter(|line| !line.contains(['\n', '"'])) else {
            return Err(GitError::broken(format!("{objects:?} cannot be named as a place of objects")));
        };
        let mirror = self.mirror(repository)?;
        let file = mirror.path().join("objects/info/alternates");
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| GitError::file("make", folder, &error))?;
        }
        std::fs::write(&file, format!("{line}\n")).map_err(|error| GitError::file("write", &file, &error))?;
        if let Ok(origin) = lender.find_remote("origin") {
            address::keep(mirror.path(), origin.url().unwrap_or_default())?;
        }
        self.keep_local_tags(&mirror, &lender)?;
        self.import_local_submodules(repository, &lender)
    }

    /// Copies the submodules that a clone at `path` has checked out for its commit, and nothing else of it.
    ///
    /// # Errors
    /// When there is no repository, or the disk fails.
    pub fn import_submodules(&self, repository: &RepositoryName, path: &Path) -> Result<(), GitError> {
        let lender = open(path)?;
        self.import_local_submodules(repository, &lender)
    }
}

fn open(path: &Path) -> Result<Repository, GitError> {
    Repository::open(path).map_err(|error| GitError::local("open the repository", &error))
}
