//! Titles by the habit of repositories.

use proptest::prelude::*;

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
        "feat(cli): add `--json`",
    ])
}

fn areas() -> TitleStyle {
    habit(&[
        "net/http: close idle connections",
        "cmd/go: fix the build cache",
        "net/http: handle trailers",
        "runtime, sync: add a lock",
        "all: update copyright",
        "parser: avoid a copy",
    ])
}

fn sentences() -> TitleStyle {
    habit(&[
        "Add a flag for colours (#12)",
        "Fix the sum of empty lists",
        "Remove what nobody uses",
        "Handle trailers",
        "Use one lock",
        "README: mention Windows",
    ])
}

fn small() -> TitleStyle {
    habit(&["fixed the build", "more tests", "typo", "updates docs", "cleanup of the parser", "wip"])
}

#[test]
fn the_habit_is_told_in_words_with_an_example_of_the_repository() {
    for (habit, words) in [
        (
            conventional(),
            "titles here are Conventional Commits of the types feat, fix, chore, docs, where it fits with one of the \
             scopes parser, cli, deps; what follows begins small, such as: fix(parser): handle \
             empty input",
        ),
        (
            areas(),
            "titles here begin with the area and a colon; areas are net/http, all, cmd/go, parser, runtime, sync; \
             what follows begins small, such as: net/http: close idle connections",
        ),
        (sentences(), "titles here have no prefix and begin with a capital, such as: Add a flag for colours"),
        (small(), "titles here have no prefix, such as: fixed the build"),
    ] {
        assert_eq!(habit.in_words().as_deref(), Some(words));
    }
}

#[test]
fn few_or_mixed_commits_show_no_habit_and_any_title_is_right() {
    let mixed = ["fix: a b", "feat: c d", "Add e", "parser: f", "Remove g", "Do h", "ci: i j"];
    for habit in [habit(&[]), habit(&["fix: a", "fix: b", "feat: c"]), habit(&mixed)] {
        assert_eq!(habit.in_words(), None);
        for title in ["fix: a", "Whatever it is.", "x (#1)"] {
            assert_eq!(fits(&habit, title), Ok(()));
            assert_eq!(mend(&habit, title, "/bug"), title);
        }
    }
}

#[test]
fn a_title_that_breaks_with_the_habit_hears_what_is_expected() {
    for (habit, title, fault) in [
        (conventional(), "Fix the sum", "the title has no type before it; titles here are Conventional"),
        (conventional(), "parser: handle sums", "the title has no type before it"),
        (conventional(), "fix: sum (#7)", "the title has a number at its end"),
        (conventional(), "fix: sum.", "the title ends with a full stop"),
        (areas(), "Fix the sum", "the title has no area before it"),
        (sentences(), "fix: the sum", "the title has a type before it"),
        (sentences(), "fix the sum", "the title begins in another way"),
        (small(), "Fix the sum", "the title begins in another way"),
    ] {
        let said = fits(&habit, title).unwrap_err();
        assert!(said.starts_with(fault) && said.contains("such as: "), "{title}: {said}");
    }
    for (habit, title) in [
        (conventional(), "perf(lexer)!: read lines once"),
        (conventional(), "fix: README is found"),
        (areas(), "sync: add a lock"),
        (sentences(), "Sort keys of `a.b`"),
        (sentences(), "`sum` of nothing is 0"),
        (sentences(), "README: mention Windows"),
        (small(), "README mentions it"),
        (small(), "and so on..."),
    ] {
        assert_eq!(fits(&habit, title), Ok(()), "{title}");
    }
}

#[test]
fn a_title_is_mended_to_what_it_would_be_called_here() {
    for (habit, title, class, mended) in [
        (conventional(), "Fixed the  sum of empty lists. (#7)", "/bug", "fix: fixed the sum of empty lists"),
        (conventional(), "Parser handles sums", "/feature", "feat: parser handles sums"),
        (conventional(), "parser: Handle sums", "/bug", "fix(parser): handle sums"),
        (conventional(), "lexer: handle sums", "/chore", "chore: lexer: handle sums"),
        (conventional(), "README is out of date", "", "chore: README is out of date"),
        (conventional(), "fix(parser)!: Removed sums", "/bug", "fix(parser)!: Removed sums"),
        (areas(), "fix(parser): Handle sums", "/bug", "parser: handle sums"),
        (areas(), "Fix a race in net/http", "/bug", "net/http: fix a race in net/http"),
        (areas(), "Fix a race elsewhere", "/bug", "fix a race elsewhere"),
        (sentences(), "feat: added a flag (#3)", "/feature", "Added a flag"),
        (sentences(), "src/sum.py handles nothing.", "/bug", "src/sum.py handles nothing"),
        (small(), "Fix the sum", "/bug", "fix the sum"),
        (small(), "API for sums", "/bug", "API for sums"),
    ] {
        assert_eq!(mend(&habit, title, class), mended, "{title}");
    }
    let long = mend(&conventional(), &format!("Handle {}", "very long words ".repeat(20)), "/bug");
    assert!(long.chars().count() <= LONGEST && long.ends_with(|c: char| c.is_alphabetic()), "{long}");
}

fn titles() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "fix", "feat", "Fixed", "adds", "parser", "net/http", "(", ")", "(parser)", "!", ": ", ":", " ", ".", "..",
            "(#1)", " (#22)", "#3", "ABC-12", "README", "Sum", "the sum", "`x`", "é", "İ", "ß", "🎉", "\u{200b}", "\t",
        ]).prop_map(str::to_owned),
        1 => "[A-Za-z ]{0,9}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn habits() -> impl Strategy<Value = TitleStyle> {
    prop_oneof![
        Just(conventional()),
        Just(areas()),
        Just(sentences()),
        Just(small()),
        prop::collection::vec(titles(), 0..12).prop_map(|subjects| TitleStyle::of(&subjects)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_fits_is_left_alone_and_what_is_mended_stays(habit in habits(), title in titles(), class in "/(bug|feature|x)") {
        let mended = mend(&habit, &title, &class);
        prop_assert!(mended.chars().count() <= title.chars().count().max(LONGEST) + 8);
        if fits(&habit, &title).is_ok() {
            prop_assert_eq!(&mended, &title.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        prop_assert_eq!(mend(&habit, &mended, &class), mended);
    }

    #[test]
    fn where_no_area_is_asked_for_whatever_was_written_fits_once_it_is_mended(title in "[a-zé]{2,9}( [a-zA-Z0-9:()#.]{1,9}){1,12}") {
        for habit in [conventional(), sentences(), small()] {
            let mended = mend(&habit, &title, "/feature");
            prop_assert_eq!(fits(&habit, &mended), Ok(()), "{} → {}", title, mended);
        }
    }
}
