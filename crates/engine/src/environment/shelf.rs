//! Where environments are kept: found by name, leased to who uses them, and the oldest that nobody uses taken away when
//! they are too many.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::record::EnvironmentRecord;
use super::{Environment, EnvironmentRequest, EnvironmentRoot, Environments, TreePurpose, tree_layers};
use crate::effect_error::disk;
use crate::job::blocking;
use crate::place::{HOME, ROOT, layers_of_place};
use journeyman_order::{EffectError, RepositoryName};
use journeyman_workspace::remove_all;

/// How folders are called that are half of an environment, or were one; what is left of a server that was killed.
pub(super) const HALF: &str = "half-";
const GONE: &str = "gone-";
const USED: &str = "used";

/// As long as it lives, an environment is not taken away.
#[derive(Debug)]
pub(crate) struct Lease {
    folder: PathBuf,
    leased: Arc<Mutex<HashMap<PathBuf, usize>>>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut leased = self.leased.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = leased.get_mut(&self.folder) {
            *count -= 1;
            if *count == 0 {
                leased.remove(&self.folder);
            }
        }
    }
}

/// Gives an environment another name, under which nobody looks for it. Whoever has it mounted keeps it until the next start.
pub(super) fn set_aside(folder: &Path) -> io::Result<()> {
    let away = folder.with_file_name(format!("{GONE}{}", uuid::Uuid::new_v4().simple()));
    match std::fs::rename(folder, &away) {
        Ok(()) => EnvironmentRecord::forget(&away),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

impl Environments {
    pub(super) fn lease(&self, folder: &Path) -> Lease {
        let mut leased = self.inner.leased.lock().unwrap_or_else(PoisonError::into_inner);
        *leased.entry(folder.to_owned()).or_default() += 1;
        // An error makes it look older than it is, and that is all.
        let _ = std::fs::write(folder.join(USED), "");
        Lease { folder: folder.to_owned(), leased: Arc::clone(&self.inner.leased) }
    }

    /// The kept environment of this name, if it fits these files. One that cannot be opened is discarded.
    pub(super) async fn kept_for(
        &self,
        ask: &EnvironmentRequest,
        shelf: &Path,
        name: &str,
    ) -> Result<Option<Environment>, EffectError> {
        let folder = shelf.join(name);
        // Held before it is looked at: what is held is not taken away.
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
        let below: Vec<PathBuf> = record.home_below.iter().map(|name| shared.join(name)).collect();
        let lease: Vec<Lease> =
            std::iter::once(&folder).chain(&below).map(|folder| self.lease(folder)).collect();
        if !below.iter().all(|below| below.join("home").is_dir()) {
            return Ok(None);
        }
        let home_layers = std::iter::once(&folder).chain(&below).map(|folder| folder.join("home")).collect();
        let (workspaces, repository, commit) =
            (self.inner.workspaces.clone(), repository.clone(), record.commit.clone());
        // Of a repository that was made anew, the commit may be gone.
        let Ok(source) = blocking(move || workspaces.source_tree(&repository, &commit)).await? else {
            return Ok(None);
        };
        let method = self.inner.method;
        let root = match &record.image {
            Some(name) => {
                let image = self.image(name).await?;
                let layers = vec![folder.join(ROOT), image.root().to_owned()];
                Some(EnvironmentRoot { layers, image })
            }
            None => None,
        };
        Ok(Some(Environment { folder, record, home_layers, root, method, source, is_kept, _lease: lease }))
    }

    pub(super) fn nearest(&self, ask: &EnvironmentRequest) -> Option<(String, EnvironmentRecord)> {
        let shelf = self.inner.workspaces.environments(&ask.repository);
        let mut kept = environments_in(&shelf);
        kept.sort_by_key(|(used, ..)| *used);
        let (_, name, record) = kept.pop()?;
        Some((name, record))
    }

    /// Takes away the oldest that nobody uses, until what is kept is small enough.
    pub(super) async fn tidy(&self) -> Result<(), EffectError> {
        let (all, most) = (self.inner.workspaces.all_environments(), self.inner.settings.keep);
        let leased: BTreeSet<PathBuf> =
            self.inner.leased.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        let (orders, leases) = (self.inner.workspaces.orders(), Arc::clone(&self.inner.leased));
        let kept = blocking(move || all_environments_in(&all)).await?;
        let of_environments: u64 = kept.iter().map(|(_, _, record)| record.bytes).sum();
        let mut of_images = self.inner.images.bytes();
        if of_environments.saturating_add(of_images) > most {
            // Images that nobody's environment stands on go first: they are brought again by their digest.
            let images = kept.iter().filter_map(|(_, _, record)| record.image.clone()).collect();
            self.inner.images.remove_unused(&images).await?;
            of_images = self.inner.images.bytes();
        }
        let left = blocking(move || {
            let mut total = of_environments.saturating_add(of_images);
            let mut needed = leased;
            // What an agent's work tree is made of is not taken away before it; an image that is pulled again by its digest.
            needed.extend(
                std::fs::read_dir(orders)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .flat_map(|order| layers_of_place(&order.path())),
            );
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
                // Whoever takes it at this moment has it, or finds nothing.
                let leased = leases.lock().unwrap_or_else(PoisonError::into_inner);
                if leased.contains_key(folder) {
                    continue;
                }
                let away = folder.with_file_name(format!("{GONE}{}", uuid::Uuid::new_v4().simple()));
                std::fs::rename(folder, &away)?;
                drop(leased);
                tracing::info!(
                    "the environment {} was not used for long, and is taken away",
                    folder.display()
                );
                gone.push(away);
                total = total.saturating_sub(record.bytes);
            }
            gone.iter().try_for_each(|away| remove_all(away)).map_err(std::io::Error::other)?;
            let left = kept.into_iter().filter(|(_, folder, _)| folder.exists());
            let images: BTreeSet<String> = left.filter_map(|(_, _, record)| record.image).collect();
            Ok((total > most).then_some(images))
        });
        match left.await?.map_err(disk("take away old environments"))? {
            Some(images) => self.inner.images.remove_unused(&images).await,
            None => Ok(()),
        }
    }
}

fn all_environments_in(all: &Path) -> Vec<(SystemTime, PathBuf, EnvironmentRecord)> {
    let folders = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let shelves = folders(all).flat_map(|owner| folders(&owner.path())).map(|shelf| shelf.path());
    let mut kept: Vec<_> = shelves
        .flat_map(|shelf| {
            let own = environments_in(&shelf);
            own.into_iter().map(move |(used, name, record)| (used, shelf.join(name), record))
        })
        .collect();
    kept.sort_by_key(|(used, ..)| *used);
    kept
}

/// What a server left that was killed while it made or removed one.
pub(super) fn clear_leftovers(all: &Path) {
    let folders = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    for shelf in folders(all).flat_map(|owner| folders(&owner.path())) {
        for left in folders(&shelf.path()) {
            let name = left.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(HALF) || name.starts_with(GONE) {
                // What stays is tried again by the next server.
                let _ = remove_all(&left.path());
            }
        }
    }
}

fn environments_in(shelf: &Path) -> Vec<(SystemTime, String, EnvironmentRecord)> {
    let entries = std::fs::read_dir(shelf).into_iter().flatten().flatten();
    let known = entries.filter_map(|entry| {
        let record = EnvironmentRecord::read(&entry.path())?;
        let used = std::fs::metadata(entry.path().join(USED)).and_then(|found| found.modified());
        Some((used.unwrap_or(SystemTime::UNIX_EPOCH), entry.file_name().into_string().ok()?, record))
    });
    known.collect()
}
