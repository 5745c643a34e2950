//! What a repository says of how its tests are run, as the commands that it comes to.
//!
//! May know: shell words, make, just, and options that change no result. Must never know: which programs run tests,
//! which its callers tell it, and what else of a repository says so.

use std::collections::BTreeMap;

use crate::files::{RepositoryFiles, quote};
use crate::recipes::RecipeFile;
use crate::segments::{CommandSegment, segments_of};
use journeyman_order::bounds::{MOST_HOPS, MOST_LISTED};
use journeyman_order::names::can_be_set;
use journeyman_order::settings::plain_folder;

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

/// What a command has to do with tests.
pub(crate) enum StatedReading {
    Nothing,
    /// These words run them, in the same folder and with the same variables.
    Tests(Vec<String>),
    /// It runs them, and how is said in the first of these places that says something.
    Elsewhere(Vec<TestStatement>),
}

type Reader<'r> = &'r dyn Fn(&StatedCommand) -> StatedReading;

/// The command that the repository says, and where it stands. Nearer to what decides about a pull request comes first,
/// which is also what maintainers notice when it is wrong: steps of workflows, which have to agree, then make, just and
/// the language's own places.
pub(crate) fn find(
    steps: &[TestStatement],
    own: Vec<TestStatement>,
    files: &RepositoryFiles<'_>,
    read: Reader<'_>,
) -> Option<(StatedCommand, String)> {
    let others = || of_recipes(files).into_iter().chain(own);
    agreed(steps, files, read).or_else(|| others().find_map(|one| agreed(&[one], files, read)))
}

