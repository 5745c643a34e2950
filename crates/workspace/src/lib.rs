//! Repositories: mirrors of what is on GitHub, the agent's own repository, and the road between them.
//!
//! May know: git's objects, references and protocol, by libgit2; files under the data folder; git itself, for what libgit2 does
//! not do; the batch API of Git LFS on the same server; the programs that sign commits.
//! Must never know: GitHub's API, agents, what is in a journal. It starts no process but these, and git in repositories of
//! ours only: what has to be run in one that an agent could write is handed out as a command, to be run in a sandbox.
//!
//! These take part, and only the last two are the agent's:
//!
//! | where | whose | what is in it |
//! |---|---|---|
//! | `mirrors/OWNER/NAME.git` | ours | what was fetched, and nothing else |
//! | `commits/OWNER/NAME.git` | ours | trees that came through the airlock, the commits made of them, people's commits; sees the mirror |
//! | `submodules/OWNER/NAME.git` | ours | its submodules, as they were fetched |
//! | `lfs/OWNER/NAME.git` | ours | no repository: the contents of its files of Git LFS |
//! | `orders/ID/origin` | the agent's | the agent's remote: made before any agent ran, replaced whole, never opened by us again |
//! | `orders/ID/work` | the agent's | the agent's work tree, cloned from it in the sandbox |
//!
//! In `commits` a reference tells whose a commit is: `refs/journeyman/ORDER/` ours to publish, `refs/marked/ORDER/` ours and
//! never to be published, `refs/taken/ORDER/` a person's.
//!
//! Agents that only look, a reviewer above all, have a folder each: plain files of a commit and a home of their own.
//!
//! All functions block: call them where that is allowed.

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

use git2::{Oid, Repository, RepositoryInitOptions};

pub use bounds::{KEPT_FREE_OF_OBJECTS, bounded_tree};
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
pub use protected::DEFAULT_PROTECTED;
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

/// Everything about repositories, under one data folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspaces {
    inner: Arc<WorkspacesInner>,
    /// Where environments and images are.
    cache: PathBuf,
    /// How servers are reached.
    outgoing: Arc<OutgoingNetwork>,
    /// Signs what is published; none: commits are not signed.
    signer: Option<Arc<CommitSigner>>,
    /// Whether nobody waits any more for what is fetched.
    is_given_up: Arc<AtomicBool>,
}

#[derive(Debug)]
struct WorkspacesInner {
    data: PathBuf,
    /// One lock a repository: libgit2 does not keep two from making or fetching the same one. And one an order, for
    /// what is made there once.
    locks: Mutex<HashMap<String, &'static Mutex<()>>>,
    /// Repositories in which this process has cleared away what another one left.
    cleared: Mutex<HashSet<PathBuf>>,
    /// The pointers of Git LFS in trees that were looked through.
    large_files: Mutex<HashMap<Oid, Arc<LargeFilePointers>>>,
    /// How large trees are that were looked through.
    tree_sizes: Mutex<KnownTreeSizes>,
}

/// Where an order's things are. All lie side by side, so that none is inside what the agent can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderDirs {
    pub root: PathBuf,
    /// The agent's work tree.
    pub work: PathBuf,
    /// What was written into it, where it is made of layers.
    pub work_written: PathBuf,
    /// The agent's origin, a bare repository.
    pub origin: PathBuf,
    /// What was fetched, for its origin: the mirror's own files, so that jobs see them read-only.
    pub packs: PathBuf,
    /// The agent's home, its sessions included.
    pub home: PathBuf,
    /// What runs of agents printed.
    pub runs: PathBuf,
    /// Checkouts to test, and the homes of test runs.
    pub tests: PathBuf,
    /// Checkouts to look at, and the homes of those who do.
    pub reviews: PathBuf,
}

impl OrderDirs {
    /// All of them below a folder: that of the host's, or as jobs see it.
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
    /// Makes the data folder when it is not there, and libgit2 deaf to the machine's configuration.
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

    /// The same, with environments and images in a folder of their own.
    pub fn caching_in(self, cache: &Path) -> Result<Self, GitError> {
        std::fs::create_dir_all(cache)
            .map_err(|error| GitError::file("make the cache folder", cache, &error))?;
        let cache =
            cache.canonicalize().map_err(|error| GitError::file("find the cache folder", cache, &error))?;
        Ok(Self { cache, ..self })
    }

    /// The same, where servers are reached by way of a proxy or with other certificates.
    pub fn reached_by(self, outgoing: OutgoingNetwork) -> Self {
        Self { outgoing: Arc::new(outgoing), ..self }
    }

    /// The same, and every commit that it makes to be published is signed.
    pub fn signed_by(self, signer: Option<CommitSigner>) -> Self {
        Self { signer: signer.map(Arc::new), ..self }
    }

    /// What signs the commits that are published.
    pub fn signer(&self) -> Option<&CommitSigner> {
        self.signer.as_deref()
    }

