//! YAML of strangers: pipelines and roles, which a repository may bring.

use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, MessageFormatter, Options};

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    /// Line and column, from 1.
    pub(super) place: Option<(u64, u64)>,
    /// What is wrong, without control characters.
    pub(super) problem: String,
}

/// Reads a file that its caller found short enough.
pub(super) fn read<T: DeserializeOwned>(yaml: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(yaml, with_limits(Options::default())).map_err(|error| fault(&error))
}

/// The same under the same limits, but whatever values there are may stand where they stand.
pub(super) fn read_leniently<T: DeserializeOwned>(yaml: &str) -> Result<T, YamlError> {
    let lenient = serde_saphyr::options! {
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
    };
    serde_saphyr::from_str_with_options(yaml, with_limits(lenient)).map_err(|error| fault(&error))
}

/// Nobody needs aliases in such files, and they can make much of little; nor has one reason to be deep.
fn with_limits(mut options: Options) -> Options {
    options.budget = serde_saphyr::budget! {
        max_aliases: 0,
        max_anchors: 0,
        max_depth: 40,
        flow_nesting_limit: 40,
        max_documents: 1,
        max_nodes: 20_000,
    };
    options.merge_keys = serde_saphyr::MergeKeyPolicy::Error;
    options.with_snippet = false;
    options
}

fn fault(error: &serde_saphyr::Error) -> YamlError {
    let place = error.location().map(|place| (place.line(), place.column())).filter(|(line, _)| *line > 0);
    YamlError { place, problem: said(error.without_snippet()) }
}

/// In words for somebody who writes such files.
#[allow(clippy::wildcard_enum_match_arm, reason = "the library's errors, which it may add to")]
fn said(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    let text = match error {
        Error::UnknownAnchor { .. } | Error::MergeKeyNotAllowed { .. } => ALIASES.to_owned(),
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => ALIASES.to_owned(),
            _ => "the file is deeper or has more values than it may".to_owned(),
        },
        Error::DuplicateMappingKey { key, .. } => match key {
            Some(key) => format!("{:?} is there twice", key.chars().take(80).collect::<String>()),
            None => "a key is there twice".to_owned(),
        },
        Error::InvalidScalar { ty, .. } => format!("a value of the type {ty} is expected"),
        Error::MultipleDocuments { .. } => "a file holds one document".to_owned(),
        other => DefaultMessageFormatter.format_message(other).into_owned(),
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

const ALIASES: &str = "anchors, aliases and merge keys (&, *, <<) cannot be used here; write it out";