/// The command on which statements agree. Of statements that name several, none is preferred: what one leaves out,
/// another may test.
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
            let reading = read(&command);
            if !command.is_plain {
                if command.mentions_tests() || !matches!(reading, StatedReading::Nothing) {
                    return None;
                }
                continue;
            }
            match reading {
                StatedReading::Nothing => {}
                StatedReading::Tests(words) => {
                    found.insert(StatedCommand { words, ..command }, self.at.clone());
                }
                StatedReading::Elsewhere(others) => {
                    let said = others.into_iter().find_map(|other| {
                        let mut variables = other.variables.clone();
                        variables.extend(command.variables.clone());
                        let at = format!("{} and {}", self.at, other.at);
                        let inner = Self { at, folder: command.folder.clone(), variables, ..other };
                        inner.tests(files, read, left).filter(|inner| !inner.is_empty())
                    });
                    found.extend(said?);
                }
            }
        }
        Some(found)
    }

    /// All commands, with those of the targets and recipes that they call. Otherwise the program that it starts and a
    /// sandbox does not have.
    pub(crate) fn commands(&self, files: &RepositoryFiles<'_>) -> Result<Vec<StatedCommand>, String> {
        let mut all = Vec::new();
        self.add_commands(files, MOST_HOPS, &mut all)?;
        Ok(all)
    }

    fn add_commands(
        &self,
        files: &RepositoryFiles<'_>,
        left: usize,
        all: &mut Vec<StatedCommand>,
    ) -> Result<(), String> {
        let (folder, variables) = (self.folder.clone(), self.variables.clone());
        let mut now = StatedCommand { folder, variables, is_plain: true, ..StatedCommand::default() };
        for (words, is_plain) in simple_commands(&self.script).into_iter().take(MOST_LISTED) {
            let (mut set, words) = without_variables(words);
            set.retain(|(name, _)| decides(name));
            let looked_at = if is_plain { 1 } else { words.len() };
            if let Some(program) = words.iter().take(looked_at).find(|word| is_elsewhere(word)) {
                return Err(program.clone());
            }
            match words.first().map(String::as_str) {
                _ if all.len() >= MOST_LISTED => break,
                None if is_plain => now.variables.extend(set),
                None => {}
                Some("cd") => {
                    let path = words.get(1).filter(|_| is_plain).and_then(|path| plain_folder(path));
                    let below = path.and_then(|path| plain_folder(&format!("./{}/{path}", now.folder)));
                    // Where it leads otherwise is not known.
                    now.is_plain &= below.is_some();
                    now.folder = below.unwrap_or_default();
                }
                Some(_) => {
                    let mut command =
                        StatedCommand { words, is_plain: is_plain && now.is_plain, ..now.clone() };
                    command.variables.extend(set);
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

    /// The shell's own `test` runs none.
    fn mentions_tests(&self) -> bool {
        self.words.iter().enumerate().any(|(at, word)| word.contains("test") && (at > 0 || word != "test"))
    }

    /// The command as a shell in the root runs it. Words are quoted only if a shell would read them differently: only
    /// a plain command can be made to report test names.
    pub(crate) fn shell(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@+,%".contains(c);
        let of_shell = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => quote(word),
        };
        let folder = if self.folder.is_empty() { String::new() } else { format!("cd {} && ", self.folder) };
        let assigned = |(name, value): (&String, &String)| format!("{name}={} ", of_shell(value));
        let variables: String = self.variables.iter().map(assigned).collect();
        let words: Vec<String> = self.words.iter().map(of_shell).collect();
        format!("{folder}{variables}{}", words.join(" "))
    }
}

/// What the Makefile and the justfile say. In the latter, `check` mostly only compiles.
pub(crate) fn of_recipes(files: &RepositoryFiles<'_>) -> Vec<TestStatement> {
    let said = |file: Option<RecipeFile>, program: &str, what: &str, names: &[&str]| {
        let file = file?;
        let name = names.iter().find(|name| file.has(name))?;
        Some(TestStatement::new(format!("a {what} {name} in {}", file.name), format!("{program} {name}")))
    };
    let make = said(RecipeFile::make(files, ""), "make", "target", &["test", "check", "tests"]);
    let just = said(RecipeFile::just(files), "just", "recipe", &["test", "tests"]);
    [make, just].into_iter().flatten().collect()
}

/// Whether tests may depend on a variable: not on one of a machine, an installer or a look.
pub fn decides(name: &str) -> bool {
    let idle = pattern!(
        r"^(CI|GITHUB|(FORCE|NO|CARGO_TERM)_COLOR|PY_COLORS|CLICOLOR|TERM|COVERAGE|CODECOV|COVERALLS|PIP|UV|TOX|NOX|VIRTUALENV|NPM_CONFIG|PYTHON(UNBUFFERED|DONTWRITEBYTECODE|WARNINGS))(_|$)"
    );
    can_be_set(name, "") && !idle.is_match(name)
}

/// Whether a program starts what a sandbox does not have.
fn is_elsewhere(program: &str) -> bool {
    pattern!(
        r"^(sudo|docker(-compose)?|podman|vagrant|kubectl|minikube|helm|apt(-get)?|yum|dnf|apk|brew|systemctl|service|psql|createdb|mysql|redis-server|mongod|pg_ctl|xvfb-run|ssh|pwsh)$"
    )
    .is_match(program)
}

/// The arguments of a runner without those about coverage, reports, looks, running side by side, and stopping early.
/// These change no result, may need a plugin, and hide names.
pub(crate) fn without_looks<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let look = pattern!(
        r"^(-[vqxlb]+|-n.*|-R|--(verbos|quiet|exitfirst|fail(-?fast|ed-first)|maxfail|bail|stop-on|stepwise|timing|cov|no-cov|junit|log-junit|colors?$|color=|tb|durations|reruns|numprocesses|dist|parallel|reporter|testdox|html).*)$"
    );
    let takes_word = pattern!(
        r"^(-R|--(cov(-report|-config|-context)?|junit-?xml|log-junit|tb|dist|html|reporter|coverage-(html|clover|xml)))$"
    );
    let is_setting = |next: &&str| pattern!(r"^(\d+|auto|logical|yes|no)$").is_match(next);
    let mut kept = Vec::new();
    let mut args = args.iter().copied().peekable();
    while let Some(arg) = args.next() {
        if look.is_match(arg) {
            args.next_if(|next| is_setting(next) || takes_word.is_match(arg) && !next.starts_with('-'));
        } else if pattern!(r"^-[vqxl]*s[vqxl]*$").is_match(arg) {
            // Not hiding what tests print is no look: some tests look at that.
            kept.push("-s");
        } else {
            kept.push(arg);
        }
    }
    kept
}

/// The lines that a call of make or just runs. `None` if it is none, or options and variables change what runs.
fn called(command: &StatedCommand, files: &RepositoryFiles<'_>) -> Option<Vec<String>> {
    let words = command.words();
    let (program, rest) = words.split_first().filter(|_| command.is_plain)?;
    let is_quiet = pattern!(r"^(-s|-k|-j\d*|--silent|--no-print-directory)$");
    let targets: Vec<&str> = rest.iter().copied().filter(|word| !is_quiet.is_match(word)).collect();
    let recipes = match *program {
        "make" | "gmake" => RecipeFile::make(files, &command.folder)?,
        "just" if command.folder.is_empty() => RecipeFile::just(files)?,
        _ => return None,
    };
    if !targets.iter().all(|target| recipes.has(target)) {
        return None;
    }
    let default = recipes.default_target().filter(|_| targets.is_empty());
    Some(targets.into_iter().chain(default).flat_map(|target| recipes.lines(target)).collect())
}

/// The assignments before a command, and its own words.
fn without_variables(words: Vec<String>) -> (Vec<(String, String)>, Vec<String>) {
    let mut set = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next_if(|word| pattern!(r"^(env|export)$|^\w+=").is_match(word)) {
        set.extend(word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    (set, words.collect())
}

/// The commands of a shell text that run one after the other, and whether any shell reads just these words. A text with
/// conditions, loops or groups is one command that only a shell reads.
fn simple_commands(script: &str) -> Vec<(Vec<String>, bool)> {
    // Without comments, and without the caller's own arguments: there are none.
    let text = pattern!(r#"\\\n|(?m:(?:^|\s)#.*$)|"?\$[@*]"?"#).replace_all(script, " ");
    let text = pattern!(r"\$\{\w+:-([^${}]*)\}").replace_all(&text, "$1");
    let one = |segment: CommandSegment<'_>| {
        let written = text.get(segment.range)?;
        let is_glob = |word: &&str| word.contains('*') && !word.contains(['\'', '"']);
        let refers = written.contains(['$', '{', '}', '\\']) || segment.words.iter().any(is_glob);
        let words = shell_words::split(written).ok()?;
        let first = words.first().map_or("", String::as_str);
        // What it prints decides nothing.
        let is_plain = segment.is_plain && (!refers || matches!(first, "echo" | "printf"));
        (!matches!(first, "[" | "[[" | "test")).then_some((words, is_plain))
    };
    let all: Option<Vec<_>> = segments_of(&text).and_then(|segments| segments.into_iter().map(one).collect());
    let rough = || text.split_whitespace().map(str::to_owned).collect();
    all.unwrap_or_else(|| vec![(rough(), false)])
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
            [
                "set -e",
                "DB=a pip install -e '.[test]'",
                "cd tests && A='b c' D=e DB=a ./run -k 'x && y'",
                "cd tests && DB=a echo done"
            ]
        );
        assert_eq!(
            plain("python -m django test ${ARGS:-tests} \\\n  -v 2").unwrap(),
            ["python -m django test tests -v 2"]
        );
        assert_eq!(plain("# pytest\n\ncd . # a\n").unwrap(), [""; 0]);
    }

    #[test]
    fn a_command_that_a_shell_has_to_work_out_is_not_plain() {
        for script in [
            "pytest $ARGS", "pytest | tee log", "pytest > log", "bats test/*.bats", "pytest || true",
            "(pytest)", "pytest \"`x`\"", "pytest '",
        ] {
            let commands = plain(script).unwrap();
            assert!(commands[0].starts_with("? "), "{script}: {commands:?}");
        }
        assert_eq!(plain("pytest -k 'a (b*)'").unwrap(), ["pytest -k 'a (b*)'"]);
    }

    #[test]
    fn what_needs_another_machine_is_not_told() {
        for script in [
            "docker compose up -d && pytest",
            "sudo apt-get install x\npytest",
            "wait-for-it db && sudo make",
        ] {
            assert_eq!(plain(script), None, "{script}");
        }
        assert!(plain("pytest tests/docker --service sudo-free").is_some());
    }

    #[test]
    fn a_command_that_does_not_always_run_or_runs_elsewhere_is_not_plain() {
        for script in [
            "if [ -z x ]; then\n  pytest\nfi",
            "for v in 1 2; do pytest; done",
            "[ -f a ] && pytest",
            "test -d a && ! pytest",
            "cd .. && pytest",
            "cd $HOME && cd a && pytest",
        ] {
            let commands = plain(script).unwrap();
            assert!(commands.len() == 1 && commands[0].starts_with("? "), "{script}: {commands:?}");
        }
    }

    #[test]
    fn what_changes_no_result_is_left_out() {
        for (said, kept) in [
            ("-vv --cov=a --cov-report xml -n auto --maxfail=3 tests", "tests"),
            ("-k fast -xvs --cov src tests --parallel 4", "-k fast -s tests"),
            ("--reporter dot --bail test/all.js", "test/all.js"),
            ("-v 2 --failfast shop", "shop"),
        ] {
            assert_eq!(without_looks(&said.split(' ').collect::<Vec<_>>()).join(" "), kept, "{said}");
        }
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
        assert_eq!(agreed(&["echo \"tests of $X\"; t 1"]).as_deref(), Some("t 1 (0)"));
        assert_eq!(agreed(&["t 1", "t 2"]), None);
        assert_eq!(agreed(&["t 1; t 2"]), None);
        assert_eq!(agreed(&["t $X", "t 2"]).as_deref(), Some("t 2 (1)"));
        assert_eq!(agreed(&["if x; then tests; fi\nt 2"]), None, "nobody can tell what else is tested");
        assert_eq!(agreed(&["other"]).as_deref(), Some("t 1 (0 and there)"));
        assert_eq!(agreed(&["lost", "again"]), None);
        assert_eq!(agreed(&[]), None);
    }
}
