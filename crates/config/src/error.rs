//! What is wrong with the settings, said so that it can be mended.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
        "missing settings: {}. Write them to journeyman.toml, for example\n\n{EXAMPLE}\nor set each in the \
         environment, such as {}",
        .keys.join(", "),
        .keys.first().map(|key| variable(key)).unwrap_or_default()
    )]
    Missing { keys: Vec<String> },
}

const EXAMPLE: &str = "    [github]\n    app_id = 123456\n    private_key_path = \"app.pem\"\n    \
                       webhook_secret = \"the secret that you gave to GitHub\"\n";

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

/// The environment's name for a key.
pub(super) fn variable(key: &str) -> String {
    format!("JOURNEYMAN_{}", key.to_ascii_uppercase().replace('-', "_").replace('.', "__"))
}
