//! YAML from strangers: pipelines, roles and settings, which a repository may contain.
//!
//! May know: YAML, and how a person writes it. Must never know: what a file means.
//!
//! We parse a file into a tree with positions, write it out again with one value a line, and parse that as the target
//! type. The line of an error then identifies the value.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, MessageFormatter, Options};

use super::bounds::LARGEST_SETTINGS;
use super::length::shorten;
use super::yaml_tree::position;
pub use super::yaml_tree::{YamlStep, YamlTree};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlProblem {
    /// Line and column, from 1.
    pub place: Option<(u64, u64)>,
    /// The path of the value with the problem.
    pub path: Vec<YamlStep>,
    /// The message, without control characters.
    pub problem: String,
}

impl fmt::Display for YamlProblem {
    /// Prefixes the key, or its parent if the message already names the key.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_named = self.problem.contains(&format!("`{}`", shown_last(&self.path)));
        let path = match self.path.split_last() {
            Some((_, parents)) if is_named => parents,
            Some(_) | None => &self.path,
        };
        match key_of(path) {
            key if key.is_empty() => out.write_str(&self.problem),
            key => write!(out, "`{key}`: {}", self.problem),
        }
    }
}

impl YamlProblem {
    pub fn with_line(&self) -> String {
        match self.place {
            Some((line, _)) => format!("line {line}: {self}"),
            None => self.to_string(),
        }
    }
}

/// All problems of a file in one line.
pub fn in_one_line(problems: &[String]) -> String {
    shorten(&problems.join("; "), 1_400)
}

fn key_of(path: &[YamlStep]) -> String {
    let key = path.iter().fold(String::new(), |key, step| match step {
        YamlStep::Key(name) if key.is_empty() => shown(name),
        YamlStep::Key(name) => format!("{key}.{}", shown(name)),
        YamlStep::Item(number) => format!("{key}[{number}]"),
    });
    shorten(&key, 200)
}

fn shown_last(path: &[YamlStep]) -> String {
    path.iter()
        .rev()
        .find_map(|step| match step {
            YamlStep::Key(name) => Some(shown(name)),
            YamlStep::Item(_) => None,
        })
        .unwrap_or_default()
}

/// Reads a file up to its first error. `null` equals a missing key.
#[allow(clippy::wildcard_enum_match_arm, reason = "the library's errors, which it may add to")]
pub fn read_with_places<T: DeserializeOwned>(yaml: &str) -> (Result<T, YamlProblem>, YamlTree) {
    use serde_saphyr::Error;
    let of_file =
        |place, problem| (Err(YamlProblem { place, path: Vec::new(), problem }), YamlTree::default());
    if yaml.len() > LARGEST_SETTINGS {
        let problem = format!("the file has {} bytes, at most {LARGEST_SETTINGS} are read", yaml.len());
        return of_file(None, problem);
    }
    // The tree accepts any value in any place.
    let options = serde_saphyr::options! {
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
    };
    let tree = match read_with(yaml, options) {
        Ok(tree) => YamlTree::new(tree, yaml),
        Err(error) => return of_file(error.location().and_then(position), said(&error)),
    };
    if tree.is_empty() {
        return of_file(Some((1, 1)), "the file is empty".to_owned());
    }
    let (text, lines) = tree.written();
    let error = match read::<T>(&text) {
        Ok(value) => return (Ok(value), tree),
        Err(error) => error,
    };
    let line = error.location().and_then(|place| usize::try_from(place.line()).ok()).unwrap_or(1);
    let mut path = lines.get(line.saturating_sub(1)).cloned().unwrap_or_default();
    let is_above = match error.without_snippet() {
        // A missing key is reported at the end of its map, after the last value.
        Error::SerdeMissingField { .. } => !tree.is_empty_map(&path),
        // The single key of a map that stands for a variant.
        Error::SerdeUnknownVariant { variant, .. } => path.last() == Some(&YamlStep::Key(variant.clone())),
        _ => false,
    };
    if is_above {
        path.pop();
    }
    let is_of_key = matches!(error.without_snippet(), Error::SerdeUnknownField { .. });
    let place = if is_of_key { tree.place_of_key(&path) } else { tree.place(&path) };
    (Err(YamlProblem { place, path, problem: said(&error) }), tree)
}

