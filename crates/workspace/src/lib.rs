//! Repositories: mirrors of GitHub's, the agent's own repository, and the way between them.
//!
//! May know: git's objects, references and protocol through libgit2; files under the data folder; the git program, for
//! what libgit2 cannot do; Git LFS's batch API on the same server; the programs that sign commits.
//! Must never know: GitHub's API, agents, what is in a journal. It starts only these programs, and git only in our own
//! repositories. Work in a repository that an agent could write is returned as a command to run in a sandbox.
//!
//! The folders; only the last two belong to the agent:
//!
//! | folder | owner | content |
//! |---|---|---|
//! | `mirrors/OWNER/NAME.git` | ours | fetched objects and nothing else |
//! | `commits/OWNER/NAME.git` | ours | trees from the airlock, our commits of them, people's commits; sees the mirror |
//! | `submodules/OWNER/NAME.git` | ours | its submodules, as fetched |
//! | `lfs/OWNER/NAME.git` | ours | not a repository: the contents of its Git LFS files |
//! | `orders/ID/origin` | the agent's | the agent's remote: created before any agent ran, never reopened by us |
//! | `orders/ID/work` | the agent's | the agent's work tree, cloned from it in the sandbox |
//!
//! In `commits`, the reference says who made a commit: `refs/journeyman/ORDER/` ours for publishing,
//! `refs/marked/ORDER/` ours and never published, `refs/taken/ORDER/` a person's.
//!
//! Agents that only read, such as reviewers, have a folder each: plain files of a commit, and their own home.
//!
//! All functions block: call them where blocking is allowed.

mod address;
mod bounds;
mod changes;
mod commit_origin;
mod commits;
mod conflicts;
mod contents;
mod error;
mod examine;
mod export;
mod files;
mod git_program;
mod git_wire;
mod gitmodules;
mod history;
mod human_commits;
mod import;
mod incoming;
mod large_files;
mod leftovers;
mod libgit2;
mod links;
mod local_repository;
mod local_submodules;
mod names;
mod origin;
mod outline;
mod own_commits;
mod patch;
mod power;
mod protected;
mod remake;
mod remarks;
mod remote;
mod removal;
mod retention;
mod review_checkout;
mod secrets;
mod signing;
mod source;
mod source_tree;
mod submodules;
#[cfg(test)]
mod tests;
mod tree;
mod update;
mod version_tags;
mod worktree_base;

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::{Oid, Repository, RepositoryInitOptions, Revwalk};

pub use bounds::{KEPT_FREE_OF_OBJECTS, bounded_tree, free_bytes};
pub use changes::{ChangedContent, ChangedFile};
pub use commits::NewCommit;
pub use error::{GitError, GitErrorKind};
pub use files::{NewFiles, OriginState};
pub use git_wire::FetchGuard;
pub use human_commits::FetchedBranch;
pub use import::{ImportOutcome, ImportRules};
pub use links::TreeLinks;
pub use local_repository::open_clone;
pub use origin::ORIGIN_DAMAGED;
pub use outline::Outline;
pub use own_commits::JournaledCommits;
pub use protected::default_protected;
pub use remote::{PushOutcome, Remote};
pub use removal::remove_all;
pub use secrets::SecretSet;
pub use signing::CommitSigner;
pub use source_tree::{LargeSourceContent, SourceContent, SourceTree};
pub use update::{BranchUpdate, BranchUpdateOutcome};
pub use worktree_base::StartPoint;

use bounds::KnownTreeSizes;
use journeyman_order::{OrderId, OutgoingNetwork, RepositoryName};
use large_files::LargeFilePointers;

/// All work on repositories, under one data folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspaces {
    inner: Arc<WorkspacesInner>,
    /// The folder of environments and images.
    cache: PathBuf,
    /// How to reach servers.
    outgoing: Arc<OutgoingNetwork>,
    /// Signs published commits; `None`: commits are unsigned.
    signer: Option<Arc<CommitSigner>>,
    /// Set once no caller waits for a fetch any more.
    is_given_up: Arc<AtomicBool>,
}

#[derive(Debug)]
struct WorkspacesInner {
    data: PathBuf,
    /// One lock per repository, because libgit2 does not stop two threads from creating or fetching the same one. One
    /// per order, for what is created once.
    locks: Mutex<HashMap<String, &'static Mutex<()>>>,
    /// Repositories in which this process has cleaned up leftovers of an earlier one.
    cleared: Mutex<HashSet<PathBuf>>,
    /// Cached Git LFS pointers by tree.
    large_files: Mutex<HashMap<Oid, Arc<LargeFilePointers>>>,
    /// Cached tree sizes.
    tree_sizes: Mutex<KnownTreeSizes>,
}

