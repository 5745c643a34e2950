//! How titles are written in a repository, told from its recent commits: whether a title keeps to that, and how one
//! that does not is mended.

use std::collections::BTreeMap;

/// Fewer commits than this show no habit.
const FEWEST: usize = 5;
/// In percent: what so many do is the habit.
const HABIT: usize = 60;
/// In percent: for what is easily chance, such as a capital at the beginning.
const STRONG_HABIT: usize = 80;
/// The longest title that is made here, in characters: what GitHub shows of a commit's first line.
const LONGEST: usize = 72;
const LONGEST_PREFIX: usize = 40;
const MOST_NAMED: usize = 8;

/// The types of Conventional Commits, as its specification and the tools around it know them.
const TYPES: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

/// How titles are written in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitleStyle {
    shape: TitleShape,
    /// Whether what comes after a prefix begins small or with a capital.
    case: TitleCase,
    /// One of the titles that show it.
    example: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TitleShape {
    /// Too few or too different to tell.
    Any,
    /// `fix(parser): what`
    Conventional {
        /// The types that are used, the most frequent first.
        types: Vec<String>,
        /// The scopes that are used, the most frequent first.
        scopes: Vec<String>,
    },
    /// `parser: what`
    Area {
        /// The areas that are used, the most frequent first.
        areas: Vec<String>,
    },
    /// A sentence without a prefix.
    Plain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TitleCase {
    Any,
    Small,
    Capital,
}

/// A title in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TitleParts<'a> {
    /// Before the colon, without scope and `!`; none where there is no such prefix.
    prefix: Option<&'a str>,
    scope: Option<&'a str>,
    breaks: bool,
    what: &'a str,
}

