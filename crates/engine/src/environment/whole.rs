//! Whether what is kept of an environment is what was kept: a disk can lose a file of its checkout, and tests would then run
//! on something that is no commit.
//!
//! Looked at once in each process, when something is made of it first. The files of the commit are read; of what a setup
//! made, only how much there is.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::record::{EnvironmentRecord, EnvironmentTally};
use super::{Environment, Environments, TreePurpose, disk};
use crate::job::blocking;
use crate::place::folder::{LayerMethod, LayeredFolder};
use crate::place::{EnvironmentPlace, ROOT};
use journeyman_order::{EffectError, RepositoryName};
use journeyman_workspace::SourceTree;

/// The folders of an environment that nobody writes once it is kept.
const KEPT: [&str; 5] = ["checkout", "tree", "repository", "home", ROOT];
/// Paths that are named where they are lost.
const MOST_NAMED: usize = 5;

/// Counts what lies in an environment, and its bytes on the disk.
pub(super) fn tally(folder: &Path) -> (EnvironmentTally, u64) {
    let (mut found, mut on_disk) = (EnvironmentTally::default(), 0_u64);
    let mut open: Vec<PathBuf> = KEPT.iter().map(|name| folder.join(name)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(of) = entry.metadata() else { continue };
            found.entries += 1;
            on_disk = on_disk.saturating_add(of.blocks() * 512);
            if of.is_dir() {
                open.push(entry.path());
            } else {
                found.bytes = found.bytes.saturating_add(of.len());
            }
        }
    }
    (found, on_disk)
}

impl Environments {
    /// Whether an environment is what was kept. What was made or looked at by this process is.
    pub(super) async fn is_whole(&self, environment: &Environment) -> Result<bool, EffectError> {
        let folder = environment.folder.clone();
        if self.whole().contains(&folder) {
            return Ok(true);
        }
        let layers = environment.tree_layers(TreePurpose::Tests);
        let (at, source, record) = (folder.clone(), environment.source.clone(), environment.record.clone());
        let lost = blocking(move || lost(&at, &layers, &source, &record)).await?;
        match lost.map_err(disk("look whether an environment is whole"))? {
            Some(lost) => {
                tracing::warn!(environment = %folder.display(), "is not what was kept, and is made again: {lost}");
                Ok(false)
            }
            None => {
                self.whole().insert(folder);
                Ok(true)
            }
        }
    }

    /// Whether all that a place is made of is what was kept. A copy is the place's own.
    pub(crate) async fn is_made_of_what_is_whole(
        &self,
        repository: &RepositoryName,
        place: &EnvironmentPlace,
    ) -> Result<bool, EffectError> {
        if place.tree.method() == LayerMethod::Copy {
            return Ok(true);
        }
        let layers = place.tree.lower().iter().chain(place.home.lower());
        let mut folders: Vec<&Path> = layers.filter_map(|layer| layer.parent()).collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            if self.whole().contains(folder) {
                continue;
            }
            let Some(record) = EnvironmentRecord::read(folder) else { return Ok(false) };
            let kept = self.with(repository, folder.to_owned(), record, true).await?;
            match kept {
                Some(kept) if self.is_whole(&kept).await? => {}
                Some(_) | None => return Ok(false),
            }
        }
        Ok(true)
    }

    pub(super) fn whole(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        self.inner.whole.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What is lost of it, in words.
fn lost(
    folder: &Path,
    layers: &[PathBuf],
    source: &SourceTree,
    record: &EnvironmentRecord,
) -> std::io::Result<Option<String>> {
    let lost = LayeredFolder::not_held(layers, source, &record.laid)?;
    if !lost.is_empty() {
        let named: Vec<_> = lost.iter().take(MOST_NAMED).map(|path| path.display().to_string()).collect();
        return Ok(Some(format!("{} paths are not those of the commit, {}", lost.len(), named.join(", "))));
    }
    let (found, _) = tally(folder);
    let was = record.tally.filter(|was| *was != found);
    Ok(was.map(|was| format!("there were {was:?}, and there are {found:?}")))
}
