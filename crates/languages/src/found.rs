//! Detects setup and tests from a repository's manifests and lockfiles.
//!
//! May know: which ecosystems exist, and which of several is the repository's own. Must never know: their files.

use crate::files::RepositoryFiles;
use crate::language::Language;
use crate::project::{Detection, FoundProject};
use crate::project_signs::ProjectLanguage;
use crate::required_tool::{HostTools, ToolCollector};
use crate::stated::{StatedCommand, TestStatement};
use crate::table::tool;

/// A detected project, and what it needs.
pub struct Discovery<'a> {
    pub project: FoundProject,
    pub tools: ToolCollector<'a>,
}

/// The first project with tests, otherwise the first that can be set up. `steps` are what workflows say of tests.
pub fn find<'a>(
    files: &'a RepositoryFiles<'a>,
    tools: &'a HostTools<'a>,
    steps: &'a [TestStatement],
) -> Option<Discovery<'a>> {
    type Finder = fn(&dyn Language, &mut Detection<'_, '_>) -> Option<FoundProject>;
    let finders: [Finder; 3] = [
        |language, ask| language.find_first(ask),
        |language, ask| language.find(ask),
        |language, ask| language.find_last(ask),
    ];
    let by = |finder: Finder| {
        ProjectLanguage::all().filter_map(move |one| {
            let mut collector = ToolCollector::new(files, tools, tool);
            let project = finder(one.language(), &mut Detection { files, steps, tools: &mut collector })?;
            Some((one, Discovery { project, tools: collector }))
        })
    };
    let mut all: Vec<(ProjectLanguage, Discovery<'a>)> = finders.into_iter().flat_map(by).collect();
    if all.is_empty() {
        return None;
    }
    let has_tests = |(_, one): &(ProjectLanguage, Discovery<'_>)| one.project.test.is_some();
    let (_, mut found) = all.remove(all.iter().position(has_tests).unwrap_or(0));
    if found.project.is_said_alone
        && let Some(at) = all.iter().position(|(language, one)| starts(&found, *language, one, files))
    {
        found = in_setup_of(found, all.remove(at).1);
    }
    if found.project.test.is_none() {
        let told = all.iter().filter(|(_, one)| one.project.is_said_alone);
        found.project.notes.extend(told.flat_map(|(_, one)| one.project.notes.clone()));
    }
    // What is said of tests is said of the project that was found.
    all.retain(|one| has_tests(one) && !one.1.project.is_said_alone);
    let others = all.into_iter().map(|(_, other)| other.project.because);
    let mut others: Vec<String> = others.filter(|other| *other != found.project.because).collect();
    others.dedup();
    if !others.is_empty() {
        found.project.notes.push(format!(
            "{} tells of tests too, which are not run: name both as `test` in .github/journeyman.yml",
            others.join(", ")
        ));
    }
    Some(found)
}

/// Whether what the repository says of its tests starts programs of another project, which has to be set up then.
fn starts(
    said: &Discovery<'_>,
    language: ProjectLanguage,
    other: &Discovery<'_>,
    files: &RepositoryFiles<'_>,
) -> bool {
    let Some(test) = said.project.test.as_ref().filter(|_| !other.project.setup.is_empty()) else {
        return false;
    };
    let commands = TestStatement::new("", test.command.clone()).commands(files).unwrap_or_default();
    commands.iter().flat_map(StatedCommand::words).any(|word| language.is_program(word))
}

/// The tests that the repository says, in the environment of a project without others.
fn in_setup_of<'a>(said: Discovery<'a>, mut set_up: Discovery<'a>) -> Discovery<'a> {
    for tool in said.tools.required {
        set_up.tools.need(tool.tool, &tool.file);
    }
    set_up.project.test = said.project.test;
    set_up
}