impl TitleStyle {
    /// From the first lines of commits, the newest first.
    pub fn of(subjects: &[String]) -> Self {
        let titles: Vec<&str> = subjects
            .iter()
            .map(|subject| without_number(subject.trim()))
            .filter(|subject| !subject.is_empty() && !is_made_by_git(subject))
            .collect();
        let any = Self { shape: TitleShape::Any, case: TitleCase::Any, example: String::new() };
        if titles.len() < FEWEST {
            return any;
        }
        let parts: Vec<TitleParts<'_>> = titles.iter().map(|title| TitleParts::of(title)).collect();
        let is_most = |count: usize| count * 100 >= titles.len() * HABIT;
        let typed = parts.iter().filter(|parts| parts.is_conventional()).count();
        let prefixed = parts.iter().filter(|parts| parts.prefix.is_some()).count();
        let (shape, shows): (TitleShape, fn(&TitleParts<'_>) -> bool) = if is_most(typed) {
            let types = parts.iter().filter(|parts| parts.is_conventional()).filter_map(|parts| parts.prefix);
            let types = by_frequency(types);
            let scopes = by_frequency(parts.iter().filter_map(|parts| parts.scope));
            (TitleShape::Conventional { types, scopes }, |parts| parts.is_conventional())
        } else if is_most(prefixed) {
            let areas = by_frequency(parts.iter().filter_map(|parts| parts.prefix));
            (TitleShape::Area { areas }, |parts| parts.prefix.is_some())
        } else if is_most(titles.len() - prefixed) {
            (TitleShape::Plain, |parts| parts.prefix.is_none())
        } else {
            return any;
        };
        let shown: Vec<(&str, &TitleParts<'_>)> =
            titles.iter().copied().zip(&parts).filter(|(_, parts)| shows(parts)).collect();
        let strong = |count: usize| count * 100 >= shown.len() * STRONG_HABIT;
        let begins = |is: fn(char) -> bool| {
            shown.iter().filter(|(_, parts)| parts.what.chars().next().is_some_and(is)).count()
        };
        let case = if strong(begins(char::is_uppercase)) {
            TitleCase::Capital
        } else if strong(begins(char::is_lowercase)) {
            TitleCase::Small
        } else {
            TitleCase::Any
        };
        let example = shown.iter().find(|(_, parts)| case.fits(parts.what)).or(shown.first());
        let example = example.map(|(title, _)| title.chars().take(100).collect()).unwrap_or_default();
        Self { shape, case, example }
    }

    /// How titles are written here, in a sentence for whoever writes one; none where there is no habit.
    pub fn in_words(&self) -> Option<String> {
        let how = match &self.shape {
            TitleShape::Any => return None,
            TitleShape::Conventional { types, scopes } => {
                let scopes = match named(scopes) {
                    scopes if scopes.is_empty() => String::new(),
                    scopes => format!(", where it fits with one of the scopes {scopes}"),
                };
                format!("titles here are Conventional Commits of the types {}{scopes}", named(types))
            }
            TitleShape::Area { areas } => {
                format!("titles here begin with the area and a colon; areas are {}", named(areas))
            }
            TitleShape::Plain => "titles here have no prefix".to_owned(),
        };
        let case = match (self.case, &self.shape) {
            (TitleCase::Any, _)
            | (TitleCase::Small, TitleShape::Plain)
            | (TitleCase::Capital, TitleShape::Any) => "",
            (TitleCase::Capital, TitleShape::Plain) => " and begin with a capital",
            (TitleCase::Small, _) => "; what follows begins small",
            (TitleCase::Capital, _) => "; what follows begins with a capital",
        };
        Some(format!("{how}{case}, such as: {}", self.example))
    }
}

/// Whether a title keeps to the habit.
///
/// # Errors
/// What is expected, with an example from the repository.
pub fn fits(habit: &TitleStyle, title: &str) -> Result<(), String> {
    let title = on_one_line(title);
    let title = title.as_str();
    let Some(expected) = habit.in_words() else { return Ok(()) };
    let parts = TitleParts::of(title);
    let fault = if without_number(title) != title {
        Some("the title has a number at its end, which is added when it is merged")
    } else if title.ends_with('.') && !title.ends_with("..") && !habit.example.ends_with('.') {
        Some("the title ends with a full stop")
    } else {
        match &habit.shape {
            TitleShape::Any => None,
            TitleShape::Conventional { types, .. } => {
                let is_known =
                    |prefix: &str| parts.is_conventional() || types.iter().any(|known| known == prefix);
                (!parts.prefix.is_some_and(is_known)).then_some("the title has no type before it")
            }
            TitleShape::Area { areas } => {
                let is_type =
                    |prefix: &str| parts.is_conventional() && areas.iter().all(|known| known != prefix);
                parts.prefix.is_none_or(is_type).then_some("the title has no area before it")
            }
            TitleShape::Plain if parts.is_conventional() => Some("the title has a type before it"),
            TitleShape::Plain if !habit.case.fits(title) => Some("the title begins in another way"),
            TitleShape::Plain => None,
        }
    };
    match fault {
        None => Ok(()),
        Some(fault) => Err(format!("{fault}; {expected}")),
    }
}

/// The title as it would be written here. `class` is what the issue was classified as: `/feature`, `/bug` or
/// `/chore`. One that fits is left as it is; where only people know how (which area?), so is the rest.
pub fn mend(habit: &TitleStyle, title: &str, class: &str) -> String {
    let title = on_one_line(title);
    if fits(habit, &title).is_ok() {
        return title;
    }
    let bare = stripped(&title);
    let parts = TitleParts::of(bare);
    if !parts.what.contains(char::is_alphanumeric) {
        return title;
    }
    let mended = match &habit.shape {
        TitleShape::Any => bare.to_owned(),
        TitleShape::Conventional { scopes, .. } if !parts.is_conventional() => {
            let kind = match class.trim().trim_start_matches('/') {
                "feature" => "feat",
                "bug" => "fix",
                _ => "chore",
            };
            // An area that is a scope here becomes one; any other stays where it is.
            match parts.prefix.filter(|area| scopes.iter().any(|scope| scope == area)) {
                Some(scope) => format!("{kind}({scope}): {}", habit.worded(parts.what)),
                None => format!("{kind}: {}", habit.worded(bare)),
            }
        }
        TitleShape::Area { areas } if parts.is_conventional() || parts.prefix.is_none() => {
            let area = parts.scope.or_else(|| {
                let word =
                    |area: &&String| parts.what.split(|c: char| !is_of_prefix(c)).any(|word| word == *area);
                areas.iter().find(word).map(String::as_str)
            });
            match area {
                Some(area) => format!("{area}: {}", habit.worded(parts.what)),
                None => habit.worded(parts.what),
            }
        }
        TitleShape::Plain if parts.is_conventional() => habit.worded(parts.what),
        TitleShape::Plain => habit.worded(bare),
        TitleShape::Conventional { .. } | TitleShape::Area { .. } => parts.with(&habit.worded(parts.what)),
    };
    let most = mended.char_indices().nth(LONGEST).map_or(mended.len(), |(at, _)| at);
    let end = if most == mended.len() {
        most
    } else {
        mended[..most].rfind(' ').filter(|end| *end > most / 2).unwrap_or(most)
    };
    stripped(&mended[..end]).to_owned()
}

impl TitleStyle {
    /// What comes after a prefix, begun as it is done here.
    fn worded(&self, what: &str) -> String {
        let (first, rest) = what.split_once(' ').unwrap_or((what, ""));
        let first = match self.case {
            TitleCase::Capital => capitalized(first),
            TitleCase::Small if is_capitalized(first) => first.to_lowercase(),
            TitleCase::Small | TitleCase::Any => first.to_owned(),
        };
        if rest.is_empty() { first } else { format!("{first} {rest}") }
    }
}

impl TitleCase {
    fn fits(self, what: &str) -> bool {
        let first = what.split_whitespace().next().unwrap_or_default();
        match self {
            Self::Any => true,
            Self::Small => !is_capitalized(first),
            Self::Capital => capitalized(first) == first,
        }
    }
}

/// Whether it begins as a sentence does: names and abbreviations, which have capitals elsewhere, are left alone.
fn is_capitalized(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next().is_some_and(|c| c.is_uppercase() && c.to_lowercase().count() == 1)
        && !characters.any(|c| c.is_uppercase() || c.is_numeric())
}

/// The word with a capital; as it is where it holds one already or is no word, such as a path.
fn capitalized(word: &str) -> String {
    let is_word = word.chars().all(|c| c.is_lowercase() || matches!(c, '\'' | '-' | ',' | ':'));
    let mut characters = word.chars();
    match characters.next() {
        Some(first) if is_word => first.to_uppercase().chain(characters).collect(),
        Some(_) | None => word.to_owned(),
    }
}

/// What git and GitHub write by themselves shows nobody's habit.
fn is_made_by_git(subject: &str) -> bool {
    ["Merge ", "Revert \"", "fixup! ", "squash! ", "Initial commit"]
        .iter()
        .any(|start| subject.starts_with(start))
}

/// Without the ` (#12)` that GitHub adds when it squashes.
fn without_number(title: &str) -> &str {
    let bare = |title: &'_ str| -> Option<usize> {
        let inner = title.strip_suffix(')')?;
        let (before, number) = inner.rsplit_once("(#")?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| before.trim_end().len())
    };
    let mut title = title;
    while let Some(length) = bare(title) {
        title = &title[..length];
    }
    title
}

