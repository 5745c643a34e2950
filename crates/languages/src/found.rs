//! Detects setup and tests from a repository's manifests and lockfiles.
//!
//! May know: which ecosystems exist, and which of several is the repository's own. Must never know: their files.

use crate::files::RepositoryFiles;
use crate::language::Language;
use crate::project::{Detection, FoundProject};
use crate::required_tool::{HostTools, ToolCollector};
use crate::table::LANGUAGES;

/// A detected project, and what it needs.
pub struct Discovery<'a> {
    pub project: FoundProject,
    pub tools: ToolCollector<'a>,
}

/// The first project with tests, otherwise the first that can be set up.
pub fn find<'a>(files: &'a RepositoryFiles<'a>, tools: &'a HostTools<'a>) -> Option<Discovery<'a>> {
    type Finder = fn(&dyn Language, &mut Detection<'_, '_>) -> Option<FoundProject>;
    let finders: [Finder; 3] = [
        |language, ask| language.find_first(ask),
        |language, ask| language.find(ask),
        |language, ask| language.find_last(ask),
    ];
    let by = |finder: Finder| {
        LANGUAGES.iter().filter_map(move |language| {
            let mut collector = ToolCollector::new(files, tools);
            let project = finder(*language, &mut Detection { files, tools: &mut collector })?;
            Some(Discovery { project, tools: collector })
        })
    };
    let mut all: Vec<Discovery<'a>> = finders.into_iter().flat_map(by).collect();
    if all.is_empty() {
        return None;
    }
    let has_tests = |one: &Discovery<'_>| one.project.test.is_some();
    let mut found = all.remove(all.iter().position(has_tests).unwrap_or(0));
    all.retain(has_tests);
    let others = all.into_iter().map(|other| other.project.because);
    let mut others: Vec<String> = others.filter(|other| *other != found.project.because).collect();
    others.dedup();
    others.retain(|other| !other.contains("akefile"));
    if !others.is_empty() {
        found.project.notes.push(format!(
            "{} tells of tests too, which are not run: name both as `test` in .github/journeyman.yml",
            others.join(", ")
        ));
    }
    Some(found)
}
