//! The face of a language: one file for each, and everything that varies between them behind it.
//!
//! May know: how detection asks, what a runner is. Must never know: which languages there are.

use crate::dependency_versions::DependencyReader;
use crate::example_runner::ExampleRunner;
use crate::files::RepositoryFiles;
use crate::not_loaded::NotLoaded;
use crate::old_settings::OldPart;
use crate::planned::{KeptBuild, PackagePlace};
use crate::project::{Detection, FoundProject};
use crate::runner::TestRunner;
use crate::script::ScriptCall;
use crate::syntax_rules::SyntaxRules;
use crate::test_call::TestCall;
use crate::tool_facts::ToolFacts;

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

    /// What reads the dependencies that a manifest declares. `None` for other files.
    fn dependencies(&self, _path: &str) -> Option<DependencyReader> {
        None
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

    /// The commands of the repository that its package manager runs during an installation.
    fn install_scripts(&self, _: &RepositoryFiles<'_>) -> Vec<String> {
        Vec::new()
    }

    /// The paths of the repository's own code that an installation runs otherwise, such as for a build.
    fn build_modules(&self, _: &RepositoryFiles<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Where packages belong that these commands would install on the machine.
    fn package_place(&self, _commands: &str) -> Option<PackagePlace> {
        None
    }

    /// Whether a new file takes the place of a module of the language's own library, or of a runner's. `starts` are the
    /// folders where commands start, in lower case.
    fn shadows(
        &self,
        _path: &str,
        _starts: &[String],
        _read_base: FileReader<'_>,
        _read_after: FileReader<'_>,
    ) -> bool {
        false
    }

    /// Whether a file of a build registers tests that the base does not have. The name is in lower case.
    fn brings_tests(&self, _name: &str, _base: Option<&[u8]>, _after: Option<&[u8]>) -> bool {
        false
    }

    /// What did not load, where only several lines of an output say so. Each with the number of its line.
    fn unloaded(&self, _lines: &[&str]) -> Vec<(usize, String)> {
        Vec::new()
    }

    /// The script that its package manager runs with these words.
    fn script(&self, _words: &[&str], _read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ScriptCall> {
        None
    }
}

/// Reads a file of one commit.
pub(crate) type FileReader<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// The lists of a language. A sign may hold one star, is read without regard to case, and with folders fits the end of
/// a path.
pub(crate) struct Facts {
    /// Endings of its sources, without the dot.
    pub(crate) sources: &'static [&'static str],
    /// Files that configure a whole test run, in any folder.
    pub(crate) configuration: &'static [&'static str],
    /// The same, in the root and where commands start.
    pub(crate) configuration_at_start: &'static [&'static str],
    /// Files of which a part configures the test run, by their names in lower case.
    pub(crate) settings: &'static [(&'static str, OldPart)],
    /// Endings of its sources in which tests may stand beside the code.
    pub(crate) with_tests: &'static [&'static str],
    /// Endings of its sources whose documentation may hold examples that run as tests, and what begins one.
    pub(crate) with_examples: &'static [(&'static str, &'static str)],
    /// Endings of compiled code, in lower case.
    pub(crate) compiled: &'static [&'static str],
    /// Files that make a folder a project. A leading star matches any prefix.
    pub(crate) manifests: &'static [&'static str],
    /// Words of a command that run its tests.
    pub(crate) programs: &'static [&'static str],
    /// Whether a manifest below a folder of tests is a project of its own.
    pub(crate) has_nested_projects: bool,
    /// The programs that its environments need.
    pub(crate) tools: &'static [ToolFacts],
    pub(crate) packages: &'static [PackageSource],
    /// Files that list what is installed, rather than what is asked for.
    pub(crate) lockfiles: &'static [&'static str],
    /// Files that decide what a setup installs or runs, besides all other lists of files here. Names or paths in any
    /// folder. A slash at the end stands for all files in such a folder.
    pub(crate) decides: &'static [&'static str],
    /// Endings of files that a command runs by their name, without the dot.
    pub(crate) scripts: &'static [&'static str],
    /// Folders and files that hold what is installed. A slash at the start anchors them at the root. One star matches
    /// anything.
    pub(crate) dependency_folders: &'static [&'static str],
    pub(crate) program_folders: &'static [InstalledPrograms],
    /// Settings of package managers in which a variable may hold a token.
    pub(crate) token_files: &'static [&'static str],
    /// Settings of package managers and programs that they run, which no agent may change.
    pub(crate) protected: &'static [&'static str],
    /// Globs of files in any folder that decide what code of others is built or run, besides those that decide a setup.
    pub(crate) told: &'static [&'static str],
    pub(crate) runners: &'static [TestRunner],
    /// Lines, as regular expressions, that report something missing around the tests. A group `module` is the name of
    /// what may be the repository's own.
    pub(crate) missing: &'static [&'static str],
    /// The same, with which a version manager reports a missing version, or that none is set.
    pub(crate) no_version: &'static [&'static str],
    /// How its compilers, interpreters and runners say that code did not load.
    pub(crate) not_loaded: &'static [NotLoaded],
    /// How its files are parsed. `None`: they are read as text.
    pub(crate) syntax: Option<&'static SyntaxRules>,
    /// The languages of code that is read as text, each with the endings of its files.
    pub(crate) unparsed: &'static [(&'static str, &'static [&'static str])],
    /// What its package holds.
    pub(crate) packed: Option<PackedFiles>,
    /// What its code asks about where it runs, as honest code rarely does: regular expressions in ASCII. They are looked
    /// for in the code of all languages, as a script may have no ending.
    pub(crate) surroundings: &'static [&'static str],
    /// What evaluates the examples of an issue.
    pub(crate) examples: Option<&'static ExampleRunner>,
}

