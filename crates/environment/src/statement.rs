//! What a devcontainer or setup steps declare about an environment, and how it becomes a plan.
//!
//! May know: image references, variables, shell commands. Must never know: the format of any file.

use std::collections::BTreeMap;

use crate::{EnvironmentSource, ProgramFolder, SetupCommand};
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::setups;
use journeyman_languages::test_call::words;

/// What a source declares about image and setup.
#[derive(Debug, Default)]
pub(crate) struct SourceStatement {
    pub(crate) source: EnvironmentSource,
    pub(crate) image: Option<String>,
    pub(crate) setup: Vec<SetupCommand>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) search_path: Vec<ProgramFolder>,
    /// Tools that skipped steps would set up, each with the requested version.
    pub(crate) tools: Vec<(&'static str, Option<String>)>,
    /// The names of what was skipped.
    pub(crate) notes: Vec<String>,
}

impl SourceStatement {
    /// Whether the source declares an image or a setup.
    pub(crate) fn says_something(&self) -> bool {
        self.image.is_some() || !self.setup.is_empty()
    }

    pub(crate) fn note(&mut self, path: &str, what: impl std::fmt::Display) {
        let note = format!("{path}: {what}");
        if self.notes.len() < 40 && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Accepts what looks like a reference. The code that pulls the image parses it.
    pub(crate) fn take_image(&mut self, path: &str, key: &str, image: &str) {
        let is_of_reference = |b: u8| b.is_ascii_alphanumeric() || b"./:@_-".contains(&b);
        if (1..=512).contains(&image.len())
            && image.bytes().all(is_of_reference)
            && image.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            self.image = Some(image.to_owned());
        } else {
            self.note(path, format!("`{key}` is left out: {image:?} is not a plain reference of an image"));
        }
    }

    pub(crate) fn note_sudo(&mut self, path: &str, who: &str, command: &str) {
        if command.split_whitespace().any(|word| word == "sudo") {
            self.note(path, format!("{who} asks for sudo, which nothing of a repository gets here"));
        }
    }
}

/// The commands with the content of the scripts that they run.
pub(crate) fn script_texts(setup: &[SetupCommand], files: &RepositoryFiles<'_>) -> String {
    const MOST: usize = 128 << 10;
    let mut text = String::new();
    for one in setup {
        text.push_str(&one.command);
        text.push('\n');
    }
    for path in named_scripts(&text) {
        let script = files.text(&path).filter(|script| text.len() + script.len() <= MOST);
        text.push_str(&script.unwrap_or_default());
        text.push('\n');
    }
    text
}

/// Scripts of the repository that commands run.
fn named_scripts(commands: &str) -> Vec<String> {
    let is_script = |word: &&str| {
        let plain = word.strip_prefix("./").unwrap_or(word);
        (word.starts_with("./") || plain.ends_with(".sh")) && !plain.starts_with(['/', '-', '.', '~', '$'])
            || plain.starts_with(".devcontainer/")
    };
    words(commands).filter(is_script).map(|word| word.trim_start_matches("./").to_owned()).take(10).collect()
}

/// Gives packages a separate place if the repository's commands would install them on our machine: they must not change
/// the system's packages. `text` is the commands with the scripts that they run.
pub(crate) fn with_own_packages(
    text: &str,
    setup: &mut Vec<SetupCommand>,
    search_path: &mut Vec<ProgramFolder>,
    variables: &mut BTreeMap<String, String>,
) {
    let Some(because) = setup.first().map(|first| first.because.clone()) else { return };
    for place in setups::package_places(text) {
        setup.insert(0, SetupCommand { command: place.command.to_owned(), because: because.clone() });
        search_path.insert(0, ProgramFolder::Tree(place.programs.to_owned()));
        let (name, value) = place.variable;
        variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
}
