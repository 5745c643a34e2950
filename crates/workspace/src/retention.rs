//! Deletes the data of finished orders, and keeps our repositories fast.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::large_files::{self, store::LargeFileStore};
use super::{GitError, Workspaces, git_program, leftovers, remove_all};
use journeyman_order::{OrderId, RepositoryName};

/// Prefix of folders being deleted.
const GONE: &str = "gone-";
/// A mirror with fewer packs is not repacked.
const MANY_PACKS: usize = 50;
/// Commits with fewer loose objects are not repacked.
const MANY_OBJECTS: usize = 1_000;

impl Workspaces {
    /// The orders that have a folder. It also finishes deletions that a killed server began.
    pub fn orders_with_folders(&self) -> Result<Vec<OrderId>, GitError> {
        let mut orders = Vec::new();
        for (path, _) in listed(&self.orders())? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match name.parse() {
                Ok(order) => orders.push(order),
                Err(_) if name.starts_with(GONE) => {
                    // A failure must not block other clean-up.
                    if let Err(error) = remove_all(&path) {
                        tracing::warn!(path = %path.display(), "cannot be removed: {error}");
                    }
                }
                Err(_) => {}
            }
        }
        Ok(orders)
    }

    /// Deletes an order's folder and the references of its commits. Commits without other references are deleted by the
    /// next [`Workspaces::maintain`]. If the order resumes later, it fetches what was pushed to GitHub.
    pub fn forget(&self, order: OrderId, repository: &RepositoryName) -> Result<(), GitError> {
        let root = self.order_dirs(order).root;
        let held = self.lock_of(order.to_string());
        // First: while the folder exists, a killed server repeats this.
        self.forget_names(order, repository)?;
        // Rename at once, so that a new folder in the meantime is safe.
        let away = self.orders().join(format!("{GONE}{order}"));
        remove_all(&away)?;
        std::fs::rename(&root, &away).map_err(|error| GitError::file("take away", &root, &error))?;
        drop(held);
        remove_all(&away)
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
    /// unused for a month that no named commit here needs.
    pub fn maintain(&self) -> Result<(), GitError> {
        for mirror in self.own_repositories("mirrors")? {
            if packs(&mirror)? >= MANY_PACKS {
                // Drop nothing: our commits may be based on objects without a reference here.
                self.run(&mirror, &["repack", "-d", "-l", "--geometric=2", "--quiet"]);
            }
        }
        for commits in self.own_repositories("commits")? {
            self.sweep_large_files(&commits)?;
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

    /// `commits` is the path of a repository's commits.
    fn sweep_large_files(&self, commits: &Path) -> Result<(), GitError> {
        let Ok(name) = commits.strip_prefix(self.inner.data.join("commits")) else { return Ok(()) };
        let folder = self.inner.data.join("lfs").join(name);
        if !folder.is_dir() {
            return Ok(());
        }
        let mut needed = HashSet::new();
        for at in [commits.to_owned(), self.inner.data.join("mirrors").join(name)] {
            let Ok(repository) = git2::Repository::open_bare(&at) else { continue };
            let odb = repository.odb()?;
            for reference in repository.references()? {
                // Unreadable commits protect nothing; their contents are fetched again.
                let commit = reference.and_then(|reference| reference.peel_to_commit());
                let tree = commit.ok().and_then(|commit| self.tree_within(&repository, commit.id()).ok());
                let Some(tree) = tree else { continue };
                let pointers = large_files::pointers_of(&odb, tree.id())?;
                needed.extend(pointers.into_values().map(|pointer| pointer.id));
            }
        }
        LargeFileStore::at(folder).sweep(&|id| needed.contains(id))
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