/// Reads a file up to its first error.
pub(super) fn read<T: DeserializeOwned>(yaml: &str) -> Result<T, Box<serde_saphyr::Error>> {
    read_with(yaml, Options::default())
}

/// Such files need no aliases, which can expand enormously, and no deep nesting.
fn read_with<T: DeserializeOwned>(yaml: &str, mut options: Options) -> Result<T, Box<serde_saphyr::Error>> {
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
    serde_saphyr::from_str_with_options(yaml, options).map_err(Box::new)
}

/// The error in words for people who write such files.
#[allow(clippy::wildcard_enum_match_arm, reason = "the library's errors, which it may add to")]
pub(super) fn said(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    let text = match error.without_snippet() {
        Error::UnknownAnchor { .. } | Error::MergeKeyNotAllowed { .. } => ALIASES.to_owned(),
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => ALIASES.to_owned(),
            BudgetBreach::Documents { .. } => ONE_DOCUMENT.to_owned(),
            _ => "the file is deeper or has more values than it may".to_owned(),
        },
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("`{}` is there twice", shown(key)),
        Error::DuplicateMappingKey { key: None, .. } => "a key is there twice".to_owned(),
        Error::MultipleDocuments { .. } => ONE_DOCUMENT.to_owned(),
        Error::Eof { .. } => "the file is empty".to_owned(),
        Error::Unexpected { expected, .. } => format!("{} is expected", kind(expected)),
        Error::SerdeUnknownField { field, expected, .. } => match near(field, expected) {
            Some(near) => format!("unknown key `{}`; did you mean `{near}`?", shown(field)),
            None => format!("unknown key `{}`; known here are {}", shown(field), expected.join(", ")),
        },
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            let near = near(variant, expected).map(|near| format!("; did you mean {near}?"));
            let (variant, expected) = (shown(variant), expected.join(", "));
            format!("{variant:?} is not known, one of {expected} is expected{}", near.unwrap_or_default())
        }
        Error::SerdeMissingField { field, .. } => format!("the key `{field}` is missing"),
        Error::InvalidScalar { ty, .. } => format!("{} is expected", kind(ty)),
        Error::SerdeInvalidType { unexpected, expected, .. } => {
            format!("{} is expected, not {}", kind(expected), kind(unexpected))
        }
        Error::NullIntoString { .. } => "a text is expected, and there is none".to_owned(),
        other => DefaultMessageFormatter.format_message(other).into_owned(),
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

/// A value's type in words for people who write such files.
fn kind(word: &str) -> &str {
    match word {
        "bool" | "boolean" => "true or false",
        "floating point" | "f64" | "f32" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more,",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a string" | "string" | "string scalar" => "a text",
        "sequence" | "a sequence" | "sequence start" => "a list",
        "map" | "a map" | "mapping start" => "a map of keys and values",
        "unit" | "unit value" => "nothing",
        other => other.strip_prefix("struct ").map_or(other, |_| "a map of keys and values"),
    }
}

/// Written text, made safe to show in one line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && *c != '`').take(60).collect()
}

/// The known word closest to a typo.
fn near<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written = shown(written).to_lowercase().replace('-', "_");
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(&written, known), *known));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    let longest = written.chars().count().max(nearest.len());
    (distance <= 2 && distance * 2 < longest).then_some(nearest)
}

const ONE_DOCUMENT: &str = "a file holds one document; take out what follows `---`";
const ALIASES: &str = "anchors, aliases and merge keys (&, *, <<) cannot be used here; write it out";
