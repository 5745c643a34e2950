//! YAML of strangers: pipelines, roles and settings, which a repository may bring.
//!
//! May know: YAML, and how a person writes it. Must never know: what a file means.
//!
//! A parser stops at the first fault. So a file is read as a tree first; the tree is written out again, one value a line, and read
//! as what it is to be. The line of a fault names the value at fault. Without that value it is read once more, and so on.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, MessageFormatter, Options};

use super::length::shorten;
pub use super::yaml_tree::{YamlStep, YamlTree};

/// Problems that are told of one file; more help nobody.
pub(crate) const MOST_PROBLEMS: usize = 20;

/// Something that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlProblem {
    /// Line and column, from 1.
    pub place: Option<(u64, u64)>,
    /// The value that it is about.
    pub path: Vec<YamlStep>,
    /// What is wrong, without control characters.
    pub problem: String,
    /// Whether all that the file says and that is known is read all the same.
    pub is_value_kept: bool,
}

impl YamlProblem {
    /// Whether it says why this key of a map is not there: its value is wrong, or its name.
    fn is_of_key(&self, map: &[YamlStep], key: &str) -> bool {
        let Some((YamlStep::Key(last), parent)) = self.path.split_last() else { return false };
        parent == map && (last == key || near(last, &[key]).is_some())
    }

    /// The value that it is about, such as `tests[0].path`.
    pub fn key(&self) -> String {
        key_of(&self.path)
    }
}

impl fmt::Display for YamlProblem {
    /// With the key, or the one that it stands in where the sentence names it.
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
    /// With its line.
    pub fn with_line(&self) -> String {
        match self.place {
            Some((line, _)) => format!("line {line}: {self}"),
            None => self.to_string(),
        }
    }
}

/// The most of all problems of a file that is told in one sentence, in characters.
const LONGEST_LINE: usize = 1_400;

/// What is wrong with a file in one line; of many problems the first.
pub fn in_one_line(problems: &[String]) -> String {
    let mut line = String::new();
    for (told, problem) in problems.iter().enumerate() {
        let problem = shorten(problem, 600);
        if told > 0 && line.chars().count() + problem.chars().count() > LONGEST_LINE {
            return format!("{line}; and {} more", problems.len() - told);
        }
        line.push_str(if told > 0 { "; " } else { "" });
        line.push_str(&problem);
    }
    line
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

/// What a file says.
pub struct YamlRead<T> {
    /// What can be read, without the values that have a problem; none where too little is left.
    pub value: Option<T>,
    pub problems: Vec<YamlProblem>,
    pub tree: YamlTree,
}

/// Reads a file that its caller found short enough. `null` is the same as leaving a key out.
pub fn read_all<T: DeserializeOwned>(yaml: &str) -> YamlRead<T> {
    let tree = match read_with(yaml, tree_options()) {
        Ok(tree) => YamlTree::new(tree, yaml),
        Err(error) => {
            let (place, problem) = (place_of(&error), said(&error));
            let problem = YamlProblem { place, path: Vec::new(), problem, is_value_kept: false };
            return YamlRead { value: None, problems: vec![problem], tree: YamlTree::default() };
        }
    };
    let mut sound = tree.clone();
    let mut problems: Vec<YamlProblem> = Vec::new();
    for (path, place) in sound.take_doubles() {
        let problem = format!("`{}` is there twice", shown_last(&path));
        problems.push(YamlProblem { place: Some(place), path, problem, is_value_kept: true });
    }
    problems.truncate(MOST_PROBLEMS);
    if sound.is_empty() {
        let problem = "the file is empty".to_owned();
        problems.push(YamlProblem { place: Some((1, 1)), path: Vec::new(), problem, is_value_kept: false });
        return YamlRead { value: None, problems, tree };
    }
    while problems.len() < MOST_PROBLEMS {
        let (text, lines) = sound.written();
        let error = match read::<T>(&text) {
            Ok(value) => return YamlRead { value: Some(value), problems, tree },
            Err(error) => error,
        };
        let line = error.location().and_then(|place| usize::try_from(place.line()).ok()).unwrap_or(1);
        let mut path = lines.get(line.saturating_sub(1)).cloned().unwrap_or_default();
        let fault = Fault::of(&error);
        match &fault {
            // It is found at the end of the map that the key is missing in, behind its last value.
            Fault::Missing(_) if !sound.is_empty_map(&path) => drop(path.pop()),
            // The one key of a map that stands for a choice.
            Fault::Choice(word) if path.last() == Some(&YamlStep::Key(word.clone())) => drop(path.pop()),
            Fault::Missing(_) | Fault::Choice(_) | Fault::Key | Fault::Value => {}
        }
        if sound.is_filled_in(&path) {
            break;
        }
        let is_told = |key: &str| problems.iter().any(|known| known.is_of_key(&path, key));
        if !matches!(&fault, Fault::Missing(key) if is_told(key)) {
            let place = if fault == Fault::Key { tree.place_of_key(&path) } else { tree.place(&path) };
            let is_value_kept = fault == Fault::Key;
            problems.push(YamlProblem { place, path: path.clone(), problem: said(&error), is_value_kept });
        }
        let goes_on = match &fault {
            Fault::Missing(key) => sound.fill_in(&path, key),
            Fault::Key | Fault::Choice(_) | Fault::Value => sound.remove(&path),
        };
        if !goes_on {
            break;
        }
    }
    YamlRead { value: None, problems, tree }
}

/// What a fault is about.
#[derive(PartialEq, Eq)]
enum Fault {
    /// A key that is not known.
    Key,
    /// This key is not there.
    Missing(String),
    /// This word is none of those that can be chosen.
    Choice(String),
    Value,
}

impl Fault {
    #[allow(clippy::wildcard_enum_match_arm, reason = "the library's errors, which it may add to")]
    fn of(error: &serde_saphyr::Error) -> Self {
        use serde_saphyr::Error;
        match error.without_snippet() {
            Error::SerdeUnknownField { .. } => Self::Key,
            Error::SerdeMissingField { field, .. } => Self::Missing((*field).to_owned()),
            Error::SerdeUnknownVariant { variant, .. } => Self::Choice(variant.clone()),
            _ => Self::Value,
        }
    }
}

/// Reads a file, and stops at its first fault.
pub(super) fn read<T: DeserializeOwned>(yaml: &str) -> Result<T, Box<serde_saphyr::Error>> {
    read_with(yaml, with_limits(Options::default()))
}

fn read_with<T: DeserializeOwned>(yaml: &str, options: Options) -> Result<T, Box<serde_saphyr::Error>> {
    serde_saphyr::from_str_with_options(yaml, options).map_err(Box::new)
}

/// The same limits, but whatever values there are may stand where they stand.
fn tree_options() -> Options {
    with_limits(serde_saphyr::options! {
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
    })
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

fn place_of(error: &serde_saphyr::Error) -> Option<(u64, u64)> {
    error.location().map(|place| (place.line(), place.column())).filter(|(line, _)| *line > 0)
}

/// In words for somebody who writes such files.
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

/// A kind of value as somebody writes it who writes such files.
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

/// What somebody wrote, so that it can be shown in a line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && *c != '`').take(60).collect()
}

/// The one that was meant, where somebody mistyped it.
fn near<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written = shown(written).to_lowercase().replace('-', "_");
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(&written, known), *known));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    let longest = written.chars().count().max(nearest.len());
    (distance <= 2 && distance * 2 < longest).then_some(nearest)
}

const ONE_DOCUMENT: &str = "a file holds one document; take out what follows `---`";
const ALIASES: &str = "anchors, aliases and merge keys (&, *, <<) cannot be used here; write it out";
