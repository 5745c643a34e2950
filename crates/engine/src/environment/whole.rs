//! Whether what is kept of an environment is what was kept: a disk can lose a file of its checkout, and tests would then run
//! on something that is no commit. What is damaged is set aside, under another name: whoever stands on it finds it gone.
//!
//! Looked at once in each process, when something is made of it first. The files of the commit are read; of what a setup
//! made, only how much there is.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use super::record::{EnvironmentRecord, EnvironmentTally};
use super::shelf::GONE;
use super::{Environment, Environments, TreePurpose, tree_layers};
use crate::effect_error::soon;
use crate::job::blocking;
use crate::place::folder::{LayerMethod, LayeredFolder};
use crate::place::{EnvironmentPlace, HOME, ROOT};
use journeyman_order::{EffectError, RepositoryName};
use journeyman_workspace::SourceTree;

/// The folders of an environment that nobody writes once it is kept.
const KEPT: [&str; 5] = ["checkout", "tree", "repository", HOME, ROOT];
/// Paths that are named where they are lost.
const MOST_NAMED: usize = 5;
/// `EIO`: the disk has lost it.
const LOST: i32 = 5;

/// Counts what lies in each folder of an environment, and the bytes of all on the disk.
pub(super) fn tallies(folder: &Path) -> io::Result<(BTreeMap<String, EnvironmentTally>, u64)> {
    let (mut tallies, mut on_disk) = (BTreeMap::new(), 0_u64);
    for name in KEPT {
        if let Some((tally, bytes)) = tally(&folder.join(name))? {
            tallies.insert(name.to_owned(), tally);
            on_disk = on_disk.saturating_add(bytes);
        }
    }
    Ok((tallies, on_disk))
}

/// None where there is no such folder.
fn tally(folder: &Path) -> io::Result<Option<(EnvironmentTally, u64)>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let (mut tally, mut on_disk, mut open) = (EnvironmentTally::default(), 0_u64, vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let found = entry.metadata()?;
            tally.entries += 1;
            on_disk = on_disk.saturating_add(found.blocks() * 512);
            if found.is_dir() {
                open.push(entry.path());
            } else {
                tally.bytes = tally.bytes.saturating_add(found.len());
            }
        }
    }
    Ok(Some((tally, on_disk)))
}

