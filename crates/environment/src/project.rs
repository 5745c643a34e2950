//! A detected project, and the input for detection.
//!
//! May know: commands, folders of programs. Must never know: which ecosystems there are.

use crate::files::RepositoryFiles;
use crate::required_tool::ToolCollector;
use crate::{PlannedTest, ProgramFolder, SetupCommand};

/// A project of one ecosystem.
#[derive(Debug, Default)]
pub(crate) struct FoundProject {
    /// Such as `Python with uv`.
    pub(crate) what: &'static str,
    /// The file that indicates the project.
    pub(crate) because: String,
    pub(crate) setup: Vec<SetupCommand>,
    pub(crate) test: Option<PlannedTest>,
    pub(crate) search_path: Vec<ProgramFolder>,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    pub(crate) version_from_git: bool,
    pub(crate) notes: Vec<String>,
}

impl FoundProject {
    pub(crate) fn setup(&mut self, command: impl Into<String>, because: &str) {
        self.setup.push(SetupCommand { command: command.into(), because: because.to_owned() });
    }

    pub(crate) fn test(&mut self, command: impl Into<String>, because: impl Into<String>) {
        self.test = Some(PlannedTest::new(command, because));
    }

    /// Sets the command that runs only the tests of the last test command, without extra steps.
    pub(crate) fn tests_alone(&mut self, command: impl Into<String>) {
        if let Some(test) = &mut self.test {
            test.tests_alone = Some(command.into());
        }
    }
}

/// The input for an ecosystem's detection.
pub(crate) struct Detection<'a, 'c> {
    pub(crate) files: &'a RepositoryFiles<'a>,
    pub(crate) tools: &'c mut ToolCollector<'a>,
}
