//! A place: folders made of an environment's layers, for the jobs of one run or of one agent. One that lasts is written
//! down beside its folders, so that every job there sees the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::folder::{LayerMethod, LayeredFolder};
use super::{Environment, EnvironmentRequest, TreePurpose};
use crate::job::writable;
use journeyman_environment::EnvironmentPlan;
use journeyman_sandbox::{LayerStack, Mount, Relocation};
use journeyman_workspace::{SourceTree, remove_all, write_whole};

/// The checkout, in the folder of a place.
pub(super) const TREE: &str = "work";
/// The home, beside it.
pub(super) const HOME: &str = "home";
/// In the folder of a place that lasts.
const RECORD: &str = "place.json";

/// Where jobs see what they work on.
#[derive(Debug, Clone)]
pub(crate) struct EnvironmentPlace {
    pub(crate) tree: LayeredFolder,
    pub(crate) home: LayeredFolder,
    /// On the host.
    folder: PathBuf,
    /// As it is seen.
    pub(crate) inside: PathBuf,
    /// Variables for all that runs here.
    pub(crate) variables: BTreeMap<String, String>,
    /// Folders of programs for the front of the PATH, as they are seen.
    pub(crate) search: Vec<PathBuf>,
    /// Paths that the setup made, and that are none of the repository's.
    pub(crate) installed: Vec<String>,
}

/// A place that lasts, as it is written down.
#[derive(Debug, Serialize, Deserialize)]
struct PlaceRecord {
    method: LayerMethod,
    tree: Vec<PathBuf>,
    home: Vec<PathBuf>,
    variables: BTreeMap<String, String>,
    search: Vec<PathBuf>,
    installed: Vec<String>,
}

/// The folders of the environments that the place in this folder is made of.
pub(super) fn layers_of_place(folder: &Path) -> Vec<PathBuf> {
    let read =
        || -> Option<PlaceRecord> { serde_json::from_slice(&std::fs::read(folder.join(RECORD)).ok()?).ok() };
    let layers = read().into_iter().flat_map(|record| record.tree.into_iter().chain(record.home));
    layers.filter_map(|layer| layer.parent().map(Path::to_owned)).collect()
}

impl EnvironmentPlace {
    pub(super) fn at(
        tree: LayeredFolder,
        home: LayeredFolder,
        (folder, inside): (&Path, &Path),
        plan: &EnvironmentPlan,
    ) -> Self {
        let [seen_tree, seen_home] = [TREE, HOME].map(|name| inside.join(name).display().to_string());
        Self {
            tree,
            home,
            folder: folder.to_owned(),
            inside: inside.to_owned(),
            variables: plan.environment(&seen_tree, &seen_home),
            search: plan.search_folders(&seen_tree, &seen_home).into_iter().map(PathBuf::from).collect(),
            installed: Vec::new(),
        }
    }

    /// A place that lasts, as it was made; none where there is none, or what it is made of is gone.
    pub(crate) fn kept(folder: &Path, inside: &Path) -> Option<Self> {
        let record: PlaceRecord = serde_json::from_slice(&std::fs::read(folder.join(RECORD)).ok()?).ok()?;
        let is_there = record.method == LayerMethod::Copy
            || record.tree.iter().chain(&record.home).all(|layer| layer.is_dir());
        is_there.then(|| Self {
            tree: LayeredFolder::existing(&folder.join(TREE), &record.tree, record.method),
            home: LayeredFolder::existing(&folder.join(HOME), &record.home, record.method),
            folder: folder.to_owned(),
            inside: inside.to_owned(),
            variables: record.variables,
            search: record.search,
            installed: record.installed,
        })
    }

    fn keep(&self) -> std::io::Result<()> {
        let record = PlaceRecord {
            method: self.tree.method(),
            tree: self.tree.lower().to_vec(),
            home: self.home.lower().to_vec(),
            variables: self.variables.clone(),
            search: self.search.clone(),
            installed: self.installed.clone(),
        };
        write_whole(&self.folder.join(RECORD), &serde_json::to_vec(&record)?)
    }

    /// Where its folder is seen, if not where it is.
    pub(crate) fn relocation(&self) -> Option<Relocation> {
        let is_elsewhere = self.folder != self.inside;
        is_elsewhere.then(|| Relocation { host: self.folder.clone(), inside: self.inside.clone() })
    }

    /// The layers that its jobs have to be told of.
    pub(crate) fn layers(&self) -> Vec<LayerStack> {
        self.tree.stack().into_iter().chain(self.home.stack()).collect()
    }

    /// The checkout, as a mount.
    pub(crate) fn tree_mount(&self) -> Mount {
        writable(&self.tree.at)
    }

    /// Where a file of the home is seen.
    pub(crate) fn seen_in_home(&self, path: &str) -> String {
        self.inside.join(HOME).join(path).display().to_string()
    }
}

impl Environment {
    /// Makes a place of its layers in a folder, with the files of a source in it. Says which it had to lay there.
    pub(crate) fn place(
        &self,
        plan: &EnvironmentPlan,
        source: &SourceTree,
        laid: &[PathBuf],
        (folder, inside): (&Path, &Path),
        with: TreePurpose,
    ) -> std::io::Result<(EnvironmentPlace, Vec<PathBuf>)> {
        let mut tree = LayeredFolder::make(&folder.join(TREE), &self.tree_layers(with), self.method)?;
        let home = LayeredFolder::make(&folder.join(HOME), &self.home_layers, self.method)?;
        let mut paths = source.difference(&self.source);
        paths.extend(laid.iter().chain(&self.record.laid).cloned());
        paths.sort();
        paths.dedup();
        tree.lay(&paths, source)?;
        let installed = self.record.installed.clone();
        Ok((
            EnvironmentPlace { installed, ..EnvironmentPlace::at(tree, home, (folder, inside), plan) },
            paths,
        ))
    }

    /// A place in which somebody works for long, with a tree that is made anew. What was written in the home stays.
    pub(crate) fn lasting_place(
        &self,
        ask: &EnvironmentRequest,
        (folder, inside): (&Path, &Path),
    ) -> std::io::Result<EnvironmentPlace> {
        let home = folder.join(HOME);
        let is_at_home = self.method == LayerMethod::Copy && folder.join(RECORD).exists();
        let (place, _) = match is_at_home {
            // A copy is not laid over what somebody has changed since.
            true => {
                let mut tree = LayeredFolder::make(
                    &folder.join(TREE),
                    &self.tree_layers(TreePurpose::Agent),
                    self.method,
                )?;
                let paths = ask.source.difference(&self.source);
                tree.lay(&paths, &ask.source)?;
                let home = LayeredFolder::existing(&home, &self.home_layers, self.method);
                let made = EnvironmentPlace::at(tree, home, (folder, inside), &ask.plan);
                (EnvironmentPlace { installed: self.record.installed.clone(), ..made }, paths)
            }
            false => self.place(&ask.plan, &ask.source, &ask.laid, (folder, inside), TreePurpose::Agent)?,
        };
        place.keep()?;
        Ok(place)
    }

    /// A place for whoever looks at a commit, as it is each time; the home stays.
    pub(crate) fn place_to_look_from(
        &self,
        ask: &EnvironmentRequest,
        (folder, inside): (&Path, &Path),
    ) -> std::io::Result<EnvironmentPlace> {
        for part in ["", ".upper", ".work"] {
            remove_all(&folder.join(format!("{TREE}{part}"))).map_err(std::io::Error::other)?;
        }
        self.lasting_place(ask, (folder, inside))
    }
}
