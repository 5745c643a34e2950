//! Detects setup and tests from a repository's manifests and lockfiles.
//!
//! May know: which ecosystems exist, and which of several is the repository's own. Must never know: their files.

use crate::files::RepositoryFiles;
use crate::project::{Detection, FoundProject};
use crate::project_signs::ProjectLanguage;
use crate::required_tool::{HostTools, ToolCollector};
use crate::{c, dotnet, go, java, javascript, php, python, ruby, rust};

type Finder = fn(&mut Detection<'_, '_>) -> Option<FoundProject>;

/// In order of precedence. A compiled language's manifest in the root is rarely there for something else, while
/// package.json and Makefile often serve another ecosystem's project.
const FINDERS: [Finder; 12] = [
    python::find_with_native_code,
    rust::find,
    go::find,
    java::find,
    dotnet::find,
    python::find_package,
    ruby::find,
    php::find,
    javascript::find,
    c::find,
    python::find,
    c::find_make,
];

/// A detected project, and what it needs.
pub struct Discovery<'a> {
    pub project: FoundProject,
    pub tools: ToolCollector<'a>,
}

/// The first project with tests, otherwise the first that can be set up.
pub fn find<'a>(files: &'a RepositoryFiles<'a>, tools: &'a HostTools<'a>) -> Option<Discovery<'a>> {
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
pub fn has_tests(language: ProjectLanguage, files: &RepositoryFiles<'_>) -> bool {
    let finder: Finder = match language {
        ProjectLanguage::Rust => rust::find,
        ProjectLanguage::Go => go::find,
        ProjectLanguage::JavaScript => javascript::find,
        ProjectLanguage::Python => python::find,
        ProjectLanguage::Jvm => java::find,
        ProjectLanguage::DotNet => dotnet::find,
        ProjectLanguage::Ruby => ruby::find,
        ProjectLanguage::Php => php::find,
        ProjectLanguage::Elixir | ProjectLanguage::Dart | ProjectLanguage::Swift => return false,
    };
    let tools = HostTools::new(&|_| true, &|_| None);
    let mut collector = ToolCollector::new(files, &tools);
    finder(&mut Detection { files, tools: &mut collector }).is_some_and(|project| project.test.is_some())
}
