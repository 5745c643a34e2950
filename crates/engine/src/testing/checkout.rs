//! Fresh checkouts, and how many exist at the same time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{VerdictBasis, remove};
use crate::effect_error::never;
use journeyman_order::EffectError;
use journeyman_order::bounds::MOST_SIDE_BY_SIDE;
use journeyman_sandbox::IsolationMode;
use journeyman_workspace::SourceTree;

/// A folder for one run, and the path at which that run sees it: the same for all runs of the verdict.
pub(super) struct CheckoutPlace {
    pub(super) folder: PathBuf,
    pub(super) inside: PathBuf,
    _turn: OwnedSemaphorePermit,
}

/// Where a verdict's runs happen: as many in parallel as there are processors, up to a limit.
#[derive(Debug)]
pub(super) struct CheckoutPool {
    turns: Arc<Semaphore>,
    /// Then each run has its own folder.
    pub(super) is_parallel: bool,
}

impl CheckoutPool {
    /// Without a sandbox all runs use one folder, since it cannot be shown at another path.
    pub(super) fn for_mode(mode: IsolationMode) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let most = match mode {
            IsolationMode::Bubblewrap => processors.min(MOST_SIDE_BY_SIDE),
            IsolationMode::None => 1,
        };
        Self { turns: Arc::new(Semaphore::new(most)), is_parallel: most > 1 }
    }
}

impl VerdictBasis<'_> {
    pub(super) async fn place(&self) -> Result<CheckoutPlace, EffectError> {
        let turn = self.checkouts.turns.clone().acquire_owned().await;
        let turn = turn.map_err(|_| never("nobody hands out places any more".to_owned()))?;
        let folder = match self.checkouts.is_parallel {
            // The run can read this name among its mounts, so it reveals nothing.
            true => self.ask.folder.join(uuid::Uuid::new_v4().simple().to_string()),
            false => self.ask.only_folder(),
        };
        remove(&folder).await?;
        let inside = self.testing.environments.inside(&folder);
        Ok(CheckoutPlace { folder, inside, _turn: turn })
    }
}

/// The files with such names, except in environments and packages, into which runners do not look.
pub(super) fn files_named(source: &SourceTree, is_one: fn(&str) -> bool) -> Vec<String> {
    let is_looked_into = |folder: &str| !folder.starts_with('.') && folder != "node_modules";
    let paths = source.paths().filter_map(Path::to_str).filter(|path| {
        let mut parts = path.rsplit('/');
        parts.next().is_some_and(is_one) && parts.all(is_looked_into)
    });
    paths.map(str::to_owned).collect()
}
