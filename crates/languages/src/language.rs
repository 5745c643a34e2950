//! The face of a language: one file for each, and everything that varies between them behind it.
//!
//! May know: how detection asks, what a runner is. Must never know: which languages there are.

use crate::files::RepositoryFiles;
use crate::planned::KeptBuild;
use crate::project::{Detection, FoundProject};
use crate::runner::TestRunner;
use crate::script::ScriptCall;
use crate::test_call::TestCall;

/// A language. What it leaves out means: not known, so tests are judged by the exit code alone.
pub(crate) trait Language: Sync {
    fn facts(&self) -> &'static Facts;

    /// The project in the root of a repository: its setup, test command and tools.
    fn find(&self, _: &mut Detection<'_, '_>) -> Option<FoundProject> {
        None
    }

    /// The same, asked before every language's [`Self::find`].
    fn find_first(&self, _: &mut Detection<'_, '_>) -> Option<FoundProject> {
        None
    }

    /// The same, asked after every language's [`Self::find`]: files without a manifest.
    fn find_last(&self, _: &mut Detection<'_, '_>) -> Option<FoundProject> {
        None
    }

    /// Whether a test command runs the tests of a project in the same folder or below, as far as its words show.
    fn reaches(&self, _: &TestCall<'_, '_>) -> bool {
        true
    }

    /// Whether tests of another language may run its code.
    fn is_loaded_by_others(&self, _: &TestCall<'_, '_>) -> bool {
        false
    }

    /// The call that only builds what a call of its test runner runs. `None` for a call of something else, or if a build
    /// could pass for one of other code.
    fn build_call<'w>(&self, _words: &[&'w str]) -> Option<Vec<&'w str>> {
        None
    }

    /// Adds what is kept of such a build. `false`: nothing, with these files.
    fn keep_build(&self, _: &RepositoryFiles<'_>, _: &mut KeptBuild) -> bool {
        false
    }

    /// The script that its package manager runs with these words.
    fn script(&self, _words: &[&str], _read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ScriptCall> {
        None
    }
}

/// The lists of a language.
pub(crate) struct Facts {
    /// The language's name, for people.
    pub(crate) name: &'static str,
    /// Endings of its sources, without the dot.
    pub(crate) sources: &'static [&'static str],
    /// Files that make a folder a project. A leading star matches any prefix.
    pub(crate) manifests: &'static [&'static str],
    /// Words of a command that run its tests.
    pub(crate) programs: &'static [&'static str],
    /// Whether a manifest below a folder of tests is a project of its own.
    pub(crate) has_nested_projects: bool,
    pub(crate) runners: &'static [TestRunner],
}

impl Facts {
    /// A language of which nothing is known.
    pub(crate) const NONE: Self = Self {
        name: "",
        sources: &[],
        manifests: &[],
        programs: &[],
        has_nested_projects: false,
        runners: &[],
    };
}