/// Gives an environment another name, under which nobody looks for it. Whoever has it mounted keeps it until the next start.
pub(super) fn set_aside(folder: &Path) -> io::Result<()> {
    let away = folder.with_file_name(format!("{GONE}{}", uuid::Uuid::new_v4().simple()));
    match fs::rename(folder, &away) {
        Ok(()) => EnvironmentRecord::forget(&away),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

impl Environments {
    /// Whether an environment is what was kept; one that is not is set aside.
    pub(super) async fn is_whole(&self, environment: &Environment) -> Result<bool, EffectError> {
        let (record, source) = (environment.record.clone(), Some(environment.source.clone()));
        self.has_whole(environment.folder.clone(), record, source).await
    }

    /// Whether the home in an environment's folder is what was kept; one that is not is set aside with its environment.
    pub(super) async fn has_whole_home(&self, folder: &Path) -> Result<bool, EffectError> {
        let home = folder.join(HOME);
        if self.whole().contains(folder) || self.whole().contains(&home) {
            return Ok(true);
        }
        let at = folder.to_owned();
        let lost = move || match EnvironmentRecord::read(&at) {
            Some(record) => lost_of(&at, &record, &[HOME]),
            None => Ok(Some("it is gone".to_owned())),
        };
        self.judged(folder.to_owned(), home, lost).await
    }

    /// Sets aside what is damaged of all that a place stands on, so that the place is found to be gone. A copy stands on nothing.
    pub(crate) async fn set_aside_damaged(
        &self,
        repository: &RepositoryName,
        place: &EnvironmentPlace,
    ) -> Result<(), EffectError> {
        if place.tree.method() == LayerMethod::Copy {
            return Ok(());
        }
        let folders = |layers: &[PathBuf]| -> BTreeSet<PathBuf> {
            layers.iter().filter_map(|layer| layer.parent()).map(Path::to_owned).collect()
        };
        for folder in folders(place.tree.lower()) {
            let Some(record) = EnvironmentRecord::read(&folder) else { continue };
            let (workspaces, repository, commit) =
                (self.inner.workspaces.clone(), repository.clone(), record.commit.clone());
            // Its commit may be gone by now.
            let source = blocking(move || workspaces.source_tree(&repository, &commit)).await?.ok();
            self.has_whole(folder, record, source).await?;
        }
        for folder in folders(place.home.lower()) {
            self.has_whole_home(&folder).await?;
        }
        Ok(())
    }

    async fn has_whole(
        &self,
        folder: PathBuf,
        record: EnvironmentRecord,
        source: Option<SourceTree>,
    ) -> Result<bool, EffectError> {
        if self.whole().contains(&folder) {
            return Ok(true);
        }
        let (at, method) = (folder.clone(), self.inner.method);
        let lost = move || match source
            .and_then(|source| lost_of_commit(&at, method, &source, &record).transpose())
        {
            Some(lost) => lost.map(Some),
            None => lost_of(&at, &record, &KEPT),
        };
        self.judged(folder.clone(), folder, lost).await
    }

    /// Remembers what is whole under this name, and sets aside what is not.
    async fn judged(
        &self,
        folder: PathBuf,
        name: PathBuf,
        lost: impl FnOnce() -> io::Result<Option<String>> + Send + 'static,
    ) -> Result<bool, EffectError> {
        let lost = match blocking(lost).await? {
            Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(LOST) => {
                Some(error.to_string())
            }
            lost => {
                lost.map_err(|error| soon(format!("cannot look whether an environment is whole: {error}")))?
            }
        };
        let Some(lost) = lost else {
            self.whole().insert(name);
            return Ok(true);
        };
        tracing::warn!(environment = %folder.display(), "is not what was kept, and is made again: {lost}");
        set_aside(&folder)
            .map_err(|error| soon(format!("cannot set a damaged environment aside: {error}")))?;
        Ok(false)
    }

    pub(super) fn whole(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.inner.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is lost of its commit, in words.
fn lost_of_commit(
    folder: &Path,
    method: LayerMethod,
    source: &SourceTree,
    record: &EnvironmentRecord,
) -> io::Result<Option<String>> {
    // What was fetched since, or is gone here, is not what was checked out.
    if record.source.as_deref() != Some(&*hex::encode(source.digest(None))) {
        return Ok(None);
    }
    let layers = tree_layers(folder, method, TreePurpose::Tests);
    let look = || LayeredFolder::not_held(&layers, source, &record.laid);
    let mut lost = look()?;
    if !lost.is_empty() {
        // Once more: what could not be opened in that moment is not lost.
        for path in &lost {
            can_be_opened(&layers, path)?;
        }
        lost = look()?;
        // What our own repository has lost says nothing of it.
        let is_known = |path: &PathBuf| {
            let read = source.each_content(std::slice::from_ref(path), |_, _| Ok::<(), io::Error>(()));
            read.is_ok()
        };
        lost.retain(is_known);
    }
    let named: Vec<_> = lost.iter().take(MOST_NAMED).map(|path| path.display().to_string()).collect();
    Ok((!lost.is_empty())
        .then(|| format!("{} paths are not those of the commit, {}", lost.len(), named.join(", "))))
}

/// # Errors
/// Where a path is there in one of these layers, and cannot be opened now.
fn can_be_opened(layers: &[PathBuf], path: &Path) -> io::Result<()> {
    let opened = |at: PathBuf| match fs::symlink_metadata(&at)?.is_file() {
        true => File::open(at).map(drop),
        false => Ok(()),
    };
    for layer in layers {
        match opened(layer.join(path)) {
            Err(error)
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                    && error.raw_os_error() != Some(LOST) =>
            {
                return Err(error);
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// What is lost of these of its folders, as far as it was counted when it was kept.
fn lost_of(folder: &Path, record: &EnvironmentRecord, names: &[&str]) -> io::Result<Option<String>> {
    for name in names {
        let Some(was) = record.tallies.get(*name) else { continue };
        let found = tally(&folder.join(name))?.map(|(tally, _)| tally).unwrap_or_default();
        if found != *was {
            return Ok(Some(format!(
                "there were {} entries of {} bytes in its {name}, and there are {} of {}",
                was.entries, was.bytes, found.entries, found.bytes
            )));
        }
    }
    Ok(None)
}
