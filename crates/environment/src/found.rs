//! Detects setup and tests from a repository's manifests and lockfiles.
//!
//! May know: which ecosystems exist, and which of several is the repository's own. Must never know: their files.

use crate::files::RepositoryFiles;
use crate::project::{Detection, FoundProject};
use crate::project_folders::ProjectLanguage;
use crate::required_tool::{HostTools, ToolCollector};
use crate::{cargo, dotnet, go, jvm, native, node, php, python, ruby};

type Finder = fn(&mut Detection<'_, '_>) -> Option<FoundProject>;

/// In order of precedence. A compiled language's manifest in the root is rarely there for something else, while
/// package.json and Makefile often serve another ecosystem's project.
const FINDERS: [Finder; 12] = [
    python::find_with_native_code,
    cargo::find,
    go::find,
    jvm::find,
    dotnet::find,
    python::find_package,
    ruby::find,
    php::find,
    node::find,
    native::find,
    python::find,
    native::find_make,
];

/// A detected project, and what it needs.
pub(crate) struct Discovery<'a> {
    pub(crate) project: FoundProject,
    pub(crate) tools: ToolCollector<'a>,
}

/// The first project with tests, otherwise the first that can be set up.
pub(crate) fn find<'a>(files: &'a RepositoryFiles<'a>, tools: &'a HostTools<'a>) -> Option<Discovery<'a>> {
    let discover = |finder: Finder| {
        let mut collector = ToolCollector::new(files, tools);
        let project = finder(&mut Detection { files, tools: &mut collector })?;
        Some(Discovery { project, tools: collector })
    };
    let mut all: Vec<Discovery<'a>> = FINDERS.into_iter().filter_map(discover).collect();
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

/// Whether tests of a language are found, even if its tools are missing here.
pub(crate) fn has_tests(language: ProjectLanguage, files: &RepositoryFiles<'_>) -> bool {
    let finder: Finder = match language {
        ProjectLanguage::Rust => cargo::find,
        ProjectLanguage::Go => go::find,
        ProjectLanguage::JavaScript => node::find,
        ProjectLanguage::Python => python::find,
        ProjectLanguage::Jvm => jvm::find,
        ProjectLanguage::DotNet => dotnet::find,
        ProjectLanguage::Ruby => ruby::find,
        ProjectLanguage::Php => php::find,
        ProjectLanguage::Elixir | ProjectLanguage::Dart | ProjectLanguage::Swift => return false,
    };
    let tools = HostTools::new(&|_| true, &|_| None);
    let mut collector = ToolCollector::new(files, &tools);
    finder(&mut Detection { files, tools: &mut collector }).is_some_and(|project| project.test.is_some())
}
