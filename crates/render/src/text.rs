//! Foreign text in the small: what is visible, what would act, and how it is kept from acting.

use std::sync::LazyLock;

use regex::Regex;

use journeyman_order::commit_message::is_hidden;
use journeyman_order::length::shorten;
use journeyman_order::release_words::calmed;
use journeyman_order::{Severity, TestCounts};

pub(super) const MOST_SHOWN: usize = 10;
pub(super) const MOST_NAMES: usize = 6;
pub(super) const MOST_BELOW: usize = 3;

/// Foreign text with line feeds as the only line ends, spaces as the only white space, and nothing that cannot be
/// seen, that turns the direction of what follows, or that steers a release: release bots read texts as they stand.
pub(super) fn visible(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => seen.push('\n'),
            '\t' => seen.push_str("    "),
            other if is_hidden(other) || is_blank(other) => {}
            other if other.is_whitespace() => seen.push(' '),
            other => seen.push(other),
        }
    }
    calmed(&seen)
}

/// Letters and marks that show nothing: fillers, inherent vowels, joiners, the empty braille pattern.
fn is_blank(character: char) -> bool {
    matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    )
}

/// Whether GitHub could make more of a word than text: a mention, a reference, a link, a formula. Rather too many
/// than too few: a word that is taken for one is still readable.
pub(super) fn acts(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.contains(['@', '\u{ff20}', '\u{fe6b}', '$'])
        || lower.contains("://")
        || lower.contains("www.")
        || ["#", "\u{ff03}", "gh-"].iter().any(|sign| is_before_digit(&lower, sign))
}

fn is_before_digit(text: &str, sign: &str) -> bool {
    text.match_indices(sign).any(|(at, _)| {
        text.get(at + sign.len()..).and_then(|rest| rest.chars().next()).is_some_and(char::is_numeric)
    })
}

/// How `**` in foreign text is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoldHandling {
    Kept,
    Escaped,
}

/// A word that does not act, with every character escaped that Markdown or HTML would read.
pub(super) fn escape(word: &str, bold: BoldHandling) -> String {
    let mut escaped = String::with_capacity(word.len() + 8);
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' if bold == BoldHandling::Kept && characters.peek() == Some(&'*') => {
                characters.next();
                escaped.push_str("**");
            }
            // Together they would begin a comment, and our markers are comments.
            '<' if characters.peek() == Some(&'!') => {
                characters.next();
                escaped.push_str("\\<\\!");
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '&' | '|' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// A word of foreign Markdown, in which a backslash takes the meaning from the sign after it: what is so escaped stays
/// escaped, and what would act once the backslashes are gone does not.
pub(super) fn markdown_word(word: &str, bold: BoldHandling) -> Result<String, String> {
    let mut bare = String::with_capacity(word.len());
    let mut escaped = String::with_capacity(word.len() + 8);
    let mut plain = String::new();
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        match characters.next_if(|next| character == '\\' && next.is_ascii_punctuation()) {
            // What begins a comment of HTML is taken apart wherever it stands.
            Some(sign) if sign != '<' => {
                escaped.push_str(&escape(&plain, bold));
                plain.clear();
                escaped.extend(['\\', sign]);
                bare.push(sign);
            }
            Some(sign) => {
                plain.push(sign);
                bare.push(sign);
            }
            None => {
                plain.push(character);
                bare.push(character);
            }
        }
    }
    escaped.push_str(&escape(&plain, bold));
    if acts(&bare) { Err(code_span(&bare)) } else { Ok(escaped) }
}

/// One word of foreign text.
pub(super) fn word(word: &str, bold: BoldHandling) -> String {
    if acts(word) { code_span(word) } else { escape(word, bold) }
}