/// The folders of an order, side by side, so that none is inside a folder that the agent can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderDirs {
    pub root: PathBuf,
    /// The agent's work tree.
    pub work: PathBuf,
    /// The upper layer of the work tree, if it is made of layers.
    pub work_written: PathBuf,
    /// The agent's origin, a bare repository.
    pub origin: PathBuf,
    /// Fetched packs for its origin: the mirror's own files, which jobs see read-only.
    pub packs: PathBuf,
    /// The agent's home, including its sessions.
    pub home: PathBuf,
    /// Output of agent runs.
    pub runs: PathBuf,
    /// Checkouts for tests, and the homes of test runs.
    pub tests: PathBuf,
    /// Checkouts for reviews, and the reviewers' homes.
    pub reviews: PathBuf,
}

impl OrderDirs {
    /// All folders below a root, on the host or as jobs see it.
    pub fn at(root: &Path) -> Self {
        Self {
            work: root.join("work"),
            work_written: root.join("work.upper"),
            origin: root.join("origin"),
            packs: root.join("packs"),
            home: root.join("home"),
            runs: root.join("runs"),
            tests: root.join("tests"),
            reviews: root.join("seats"),
            root: root.to_owned(),
        }
    }
}

impl Workspaces {
    /// Creates the data folder if missing, and makes libgit2 ignore the machine's configuration.
    pub fn new(data: &Path) -> Result<Self, GitError> {
        libgit2::harden()?;
        std::fs::create_dir_all(data)
            .map_err(|error| GitError::file("make the data folder", data, &error))?;
        let data =
            data.canonicalize().map_err(|error| GitError::file("find the data folder", data, &error))?;
        Ok(Self {
            cache: data.clone(),
            inner: Arc::new(WorkspacesInner {
                data,
                locks: Mutex::default(),
                cleared: Mutex::default(),
                large_files: Mutex::default(),
                tree_sizes: Mutex::default(),
            }),
            outgoing: Arc::default(),
            signer: None,
            is_given_up: Arc::default(),
        })
    }

    /// With a separate folder for environments and images.
    pub fn caching_in(self, cache: &Path) -> Result<Self, GitError> {
        std::fs::create_dir_all(cache)
            .map_err(|error| GitError::file("make the cache folder", cache, &error))?;
        let cache =
            cache.canonicalize().map_err(|error| GitError::file("find the cache folder", cache, &error))?;
        Ok(Self { cache, ..self })
    }

    /// With a proxy or other certificates for reaching servers.
    pub fn reached_by(self, outgoing: OutgoingNetwork) -> Self {
        Self { outgoing: Arc::new(outgoing), ..self }
    }

    /// Signs every commit for publishing.
    pub fn signed_by(self, signer: Option<CommitSigner>) -> Self {
        Self { signer: signer.map(Arc::new), ..self }
    }

    /// The signer of published commits.
    pub fn signer(&self) -> Option<&CommitSigner> {
        self.signer.as_deref()
    }

    /// A clone whose fetches stop when the guard is dropped.
    pub fn until_dropped(&self) -> (Self, FetchGuard) {
        let is_given_up = Arc::new(AtomicBool::new(false));
        let guard = FetchGuard(Arc::clone(&is_given_up));
        (Self { is_given_up, ..self.clone() }, guard)
    }

    /// The order's folders, which may not exist yet.
    pub fn order_dirs(&self, order: OrderId) -> OrderDirs {
        OrderDirs::at(&self.orders().join(order.to_string()))
    }

    /// Deletes an order's work, origin, home, tests and reviews, if present. The output of its runs and its commits
    /// stay. If the order resumes later, the folders are recreated without its agents' sessions.
    pub fn remove(&self, order: OrderId) -> Result<(), GitError> {
        let places = self.order_dirs(order);
        let _alone = self.lock_of(order.to_string());
        if !places.root.exists() {
            return Ok(());
        }
        worktree_base::making(&places)?;
        // Delete all but the output of runs: layers add more folders beside these.
        let entries =
            std::fs::read_dir(&places.root).map_err(|error| GitError::file("read", &places.root, &error))?;
        for entry in entries.flatten().filter(|entry| entry.path() != places.runs && !entry.path().is_file())
        {
            remove_all(&entry.path())?;
        }
        worktree_base::forget(&places)
    }

