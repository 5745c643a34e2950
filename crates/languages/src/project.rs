//! A detected project, and the input for detection.
//!
//! May know: commands, folders of programs. Must never know: which ecosystems there are.

use crate::files::RepositoryFiles;
use crate::planned::{PlannedTest, ProgramFolder, SetupCommand};
use crate::required_tool::ToolCollector;
use crate::stated::TestStatement;

/// A project of one ecosystem.
#[derive(Debug, Default)]
pub struct FoundProject {
    /// Such as `Python with uv`.
    pub what: &'static str,
    /// The file that indicates the project.
    pub because: String,
    /// Whether only what the repository says of its tests is known.
    pub is_said_alone: bool,
    pub setup: Vec<SetupCommand>,
    pub test: Option<PlannedTest>,
    pub search_path: Vec<ProgramFolder>,
    pub variables: Vec<(&'static str, &'static str)>,
    pub version_from_git: bool,
    pub notes: Vec<String>,
}

impl FoundProject {
    pub(crate) fn setup(&mut self, command: impl Into<String>, because: &str) {
        self.setup.push(SetupCommand { command: command.into(), because: because.to_owned() });
    }

    pub(crate) fn test(&mut self, command: impl Into<String>, because: impl Into<String>) {
        self.test = Some(PlannedTest::new(command, because));
    }

    /// The same, where the repository itself says the command.
    pub(crate) fn stated_test(&mut self, command: impl Into<String>, because: impl Into<String>) {
        self.test = Some(PlannedTest { is_stated: true, ..PlannedTest::new(command, because) });
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
    /// What steps of workflows say of tests.
    pub(crate) steps: &'a [TestStatement],
    pub(crate) tools: &'c mut ToolCollector<'a>,
}
