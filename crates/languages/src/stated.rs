//! What a repository says of how its tests are run, as the commands that it comes to.
//!
//! May know: shell words, make, just. Must never know: which programs run tests, and where else a repository says it.

use std::collections::BTreeMap;

use crate::files::{RepositoryFiles, quote};
use crate::recipes::RecipeFile;
use journeyman_order::bounds::{MOST_HOPS, MOST_LISTED};
use journeyman_order::names::can_be_set;
use journeyman_order::settings::plain_folder;

/// Programs that start what a test run does not have here. A statement with one of them is not taken.
const ELSEWHERE: [&str; 30] = [
    "sudo", "docker", "docker-compose", "podman", "buildah", "vagrant", "kubectl", "minikube", "helm", "apt",
    "apt-get", "yum", "dnf", "apk", "brew", "choco", "systemctl", "service", "psql", "createdb", "mysql",
    "mysqladmin", "redis-server", "mongod", "pg_ctl", "xvfb-run", "ssh", "osascript", "powershell", "pwsh",
];
/// Words of a shell that decide what runs, or whether. The first five begin a block, and the next three end one.
const CONTROL: [&str; 17] = [
    "if", "for", "while", "until", "case", "fi", "done", "esac", "then", "else", "elif", "do", "function",
    "!", "[", "[[", "test",
];
/// Commands that change nothing for the commands after them.
const IDLE: [&str; 8] = ["set", ":", "true", "echo", "printf", ".", "source", "wait"];
/// Variables of a machine or a look, by their beginnings. Tests do not depend on them.
const IDLE_VARIABLES: [&str; 20] = [
    "CI", "GITHUB_", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "CLICOLOR", "TERM", "CARGO_TERM_", "COVERAGE_",
    "CODECOV_", "COVERALLS_", "PIP_", "UV_", "TOX", "NOX", "VIRTUALENV_", "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "NPM_CONFIG_",
];

/// A place that says how tests are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestStatement {
    /// The place, for people.
    pub at: String,
    /// Where it runs, relative to the root; empty for the root.
    pub folder: String,
    pub variables: BTreeMap<String, String>,
    /// Shell text.
    pub script: String,
}

/// One command of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StatedCommand {
    pub(crate) folder: String,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) words: Vec<String>,
    /// Whether any shell reads just these words. Otherwise they only show what the command is about.
    pub(crate) is_plain: bool,
}

/// Why the commands of a statement are not known, or of no use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UntoldReason {
    /// It starts this program, which is not for a sandbox.
    NotHere(String),
    Unclear,
}

/// What a command has to do with tests.
pub(crate) enum StatedReading {
    Nothing,
    /// These words run them, in the same folder and with the same variables.
    Tests(Vec<String>),
    /// It runs them, and how is said in the first of these places that says something.
    Elsewhere(Vec<TestStatement>),
    /// It runs them in a way that only its own surroundings know.
    Unknown,
}

type Reader<'r> = &'r dyn Fn(&StatedCommand) -> StatedReading;

/// The command on which statements agree, and where it stands. Of statements that name several, none is preferred: what
/// one leaves out, another may test.
pub(crate) fn agreed(
    statements: &[TestStatement],
    files: &RepositoryFiles<'_>,
    read: Reader<'_>,
) -> Option<(StatedCommand, String)> {
    let mut all: BTreeMap<StatedCommand, String> = BTreeMap::new();
    for statement in statements {
        for (command, at) in statement.tests(files, read, MOST_HOPS).unwrap_or_default() {
            all.entry(command).or_insert(at);
        }
    }
    let found = all.pop_first();
    found.filter(|_| all.is_empty())
}

impl TestStatement {
    pub(crate) fn new(at: impl Into<String>, script: impl Into<String>) -> Self {
        Self { at: at.into(), script: script.into(), ..Self::default() }
    }

