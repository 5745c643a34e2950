//! The words of a command: its program, after what only sets the scene.

use crate::grammar_kind::file_name;

/// The words of a command that any shell reads the same way. `None` if there is more than one command.
pub(crate) fn plain_words(command: &str) -> Option<Vec<&str>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " \t-_=./:@+,%^[]".contains(c);
    command.chars().all(is_plain).then(|| command.split_whitespace().collect())
}

/// The index of the program, after variables and environment runners such as `poetry run`.
pub(crate) fn program_at(words: &[&str]) -> usize {
    let mut at = 0;
    loop {
        let rest = words.get(at..).unwrap_or_default();
        at += match rest {
            [word, ..] if word.contains('=') && !word.starts_with('-') => 1,
            ["env" | "cross-env" | "npx" | "bunx" | "exec" | "time", ..] => 1,
            ["poetry" | "pipenv" | "uv" | "pdm" | "hatch" | "rye", "run", ..] => 2,
            ["pnpm" | "yarn" | "npm" | "bundle", "exec", ..] => 2,
            _ => return at,
        };
    }
}

pub(crate) fn is_python(program: &str) -> bool {
    let name = file_name(program);
    name.strip_prefix("python").is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}
