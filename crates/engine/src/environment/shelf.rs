//! Where environments are kept: found by name and leased to their users. When they take too much space, the oldest
//! unused ones are deleted.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Environment, EnvironmentRequest, Environments, TreePurpose, tree_layers};
use crate::effect_error::disk;
use crate::job::blocking;
use crate::place::{HOME, ROOT, layers_of_place};
use journeyman_order::network::NetworkRecord;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{CommitSha, EffectError, RepositoryName};
use journeyman_workspace::{remove_all, write_whole};

/// Prefixes of folders with a half-made or a discarded environment, which a killed server may leave.
pub(super) const HALF: &str = "half-";
const GONE: &str = "gone-";
const USED: &str = "used";
/// The folder of an environment with the base's builds, each of another command.
pub(super) const BUILDS: &str = "builds";
const BUILD_RECORD: &str = "build.json";
const RECORD: &str = "environment.json";

/// Metadata of a kept environment, in a file beside its layers. Written last: without it, it is half-made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EnvironmentRecord {
    pub(crate) commit: CommitSha,
    pub(crate) laid: Vec<PathBuf>,
    /// `None` if there was nothing to install.
    pub(crate) setup: Option<CommandRun>,
    #[serde(default)]
    pub(crate) steps: Vec<CommandRun>,
    pub(crate) output: Option<String>,
    pub(crate) network: Option<NetworkRecord>,
    /// Evidence that the setup depends on the sources. `None` if the environment suits others too.
    pub(crate) is_of_sources: Option<String>,
    /// Paths that the setup made, without those inside another one.
    pub(crate) installed: Vec<String>,
    /// Folder names of the environments whose homes are below this one's, topmost first.
    pub(crate) home_below: Vec<String>,
    /// The image by digest. `None`: the machine's own system.
    #[serde(default)]
    pub(crate) image: Option<String>,
    pub(crate) bytes: u64,
}

impl EnvironmentRecord {
    /// `None` if the record is missing or unreadable.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(RECORD)).ok()?).ok()
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write_whole(&folder.join(RECORD), &serde_json::to_vec(self)?)
    }
}

/// Metadata of a kept build, in a file beside its layers. Written last, too.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BaseBuildRecord {
    pub(super) command: String,
    pub(super) bytes: u64,
}

impl BaseBuildRecord {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(BUILD_RECORD)).ok()?).ok()
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write_whole(&folder.join(BUILD_RECORD), &serde_json::to_vec(self)?)
    }
}

/// The environment is kept as long as this lives.
pub(crate) type Lease = Arc<()>;

/// Renames an environment so that it is no longer found. Current mounts keep it until the next start.
pub(super) fn set_aside(folder: &Path) -> io::Result<PathBuf> {
    let away = folder.with_file_name(format!("{GONE}{}", uuid::Uuid::new_v4().simple()));
    match std::fs::rename(folder, &away) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(away),
    }
}

impl Environments {
    pub(super) fn lease(&self, folder: &Path) -> Lease {
        let mut leased = self.leased();
        // A failed write only makes it look older.
        let _ = std::fs::write(folder.join(USED), "");
        Arc::clone(leased.entry(folder.to_owned()).or_default())
    }

