//! The files that configure a test run, and how to restore what they said about tests before.
//!
//! May know: the languages. Must never know: which files changed, what is laid over a checkout.

use crate::files::fits_path;
use crate::grammar_kind::file_name;
use crate::language::FileReader;
use crate::old_settings::OldPart;
use crate::table::{LANGUAGES, all};

pub use crate::old_settings::OldSettings;

/// How a file configures the test run: as a whole, or with a part of it.
#[derive(Debug, Clone, Copy)]
pub enum ConfigurationKind {
    Whole,
    Part(OldPart),
}

/// How a file configures the test run, whatever the command names. `starts` are the folders where commands start, in
/// lower case.
pub fn kind(path: &str, starts: &[String]) -> Option<ConfigurationKind> {
    let path = path.to_ascii_lowercase();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if let Some((_, old)) = all(|facts| facts.settings).find(|(file, _)| *file == name) {
        return Some(ConfigurationKind::Part(*old));
    }
    let is_start = folder.is_empty() || starts.iter().any(|at| at == folder);
    let at_start = all(|facts| facts.configuration_at_start).filter(|_| is_start);
    let mut signs = all(|facts| facts.configuration).chain(at_start);
    let is_in = |wanted: &str| folder == wanted || folder.ends_with(&format!("/{wanted}"));
    // Programs in these folders take precedence over the machine's.
    let mut programs = all(|facts| facts.program_folders);
    (programs.any(|programs| is_in(programs.folder)) || signs.any(|sign| fits_path(sign, &path)))
        .then_some(ConfigurationKind::Whole)
}

/// Whether a new file takes the place of a module that a language or a runner brings.
pub fn shadows(path: &str, starts: &[String], read_base: FileReader<'_>, read_after: FileReader<'_>) -> bool {
    LANGUAGES.iter().any(|language| language.shadows(path, starts, read_base, read_after))
}

/// Whether a file registers tests that the base does not have. Only registered tests are built.
pub fn registers_new_tests(path: &str, base: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let name = file_name(path).to_ascii_lowercase();
    LANGUAGES.iter().any(|language| language.brings_tests(&name, base, after))
}

/// The file of the change with the base's part about tests.
pub fn old_settings(kind: ConfigurationKind, base: Option<&[u8]>, after: &[u8]) -> OldSettings {
    match kind {
        ConfigurationKind::Whole => OldSettings::Whole,
        ConfigurationKind::Part(old) => old(base, after),
    }
}
