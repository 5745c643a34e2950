//! What a repository says of how its JavaScript tests are run.

use crate::stated::{StatedCommand, StatedReading};

/// Stands for a script of package.json in a command.
const SCRIPT: &str = "package.json";

/// The script that a command stands for.
pub(super) fn script(command: &StatedCommand) -> Option<&str> {
    match command.words.as_slice() {
        [run, name] if run == SCRIPT => Some(name),
        _ => None,
    }
}

/// What a command of a statement has to do with tests: one of package.json's scripts, or a runner in the root.
pub(super) fn reading(command: &StatedCommand, is_script: &dyn Fn(&str) -> bool) -> StatedReading {
    let words = command.words();
    let words: Vec<&str> = match words.as_slice() {
        ["npx" | "bunx" | "c8" | "nyc" | "cross-env", rest @ ..] | ["yarn" | "pnpm", "exec", rest @ ..] => {
            rest.iter().copied().skip_while(|word| word.starts_with('-')).collect()
        }
        _ => words,
    };
    let Some((program, args)) = words.split_first().filter(|_| command.folder.is_empty()) else {
        return StatedReading::Nothing;
    };
    let tests = |words: &[&str]| StatedReading::Tests(words.iter().map(|word| (*word).to_owned()).collect());
    let program = program.trim_start_matches("./").trim_start_matches("node_modules/.bin/");
    // How a run looks is asked for elsewhere.
    let mut others = args.iter().copied().peekable();
    let mut kept = Vec::new();
    while let Some(arg) = others.next() {
        match arg.split('=').next().unwrap_or(arg) {
            "--reporter" | "-R" => {
                others.next_if(|_| !arg.contains('='));
            }
            "--watch" | "--watchAll" | "-w" => return StatedReading::Nothing,
            "--colors" | "--color" | "--bail" | "-b" | "--coverage" => {}
            _ => kept.push(arg),
        }
    }
    match (program, args) {
        ("npm" | "pnpm" | "yarn" | "bun", ["run" | "run-script", name, ..])
        | ("yarn" | "pnpm", [name, ..])
            if is_script(name) =>
        {
            tests(&[SCRIPT, name])
        }
        ("mocha" | "jest" | "vitest" | "ava" | "tap" | "tape", _) => {
            tests(&[vec!["npx", "--no-install", program], kept].concat())
        }
        ("node", args) if args.contains(&"--test") => tests(&[vec!["node"], kept].concat()),
        _ => StatedReading::Nothing,
    }
}