fn on_one_line(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without numbers and signs at its end.
fn stripped(title: &str) -> &str {
    let less = without_number(title).trim_end_matches(['.', ' ', ',', ';']);
    if less.len() == title.len() { title } else { stripped(less) }
}

fn by_frequency<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counted: Vec<(&str, usize)> = counts.into_iter().collect();
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.into_iter().map(|(name, _)| name.to_owned()).collect()
}

fn named(names: &[String]) -> String {
    names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn is_of_prefix(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '*' | '+' | '@')
}

impl<'a> TitleParts<'a> {
    fn of(title: &'a str) -> Self {
        let plain = Self { prefix: None, scope: None, breaks: false, what: title };
        let Some((head, what)) = title.split_once(": ") else { return plain };
        let what = what.trim_start();
        let breaks = head.ends_with('!');
        let head = head.strip_suffix('!').unwrap_or(head);
        let (prefix, scope) = match head.strip_suffix(')').and_then(|head| head.split_once('(')) {
            Some((prefix, scope)) => (prefix, Some(scope)),
            None => (head, None),
        };
        // A tracker's number is neither a type nor an area.
        let is_ticket = prefix.rsplit_once('-').is_some_and(|(project, number)| {
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            is_number && project.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        });
        let names = |text: &str| {
            !text.is_empty()
                && text.chars().count() <= LONGEST_PREFIX
                && text.split(", ").all(|name| !name.is_empty() && name.chars().all(is_of_prefix))
        };
        let fits = names(prefix) && scope.is_none_or(names) && !what.is_empty() && !is_ticket;
        if fits { Self { prefix: Some(prefix), scope, breaks, what } } else { plain }
    }

    fn is_conventional(&self) -> bool {
        self.prefix.is_some_and(|prefix| TYPES.contains(&prefix))
    }

    /// The same before other words.
    fn with(&self, what: &str) -> String {
        let scope = self.scope.map(|scope| format!("({scope})")).unwrap_or_default();
        let breaks = if self.breaks { "!" } else { "" };
        match self.prefix {
            Some(prefix) => format!("{prefix}{scope}{breaks}: {what}"),
            None => what.to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "title_tests.rs"]
mod tests;
