//! What a plan is made of: commands, and folders of programs.
//!
//! May know: where a command comes from. Must never know: which ecosystems there are, and who executes a command.

/// One command of a setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupCommand {
    pub command: String,
    /// The file, or the place in it, that this command comes from.
    pub because: String,
}

/// The test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTest {
    pub command: String,
    /// The file, or the place in it, that this command comes from.
    pub because: String,
    /// The tests without additional steps such as a linter. Used if the base fails the whole command but passes this
    /// one.
    pub tests_alone: Option<String>,
}

impl PlannedTest {
    pub fn new(command: impl Into<String>, because: impl Into<String>) -> Self {
        Self { command: command.into(), because: because.into(), tests_alone: None }
    }

    /// The same test with `tests_alone` as its command.
    pub fn alone(&self) -> Option<Self> {
        let command = self.tests_alone.clone()?;
        Some(Self { command, because: self.because.clone(), tests_alone: None })
    }
}

/// A folder of programs that a setup creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramFolder {
    /// Relative to the repository's root.
    Tree(String),
    /// Relative to the job's home.
    Home(String),
}