    /// The commands that run tests, each with its place. `None` if that cannot be told.
    fn tests(
        &self,
        files: &RepositoryFiles<'_>,
        read: Reader<'_>,
        left: usize,
    ) -> Option<BTreeMap<StatedCommand, String>> {
        let left = left.checked_sub(1)?;
        let mut found = BTreeMap::new();
        for command in self.commands(files).ok()? {
            match read(&command) {
                StatedReading::Nothing => {}
                StatedReading::Unknown => return None,
                StatedReading::Tests(_) | StatedReading::Elsewhere(_) if !command.is_plain => return None,
                StatedReading::Tests(words) => {
                    found.insert(StatedCommand { words, ..command }, self.at.clone());
                }
                StatedReading::Elsewhere(others) => {
                    let said = others.into_iter().find_map(|other| {
                        let mut variables = other.variables.clone();
                        variables.extend(command.variables.clone());
                        let at = format!("{} and {}", self.at, other.at);
                        let folder = command.folder.clone();
                        let inner = Self { at, folder, variables, ..other };
                        inner.tests(files, read, left).filter(|inner| !inner.is_empty())
                    });
                    found.extend(said?);
                }
            }
        }
        Some(found)
    }

    /// All commands, with those of the targets and recipes that they call.
    pub(crate) fn commands(&self, files: &RepositoryFiles<'_>) -> Result<Vec<StatedCommand>, UntoldReason> {
        let mut all = Vec::new();
        self.add_commands(files, MOST_HOPS, &mut all)?;
        Ok(all)
    }

    fn add_commands(
        &self,
        files: &RepositoryFiles<'_>,
        left: usize,
        all: &mut Vec<StatedCommand>,
    ) -> Result<(), UntoldReason> {
        let mut folder = self.folder.clone();
        let mut variables = self.variables.clone();
        let (mut depth, mut is_conditional) = (0_usize, false);
        for part in parts(&self.script) {
            let (set, mut words) = without_variables(part.words());
            let mut is_plain = part.is_plain && depth == 0 && !is_conditional;
            is_conditional = false;
            while let Some(at) = words.first().and_then(|word| CONTROL.iter().position(|one| one == word)) {
                is_plain = false;
                match at {
                    0..5 => depth += 1,
                    5..8 => depth = depth.saturating_sub(1),
                    14.. => {
                        is_conditional = true;
                        words.clear();
                    }
                    _ => {}
                }
                words = words.into_iter().skip(1).collect();
            }
            let is_alone = words.is_empty() || words.first().is_some_and(|word| word == "export");
            let Some(first) = words.first().or(set.first().map(|(name, _)| name)) else { continue };
            let is_elsewhere = |word: &&String| ELSEWHERE.iter().take(4).any(|program| program == word);
            let beside = words.iter().find(is_elsewhere);
            if let Some(program) = Some(first).filter(|first| ELSEWHERE.contains(&first.as_str())).or(beside)
            {
                return Err(UntoldReason::NotHere(program.clone()));
            }
            if all.len() >= MOST_LISTED {
                return Err(UntoldReason::Unclear);
            }
            if is_alone {
                let (exported, _) = without_variables(words.iter().skip(1).cloned().collect());
                let known = set.into_iter().chain(exported).filter(|_| is_plain);
                variables.extend(known.filter(|(name, _)| decides(name)));
                continue;
            }
            match first.as_str() {
                idle if IDLE.contains(&idle) => {}
                "cd" => {
                    let path = words.get(1).filter(|_| is_plain).ok_or(UntoldReason::Unclear)?;
                    folder = joined(&folder, path).ok_or(UntoldReason::Unclear)?;
                }
                _ => {
                    let mut variables = variables.clone();
                    variables.extend(set.into_iter().filter(|(name, _)| decides(name)));
                    let command = StatedCommand { folder: folder.clone(), variables, words, is_plain };
                    match called(&command, files).zip(left.checked_sub(1)) {
                        Some((lines, left)) => {
                            for script in lines {
                                let (folder, variables) = (command.folder.clone(), command.variables.clone());
                                let line = Self { script, folder, variables, at: String::new() };
                                line.add_commands(files, left, all)?;
                            }
                        }
                        None => all.push(command),
                    }
                }
            }
        }
        Ok(())
    }
}