    /// The cached results for a repository's base commits, shared by all orders.
    pub fn baselines(&self, repository: &RepositoryName) -> PathBuf {
        self.inner.data.join("baselines").join(folder(repository))
    }

    /// A repository's environments, shared by all orders.
    pub fn environments(&self, repository: &RepositoryName) -> PathBuf {
        self.all_environments().join(folder(repository))
    }

    /// The environments of all repositories: a folder per owner, with one per repository.
    pub fn all_environments(&self) -> PathBuf {
        self.cache.join("environments")
    }

    /// The parent of all orders' folders.
    pub fn orders(&self) -> PathBuf {
        self.inner.data.join("orders")
    }

    /// The images, shared by all repositories.
    pub fn images(&self) -> PathBuf {
        self.cache.join("images")
    }

    /// The file with the time of the last clean shutdown.
    pub fn ended_at(&self) -> PathBuf {
        self.inner.data.join("ended")
    }

    /// A folder to test what the file system supports.
    pub fn layers(&self) -> PathBuf {
        self.inner.data.join("layers")
    }

    /// The mirror, created if missing.
    fn mirror(&self, repository: &RepositoryName) -> Result<Repository, GitError> {
        self.own_repository("mirrors", repository, None)
    }

    /// The repository of our own commits, created if missing. It sees the mirror's objects.
    fn commits(&self, repository: &RepositoryName) -> Result<Repository, GitError> {
        drop(self.mirror(repository)?);
        self.own_repository("commits", repository, Some(&remake::seen(repository)))
    }

    fn own_repository(
        &self,
        kind: &str,
        name: &RepositoryName,
        sees: Option<&str>,
    ) -> Result<Repository, GitError> {
        let path = self.own_path(kind, name);
        let _held = self.lock(name);
        if !path.join("complete").exists() {
            remove_all(&path)?;
            let made = |error: &std::io::Error| GitError::file("make the repository", &path, error);
            std::fs::create_dir_all(&path).map_err(|error| made(&error))?;
            let made_now = init_bare(&path, "main")?;
            remake::sync_what_is_written(&made_now)?;
            if let Some(alternates) = sees {
                write_whole(&path.join("objects/info/alternates"), alternates.as_bytes())
                    .map_err(|error| made(&error))?;
            }
            for file in ["HEAD", "config"] {
                std::fs::File::open(path.join(file))
                    .and_then(|file| file.sync_all())
                    .map_err(|error| made(&error))?;
            }
            // Last, so that a partial one is recreated.
            write_whole(&path.join("complete"), b"").map_err(|error| made(&error))?;
        }
        let cleared = || self.inner.cleared.lock().unwrap_or_else(PoisonError::into_inner);
        if !cleared().contains(&path) {
            // Only one process uses the data folder, and all access to our repositories passes here under a lock:
            // anything found the first time is a leftover.
            leftovers::clear(&path)?;
            cleared().insert(path.clone());
        }
        let opened = Repository::open_bare(&path)?;
        remake::sync_what_is_written(&opened)?;
        Ok(opened)
    }

    fn lock(&self, repository: &RepositoryName) -> MutexGuard<'static, ()> {
        self.lock_of(folder(repository))
    }

    /// Locks `what`. Locks live as long as the process.
    fn lock_of(&self, what: String) -> MutexGuard<'static, ()> {
        let mut locks = self.inner.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = *locks.entry(what).or_insert_with(|| Box::leak(Box::new(Mutex::new(()))));
        drop(locks);
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lower case is safe: GitHub's names never differ by case alone.
fn folder(repository: &RepositoryName) -> String {
    format!("{repository}.git").to_ascii_lowercase()
}

/// A bare repository without template files.
fn init_bare(path: &Path, head: &str) -> Result<Repository, GitError> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head(head);
    Repository::init_opts(path, &options).map_err(GitError::from)
}

/// Like [`write_whole`], unless the file says so already.
fn keep_whole(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    if std::fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    write_whole(path, bytes).map_err(|error| GitError::file("write", path, &error))
}

/// The commits behind one, without those behind others.
fn walk(
    commits: &Repository,
    from: Oid,
    without: impl IntoIterator<Item = Oid>,
) -> Result<Revwalk<'_>, git2::Error> {
    let mut walk = commits.revwalk()?;
    walk.push(from)?;
    without.into_iter().try_for_each(|known| walk.hide(known))?;
    Ok(walk)
}

/// Writes a temporary file, syncs and renames it: after a crash the file is either new or unchanged.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    std::fs::File::open(folder)?.sync_all()
}
