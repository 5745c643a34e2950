//! A test command with everything that it calls, and whether it reaches a folder below.
//!
//! May know: words of commands, paths. Must never know: any program.

use crate::files::RepositoryFiles;

/// A test command, with the texts of the scripts that it calls.
pub struct TestCall<'c, 'f> {
    /// The folder that it runs in.
    pub at: &'c str,
    pub files: &'c RepositoryFiles<'f>,
    /// Its own words, and those of scripts.
    pub text: &'c str,
    /// The folder of a project relative to that of the command. Empty for the same folder.
    pub below: &'c str,
    /// The manifest of that project.
    pub manifest: &'c str,
}

impl TestCall<'_, '_> {
    /// A file of the folder in which the command runs.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        self.files.text(&joined(self.at, name))
    }

    /// Whether a word is a path or a pattern of paths.
    pub(crate) fn is_place(&self, word: &str) -> bool {
        word.contains('*')
            || self.files.has(&joined(self.at, word.trim_start_matches("./").trim_end_matches('/')))
    }
}

/// A path in a folder, which may be the root.
pub fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The words of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c)).filter(|word| !word.is_empty())
}

/// The commands of a text.
pub fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '|', '&']).filter(|segment| !segment.trim().is_empty())
}

/// Whether a word of the text is the folder or a path inside it.
pub fn mentions(text: &str, folder: &str) -> bool {
    words(text).flat_map(|word| word.split(['=', ','])).any(|word| {
        let word = word.trim_start_matches("./");
        word.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
