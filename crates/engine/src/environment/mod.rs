//! Environments: what a repository's setup made, prepared once for the same content, shared as read-only layers.
//!
//! May know: the sandbox, our commits, plans of environments. Must never know: orders, journals, agents, GitHub.
//!
//! Only a commit of the default branch makes what is shared. What a change installs stays in its order's folder.

mod base_build;
mod images;
mod origin_of_files;
mod places;
mod prepare;
mod request;
mod services;
mod setup;
mod shelf;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::command::FinishedCommand;
use crate::job::{blocking, remove};
use crate::place::EnvironmentPlace;
use crate::place::folder::LayerMethod;
use crate::progress::ProgressBoard;
use base_build::BaseBuild;
use images::Images;
pub(crate) use images::{PlanFault, UsedImage};
use journeyman_image::PullProgress;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{EffectError, TestingSettings};
use journeyman_sandbox::{IsolationMode, Sandbox};
use journeyman_workspace::{SourceTree, Workspaces};
pub(crate) use request::{EnvironmentOwner, EnvironmentRequest};
pub(crate) use services::{RunningServices, ServiceFailure};
use shelf::{EnvironmentRecord, Lease};

/// The path at which every job sees its work. Installed files refer to it, so it must be the same for all.
const INSIDE: &str = "/workspace";

/// Progress of preparing an environment and of running tests in it, for observers.
#[derive(Debug, Clone, PartialEq)]
pub enum EnvironmentProgress {
    SetupBegan { command: String },
    SetupEnded(CommandRun),
    BuildBegan { command: String },
    TestsBegan { command: String },
    ImagePulled { image: String, pulled: PullProgress },
    ServiceBegan { name: String },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressReporter(Option<UnboundedSender<EnvironmentProgress>>);

impl ProgressReporter {
    pub(crate) fn tell(&self, progress: EnvironmentProgress) {
        // The listener may be gone.
        if let Some(sender) = &self.0 {
            let _ = sender.send(progress);
        }
    }
}

#[derive(Debug, Clone)]
pub struct Environments {
    inner: Arc<EnvironmentsInner>,
    pub(crate) progress: ProgressReporter,
    pub(crate) board: ProgressBoard,
}

#[derive(Debug)]
struct EnvironmentsInner {
    sandbox: Sandbox,
    workspaces: Workspaces,
    settings: TestingSettings,
    method: LayerMethod,
    images: Images,
    /// One task at a time prepares the same environment. The others wait for it.
    alone: Mutex<HashMap<PathBuf, Arc<AsyncMutex<()>>>>,
    leased: Mutex<HashMap<PathBuf, Lease>>,
}

#[derive(Debug)]
pub(crate) struct Environment {
    folder: PathBuf,
    pub(crate) record: EnvironmentRecord,
    home_layers: Vec<PathBuf>,
    /// `None`: the machine's own system.
    image: Option<UsedImage>,
    method: LayerMethod,
    /// The files of its checkout. The record names the overlaid ones.
    source: SourceTree,
    /// What test runs begin with. Empty: with no build.
    build: OnceLock<BaseBuild>,
    pub(crate) is_kept: bool,
    _lease: Vec<Lease>,
}

/// The layers of a place are kept as long as this lives.
pub(crate) type PlaceLease = (Vec<Lease>, Option<UsedImage>);

pub(crate) enum Preparation {
    Ready(Arc<Environment>),
    Failed(Box<FinishedCommand>),
}

impl Environments {
    /// Whether each run copies what was installed, because layers cannot be mounted here.
    pub fn are_copied(&self) -> bool {
        self.inner.method == LayerMethod::Copy
    }

    /// Checks once whether layers can be mounted here.
    pub async fn new(
        sandbox: Sandbox,
        workspaces: Workspaces,
        settings: TestingSettings,
    ) -> Result<Self, EffectError> {
        let images = Images::new(&workspaces, &settings)?;
        // A killed server may have left trial runs and data of services.
        remove(&workspaces.layers()).await?;
        let method = match sandbox.check_layers(&workspaces.layers()).await {
            Ok(()) => LayerMethod::Overlay,
            Err(error) => {
                tracing::info!(
                    "environments are copied for each run, since no layers can be mounted: {error}"
                );
                LayerMethod::Copy
            }
        };
        let all = workspaces.all_environments();
        blocking(move || shelf::clear_leftovers(&all)).await?;
        let inner = EnvironmentsInner {
            sandbox,
            workspaces,
            settings,
            method,
            images,
            alone: Mutex::default(),
            leased: Mutex::default(),
        };
        let (progress, board) = (ProgressReporter::default(), ProgressBoard::default());
        Ok(Self { inner: Arc::new(inner), progress, board })
    }

