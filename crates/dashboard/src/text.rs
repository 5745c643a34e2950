//! Untrusted text and numbers in readable form. The templates make it safe: they escape everything.

use chrono::{DateTime, SecondsFormat, Utc};
use journeyman_order::commit_message::is_hidden;

/// Removes terminal sequences, invisible characters, and those that change the direction of text.
pub(crate) fn visible(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut characters),
            '\n' | '\t' => clean.push(character),
            '\r' if characters.peek() != Some(&'\n') => clean.push('\n'),
            other if is_hidden(other) => {}
            other => clean.push(other),
        }
    }
    clean
}

/// Skips what follows an escape: `[…letter`, `]…bell`, or one character.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.next() {
        Some('[') => {
            // Its parameters and its final letter.
            while let Some(next) = characters.next_if(|next| matches!(next, ' '..='~')) {
                if matches!(next, '@'..='~') {
                    return;
                }
            }
        }
        Some(']' | 'P' | '^' | '_') => {
            while let Some(next) = characters.next_if(|next| *next != '\n') {
                let ends = next == '\u{7}' || (next == '\u{1b}' && characters.next_if_eq(&'\\').is_some());
                if ends {
                    return;
                }
            }
        }
        Some(_) | None => {}
    }
}

pub(crate) fn line(text: &str, most: usize) -> String {
    let words = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    journeyman_order::length::shorten(&words, most)
}

/// The beginning of a text, and how many characters were cut.
pub(crate) fn beginning(text: &str, most: usize) -> (String, usize) {
    let text = visible(text);
    match text.char_indices().nth(most) {
        None => (text, 0),
        Some((end, _)) => {
            let left_out = text.get(end..).unwrap_or_default().chars().count();
            (text.get(..end).unwrap_or_default().to_owned(), left_out)
        }
    }
}

pub(crate) fn dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

pub(crate) fn size(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    let bytes = bytes as f64;
    match bytes {
        _ if bytes < KIB => format!("{bytes:.0} bytes"),
        _ if bytes < KIB * KIB => format!("{:.0} KiB", bytes / KIB),
        _ => format!("{:.1} MiB", bytes / KIB / KIB),
    }
}

pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {:02} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {:02} min", whole / 3_600, whole % 3_600 / 60),
        86_400.. => format!("{} d {:02} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MomentView {
    pub(crate) shown: String,
    pub(crate) exact: String,
}

impl MomentView {
    pub(crate) fn of(at: DateTime<Utc>) -> Self {
        Self {
            shown: at.format("%Y-%m-%d %H:%M").to_string(),
            exact: at.to_rfc3339_opts(SecondsFormat::Millis, true),
        }
    }
}

pub(crate) fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (now - at).num_seconds().max(0);
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        172_800.. => format!("{} days ago", seconds / 86_400),
    }
}

/// A URL's query from the parameters that are set.
pub(crate) fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
}

pub(crate) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_gone_and_the_words_stay() {
        for (text, shown) in [
            ("\u{1b}[31mred\u{1b}[0m and \u{1b}[1;38;5;4mblue", "red and blue"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;https://x\u{1b}\\link", "link"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("a\u{202e}b\u{200b}c\u{0}d", "abcd"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
    }

    #[test]
    fn durations_and_sums_are_read_at_a_glance() {
        assert_eq!(
            [1.25, 59.6, 61.0, 3_700.0, 90_000.0].map(duration),
            ["1.2 s", "1 min 00 s", "1 min 01 s", "1 h 01 min", "1 d 01 h"]
        );
        assert_eq!([0.0, 0.001, 1.005].map(dollars), ["$0.00", "$0.0010", "$1.00"]);
    }
}
