//! Places: folders made of an environment's layers, for the jobs of one run or one agent.
//!
//! May know: layers, mounts, plans of environments. Must never know: how a layer came to be, and who works here.

pub(crate) mod folder;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::job::{short_job, writable};
use folder::{LayerMethod, LayeredFolder};
use journeyman_environment::EnvironmentPlan;
use journeyman_order::UserPlace;
use journeyman_sandbox::{Job, JobRoot, JobUser, LayerStack, Mount, ProgramOwner, Relocation, SharedNetwork};
use journeyman_workspace::write_whole;

pub(crate) const TREE: &str = "work";
pub(crate) const HOME: &str = "home";
pub(crate) const ROOT: &str = "root";
/// A file in an environment's folder whose text is unique to that environment.
pub(crate) const MADE: &str = "made";
pub(crate) const RECORD: &str = "place.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EnvironmentPlace {
    pub(crate) tree: LayeredFolder,
    pub(crate) home: LayeredFolder,
    /// `None`: the machine's own system.
    pub(crate) root: Option<PlaceRoot>,
    #[serde(skip)]
    pub(crate) network: Option<SharedNetwork>,
    pub(crate) folder: PathBuf,
    pub(crate) inside: PathBuf,
    /// As whom and where its jobs see it instead.
    #[serde(skip)]
    pub(crate) seen_by: Option<UserPlace>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) search: Vec<PathBuf>,
    /// Paths that the setup made and that do not belong to the repository.
    pub(crate) installed: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlaceRoot {
    pub(crate) folder: LayeredFolder,
    pub(crate) of: ImageFacts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageFacts {
    pub(crate) name: String,
    pub(crate) search: Vec<PathBuf>,
    pub(crate) variables: BTreeMap<String, String>,
}

impl PlaceRoot {
    pub(crate) fn job_root(&self, program: ProgramOwner) -> Option<JobRoot> {
        let (search, variables) = (self.of.search.clone(), self.of.variables.clone());
        Some(JobRoot { layers: self.folder.stack()?, search, variables, program })
    }
}

/// A lasting place, and which environments were in the folders of its layers.
fn record_in(folder: &Path) -> Option<(EnvironmentPlace, BTreeMap<PathBuf, String>)> {
    serde_json::from_slice(&std::fs::read(folder.join(RECORD)).ok()?).ok()
}

/// The folders of the environments that the place in this folder is made from.
pub(crate) fn layers_of_place(folder: &Path) -> Vec<PathBuf> {
    let layers = record_in(folder).into_iter().flat_map(|(place, _)| {
        let root = place.root.map(|root| root.folder.lower).unwrap_or_default();
        place.tree.lower.into_iter().chain(place.home.lower).chain(root)
    });
    layers.filter_map(|layer| layer.parent().map(Path::to_owned)).collect()
}

fn made_in(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join(MADE)).ok()
}

impl EnvironmentPlace {
    pub(crate) fn at(
        tree: LayeredFolder,
        home: LayeredFolder,
        (folder, inside): (&Path, &Path),
        plan: &EnvironmentPlan,
    ) -> Self {
        let [seen_tree, seen_home] = [TREE, HOME].map(|name| inside.join(name).display().to_string());
        Self {
            tree,
            home,
            root: None,
            network: None,
            folder: folder.to_owned(),
            inside: inside.to_owned(),
            seen_by: None,
            variables: plan.environment(&seen_tree, &seen_home),
            search: plan.search_folders(&seen_tree, &seen_home).into_iter().map(PathBuf::from).collect(),
            installed: Vec::new(),
        }
    }

    /// A lasting place as it was made. `None` if there is none, or if its layers are gone.
    pub(crate) fn kept(folder: &Path, inside: &Path) -> Option<Self> {
        let (place, made) = record_in(folder)?;
        let is_there = place.tree.method == LayerMethod::Copy
            || place.tree.lower.iter().chain(&place.home.lower).all(|layer| layer.is_dir())
                && made.iter().all(|(folder, made)| made_in(folder).as_ref() == Some(made));
        // The lowest layer is the image, which can be pulled again by digest.
        let of_root = place.root.iter().filter_map(|root| root.folder.lower.split_last());
        let is_there = is_there && of_root.flat_map(|(_, rest)| rest).all(|layer| layer.is_dir());
        (is_there && place.folder == folder && place.inside == inside).then_some(place)
    }

