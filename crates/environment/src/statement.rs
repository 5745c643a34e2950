//! What a development container or setup steps say of an environment, and how their words become a plan's.
//!
//! May know: image references, variables, shell commands. Must never know: the form of any file.

use std::collections::BTreeMap;

use crate::{EnvironmentSource, PlannedService, ProgramFolder, SetupCommand};

/// What a source says of image and setup.
#[derive(Debug, Default)]
pub(crate) struct SourceStatement {
    pub(crate) source: EnvironmentSource,
    pub(crate) image: Option<String>,
    pub(crate) services: Vec<PlannedService>,
    pub(crate) setup: Vec<SetupCommand>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) search_path: Vec<ProgramFolder>,
    /// Tools that are set up by what we do not run, with the version that is asked for.
    pub(crate) tools: Vec<(&'static str, Option<String>)>,
    /// What was left out, by name.
    pub(crate) notes: Vec<String>,
}

impl SourceStatement {
    /// Whether anything is said of image or setup.
    pub(crate) fn says_something(&self) -> bool {
        self.image.is_some() || !self.setup.is_empty()
    }

    pub(crate) fn note(&mut self, path: &str, what: impl std::fmt::Display) {
        let note = format!("{path}: {what}");
        if self.notes.len() < 40 && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// What looks like an image reference. Whoever pulls it parses it.
pub(crate) fn is_image(text: &str) -> bool {
    let is_of_reference = |b: u8| b.is_ascii_alphanumeric() || b"./:@_-".contains(&b);
    (1..=512).contains(&text.len())
        && text.bytes().all(is_of_reference)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

pub(crate) fn is_variable(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !matches!(name, "PATH" | "HOME")
}

/// Puts Python's packages where nothing else is, where commands of a repository call pip on a machine of ours: the
/// system's own packages are not theirs to change.
pub(crate) fn with_own_python(
    setup: &mut Vec<SetupCommand>,
    search_path: &mut Vec<ProgramFolder>,
    variables: &mut BTreeMap<String, String>,
) {
    let Some(first) = setup.iter().find(|setup| calls_pip(&setup.command)) else { return };
    let has_own = |setup: &SetupCommand| {
        ["venv", "virtualenv", "conda", "--target", "--user", "--prefix", "PYTHONUSERBASE", "-t "]
            .iter()
            .any(|sign| setup.command.contains(sign))
    };
    if setup.iter().any(has_own) {
        return;
    }
    let because = first.because.clone();
    setup.insert(0, SetupCommand { command: "python3 -m venv .venv".to_owned(), because });
    search_path.insert(0, ProgramFolder::Tree(".venv/bin".to_owned()));
    variables.entry("VIRTUAL_ENV".to_owned()).or_insert_with(|| "{tree}/.venv".to_owned());
}

fn calls_pip(command: &str) -> bool {
    let words: Vec<&str> = command.split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c)).collect();
    words.windows(2).any(|pair| matches!(pair, [program, "install" | "sync"] if program.starts_with("pip") && !program.starts_with("pipx") && !program.starts_with("pipenv")))
}