    #[must_use]
    pub fn reporting_to(&self, sender: UnboundedSender<EnvironmentProgress>) -> Self {
        Self { progress: ProgressReporter(Some(sender)), ..self.clone() }
    }

    pub(crate) fn is_same(&self, one: &EnvironmentRequest, other: &EnvironmentRequest) -> bool {
        self.key(one, None) == self.key(other, None)
    }

    /// Where jobs see a place in this folder. Without a sandbox, the path stays the same.
    pub(crate) fn inside(&self, folder: &Path) -> PathBuf {
        if self.can_relocate() { INSIDE.into() } else { folder.to_owned() }
    }

    /// Whether jobs can see a place at another path.
    pub(crate) fn can_relocate(&self) -> bool {
        self.inner.sandbox.mode() == IsolationMode::Bubblewrap
    }

    /// Returns a kept environment, or makes one.
    pub(crate) async fn prepare(&self, ask: &EnvironmentRequest) -> Result<Preparation, EffectError> {
        let shelf = match &ask.owner {
            EnvironmentOwner::Repository => self.inner.workspaces.environments(&ask.repository),
            EnvironmentOwner::Folder(folder) => folder.clone(),
        };
        let name = self.key(ask, None);
        let alone = self.alone(shelf.join(&name));
        let _alone = alone.lock().await;
        if let Some(kept) = self.kept_for(ask, &shelf, &name).await? {
            return Ok(Preparation::Ready(Arc::new(kept)));
        }
        let exact = self.key(ask, Some(ask.source.digest(None)));
        if let Some(kept) = self.kept_for(ask, &shelf, &exact).await? {
            return Ok(Preparation::Ready(Arc::new(kept)));
        }
        // Boxed: a sandbox needs more than a thread's stack should hold.
        Box::pin(self.make(ask, &shelf, [name, exact])).await
    }

    pub(crate) async fn hold(&self, place: &EnvironmentPlace) -> Result<PlaceLease, EffectError> {
        let image = match &place.root {
            Some(root) => Some(self.image(&root.of.name).await?),
            None => None,
        };
        let layers = place.tree.lower.iter().chain(&place.home.lower);
        let mut folders: Vec<&Path> =
            layers.filter_map(|layer| layer.parent()).filter(|folder| folder.is_dir()).collect();
        folders.dedup();
        Ok((folders.into_iter().map(|folder| self.lease(folder)).collect(), image))
    }

    fn alone(&self, folder: PathBuf) -> Arc<AsyncMutex<()>> {
        let mut alone = self.inner.alone.lock().unwrap_or_else(PoisonError::into_inner);
        alone.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(alone.entry(folder).or_default())
    }
}

impl Environment {
    /// Whether it suits these files. If its setup depends on the sources, only the same sources do.
    pub(crate) fn is_good_for(&self, source: &SourceTree, laid: &[PathBuf]) -> bool {
        let is_same =
            || laid.is_empty() && self.record.laid.is_empty() && source.difference(&self.source).is_empty();
        self.record.is_of_sources.is_none() || is_same()
    }

    /// What its setup printed, if it ran just now.
    pub(crate) fn printed(&self) -> &str {
        self.record.output.as_deref().filter(|_| !self.is_kept).unwrap_or_default()
    }
}

/// The layers of its checkout, its setup and, for tests, its one-commit repository.
fn tree_layers(folder: &Path, method: LayerMethod, with: TreePurpose) -> Vec<PathBuf> {
    let [setup, repository, checkout] = ["tree", "repository", "checkout"].map(|name| folder.join(name));
    match (method, with) {
        (LayerMethod::Overlay, TreePurpose::Tests) => vec![setup, repository, checkout],
        (LayerMethod::Overlay, TreePurpose::Agent) => vec![setup, checkout],
        // The setup's folder began as a copy of the checkout.
        (LayerMethod::Copy, TreePurpose::Tests | TreePurpose::Agent) => vec![setup],
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreePurpose {
    /// With a one-commit repository: many projects ask git for their version or files.
    Tests,
    Agent,
}