    pub(crate) fn keep(&self) -> std::io::Result<()> {
        let layers = self.tree.lower.iter().chain(&self.home.lower);
        let folders = layers.filter_map(|layer| layer.parent());
        let made: BTreeMap<&Path, String> =
            folders.filter_map(|folder| Some((folder, made_in(folder)?))).collect();
        write_whole(&self.folder.join(RECORD), &serde_json::to_vec(&(self, made))?)
    }

    /// A short job on the machine's own system. Of this place it sees only the home and the mounts.
    pub(crate) fn short_job(&self, program: Vec<OsString>, mounts: Vec<Mount>, stdin: Vec<u8>) -> Job {
        let (layers, relocations) = (self.layers(), self.relocations());
        Job { stdin, layers, relocations, ..short_job(program, &self.tree.at, &self.home.at, mounts) }
    }

    pub(crate) fn relocations(&self) -> Vec<Relocation> {
        let relocation = |host: &Path, inside: &Path| Relocation { host: host.into(), inside: inside.into() };
        match &self.seen_by {
            _ if !self.is_relocated() => Vec::new(),
            None => vec![relocation(&self.folder, &self.inside)],
            Some(user) => vec![
                relocation(&self.tree.at, Path::new(&user.folder)),
                relocation(&self.home.at, Path::new(&user.home)),
            ],
        }
    }

    /// Whether jobs see it at another path than ours. Without a sandbox they cannot.
    fn is_relocated(&self) -> bool {
        self.folder != self.inside
    }

    /// The same place, as a user sees it.
    pub(crate) fn seen_by(self, user: &UserPlace, plan: &EnvironmentPlan) -> Self {
        if !self.is_relocated() {
            return self;
        }
        let search = plan.search_folders(&user.folder, &user.home).into_iter().map(PathBuf::from).collect();
        let variables = plan.environment(&user.folder, &user.home);
        Self { variables, search, seen_by: Some(user.clone()), ..self }
    }

    pub(crate) fn user(&self) -> JobUser {
        let own =
            self.seen_by.as_ref().map(|user| JobUser { name: user.user.clone(), host: user.host.clone() });
        own.unwrap_or_default()
    }

    pub(crate) fn layers(&self) -> Vec<LayerStack> {
        self.tree.stack().into_iter().chain(self.home.stack()).collect()
    }

    pub(crate) fn tree_mount(&self) -> Mount {
        writable(&self.tree.at)
    }

    pub(crate) fn seen_in_home(&self, path: &str) -> String {
        let home = self.seen_by.as_ref().map_or_else(|| self.inside.join(HOME), |user| (&user.home).into());
        home.join(path).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_gone_where_another_environment_lies_in_the_folder_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (environment, place) = (folder.path().join("kept"), folder.path().join("place"));
        for layer in ["tree", "home"] {
            std::fs::create_dir_all(environment.join(layer)).unwrap();
        }
        let layered = |name: &str, layer: &str| {
            let lower = [environment.join(layer)];
            LayeredFolder::make(&place.join(name), &lower, LayerMethod::Overlay).unwrap()
        };
        let plan = EnvironmentPlan::default();
        let (tree, home) = (layered(TREE, "tree"), layered(HOME, "home"));
        let made = EnvironmentPlace::at(tree, home, (&place, &place), &plan);
        std::fs::write(environment.join(MADE), "one").unwrap();
        made.keep().unwrap();
        let is_there = || EnvironmentPlace::kept(&place, &place).is_some();
        assert!(is_there());

        std::fs::write(environment.join(MADE), "another, of another commit").unwrap();

        assert!(!is_there());
    }
}
