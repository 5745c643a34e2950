//! An agent's commit message, made harmless.

use super::release_words::calmed;

/// The message to publish, or `None` if nothing in `text` is usable.
///
/// The subject is the first non-empty line, at most 100 characters; the body at most 4,000. Control and invisible
/// characters are removed, as are trailers (an agent may not sign off for others). Closing keywords lose their `#`,
/// mentions their `@`, and words that steer a release are broken up.
pub fn clean(text: &str) -> Option<String> {
    let visible: String = text.chars().filter(|c| *c == '\n' || !is_hidden(*c)).collect();
    let mut lines = visible
        .lines()
        .map(str::trim_end)
        .filter(|line| !is_trailer(line) && !line.trim_start().starts_with("```"))
        .map(harmless);
    let subject = lines.find(|line| !line.trim().is_empty())?;
    let subject: String = subject.trim().trim_start_matches(['#', '*', '-', ' ']).chars().take(100).collect();
    let words = subject.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric)).count();
    if words < 2 {
        return None;
    }
    let body: Vec<String> = lines.collect();
    let body: String = body.join("\n").trim().chars().take(4_000).collect();
    Some(if body.is_empty() { subject } else { format!("{subject}\n\n{body}") })
}

/// Markers in a commit message that disable a repository's CI or releases.
const SWITCHES: [&str; 9] = [
    "[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]", "***no_ci***", "[skip release]",
    "[release skip]", "[no release]",
];

/// The line made harmless. Repeated until stable, because a removal may join its neighbours.
fn harmless(line: &str) -> String {
    let mut line = line.to_owned();
    loop {
        let calm = SWITCHES.iter().fold(calmed(&line), |line, switch| without(&line, switch, ""));
        let calm = disarm(&calm);
        if calm == line {
            return line;
        }
        line = calm;
    }
}

/// The line with every occurrence of `what`, in any case, replaced. `what` is ASCII.
fn without(line: &str, what: &str, with: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let mut clean = String::with_capacity(line.len());
    let mut rest = 0;
    while let Some(at) = lower[rest..].find(what) {
        clean.push_str(&line[rest..rest + at]);
        clean.push_str(with);
        rest += at + what.len();
    }
    clean.push_str(&line[rest..]);
    clean
}

/// Control characters, and characters that are invisible or change the text direction.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn is_trailer(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| {
        let key = key.trim().to_ascii_lowercase();
        key.ends_with("-by")
            || key.ends_with("-id")
            || matches!(
                key.as_str(),
                "closes" | "fixes" | "resolves" | "skip-checks" | "on-behalf-of" | "release-as"
            )
    })
}

/// Removes the signs of mentions and references. GitHub's names are ASCII: an `@` stays only between ASCII characters,
/// as in an email address.
fn disarm(line: &str) -> String {
    let characters: Vec<char> = line.chars().collect();
    let mut safe = Vec::with_capacity(characters.len());
    let mut below = ' ';
    // From the end, so that the text after a run of signs is known for each of them.
    for (at, character) in characters.iter().copied().enumerate().rev() {
        let before = at.checked_sub(1).and_then(|at| characters.get(at)).copied().unwrap_or(' ');
        let after = characters.get(at + 1).copied().unwrap_or(' ');
        let is_sign = matches!(character, '@' | '\u{ff20}' | '\u{fe6b}' | '#' | '\u{ff03}');
        let drop = match character {
            '@' => {
                below.is_alphanumeric() && !(before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric())
            }
            '\u{ff20}' | '\u{fe6b}' => below.is_alphanumeric(),
            '#' | '\u{ff03}' => below.is_numeric(),
            _ => false,
        };
        if !is_sign {
            below = character;
        }
        if !drop {
            safe.push(character);
        }
    }
    let safe: String = safe.into_iter().rev().collect();
    without(&without(&safe, "gh-", "gh "), "://", ": //")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_make_github_act_is_taken_out() {
        for (text, message) in [
            ("Fix the sum of empty lists", Some("Fix the sum of empty lists")),
            ("\n\nfix: sum\n\nIt was wrong.\n", Some("fix: sum\n\nIt was wrong.")),
            ("Fixes #1, cc @everyone", Some("Fixes 1, cc everyone")),
            ("Fix it\n\nFixes: #3\nSigned-off-by: A <a@b.c>\nCo-authored-by: B <b@b.c>", Some("Fix it")),
            ("Closes GH-12 for good", Some("Closes gh 12 for good")),
            ("Fix it [Skip CI] now\n\nskip-checks: true\nCo-authored-by:x", Some("Fix it  now")),
            ("Fixes https://example.org/o/r/issues/7", Some("Fixes https: //example.org/o/r/issues/7")),
            ("mail me@example.org first", Some("mail me@example.org first")),
            ("a\u{202e}b c\u{200b}d", Some("ab cd")),
            // GitHub's names are ASCII: a non-ASCII letter before the `@` does not make an address.
            ("Thanks é@octocat ж@org/team 名@octocat", Some("Thanks éoctocat жorg/team 名octocat")),
            (
                "Thanks @@octocat a.@octocat _@octocat ＠octocat",
                Some("Thanks octocat a.octocat _octocat octocat"),
            ),
            ("Fixes ##1 and #＃2, o/r###3", Some("Fixes 1 and 2, o/r3")),
            ("Fix it [skip [skip ci]ci] [skip release] now", Some("Fix it   now")),
            ("wip", None),
            ("", None),
            ("🎉 🎉", None),
        ] {
            assert_eq!(clean(text).as_deref(), message, "{text:?}");
        }
        for (text, message) in [
            ("Fix the sum\n\nRelease-As: 9.0.0\nrelease-as : 9.0.0\n", "Fix the sum"),
            ("Fix the sum\n\nIt is, Release-As #9.0.0", "Fix the sum\n\nIt is, Release As 9.0.0"),
            ("fix: sum\n\nBREAKING CHANGE: no lists", "fix: sum\n\nINCOMPATIBLE change: no lists"),
            ("fix: sum\n\n* breaking-change #no lists", "fix: sum\n\n* INCOMPATIBLE change #no lists"),
            ("fix: sum\n\nBreaking  change of lists", "fix: sum\n\nINCOMPATIBLE change of lists"),
            ("fix: sum\n\nNot a breaking change for lists", "fix: sum\n\nNot a breaking change for lists"),
            ("feat!: sum of lists", "feat: sum of lists"),
            ("feat(a, b)!!: sum\n\n* fix!: more", "feat(a, b): sum\n\n* fix: more"),
            ("Sum +semver: major #major", "Sum semver: major major"),
            ("Sum of\n\nBEGIN_COMMIT_OVERRIDE\nfeat: x", "Sum of\n\nBEGIN COMMIT_OVERRIDE\nfeat: x"),
            ("Sum of `BREAKING CHANGE`s", "Sum of `BREAKING CHANGE`s"),
        ] {
            assert_eq!(clean(text).as_deref(), Some(message), "{text:?}");
            assert_eq!(clean(message).as_deref(), Some(message), "once is enough: {text:?}");
        }
        assert!(clean(&"word ".repeat(100)).is_some_and(|m| m.chars().count() <= 100));
    }
}