/// A folder of installed programs, which come before those of the machine.
pub(crate) struct InstalledPrograms {
    pub(crate) folder: &'static str,
    /// Parts of commands that make it without naming it.
    pub(crate) made_by: &'static [&'static str],
}

/// Package managers that download from the same hosts.
pub(crate) struct PackageSource {
    /// Names of files that indicate it. A leading star matches any prefix.
    pub(crate) signs: &'static [&'static str],
    /// Programs in a setup command that indicate it.
    pub(crate) programs: &'static [&'static str],
    /// Their public registries. If possible, only hosts that serve published packages and accept no uploads: no code
    /// host and no bucket that anyone can write to.
    pub(crate) hosts: &'static [&'static str],
}

/// How a package manager says what its package holds.
pub(crate) struct PackedFiles {
    /// Its name, as one word.
    pub(crate) by: &'static str,
    /// The regular expression, for grep, of the manifest's name in the root.
    pub(crate) manifest: &'static str,
    /// Shell commands that print the names of the files, without a network. They may also copy files to `$PACKED`.
    pub(crate) list: &'static str,
    /// The folder of installed dependencies that the code needs beside it.
    pub(crate) installed: &'static str,
    /// The folder that packages are installed in.
    pub(crate) below: &'static str,
}

impl Facts {
    /// A language of which nothing is known.
    pub(crate) const NONE: Self = Self {
        sources: &[],
        with_tests: &[],
        with_examples: &[],
        compiled: &[],
        configuration: &[],
        configuration_at_start: &[],
        settings: &[],
        manifests: &[],
        programs: &[],
        has_nested_projects: false,
        tools: &[],
        packages: &[],
        lockfiles: &[],
        decides: &[],
        scripts: &[],
        dependency_folders: &[],
        program_folders: &[],
        token_files: &[],
        protected: &[],
        told: &[],
        runners: &[],
        missing: &[],
        no_version: &[],
        not_loaded: &[],
        syntax: None,
        unparsed: &[],
        packed: None,
        surroundings: &[],
        examples: None,
    };
}
