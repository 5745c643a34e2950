//! What is wrong with the settings, said so that it can be mended.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::known::{KNOWN_SETTINGS, SettingDefault};

/// Where a value stands.
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
        /// Where, from 1.
        line: usize,
        /// What the parser says.
        because: String,
    },
    /// A key of earlier versions.
    #[error("{place}: `{key}` is no longer a setting: {now}")]
    Former {
        key: String,
        place: String,
        /// What holds instead.
        now: &'static str,
    },
    /// A key that nobody reads.
    #[error("{place}: unknown key `{key}`{}", suggestion(.nearest.as_deref()))]
    Unknown {
        key: String,
        place: String,
        /// The known key that it resembles.
        nearest: Option<String>,
    },
    /// A value that cannot be used. It is not repeated here: it may be a secret.
    #[error("{place}: `{key}` has to be {expected}")]
    Value {
        key: String,
        /// Where it stands; its default when nobody set it.
        place: String,
        expected: String,
    },
    /// Keys that have no default.
    #[error(
        "missing settings: {}. Write them to journeyman.toml, for example\n\n{example}\nor set each in the \
         environment, such as {}",
        .keys.join(", "),
        .keys.first().map(|key| variable(key)).unwrap_or_default(), example = example()
    )]
    Missing { keys: Vec<String> },
}

impl SettingsError {
    /// What is wrong with a variable that is no setting's.
    pub(super) fn in_environment(variable: &str, expected: &str) -> Self {
        let (key, place) = (variable.to_owned(), "the environment".to_owned());
        Self::Value { key, place, expected: expected.to_owned() }
    }
}

/// All keys that are required, by sections.
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

/// The environment's name for a key.
pub(super) fn variable(key: &str) -> String {
    format!("JOURNEYMAN_{}", key.to_ascii_uppercase().replace('-', "_").replace('.', "__"))
}
