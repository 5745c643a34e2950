//! How the projects of each language are recognized.
//!
//! May know: names of manifests, sources, programs and folders. Must never know: how anything is tested.

use crate::files::{RepositoryFiles, fits};
use crate::grammar_kind::file_name;
use crate::language::{Facts, Language};
use crate::project::Detection;
use crate::required_tool::{HostTools, ToolCollector};
use crate::table::{LANGUAGES, tool};
use crate::test_call::TestCall;

/// The language of a project: its place in the table, and whatever the table says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectLanguage(usize);

impl ProjectLanguage {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..LANGUAGES.len()).map(Self)
    }

    pub(crate) fn language(self) -> &'static dyn Language {
        LANGUAGES[self.0]
    }

    fn facts(self) -> &'static Facts {
        self.language().facts()
    }

    pub fn of_manifest(name: &str) -> Option<Self> {
        Self::all().find(|language| language.facts().manifests.iter().any(|sign| fits(sign, name)))
    }

    pub fn of_source(path: &str) -> Option<Self> {
        let name = file_name(path);
        let (_, ending) = name.rsplit_once('.')?;
        Self::all().find(|language| language.facts().sources.contains(&ending))
    }

    /// Whether a word of a command is a program that runs this language's tests.
    pub fn is_program(self, word: &str) -> bool {
        let name = file_name(word);
        self.facts().programs.iter().any(|program| match program.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *program,
        })
    }

    /// Whether a test command runs the tests of its project, as far as the words show.
    pub fn reaches(self, call: &TestCall<'_, '_>) -> bool {
        self.language().reaches(call)
    }

    /// Whether tests of another language may run its code.
    pub fn is_loaded_by_others(self, call: &TestCall<'_, '_>) -> bool {
        self.language().is_loaded_by_others(call)
    }

    /// Whether a project inside a project of the same language, below its tests, is a project of its own.
    pub fn has_nested_projects(self) -> bool {
        self.facts().has_nested_projects
    }

    /// Whether its tests are found in a repository, even if its tools are missing here.
    pub fn has_tests(self, files: &RepositoryFiles<'_>) -> bool {
        let tools = HostTools::new(&|_| true, &|_| None);
        let mut collector = ToolCollector::new(files, &tools, tool);
        let mut ask = Detection { files, steps: &[], tools: &mut collector };
        let found = self.language().find(&mut ask).or_else(|| self.language().find_last(&mut ask));
        found.is_some_and(|project| project.test.is_some())
    }
}

/// Whether a word of a command is a program that runs tests of any language.
pub fn is_program_of_any(word: &str) -> bool {
    ProjectLanguage::all().any(|language| language.is_program(word))
}
