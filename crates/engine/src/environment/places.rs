//! Places made from an environment: for one test run, for an agent that works in it for long, for a reviewer.

use std::path::{Path, PathBuf};

use super::{Environment, EnvironmentRequest, TreePurpose, tree_layers};
use crate::place::folder::{LayerMethod, LayeredFolder};
use crate::place::{EnvironmentPlace, HOME, PlaceRoot, RECORD, ROOT, TREE};
use journeyman_environment::EnvironmentPlan;
use journeyman_workspace::SourceTree;

impl Environment {
    /// Makes a place from its layers in a folder, with the files of a source. Returns the files that it laid there.
    pub(crate) fn place(
        &self,
        plan: &EnvironmentPlan,
        source: &SourceTree,
        laid: &[PathBuf],
        (folder, inside): (&Path, &Path),
        with: TreePurpose,
    ) -> std::io::Result<(EnvironmentPlace, Vec<PathBuf>)> {
        let layers = self.with_build(HOME, &self.home_layers, with);
        let home = LayeredFolder::make(&folder.join(HOME), &layers, self.method)?;
        self.place_with(home, plan, (source, laid), (folder, inside), with)
    }

    /// These layers, for tests below what the base's build left.
    fn with_build(&self, name: &str, layers: &[PathBuf], with: TreePurpose) -> Vec<PathBuf> {
        let build = self.build.get().filter(|_| with == TreePurpose::Tests).map(|build| build.layer(name));
        build.into_iter().chain(layers.iter().cloned()).collect()
    }

    fn place_with(
        &self,
        home: LayeredFolder,
        plan: &EnvironmentPlan,
        (source, laid): (&SourceTree, &[PathBuf]),
        (folder, inside): (&Path, &Path),
        with: TreePurpose,
    ) -> std::io::Result<(EnvironmentPlace, Vec<PathBuf>)> {
        let layers = self.with_build("tree", &tree_layers(&self.folder, self.method, with), with);
        let mut tree = LayeredFolder::make(&folder.join(TREE), &layers, self.method)?;
        let mut paths = source.difference(&self.source);
        paths.extend(laid.iter().chain(&self.record.laid).cloned());
        paths.sort();
        paths.dedup();
        tree.lay(&paths, source)?;
        let root = self.image.as_ref().map(|image| {
            let layers = [self.folder.join(ROOT), image.root().to_owned()];
            let made = LayeredFolder::make(&folder.join(ROOT), &layers, LayerMethod::Overlay);
            made.map(|folder| PlaceRoot { folder, of: image.facts() })
        });
        let (root, installed) = (root.transpose()?, self.record.installed.clone());
        let place =
            EnvironmentPlace { root, installed, ..EnvironmentPlace::at(tree, home, (folder, inside), plan) };
        Ok((place, paths))
    }

    /// A place for long work, with a recreated tree. What was written in the home stays.
    pub(crate) fn lasting_place(
        &self,
        ask: &EnvironmentRequest,
        (folder, inside): (&Path, &Path),
    ) -> std::io::Result<EnvironmentPlace> {
        let at = folder.join(HOME);
        let home = match self.method == LayerMethod::Copy && folder.join(RECORD).exists() {
            // A copy would overwrite what was changed since.
            true => LayeredFolder::existing(&at, &self.home_layers, self.method),
            false => LayeredFolder::make(&at, &self.home_layers, self.method)?,
        };
        let files = (&ask.source, ask.laid.as_slice());
        let (place, _) = self.place_with(home, &ask.plan, files, (folder, inside), TreePurpose::Agent)?;
        place.keep()?;
        Ok(place)
    }

    /// A place for looking at a commit, with a recreated tree. The home stays.
    pub(crate) fn place_to_look_from(
        &self,
        ask: &EnvironmentRequest,
        (folder, inside): (&Path, &Path),
    ) -> std::io::Result<EnvironmentPlace> {
        let before = LayeredFolder::existing(&folder.join(TREE), &[], self.method);
        before.remove().map_err(std::io::Error::other)?;
        self.lasting_place(ask, (folder, inside))
    }
}