impl StatedCommand {
    pub(crate) fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    /// The command as a shell in the root runs it.
    pub(crate) fn shell(&self) -> String {
        let folder = if self.folder.is_empty() { String::new() } else { format!("cd {} && ", self.folder) };
        let assigned = |(name, value): (&String, &String)| format!("{name}={} ", word_of_shell(value));
        let variables: String = self.variables.iter().map(assigned).collect();
        format!("{folder}{variables}{}", shell_of(&self.words))
    }
}

/// Words as a shell reads them again.
pub(crate) fn shell_of(words: &[String]) -> String {
    words.iter().map(|word| word_of_shell(word)).collect::<Vec<_>>().join(" ")
}

/// Quoted only if a shell would read it differently: only a plain command can be made to report test names.
fn word_of_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@+,%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { quote(word) }
}

/// The target of make that is for tests.
pub(crate) fn make_target(make: &RecipeFile) -> Option<&'static str> {
    ["test", "check", "tests"].into_iter().find(|target| make.has(target))
}

/// What the Makefile says.
pub(crate) fn of_make(files: &RepositoryFiles<'_>) -> Vec<TestStatement> {
    let Some(make) = RecipeFile::make(files, "") else { return Vec::new() };
    let said =
        |target| TestStatement::new(format!("a target {target} in {}", make.name), format!("make {target}"));
    make_target(&make).map(said).into_iter().collect()
}

/// What the justfile says. In these, `check` mostly only compiles.
pub(crate) fn of_just(files: &RepositoryFiles<'_>) -> Vec<TestStatement> {
    let Some(just) = RecipeFile::just(files) else { return Vec::new() };
    let name = ["test", "tests"].into_iter().find(|name| just.has(name));
    let said = |name| TestStatement::new(format!("a recipe {name} in {}", just.name), format!("just {name}"));
    name.map(said).into_iter().collect()
}

/// Whether tests may depend on a variable.
pub fn decides(name: &str) -> bool {
    can_be_set(name, "")
        && !IDLE_VARIABLES.iter().any(|idle| match idle.ends_with('_') {
            true => name.starts_with(idle),
            false => name == *idle || name.strip_prefix(idle).is_some_and(|rest| rest.starts_with('_')),
        })
}

/// The lines that a call of make or just runs. `None` if it is none, or another file decides.
fn called(command: &StatedCommand, files: &RepositoryFiles<'_>) -> Option<Vec<String>> {
    let words = command.words();
    let (program, rest) = words.split_first().filter(|_| command.is_plain)?;
    let is_quiet = |word: &&str| {
        matches!(*word, "-s" | "--silent" | "--quiet" | "-k" | "--keep-going" | "--no-print-directory")
            || word.starts_with("-j")
    };
    let targets: Vec<&str> = rest.iter().copied().filter(|word| !is_quiet(word)).collect();
    let recipes = match *program {
        "make" | "gmake" => RecipeFile::make(files, &command.folder)?,
        "just" if command.folder.is_empty() => RecipeFile::just(files)?,
        _ => return None,
    };
    // Options and variables change what runs.
    if !targets.iter().all(|target| recipes.has(target)) {
        return None;
    }
    let default = recipes.default_target().filter(|_| targets.is_empty());
    Some(targets.into_iter().chain(default).flat_map(|target| recipes.lines(target)).collect())
}

/// A folder below another. `None` if it leads out, or back.
fn joined(folder: &str, path: &str) -> Option<String> {
    if path == "." {
        return Some(folder.to_owned());
    }
    let path = plain_folder(path)?;
    Some(if folder.is_empty() { path } else { format!("{folder}/{path}") })
}

/// The assignments before a command, and its own words.
fn without_variables(words: Vec<String>) -> (Vec<(String, String)>, Vec<String>) {
    let mut set = Vec::new();
    let mut words = words.into_iter().peekable();
    loop {
        if words.next_if(|word| word == "env").is_some() {
            continue;
        }
        let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) else { break };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_of_name) {
            break;
        }
        set.push((name.to_owned(), value.to_owned()));
        words.next();
    }
    (set, words.collect())
}

