//! Projects of which only is known what the repository says of their tests: a step of a workflow, a target of make, a recipe
//! of just.
//!
//! May know: programs that run tests, also of languages that are not found here. Must never know: how those are set up.

use crate::files::RepositoryFiles;
use crate::language::{Facts, Language};
use crate::project::{Detection, FoundProject};
use crate::recipes::RecipeFile;
use crate::stated::{self, StatedCommand, StatedReading, TestStatement};

/// No language: whatever the repository runs.
pub(crate) struct SaidAlone;

impl Language for SaidAlone {
    fn facts(&self) -> &'static Facts {
        &Facts::NONE
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
    let told = stated::of_recipes(files);
    let told = |program: &str| told.iter().find(|one| one.script.starts_with(program)).cloned();
    // A target is run as a whole: what it builds first belongs to the tests.
    if let Some(make) = RecipeFile::make(files, "")
        && let Some(statement) = called(ask.steps, &make).or_else(|| told("make "))
    {
        ask.tools.need("make", &make.name);
        (found.what, found.because) = ("make", make.name);
        match statement.commands(files) {
            Err(program) => found
                .notes
                .push(format!("{} is not run: it starts {program}, which a sandbox does not", statement.at)),
            Ok(_) => found.stated_test(statement.script, statement.at),
        }
        return Some(found);
    }
    let statement = told("just ")?;
    let commands = statement.commands(files).ok().filter(|all| all.iter().all(|command| command.is_plain))?;
    let lines: Vec<String> = commands.iter().map(StatedCommand::shell).collect();
    found.because.clone_from(&statement.at);
    found.stated_test(lines.join(" && "), statement.at);
    Some(found)
}

/// The target for tests on which the steps agree that call one.
fn called(steps: &[TestStatement], make: &RecipeFile) -> Option<TestStatement> {
    let call = pattern!(r"(?m)^\s*make\s+((?:\w+[-_])*(?:tests?|check)(?:[-_]\w+)*)\s*$");
    let targets = steps.iter().flat_map(|step| call.captures_iter(&step.script));
    let targets = targets.filter_map(|found| found.get(1)).map(|target| target.as_str());
    let mut targets = targets.filter(|target| make.has(target));
    let first = targets.next().filter(|first| targets.all(|target| target == *first))?;
    Some(TestStatement::new(format!("a target {first} in {}", make.name), format!("make {first}")))
}

/// What a command of a statement has to do with tests: a runner, or a program of the repository that is named after
/// them and that no known language starts.
fn reading(command: &StatedCommand, files: &RepositoryFiles<'_>) -> StatedReading {
    let runner = pattern!(
        r"^(bats|prove|shellspec|busted|(mix|swift|dart|flutter|sbt|stack|cabal|lein|dune|nimble|gleam|zig build) test|crystal spec|rebar3 eunit)( |$)"
    );
    let is_named = pattern!(r"(?i)(^|[/_-])(runtests|tests?)([_-][\w-]*)?(\.sh)?$");
    let words = command.words();
    let (["sh" | "bash", program, ..] | [program, ..]) = words.as_slice() else {
        return StatedReading::Nothing;
    };
    let is_own = is_named.is_match(program) && files.text(program.trim_start_matches("./")).is_some();
    match command.folder.is_empty() && (is_own || runner.is_match(&words.join(" "))) {
        true => StatedReading::Tests(command.words.clone()),
        false => StatedReading::Nothing,
    }
}
