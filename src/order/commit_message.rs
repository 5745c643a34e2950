//! An agent's commit message, made harmless.

/// The message to publish, or none when there is nothing usable in `text`.
///
/// The subject is the first line with anything in it, at most 100 characters; the body at most 4,000. Control and
/// invisible characters go, as do trailers (who signed off is not for an agent to say) and whatever would make
/// GitHub act: closing keywords lose their `#`, mentions their `@`.
pub fn clean(text: &str) -> Option<String> {
    let visible: String = text.chars().filter(|c| *c == '\n' || !is_hidden(*c)).collect();
    let mut lines = visible
        .lines()
        .map(str::trim_end)
        .filter(|line| !is_trailer(line) && !line.trim_start().starts_with("```"))
        .map(|line| SWITCHES.iter().fold(line.to_owned(), |line, switch| without(&line, switch, "")))
        .map(|line| disarm(&line));
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

/// What switches a repository's CI off when it stands in a commit message.
const SWITCHES: [&str; 6] =
    ["[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]", "***no_ci***"];

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

/// Control characters, and those that are there but cannot be seen or that turn the direction of text.
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
            || matches!(key.as_str(), "closes" | "fixes" | "resolves" | "skip-checks" | "on-behalf-of")
    })
}

fn disarm(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    let mut previous = ' ';
    while let Some(character) = characters.next() {
        let next_is_word = characters.peek().is_some_and(|c| c.is_alphanumeric());
        let drop = match character {
            '@' => next_is_word && !previous.is_alphanumeric(),
            '#' => characters.peek().is_some_and(char::is_ascii_digit),
            _ => false,
        };
        if !drop {
            safe.push(character);
        }
        previous = character;
    }
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
            ("wip", None),
            ("", None),
            ("🎉 🎉", None),
        ] {
            assert_eq!(clean(text).as_deref(), message, "{text:?}");
        }
        assert!(clean(&"word ".repeat(100)).is_some_and(|m| m.chars().count() <= 100));
    }
}