    /// Environments and builds in use.
    pub(super) fn leased(&self) -> MutexGuard<'_, HashMap<PathBuf, Lease>> {
        let mut leased = self.inner.leased.lock().unwrap_or_else(PoisonError::into_inner);
        leased.retain(|_, lease| Arc::strong_count(lease) > 1);
        leased
    }

    /// The kept environment of this name, if it fits these files. Discards one that cannot be opened.
    pub(super) async fn kept_for(
        &self,
        ask: &EnvironmentRequest,
        shelf: &Path,
        name: &str,
    ) -> Result<Option<Environment>, EffectError> {
        let folder = shelf.join(name);
        // Leased before it is opened: a leased environment is not deleted.
        let _lease = self.lease(&folder);
        let record = EnvironmentRecord::read(&folder).filter(|record| {
            let mut layers = tree_layers(&folder, self.inner.method, TreePurpose::Tests);
            layers.push(folder.join(HOME));
            layers.extend(record.image.as_ref().map(|_| folder.join(ROOT)));
            layers.iter().all(|layer| std::fs::read_dir(layer).is_ok())
        });
        let Some(record) = record else {
            if folder.exists() {
                tracing::warn!(
                    environment = %folder.display(),
                    "environment discarded and prepared again: it cannot be opened"
                );
                set_aside(&folder).map_err(disk("set an environment aside"))?;
            }
            return Ok(None);
        };
        let kept = self.with(&ask.repository, folder, record, true).await?;
        Ok(kept.filter(|kept| kept.is_good_for(&ask.source, &ask.laid)))
    }

    pub(super) async fn with(
        &self,
        repository: &RepositoryName,
        folder: PathBuf,
        record: EnvironmentRecord,
        is_kept: bool,
    ) -> Result<Option<Environment>, EffectError> {
        let shared = self.inner.workspaces.environments(repository);
        let below = record.home_below.iter().map(|name| shared.join(name));
        let folders: Vec<PathBuf> = std::iter::once(folder.clone()).chain(below).collect();
        let lease: Vec<Lease> = folders.iter().map(|folder| self.lease(folder)).collect();
        let home_layers: Vec<PathBuf> = folders.iter().map(|folder| folder.join(HOME)).collect();
        if !home_layers.iter().all(|layer| layer.is_dir()) {
            return Ok(None);
        }
        let (workspaces, repository, commit) =
            (self.inner.workspaces.clone(), repository.clone(), record.commit.clone());
        // The repository may have been recreated without this commit.
        let Ok(source) = blocking(move || workspaces.source_tree(&repository, &commit)).await? else {
            return Ok(None);
        };
        let method = self.inner.method;
        let image = match &record.image {
            Some(name) => Some(self.image(name).await?),
            None => None,
        };
        let build = OnceLock::new();
        Ok(Some(Environment {
            folder,
            record,
            home_layers,
            image,
            method,
            source,
            build,
            is_kept,
            _lease: lease,
        }))
    }

    pub(super) fn nearest(&self, ask: &EnvironmentRequest) -> Option<(String, EnvironmentRecord)> {
        let shelf = self.inner.workspaces.environments(&ask.repository);
        let (_, folder, record) = environments_in(std::iter::once(shelf)).pop()?;
        Some((folder.file_name()?.to_str()?.to_owned(), record))
    }

    /// Deletes the oldest unused environments until the rest is small enough.
    pub(super) async fn tidy(&self) -> Result<(), EffectError> {
        let (all, most) = (self.inner.workspaces.all_environments(), self.inner.settings.keep);
        let mut needed: BTreeSet<PathBuf> = self.leased().keys().cloned().collect();
        let (own, orders) = (self.clone(), self.inner.workspaces.orders());
        let kept = blocking(move || environments_in(shelves(&all))).await?;
        let of_environments: u64 = kept.iter().map(|(_, _, record)| record.bytes).sum();
        let mut of_images = self.inner.images.store.bytes();
        if of_environments.saturating_add(of_images) > most {
            // First delete images that no environment uses. They can be pulled again by digest.
            let images = kept.iter().filter_map(|(_, _, record)| record.image.clone()).collect();
            self.inner.images.remove_unused(&images).await?;
            of_images = self.inner.images.store.bytes();
        }
        let tidied = blocking(move || {
            let mut total = of_environments.saturating_add(of_images);
            // Keep the layers of agents' work trees. Their images can be pulled again by digest.
            needed.extend(entries(&orders).flat_map(|order| layers_of_place(&order)));
            for (_, folder, record) in &kept {
                if needed.contains(folder) {
                    let shelf = folder.parent().unwrap_or(folder);
                    needed.extend(record.home_below.iter().map(|name| shelf.join(name)).collect::<Vec<_>>());
                }
            }
            let mut gone = Vec::new();
            for (_, folder, record) in &kept {
                let is_below = |other: &(SystemTime, PathBuf, EnvironmentRecord)| {
                    let name = folder.file_name().unwrap_or_default();
                    other.1.exists() && other.2.home_below.iter().any(|below| name == below.as_str())
                };
                if total <= most || needed.contains(folder) || kept.iter().any(is_below) {
                    continue;
                }
                // A concurrent user either has its lease by now or will find nothing.
                let leased = own.leased();
                if leased.contains_key(folder) {
                    continue;
                }
                gone.push(set_aside(folder)?);
                drop(leased);
                tracing::info!(
                    "the environment {} was not used for long, and is taken away",
                    folder.display()
                );
                total = total.saturating_sub(record.bytes);
            }
            gone.iter().try_for_each(|away| remove_all(away)).map_err(std::io::Error::other)
        });
        tidied.await?.map_err(disk("take away old environments"))
    }
}

pub(super) fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn shelves(all: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(all).flat_map(|owner| entries(&owner))
}

pub(super) fn is_leftover(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(HALF) || name.starts_with(GONE)
}

/// Removes what a killed server left while it made or removed an environment.
pub(super) fn clear_leftovers(all: &Path) {
    for left in shelves(all).flat_map(|shelf| entries(&shelf)).filter(|folder| is_leftover(folder)) {
        // The next server retries what remains.
        let _ = remove_all(&left);
    }
}

pub(super) fn used_at(folder: &Path) -> SystemTime {
    let used = std::fs::metadata(folder.join(USED)).and_then(|found| found.modified());
    used.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The environments kept there with the time of last use, the most recent last.
fn environments_in(shelves: impl Iterator<Item = PathBuf>) -> Vec<(SystemTime, PathBuf, EnvironmentRecord)> {
    let folders = shelves.flat_map(|shelf| entries(&shelf)).filter(|folder| !is_leftover(folder));
    let known = folders.filter_map(|folder| {
        let mut record = EnvironmentRecord::read(&folder)?;
        let builds = entries(&folder.join(BUILDS)).filter_map(|build| BaseBuildRecord::read(&build));
        record.bytes += builds.map(|build| build.bytes).sum::<u64>();
        Some((used_at(&folder), folder, record))
    });
    let mut kept: Vec<_> = known.collect();
    kept.sort_by_key(|(used, ..)| *used);
    kept
}
