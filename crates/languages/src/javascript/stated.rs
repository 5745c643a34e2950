//! What a repository says of how its JavaScript tests are run.

use crate::stated::{StatedCommand, StatedReading, without_looks};
use crate::words::program_at;

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
    let is_beside = |word: &&str| word.starts_with('-') || matches!(*word, "c8" | "nyc");
    let words: Vec<&str> = words.iter().copied().skip(program_at(&words)).skip_while(is_beside).collect();
    let Some((program, args)) = words.split_first().filter(|_| command.folder.is_empty()) else {
        return StatedReading::Nothing;
    };
    let tests = |words: &[&str]| StatedReading::Tests(words.iter().map(|word| (*word).to_owned()).collect());
    let program = program.trim_start_matches("./").trim_start_matches("node_modules/.bin/");
    let kept = without_looks(args);
    if args.iter().any(|arg| matches!(*arg, "--watch" | "--watchAll" | "-w")) {
        return StatedReading::Nothing;
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
