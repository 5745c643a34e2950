//! Places made of an environment: for one run of the tests, for an agent that works in it for long, for a reviewer.

use std::path::{Path, PathBuf};

use super::{Environment, EnvironmentRequest, TreePurpose};
use crate::place::folder::{LayerMethod, LayeredFolder};
use crate::place::{EnvironmentPlace, HOME, RECORD, TREE};
use journeyman_environment::EnvironmentPlan;
use journeyman_workspace::{SourceTree, remove_all};

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