/// Foreign text as inline code, on one line. Empty when there is nothing to see.
pub fn code_span(text: &str) -> String {
    let text = calm(&calmed(&visible(text).split_whitespace().collect::<Vec<_>>().join(" ")));
    if text.is_empty() {
        return text;
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A command or the name of a test, as inline code.
pub(super) fn command_span(command: &str) -> String {
    let span = code_span(&shorten(command, 300));
    if span.is_empty() { "an empty command".to_owned() } else { span }
}

/// Foreign text as a block of code, in a fence longer than any in it.
pub fn code_block(text: &str) -> String {
    let text = calm(&visible(text));
    let text = text.trim_end();
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

/// A space between a closing keyword's parts and in the beginning of a comment. Code acts nowhere on GitHub, but a
/// pull request's text can become the message of a squashed commit, where code is text like any other.
fn calm(code: &str) -> String {
    let text = code.replace("<!--", "<! --");
    match CLOSING.as_ref() {
        // Twice: what one match ends with can be where the next one begins.
        Some(closing) => {
            let once = closing.replace_all(&text, "${keyword}${sign} ${what}");
            closing.replace_all(&once, "${keyword}${sign} ${what}").into_owned()
        }
        None => text.replace('#', "# "),
    }
}

/// What closes an issue, up to the sign of its reference. Always a regex; the tests would tell.
static CLOSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let keyword = r"(?i)(?<keyword>\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[:\s]+)";
    // What is longest comes last: in `GH-1#x` it is not the sign that counts.
    let reference = r"(?:(?<sign>gh-|https?://|[\w./-]*#)(?<what>[\w]))";
    Regex::new(&format!("{keyword}{reference}")).ok()
});

/// The most backticks in a row.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// Foreign text on one line, without any shape of its own; may stand within a line of ours or be one.
pub fn plain(text: &str) -> String {
    let visible = visible(text);
    let words: Vec<String> = visible.split_whitespace().map(|one| word(one, BoldHandling::Escaped)).collect();
    let line = calmed(&words.join(" "));
    // At a line's beginning these would make a list, a rule or a heading of it.
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    if line.starts_with(['-', '+', '=']) {
        format!("\\{line}")
    } else if digits > 0 && line[digits..].starts_with(['.', ')']) {
        format!("{}\\{}", &line[..digits], &line[digits..])
    } else {
        line
    }
}

/// The same, of at most so many characters of it.
pub(super) fn brief(text: &str, most: usize) -> String {
    plain(&shorten(text, most))
}

/// The last line of a list that shows the first of many, where there are more.
pub(super) fn and_more(bullet: &str, all: usize, most: usize) -> Option<String> {
    let more = all.saturating_sub(most);
    (more > 0).then(|| format!("{bullet} and {more} more"))
}

/// Each takes something out of a text of at most 200 characters.
const MOST_PASSES: usize = 200;

/// A title: one line of at most 200 characters, unformatted. Titles become commit messages when a pull request is
/// squashed, where code spans protect from nothing: signs that act are taken out. Doing it twice changes nothing.
pub fn title(text: &str) -> String {
    let mut title = title_once(text);
    // What is taken out may bring together what was apart, such as the end of a comment.
    for _ in 0..MOST_PASSES {
        let again = title_once(&title);
        if again == title {
            break;
        }
        title = again;
    }
    title
}

fn title_once(text: &str) -> String {
    const MOST: usize = 200;
    let beginning: String = text.chars().take(4 * MOST).collect();
    let visible = visible(&beginning);
    let words: Vec<String> =
        visible.split_whitespace().map(unarmed).filter(|word| !word.is_empty()).collect();
    let title = shorten(&calmed(&words.join(" ")), MOST);
    if title.is_empty() { "Work on an issue".to_owned() } else { title }
}

fn unarmed(word: &str) -> String {
    let mut safe: String = word
        .chars()
        .filter(|c| !matches!(c, '@' | '\u{ff20}' | '\u{fe6b}' | '#' | '\u{ff03}' | '<' | '>'))
        .collect();
    // Until nothing changes: what is taken out may bring together what was apart.
    loop {
        let before = safe.len();
        safe = safe.replace("://", ":");
        while let Some(at) = safe.to_ascii_lowercase().find("gh-") {
            safe.replace_range(at + 2..at + 3, "");
        }
        if safe.len() == before {
            return safe;
        }
    }
}

/// `4s`, `3m 20s`, `2h 5m`, `3d 4h`.
pub(super) fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        (_, _, _) => format!("{days}d {}h", hours % 24),
    }
}

/// Dollars and cents; a formula's sign to GitHub when there are two on a line, hence the backslash.
pub(super) fn dollars(usd: f64) -> String {
    let usd = if usd.is_finite() { usd.max(0.0) } else { 0.0 };
    format!("\\${usd:.2}")
}

pub(super) fn passing(counts: TestCounts) -> String {
    format!("{} of {} tests pass", counts.passed, counts.ran())
}

/// How much a finding weighs, in a word; what cannot be used stands out.
pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "**critical**",
        Severity::Major | Severity::Minor => severity.as_str(),
    }
}
