//! Projects of which only is known what the repository says of their tests: a step of a workflow, a target of make, a recipe
//! of just.
//!
//! May know: programs that run tests of languages without a file of their own. Must never know: how those are set up.

use crate::files::{RepositoryFiles, quote};
use crate::language::{Facts, Language};
use crate::project::{Detection, FoundProject};
use crate::recipes::RecipeFile;
use crate::stated::{self, StatedCommand, StatedReading, TestStatement, UntoldReason};

/// Programs that run tests: the words with which a command begins.
const RUNNERS: [&[&str]; 18] = [
    &["bats"],
    &["prove"],
    &["shellspec"],
    &["busted"],
    &["mix", "test"],
    &["swift", "test"],
    &["dart", "test"],
    &["flutter", "test"],
    &["sbt", "test"],
    &["stack", "test"],
    &["cabal", "test"],
    &["lein", "test"],
    &["zig", "build", "test"],
    &["dune", "test"],
    &["crystal", "spec"],
    &["nimble", "test"],
    &["rebar3", "eunit"],
    &["gleam", "test"],
];

/// No language: whatever the repository runs.
pub(crate) struct SaidAlone;

impl Language for SaidAlone {
    fn facts(&self) -> &'static Facts {
        const { &Facts { name: "make and others", ..Facts::NONE } }
    }

    fn find_last(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let mut found =
        FoundProject { what: "the repository's own words", is_said_alone: true, ..FoundProject::default() };
    let read = |command: &StatedCommand| reading(command, files);
    if let Some((command, at)) = stated::agreed(ask.steps, files, &read) {
        found.because.clone_from(&at);
        found.stated_test(command.shell(), at);
        return Some(found);
    }
    if let Some((file, statement)) = of_make(files, ask.steps) {
        ask.tools.need("make", &file);
        (found.what, found.because) = ("make", file);
        match statement.commands(files) {
            Err(UntoldReason::NotHere(program)) => {
                found.notes.push(format!(
                    "{} is not run: it starts {program}, which a sandbox does not",
                    statement.at
                ));
            }
            Err(UntoldReason::Unclear) | Ok(_) => found.stated_test(statement.script, statement.at),
        }
        return Some(found);
    }
    let statement = stated::of_just(files).pop()?;
    let commands = statement.commands(files).ok().filter(|all| all.iter().all(|command| command.is_plain))?;
    let lines: Vec<String> = commands.iter().map(StatedCommand::shell).collect();
    found.because.clone_from(&statement.at);
    found.stated_test(lines.join(" && "), statement.at);
    Some(found)
}

/// The Makefile, and its target for tests. A target is run as a whole: what it builds first belongs to the tests.
fn of_make(files: &RepositoryFiles<'_>, steps: &[TestStatement]) -> Option<(String, TestStatement)> {
    let make = RecipeFile::make(files, "")?;
    let target = called(steps, &make).or_else(|| stated::make_target(&make).map(str::to_owned))?;
    let at = format!("a target {target} in {}", make.name);
    Some((make.name, TestStatement::new(at, format!("make {}", quote(&target)))))
}

/// The target for tests on which the steps agree that call one.
fn called(steps: &[TestStatement], make: &RecipeFile) -> Option<String> {
    let is_of_tests = |target: &str| {
        target.split(['-', '_']).any(|word| matches!(word, "test" | "tests" | "check")) && make.has(target)
    };
    let mut targets = steps.iter().flat_map(|step| step.script.lines()).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["make", target] if is_of_tests(target) => Some((*target).to_owned()),
            _ => None,
        }
    });
    let first = targets.next()?;
    targets.all(|target| target == first).then_some(first)
}

/// What a command of a statement has to do with tests: a runner, or a program of the repository that is named after
/// them.
fn reading(command: &StatedCommand, files: &RepositoryFiles<'_>) -> StatedReading {
    let words = command.words();
    let is_runner = RUNNERS.iter().any(|runner| words.starts_with(runner));
    let (["sh" | "bash", program, ..] | [program, ..]) = words.as_slice() else {
        return StatedReading::Nothing;
    };
    let program = program.trim_start_matches("./");
    let stem = program.rsplit('/').next().unwrap_or(program).trim_end_matches(".sh").to_lowercase();
    let is_named = stem.split(['-', '_']).any(|word| matches!(word, "test" | "tests" | "runtests"));
    // A program in a language is started by what is known of that language.
    let is_own = is_named && files.text(program).is_some();
    match command.folder.is_empty() && (is_runner || is_own) {
        true => StatedReading::Tests(command.words.clone()),
        false => StatedReading::Nothing,
    }
}
