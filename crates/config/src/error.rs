//! Errors in the settings, worded so that people can fix them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::known::{KNOWN_SETTINGS, SettingDefault};

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SettingLocation {
    File { file: Arc<Path>, line: usize },
    Variable(String),
}

impl fmt::Display for SettingLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line } => write!(out, "{}, line {line}", file.display()),
            Self::Variable(name) => write!(out, "the environment, {name}"),
        }
    }
}

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{}: {because}", .file.display())]
    File { file: PathBuf, because: String },
    /// The file is not TOML.
    #[error("{}, line {line}: not TOML: {because}", .file.display())]
    Toml {
        file: PathBuf,
        /// From 1.
        line: usize,
        /// The parser's message.
        because: String,
    },
    /// A removed key.
    #[error("{place}: `{key}` is no longer a setting: {now}")]
    Former {
        key: String,
        place: String,
        /// Its replacement.
        now: &'static str,
    },
    /// An unknown key.
    #[error("{place}: unknown key `{key}`{}", suggestion(.nearest.as_deref()))]
    Unknown {
        key: String,
        place: String,
        /// The most similar known key.
        nearest: Option<String>,
    },
    /// An invalid value. The message does not repeat it, because it may be a secret.
    #[error("{place}: `{key}` has to be {expected}")]
    Value {
        key: String,
        /// Where it was set, or `not set`.
        place: String,
        expected: String,
    },
    /// Missing keys without a default.
    #[error(
        "missing settings: {}. Write them to journeyman.toml, for example\n\n{example}\nor set each in the \
         environment, such as {}",
        .keys.join(", "),
        .keys.first().map(|key| variable(key)).unwrap_or_default(), example = example()
    )]
    Missing { keys: Vec<String> },
}

impl SettingsError {
    /// An invalid variable that is not a setting.
    pub(super) fn in_environment(variable: &str, expected: &str) -> Self {
        let (key, place) = (variable.to_owned(), "the environment".to_owned());
        Self::Value { key, place, expected: expected.to_owned() }
    }
}

/// All required keys, by section.
fn example() -> String {
    let mut lines = String::new();
    let mut last = "";
    for known in KNOWN_SETTINGS.iter().filter(|known| matches!(known.default, SettingDefault::Required(_))) {
        let (section, key) = known.key.rsplit_once('.').unwrap_or_default();
        if section != last {
            lines += &format!("    [{section}]\n");
            last = section;
        }
        lines += &format!("    {key} = {}\n", known.toml());
    }
    lines
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

/// The variable's name for a key.
pub(super) fn variable(key: &str) -> String {
    format!("JOURNEYMAN_{}", key.to_ascii_uppercase().replace('-', "_").replace('.', "__"))
}
