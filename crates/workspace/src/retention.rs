//! Deletes the data of finished orders, and keeps our repositories fast.

use std::path::{Path, PathBuf};

use super::large_files::store::LargeFileStore;
use super::{GitError, Workspaces, git_program, leftovers, remove_all};
use journeyman_order::{OrderId, RepositoryName};

/// A mirror with fewer packs is not repacked.
const MANY_PACKS: usize = 50;
/// Commits with fewer loose objects are not repacked.
const MANY_OBJECTS: usize = 1_000;

impl Workspaces {
    /// The orders that have a folder.
    pub fn orders_with_folders(&self) -> Result<Vec<OrderId>, GitError> {
        let order = |path: &Path| -> Option<OrderId> { path.file_name()?.to_str()?.parse().ok() };
        Ok(listed(&self.orders())?.iter().filter_map(|(path, _)| order(path)).collect())
    }

    /// Deletes an order's folder and the references of its commits. Commits without other references are deleted by the
    /// next [`Workspaces::maintain`]. If the order resumes later, it fetches what was pushed to GitHub.
    pub fn forget(&self, order: OrderId, repository: &RepositoryName) -> Result<(), GitError> {
        let _alone = self.lock_of(order.to_string());
        // First: while the folder exists, a killed server repeats this.
        self.forget_names(order, repository)?;
        remove_all(&self.order_dirs(order).root)
    }

    /// Deletes the references of an order's commits.
    fn forget_names(&self, order: OrderId, repository: &RepositoryName) -> Result<(), GitError> {
        if self.own_path("commits", repository).exists() {
            let commits = self.commits(repository)?;
            for kind in ["journeyman", "marked", "taken"] {
                for reference in commits.references_glob(&format!("refs/{kind}/{order}/*"))? {
                    reference.and_then(|mut reference| reference.delete())?;
                }
            }
            if let Ok(mut fetched) = commits.find_reference(&format!("refs/fetched/{order}")) {
                fetched.delete()?;
            }
        }
        Ok(())
    }

    /// Repacks repositories with many packs or loose objects, because each slows reading. Deletes contents of Git LFS
    /// unused for a month.
    pub fn maintain(&self) -> Result<(), GitError> {
        for mirror in self.own_repositories("mirrors")? {
            if packs(&mirror)? >= MANY_PACKS {
                // Drop nothing: our commits may be based on objects without a reference here.
                self.run(&mirror, &["repack", "-d", "-l", "--geometric=2", "--quiet"]);
            }
        }
        for commits in self.own_repositories("commits")? {
            if let Ok(name) = commits.strip_prefix(self.inner.data.join("commits")) {
                LargeFileStore::at(self.inner.data.join("lfs").join(name)).sweep()?;
            }
            let mut loose = 0;
            for (folder, _) in listed(&commits.join("objects"))? {
                if folder.file_name().is_some_and(|name| name.len() == 2) {
                    loose += listed(&folder)?.len();
                }
            }
            if loose >= MANY_OBJECTS || packs(&commits)? >= MANY_PACKS {
                // Objects of a recent import have no reference yet.
                self.run(&commits, &["gc", "--quiet", "--prune=2.days.ago"]);
            }
        }
        Ok(())
    }

    fn run(&self, repository: &Path, arguments: &[&str]) {
        // The lock stops fetches, and links to its packs.
        let Ok(path) = repository.strip_prefix(&self.inner.data) else { return };
        let _held = self.lock_of(path.components().skip(1).collect::<PathBuf>().display().to_string());
        let begun = std::time::Instant::now();
        let arguments = [&["-c", "gc.packRefs=false", "-c", "gc.writeCommitGraph=false"], arguments].concat();
        let path = repository.display();
        match git_program::run(repository, &arguments, &self.is_given_up) {
            Ok(()) => tracing::info!(
                repository = %path,
                milliseconds = begun.elapsed().as_millis() as u64,
                "its packs were put together"
            ),
            // Git removes partial files itself, and after a kill the next start does.
            Err(said) => tracing::warn!(repository = %path, "its packs stay as they are: {said}"),
        }
    }

    /// The folders of all repositories of a kind.
    fn own_repositories(&self, kind: &str) -> Result<Vec<PathBuf>, GitError> {
        let mut repositories = Vec::new();
        for (owner, is_folder) in listed(&self.inner.data.join(kind))? {
            let inside = if is_folder { listed(&owner)? } else { Vec::new() };
            repositories.extend(
                inside.into_iter().map(|(path, _)| path).filter(|path| path.join("complete").exists()),
            );
        }
        Ok(repositories)
    }
}

fn packs(repository: &Path) -> Result<usize, GitError> {
    let is_pack = |path: &Path| path.extension().is_some_and(|ending| ending == "pack");
    Ok(listed(&repository.join("objects/pack"))?.iter().filter(|(path, _)| is_pack(path)).count())
}

fn listed(folder: &Path) -> Result<Vec<(PathBuf, bool)>, GitError> {
    if folder.is_dir() { leftovers::entries(folder) } else { Ok(Vec::new()) }
}
