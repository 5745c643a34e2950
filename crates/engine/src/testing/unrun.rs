//! Projects that a change edits: whether their tests can run beside those of the root, and which ones nothing tests.
//!
//! May know: plans, runs on the base commit. Must never know: how a project is found.

use std::path::{Path, PathBuf};

use super::baseline::CachedBaseline;
use super::{BaselineSource, VerdictBasis, blocking};
use journeyman_environment::{RepositoryFiles, unrun_projects};
use journeyman_order::{EffectError, UnrunProject, UnrunReason};
use journeyman_workspace::SourceTree;

impl VerdictBasis<'_> {
    /// Whether tests of each of these folders run on the base.
    pub(super) async fn runs_on_base(
        &self,
        folders: &[String],
        enough: BaselineSource,
    ) -> Result<bool, EffectError> {
        if folders.is_empty() {
            return Ok(true);
        }
        let known = self.baseline(enough).await?;
        let runs = |folder: &String| match known.is_passed() {
            Some(true) => !known.without_tests.contains(folder),
            Some(false) => names_tests_of(&known, folder),
            None => false,
        };
        Ok(folders.iter().all(runs))
    }
}

fn names_tests_of(known: &CachedBaseline, folder: &str) -> bool {
    let start = format!("{folder} > ");
    let names = known.reading.cases.iter().flat_map(|cases| cases.tests.keys());
    let mut ran = names.filter(|name| !known.reading.unloaded.contains(name));
    ran.any(|name| name.starts_with(&start))
}

/// Projects that the change edits and whose tests are not known to run when it is judged.
pub(super) async fn projects(
    basis: &VerdictBasis<'_>,
    source: SourceTree,
    changed: Vec<PathBuf>,
) -> Result<Vec<UnrunProject>, EffectError> {
    let plan = basis.plan.clone();
    // What could have been run stays in the plan.
    let command = |folder: &str| {
        let below = basis.before.below.iter().find(|below| below.path == folder)?;
        below.plan.as_ref()?.test_command().map(str::to_owned)
    };
    let found = blocking(move || {
        let paths: Vec<String> = source.paths().filter_map(Path::to_str).map(str::to_owned).collect();
        let read = |path: &str| source.read(path);
        unrun_projects(&plan, &RepositoryFiles::new(&paths, &read), &changed)
    });
    let mut unrun = found.await?;
    for project in unrun.iter_mut().filter(|project| project.because == UnrunReason::NotAsked) {
        if let Some(command) = command(&project.folder) {
            project.because = UnrunReason::CannotRun { command };
        }
    }
    Ok(unrun)
}

/// Why a pass verifies nothing if no test of an edited project ran.
pub(super) fn not_tested(unrun: &[UnrunProject], without_tests: &[String]) -> Option<String> {
    let grave = unrun.iter().find(|project| project.is_grave()).map(UnrunProject::sentence);
    let name = |folder: &String| if folder.is_empty() { "the root".to_owned() } else { folder.clone() };
    let empty =
        || without_tests.first().map(|folder| format!("the test command of {} ran no test", name(folder)));
    grave.or_else(empty)
}