    /// The same, and what it fetches is ended when the guard is dropped.
    pub fn until_dropped(&self) -> (Self, FetchGuard) {
        let is_given_up = Arc::new(AtomicBool::new(false));
        let guard = FetchGuard(Arc::clone(&is_given_up));
        (Self { is_given_up, ..self.clone() }, guard)
    }

    /// Where an order's things are, whether they are there yet or not.
    pub fn order_dirs(&self, order: OrderId) -> OrderDirs {
        OrderDirs::at(&self.orders().join(order.to_string()))
    }

    /// Takes an order's work, origin, home, tests and reviews away; what its runs printed is kept, and so are its commits.
    /// Also when they are gone. An order that goes on afterwards has them made anew, without its agents' sessions.
    pub fn remove(&self, order: OrderId) -> Result<(), GitError> {
        let places = self.order_dirs(order);
        let _alone = self.lock_of(order.to_string());
        if !places.root.exists() {
            return Ok(());
        }
        worktree_base::making(&places)?;
        // All but what its runs printed: whoever makes folders of layers has more of them beside these.
        let entries =
            std::fs::read_dir(&places.root).map_err(|error| GitError::file("read", &places.root, &error))?;
        for entry in entries.flatten().filter(|entry| entry.path() != places.runs && !entry.path().is_file())
        {
            remove_all(&entry.path())?;
        }
        worktree_base::forget(&places)
    }

    /// Where what is known of a repository's base commits is kept, for all orders.
    pub fn baselines(&self, repository: &RepositoryName) -> PathBuf {
        self.inner.data.join("baselines").join(folder(repository))
    }

    /// Where the environments of a repository are kept, for all orders.
    pub fn environments(&self, repository: &RepositoryName) -> PathBuf {
        self.all_environments().join(folder(repository))
    }

    /// Where those of all repositories are kept: a folder for each owner, and in it one for each repository.
    pub fn all_environments(&self) -> PathBuf {
        self.cache.join("environments")
    }

    /// Where the folders of all orders are.
    pub fn orders(&self) -> PathBuf {
        self.inner.data.join("orders")
    }

    /// Where images are kept, for all repositories.
    pub fn images(&self) -> PathBuf {
        self.cache.join("images")
    }

    /// The file that says when a server ended in order last.
    pub fn ended_at(&self) -> PathBuf {
        self.inner.data.join("ended")
    }

    /// A folder to try in what the file system can.
    pub fn layers(&self) -> PathBuf {
        self.inner.data.join("layers")
    }

    /// The mirror, made when it is not there.
    fn mirror(&self, repository: &RepositoryName) -> Result<Repository, GitError> {
        self.own_repository("mirrors", repository, None)
    }

    /// The repository of our own commits, made when it is not there. It sees the mirror's objects.
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
            remake::sync_what_is_written(&made_now).map_err(|error| GitError::opening(&error))?;
            if let Some(alternates) = sees {
                write_whole(&path.join("objects/info/alternates"), alternates.as_bytes())
                    .map_err(|error| made(&error))?;
            }
            for file in ["HEAD", "config"] {
                std::fs::File::open(path.join(file))
                    .and_then(|file| file.sync_all())
                    .map_err(|error| made(&error))?;
            }
            // Last, so that one that was made half is made again.
            write_whole(&path.join("complete"), b"").map_err(|error| made(&error))?;
        }
        let cleared = || self.inner.cleared.lock().unwrap_or_else(PoisonError::into_inner);
        if !cleared().contains(&path) {
            // The data folder is one process's, and every road to a repository of ours leads through here, where it is
            // locked: what is there the first time is nobody's.
            leftovers::clear(&path)?;
            cleared().insert(path.clone());
        }
        let opened = Repository::open_bare(&path).map_err(|error| GitError::opening(&error))?;
        remake::sync_what_is_written(&opened).map_err(|error| GitError::opening(&error))?;
        Ok(opened)
    }

    fn lock(&self, repository: &RepositoryName) -> MutexGuard<'static, ()> {
        self.lock_of(folder(repository))
    }

    /// Waits until nobody else is at work there. No lock is ever removed, so that they last as long as the process.
    fn lock_of(&self, what: String) -> MutexGuard<'static, ()> {
        let mut locks = self.inner.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = *locks.entry(what).or_insert_with(|| Box::leak(Box::new(Mutex::new(()))));
        drop(locks);
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// GitHub's names do not differ by case alone.
fn folder(repository: &RepositoryName) -> String {
    format!("{repository}.git").to_ascii_lowercase()
}

/// A bare repository without anything of a template's.
fn init_bare(path: &Path, head: &str) -> Result<Repository, GitError> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head(head);
    Repository::init_opts(path, &options).map_err(|error| GitError::local("make a repository", &error))
}

/// Writes a file beside and then renames it, once it is on the disk: a crash leaves it whole, or as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    std::fs::File::open(folder)?.sync_all()
}
