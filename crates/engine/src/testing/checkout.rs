//! Fresh checkouts, and how many of them there are at the same time.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{TestRunRequest, remove};
use crate::effect_error::never;
use journeyman_order::EffectError;
use journeyman_sandbox::{IsolationMode, Relocation};

/// Runs of one verdict that happen at the same time, at most: each has a checkout of its own.
const MOST_SIDE_BY_SIDE: usize = 4;
/// A file of the checkout that is larger says nothing of how tests are run.
const LARGEST_MANIFEST: u64 = 1 << 20;
/// Files of a checkout that are looked at for tests.
const MOST_LOOKED_AT: usize = 50_000;

/// A fresh checkout and a home of its own. Whoever runs in it sees it at the same path as all runs of the verdict do.
pub(super) struct TestCheckout {
    pub(super) folder: PathBuf,
    pub(super) tree: PathBuf,
    pub(super) home: PathBuf,
    pub(super) relocation: Option<Relocation>,
    _turn: OwnedSemaphorePermit,
}

impl TestCheckout {
    fn at(folder: PathBuf, inside: PathBuf, turn: OwnedSemaphorePermit) -> Self {
        let (tree, home) = (folder.join("tree"), folder.join("home"));
        let relocation =
            (folder != inside).then(|| Relocation { host: folder.clone(), inside: inside.clone() });
        Self { folder, tree, home, relocation, _turn: turn }
    }

    /// Where a file of the home is seen.
    pub(super) fn seen(&self, in_home: &str) -> String {
        let inside = self.relocation.as_ref().map_or(&self.folder, |relocation| &relocation.inside);
        inside.join("home").join(in_home).display().to_string()
    }
}

/// Where the runs of one verdict happen: as many side by side as there are processors, up to some.
#[derive(Debug)]
pub(super) struct CheckoutPool {
    turns: Arc<Semaphore>,
    most: usize,
    has_own_folders: bool,
}

impl CheckoutPool {
    /// Without walls all runs happen in one folder, since nobody can be shown it at another path.
    pub(super) fn for_mode(mode: IsolationMode) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (most, are_told_apart) = match mode {
            IsolationMode::Bubblewrap => (processors.min(MOST_SIDE_BY_SIDE), true),
            IsolationMode::None => (1, false),
        };
        Self { turns: Arc::new(Semaphore::new(most)), most, has_own_folders: are_told_apart }
    }

    /// Whether two runs happen at the same time.
    pub(super) fn is_parallel(&self) -> bool {
        self.has_own_folders && self.most > 1
    }

    /// A place with nothing in it, once there is one.
    pub(super) async fn acquire(&self, ask: &TestRunRequest) -> Result<TestCheckout, EffectError> {
        let turn = self.turns.clone().acquire_owned().await;
        let turn = turn.map_err(|_| never("nobody hands out places any more".to_owned()))?;
        let inside = ask.folder.join("run");
        let folder = match self.has_own_folders {
            // Its name can be read inside, among the mounts: it says nothing.
            true => ask.folder.join(uuid::Uuid::new_v4().simple().to_string()),
            false => inside.clone(),
        };
        remove(&folder).await?;
        Ok(TestCheckout::at(folder, inside, turn))
    }
}

/// A file of a checkout; links are not followed, since its setup may have made some.
pub(super) fn read_within(tree: &Path, path: &str) -> Option<Vec<u8>> {
    let mut place = tree.to_owned();
    for part in Path::new(path).components() {
        let Component::Normal(name) = part else { return None };
        place.push(name);
        if std::fs::symlink_metadata(&place).ok()?.is_symlink() {
            return None;
        }
    }
    let found = std::fs::symlink_metadata(&place).ok()?;
    (found.is_file() && found.len() <= LARGEST_MANIFEST).then(|| std::fs::read(&place).ok())?
}

/// The files of a checkout that pytest takes for tests by their names; of large checkouts the first. No link is followed.
pub(super) fn python_tests(tree: &Path) -> Vec<String> {
    let is_test = |name: &str| {
        name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
    };
    let (mut found, mut open, mut looked_at) = (Vec::new(), vec![PathBuf::new()], 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(tree.join(&folder)).into_iter().flatten().flatten() {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            looked_at += 1;
            let (Some(name), true) = (name.to_str(), looked_at <= MOST_LOOKED_AT) else { continue };
            let path = folder.join(name);
            // Environments and packages are not looked into by pytest either.
            if kind.is_dir() && !name.starts_with('.') && name != "node_modules" {
                open.push(path);
            } else if kind.is_file() && is_test(name) {
                found.extend(path.to_str().map(ToOwned::to_owned));
            }
        }
    }
    found
}
