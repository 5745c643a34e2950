//! How titles are written in a repository, by its recent commits, and whether a title keeps to that.

use std::collections::BTreeMap;

use crate::bounds::MOST_IN_A_SENTENCE;

/// Fewer commits than this show no habit.
const FEWEST: usize = 5;
/// In percent: what so many do is the habit.
const HABIT: usize = 60;
const LONGEST_PREFIX: usize = 40;

/// The types of Conventional Commits, as its specification and the tools around it know them.
const TYPES: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

/// How titles are written in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitleStyle {
    shape: TitleShape,
    /// One of the titles that show it.
    example: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TitleShape {
    /// Too few or too different to tell.
    Any,
    /// `fix(parser): what`, with the types in use.
    Conventional(Vec<String>),
    /// `parser: what`, with the areas in use.
    Area(Vec<String>),
    /// A sentence without a prefix.
    Plain,
}

impl TitleStyle {
    /// From the first lines of commits, the newest first.
    pub fn of(subjects: &[String]) -> Self {
        let titles = subjects.iter().map(|subject| subject.trim());
        let titles: Vec<&str> = titles.filter(|title| !title.is_empty() && !is_made_by_git(title)).collect();
        let those = |is: fn(&str) -> bool| -> Vec<&str> {
            titles.iter().copied().filter(|title| is(title)).collect()
        };
        let is_habit = |those: &[&str]| titles.len() >= FEWEST && those.len() * 100 >= titles.len() * HABIT;
        let typed = those(is_conventional);
        let prefixed = those(|title| prefix(title).is_some());
        let plain = those(|title| prefix(title).is_none());
        let (shape, shown) = if is_habit(&typed) {
            (TitleShape::Conventional(prefixes(&typed)), typed)
        } else if is_habit(&prefixed) {
            (TitleShape::Area(prefixes(&prefixed)), prefixed)
        } else if is_habit(&plain) {
            (TitleShape::Plain, plain)
        } else {
            (TitleShape::Any, Vec::new())
        };
        let example = shown.first().map_or("", |title| without_number(title));
        Self { shape, example: example.chars().take(100).collect() }
    }

    pub fn fits(&self, title: &str) -> Result<(), String> {
        let prefix = prefix(title);
        let (fits, habit) = match &self.shape {
            TitleShape::Any => (true, String::new()),
            TitleShape::Conventional(types) => (
                is_conventional(title) || types.iter().any(|known| prefix == Some(known.as_str())),
                format!("titles here are Conventional Commits of the types {}", types.join(", ")),
            ),
            TitleShape::Area(areas) => (
                prefix.is_some()
                    && (!is_conventional(title) || areas.iter().any(|known| prefix == Some(known.as_str()))),
                format!("titles here begin with the area and a colon; areas are {}", areas.join(", ")),
            ),
            TitleShape::Plain => (!is_conventional(title), "titles here have no type before them".to_owned()),
        };
        if fits { Ok(()) } else { Err(format!("{habit}, such as: {}", self.example)) }
    }

    /// The issue's title, with a type where titles here have one. `class` is what the issue was classified as.
    pub fn typed(&self, title: &str, class: &str) -> String {
        let kind = match class {
            "/feature" => "feat",
            "/bug" => "fix",
            _ => "chore",
        };
        let is_typed = matches!(self.shape, TitleShape::Conventional(_));
        if is_typed && self.fits(title).is_err() { format!("{kind}: {title}") } else { title.to_owned() }
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
    title.rsplit_once(" (#").filter(|(_, number)| number.ends_with(')')).map_or(title, |(bare, _)| bare)
}

/// The type or area before a colon, without scope and `!`. A tracker's number is neither.
fn prefix(title: &str) -> Option<&str> {
    let (head, _) = title.split_once(": ")?;
    let head = head.strip_suffix('!').unwrap_or(head);
    let prefix = head.strip_suffix(')').and_then(|head| head.split_once('(')).map_or(head, |(name, _)| name);
    let is_plain = |c: char| c.is_alphanumeric() || "_-./*+@".contains(c);
    let is_ticket = prefix.rsplit_once('-').is_some_and(|(_, number)| number.parse::<u64>().is_ok());
    let is_name = !is_ticket
        && prefix.chars().count() <= LONGEST_PREFIX
        && prefix.split(", ").all(|name| !name.is_empty() && name.chars().all(is_plain));
    is_name.then_some(prefix)
}

fn is_conventional(title: &str) -> bool {
    prefix(title).is_some_and(|prefix| TYPES.contains(&prefix))
}

fn prefixes(titles: &[&str]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for prefix in titles.iter().filter_map(|title| prefix(title)) {
        *counts.entry(prefix).or_default() += 1;
    }
    let mut counted: Vec<(&str, usize)> = counts.into_iter().collect();
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.into_iter().take(MOST_IN_A_SENTENCE).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn habit(subjects: &[&str]) -> TitleStyle {
        TitleStyle::of(&subjects.iter().map(|subject| (*subject).to_owned()).collect::<Vec<_>>())
    }

    fn conventional() -> TitleStyle {
        habit(&[
            "fix(parser): handle empty input (#41)",
            "Merge pull request #40 from o/b",
            "feat: add a flag for colours (#39)",
            "docs: say how to build",
            "chore(deps): update serde from 1 to 2 (#38)",
            "fix(parser)!: remove the old syntax",
            "Release 1.2",
        ])
    }

    #[test]
    fn a_title_that_breaks_with_the_habit_hears_what_is_expected() {
        let areas = habit(&[
            "net/http: close idle connections",
            "cmd/go: fix the build cache",
            "net/http: handle trailers",
            "runtime, sync: add a lock",
            "parser: avoid a copy",
        ]);
        let plain = habit(&["Add a flag (#12)", "Fix the sum", "Use one lock", "ABC-12: trailers", "Sort"]);
        for (habit, fitting, other, said) in [
            (
                conventional(),
                ["perf(lexer)!: read lines once", "fix: README is found"],
                "parser: handle sums",
                "titles here are Conventional Commits of the types fix, chore, docs, feat, such as: fix(parser): handle empty \
                 input",
            ),
            (
                areas,
                ["sync: add a lock", "net/http, all: x"],
                "fix: the sum",
                "titles here begin with the area and a colon; areas are net/http, cmd/go, parser, runtime, sync, such as: \
                 net/http: close idle connections",
            ),
            (
                plain,
                ["Sort keys of `a.b`", "README: mention Windows"],
                "fix: the sum",
                "titles here have no type before them, such as: Add a flag",
            ),
        ] {
            for title in fitting {
                assert_eq!(habit.fits(title), Ok(()), "{title}");
            }
            assert_eq!(habit.fits(other), Err(said.to_owned()));
        }
    }

    #[test]
    fn few_or_mixed_commits_show_no_habit() {
        let mixed = ["fix: a b", "feat: c d", "Add e", "parser: f", "Remove g", "Do h", "Be i"];
        for habit in [habit(&[]), habit(&["fix: a", "fix: b", "feat: c"]), habit(&mixed)] {
            assert_eq!(
                (habit.fits("Whatever"), habit.typed("Whatever", "/bug")),
                (Ok(()), "Whatever".to_owned())
            );
        }
    }

    #[test]
    fn the_issues_title_gets_a_type_where_titles_have_one() {
        let typed = |title, class| conventional().typed(title, class);
        assert_eq!(typed("Handle sums", "/bug"), "fix: Handle sums");
        assert_eq!(typed("Handle sums", ""), "chore: Handle sums");
        assert_eq!(typed("feat(cli): handle sums", "/bug"), "feat(cli): handle sums");
    }
}