/// A part of a shell text between separators.
#[derive(Debug, Default)]
struct ShellPart {
    text: String,
    /// Whether it starts nothing else, and refers to nothing.
    is_plain: bool,
}

impl ShellPart {
    fn words(&self) -> Vec<String> {
        let rough = || self.text.split_whitespace().map(str::to_owned).collect();
        shell_words::split(&self.text).unwrap_or_else(|_| rough())
    }
}

/// The commands of a shell text that run one after the other.
fn parts(script: &str) -> Vec<ShellPart> {
    let script = script.replace("\\\n", " ");
    // The caller's own arguments: there are none.
    let script = ["\"$@\"", "$@", "\"$*\"", "$*"].iter().fold(script, |text, all| text.replace(all, ""));
    let script = with_defaults(&script);
    let mut all = Vec::new();
    let mut part = ShellPart { is_plain: true, ..ShellPart::default() };
    let mut quoted: Option<char> = None;
    let mut before = '\n';
    let mut characters = script.chars().peekable();
    while let Some(c) = characters.next() {
        let (last, is_word_start) = (before, before.is_whitespace());
        before = c;
        match quoted {
            Some(mark) => {
                if c == mark {
                    quoted = None;
                } else if mark == '"' && matches!(c, '$' | '`') {
                    part.is_plain = false;
                }
            }
            None if c == '#' && is_word_start => {
                while characters.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            None if matches!(c, '\n' | ';') || c == '&' && characters.next_if_eq(&'&').is_some() => {
                all.push(std::mem::replace(&mut part, ShellPart { is_plain: true, ..ShellPart::default() }));
                before = '\n';
                continue;
            }
            None if matches!(c, '\'' | '"') && last != '\\' => quoted = Some(c),
            None => {
                part.is_plain &=
                    !matches!(c, '$' | '`' | '|' | '&' | '<' | '>' | '(' | ')' | '{' | '}' | '\\');
            }
        }
        part.text.push(c);
    }
    part.is_plain &= quoted.is_none();
    all.push(part);
    all
}

/// `${NAME:-default}` is the default.
fn with_defaults(script: &str) -> String {
    let mut text = String::new();
    let mut rest = script;
    while let Some((before, after)) = rest.split_once("${") {
        text.push_str(before);
        let default = after.split_once('}').and_then(|(inner, after)| Some((inner.split_once(":-")?, after)));
        match default {
            Some(((name, default), after)) if can_be_set(name, "") && !default.contains('$') => {
                text.push_str(default);
                rest = after;
            }
            _ => {
                text.push_str("${");
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the commands of a script are, in a repository with these files.
    fn commands(script: &str, written: &[(&str, &str)]) -> Option<Vec<String>> {
        let paths: Vec<String> = written.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |path: &str| {
            written.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
        };
        let said = TestStatement::new("here", script).commands(&RepositoryFiles::new(&paths, &read)).ok()?;
        let shown = |one: StatedCommand| format!("{}{}", if one.is_plain { "" } else { "? " }, one.shell());
        Some(said.into_iter().map(shown).collect())
    }

    fn plain(script: &str) -> Option<Vec<String>> {
        commands(script, &[])
    }

    #[test]
    fn a_script_comes_to_its_commands_with_their_folders_and_variables() {
        let script = "set -e # all\nexport DB=a CI=1\npip install -e '.[test]' && cd tests; A='b c' env D=e ./run \"$@\" -k 'x && y'\necho done\n";
        assert_eq!(
            plain(script).unwrap(),
            ["DB=a pip install -e '.[test]'", "cd tests && A='b c' D=e DB=a ./run -k 'x && y'"]
        );
        assert_eq!(
            plain("python -m django test ${ARGS:-tests} \\\n  -v 2").unwrap(),
            ["python -m django test tests -v 2"]
        );
        assert_eq!(plain("# pytest\n\n. venv/bin/activate\n").unwrap(), [""; 0]);
    }

    #[test]
    fn a_command_that_a_shell_has_to_work_out_is_not_plain() {
        for script in [
            "pytest $ARGS", "pytest | tee log", "pytest > log", "pytest || true", "(pytest)",
            "pytest \"`x`\"", "pytest '",
        ] {
            let commands = plain(script).unwrap();
            assert!(commands[0].starts_with("? "), "{script}: {commands:?}");
        }
        assert_eq!(plain("pytest -k '$a (b)'").unwrap(), ["pytest -k '$a (b)'"]);
    }

    #[test]
    fn what_needs_another_machine_is_not_told() {
        for script in [
            "docker compose up -d && pytest",
            "sudo apt-get install x\npytest",
            "wait-for-it db && sudo make",
            "cd .. && pytest",
            "cd $HOME && pytest",
        ] {
            assert_eq!(plain(script), None, "{script}");
        }
        assert!(plain("pytest tests/docker --service sudo-free").is_some());
    }

    #[test]
    fn a_command_that_does_not_always_run_is_not_plain() {
        for script in [
            "if [ -z x ]; then\n  pytest\nfi",
            "for v in 1 2; do pytest; done",
            "[ -f a ] && pytest",
            "test -d a && ! pytest",
        ] {
            let commands = plain(script).unwrap();
            assert!(commands.contains(&"? pytest".to_owned()), "{script}: {commands:?}");
        }
        let after = plain("if [ -z x ]; then pip install a; fi\npytest").unwrap();
        assert_eq!(after, ["? pip install a", "pytest"]);
    }

    #[test]
    fn the_recipes_that_a_command_calls_stand_in_its_place() {
        let make = (
            "Makefile",
            "PY = python3\nci: lint test\nlint:\n\tflake8\ntest:\n\tcd tests && $(PY) all.py\n\t./more\n",
        );
        let just = ("justfile", "test *ARGS:\n    @pytest {{ARGS}}\n");
        assert_eq!(
            commands("A=b make -j4 ci", &[make]).unwrap(),
            ["A=b flake8", "cd tests && A=b python3 all.py", "A=b ./more"]
        );
        assert_eq!(commands("just test", &[just]).unwrap(), ["pytest"]);
        assert_eq!(commands("make test X=1", &[make]).unwrap(), ["make test X=1"], "it changes what runs");
        assert_eq!(commands("make", &[make]).unwrap().len(), 3);
        assert_eq!(commands("make test", &[("Makefile", "test:\n\tdocker build .\n\tpytest\n")]), None);
        assert_eq!(
            commands("make a", &[("Makefile", "a:\n\t$(MAKE) a\n")]).unwrap(),
            ["make a"],
            "it has an end"
        );
    }

    #[test]
    fn statements_count_only_where_they_agree() {
        let read = |command: &StatedCommand| match command.words().as_slice() {
            ["t", ..] => StatedReading::Tests(command.words.clone()),
            ["other"] => StatedReading::Elsewhere(vec![TestStatement::new("there", "lint; t 1")]),
            ["lost"] => StatedReading::Elsewhere(Vec::new()),
            ["again"] => StatedReading::Elsewhere(vec![TestStatement::new("x", "again")]),
            _ => StatedReading::Nothing,
        };
        let agreed = |scripts: &[&str]| {
            let said: Vec<TestStatement> = scripts
                .iter()
                .enumerate()
                .map(|(at, script)| TestStatement::new(at.to_string(), *script))
                .collect();
            let found = agreed(&said, &RepositoryFiles::new(&[], &|_| None), &read);
            found.map(|(command, at)| format!("{} ({at})", command.shell()))
        };
        assert_eq!(agreed(&["lint", "t 1", "x; t 1"]).as_deref(), Some("t 1 (1)"));
        assert_eq!(agreed(&["t 1", "t 2"]), None);
        assert_eq!(agreed(&["t 1; t 2"]), None);
        assert_eq!(agreed(&["t $X", "t 2"]).as_deref(), Some("t 2 (1)"));
        assert_eq!(agreed(&["other"]).as_deref(), Some("t 1 (0 and there)"));
        assert_eq!(agreed(&["lost", "again"]), None);
        assert_eq!(agreed(&[]), None);
    }
}
