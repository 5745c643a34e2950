//! One way of running tests, as a row: how it is recognized, asked for names, read, and told to run some tests.
//!
//! May know: commands, reports, printed text. Must never know: which runners there are.

use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter, Result as FormatResult};

use crate::counts::RunnerSummary;
use crate::names::title_of;
use journeyman_order::bounds::MOST_NAMED;

/// A runner of tests. Whatever a row leaves out means: compared by counts or exit.
pub(crate) struct TestRunner {
    /// As in journals and receipts.
    pub(crate) name: &'static str,
    /// Whether words, from the program on, run it.
    pub(crate) runs: fn(&[&str]) -> bool,
    /// What makes it report its tests.
    pub(crate) ask: fn(&RunnerCall<'_>) -> Asked,
    /// Files of a repository in which its variables reach it behind make and scripts, too. `""`: any repository.
    pub(crate) behind: &'static [&'static str],
    /// Reports that it writes unasked, as patterns below the folder of the command.
    pub(crate) written: &'static [&'static str],
    /// Changes an asked command to run only these tests, and maybe others. `None`: it cannot.
    pub(crate) select: fn(&TestSelection<'_>) -> Option<SelectedRun>,
    /// Whether it loads a file of this name before it selects, whichever tests are asked for.
    pub(crate) loads: Option<fn(&str) -> bool>,
    /// Reads what it prints.
    pub(crate) printed: Option<PrintedResult>,
}

/// The reader of what a runner prints.
#[derive(Clone, Copy)]
pub(crate) struct PrintedResult {
    pub(crate) read: fn(&[&str]) -> Option<RunnerSummary>,
    pub(crate) form: SummaryForm,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SummaryForm {
    /// Its summary is one line or begins with one, so everything above belongs to another run.
    OneRun,
    /// It counts the whole run, but several runs in one output cannot be told apart.
    WholeRun,
    /// Its counts are sums over parts, worth nothing if the start of the output is lost.
    Parts,
}

/// The call of a runner, from the program's word on.
pub(crate) struct RunnerCall<'a> {
    pub(crate) words: &'a [&'a str],
    /// The words of the whole command, such as `npm test`, if it only names a script that calls the runner.
    pub(crate) outer: &'a [&'a str],
    pub(crate) is_script: bool,
    /// That script, as it is written.
    pub(crate) script: &'a str,
    /// Where it may write a report: an absolute path outside the checkout. `None` if the repository names its own.
    pub(crate) report: Option<&'a str>,
    /// Reads a file of the commit.
    pub(crate) read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl RunnerCall<'_> {
    /// Whether the call already has one of these options, with or without a value.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        let all = || self.words.iter().chain(self.outer);
        all().any(|word| options.iter().any(|option| word.strip_prefix(option).is_some_and(is_ended)))
    }

    /// Whether the call sets a variable itself.
    pub(crate) fn sets(&self, variable: &str) -> bool {
        let is_set = |word: &str| word.strip_prefix(variable).is_some_and(|rest| rest.starts_with('='));
        self.outer.iter().copied().chain(self.script.split_whitespace()).any(is_set)
    }
}

/// Whether an option's name ends here.
fn is_ended(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['=', '.'])
}

/// What a runner is asked with.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) words: Vec<String>,
    pub(crate) place: WordsPlace,
    pub(crate) variables: Vec<(&'static str, String)>,
    /// Where it then writes: a path, or a pattern if several processes write.
    pub(crate) report: Option<String>,
    pub(crate) helpers: Vec<Helper>,
    /// Whether another option may follow at the end of the command.
    pub(crate) takes_options: bool,
}

/// Where the words go. A script of package.json takes words at its end only.
#[derive(Clone, Copy, Default)]
pub(crate) enum WordsPlace {
    #[default]
    End,
    /// After so many words, from the program on.
    After(usize),
    /// In place of so many words, from the program on.
    Instead(usize),
}

/// A file of ours that a runner loads, written before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    pub path: String,
    pub text: &'static str,
}

/// A request to run some tests of an asked command.
pub(crate) struct TestSelection<'a> {
    pub(crate) command: &'a str,
    pub(crate) environment: &'a BTreeMap<String, String>,
    /// The text between the command and an option at its end. `None` if none can follow.
    pub(crate) before_options: Option<&'a str>,
    /// Whether the command calls the runner, and not something that does.
    pub(crate) is_call: bool,
    pub(crate) names: &'a [String],
    /// The checkout's test files, for a runner that loads all files before it selects.
    pub(crate) files: &'a [String],
}

/// A command that runs some tests.
pub(crate) struct SelectedRun {
    pub(crate) command: String,
    pub(crate) environment: BTreeMap<String, String>,
}

impl TestSelection<'_> {
    /// Whether the command is one command, whose end is known.
    pub(crate) fn is_one(&self) -> bool {
        !self.command.contains(['&', '|', ';', '\n', '>', '<'])
    }

    pub(crate) fn with_command(&self, command: String) -> SelectedRun {
        SelectedRun { command, environment: self.environment.clone() }
    }

    /// The call with more words at its very end.
    pub(crate) fn with_words(&self, words: &str) -> Option<SelectedRun> {
        (self.is_call && self.is_one()).then(|| self.with_command(format!("{} {words}", self.command)))
    }

    /// The command with an option where one may follow.
    pub(crate) fn with_option(&self, option: &str) -> Option<SelectedRun> {
        let words = [self.command.trim_end(), self.before_options?, option];
        let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
        Some(self.with_command(words.join(" ")))
    }

    /// The command with more text in a variable with which it was asked.
    pub(crate) fn with_variable(&self, name: &str, more: &str) -> Option<SelectedRun> {
        let mut environment = self.environment.clone();
        environment.get_mut(name)?.push_str(more);
        Some(SelectedRun { command: self.command.to_owned(), environment })
    }

    /// The last parts of names, if all are identifiers. Parametrized cases of a test count as one.
    pub(crate) fn identifiers(&self) -> Option<Vec<String>> {
        identifiers(self.names.iter().map(|name| title_of(name).to_owned()))
    }

    /// Titles as alternatives of a regular expression, up to their end and quoted for the shell.
    pub(crate) fn titles(&self) -> Option<String> {
        let own = self.names.iter().map(|name| name.rsplit(" > ").next().unwrap_or(name).trim());
        // Reports have one space for several, and for a line break.
        let own: Vec<String> = own.map(|title| regex::escape(title).replace(' ', r"\s+")).collect();
        let is_plain = |title: &String| !title.is_empty() && !title.contains(['\n', '\0']);
        let pattern = || shell_words::quote(&format!("({})$", own.join("|"))).into_owned();
        (own.len() <= MOST_NAMED && own.iter().all(is_plain)).then(pattern)
    }
}

/// The names without repetition, if all are identifiers and not too many.
pub(crate) fn identifiers(names: impl Iterator<Item = String>) -> Option<Vec<String>> {
    let own: std::collections::BTreeSet<String> = names.collect();
    let is_plain =
        |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    (own.len() <= MOST_NAMED && own.iter().all(is_plain)).then(|| own.into_iter().collect())
}

impl TestRunner {
    /// A runner that is only recognized: neither asked, nor selected, nor read.
    pub(crate) const NONE: Self = Self {
        name: "",
        runs: |_| false,
        ask: |_| Asked::default(),
        behind: &[],
        written: &[],
        select: |_| None,
        loads: None,
        printed: None,
    };
}

impl Debug for TestRunner {
    fn fmt(&self, f: &mut Formatter<'_>) -> FormatResult {
        f.write_str(self.name)
    }
}

impl PartialEq for TestRunner {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TestRunner {}
