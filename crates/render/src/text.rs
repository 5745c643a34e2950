//! Foreign text at the level of words: what is visible, what GitHub would act on, and how to stop it.

use std::sync::LazyLock;

use regex::Regex;

use journeyman_order::commit_message::is_hidden;
use journeyman_order::length::shorten;
use journeyman_order::release_words::calmed;
use journeyman_order::{Severity, TestCounts};

pub(super) const MOST_SHOWN: usize = 10;
pub(super) const MOST_NAMES: usize = 6;
pub(super) const MOST_BELOW: usize = 3;

/// Foreign text with only line feeds as line ends and only spaces as white space, without characters that are
/// invisible, change the text direction, or steer a release: release bots read raw texts.
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

/// Letters and marks without a glyph: fillers, inherent vowels, joiners, the empty braille pattern.
fn is_blank(character: char) -> bool {
    matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    )
}

/// Whether GitHub could treat a word as a mention, a reference, a link or a formula. False positives are fine: the word
/// stays readable.
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

/// How to treat `**` in foreign text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoldHandling {
    Kept,
    Escaped,
}

/// A word that does not act, with every Markdown or HTML character escaped.
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

/// A word of foreign Markdown with backslash escapes: escaped characters stay escaped, and the word is made harmless if
/// it would act without its backslashes.
pub(super) fn markdown_word(word: &str, bold: BoldHandling) -> Result<String, String> {
    let mut bare = String::with_capacity(word.len());
    let mut escaped = String::with_capacity(word.len() + 8);
    let mut plain = String::new();
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        match characters.next_if(|next| character == '\\' && next.is_ascii_punctuation()) {
            // The start of an HTML comment is broken up everywhere.
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

/// Foreign text as inline code on one line. Empty if nothing is visible.
pub fn code_span(text: &str) -> String {
    let text = calm(&calmed(&visible(text).split_whitespace().collect::<Vec<_>>().join(" ")));
    if text.is_empty() {
        return text;
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A command or a test's name as inline code.
pub(super) fn command_span(command: &str) -> String {
    let span = code_span(&shorten(command, 300));
    if span.is_empty() { "an empty command".to_owned() } else { span }
}

/// Foreign text as a code block, in a fence longer than any in it.
pub fn code_block(text: &str) -> String {
    let text = calm(&visible(text));
    let text = text.trim_end();
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

/// Inserts a space into closing keywords and comment starts. GitHub ignores them in code, but a pull request's text can
/// become a squash commit's message, where code is plain text.
fn calm(code: &str) -> String {
    let text = code.replace("<!--", "<! --");
    match CLOSING.as_ref() {
        // Twice, because matches can overlap at their ends.
        Some(closing) => {
            let once = closing.replace_all(&text, "${keyword}${sign} ${what}");
            closing.replace_all(&once, "${keyword}${sign} ${what}").into_owned()
        }
        None => text.replace('#', "# "),
    }
}

/// A closing keyword up to the sign of its reference. The regex is always valid; tests check that.
static CLOSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let keyword = r"(?i)(?<keyword>\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[:\s]+)";
    // The longest alternative comes last: in `GH-1#x` that sign does not count.
    let reference = r"(?:(?<sign>gh-|https?://|[\w./-]*#)(?<what>[\w]))";
    Regex::new(&format!("{keyword}{reference}")).ok()
});

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// Foreign text on one line without formatting; usable within our line or as a line.
pub fn plain(text: &str) -> String {
    let visible = visible(text);
    let words: Vec<String> = visible.split_whitespace().map(|one| word(one, BoldHandling::Escaped)).collect();
    let line = calmed(&words.join(" "));
    // At the start of a line these would make it a list, a rule or a heading.
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    if line.starts_with(['-', '+', '=']) {
        format!("\\{line}")
    } else if digits > 0 && line[digits..].starts_with(['.', ')']) {
        format!("{}\\{}", &line[..digits], &line[digits..])
    } else {
        line
    }
}

/// The same for at most `most` characters.
pub(super) fn brief(text: &str, most: usize) -> String {
    plain(&shorten(text, most))
}

/// The last line of a cut list; `None` if nothing was cut.
pub(super) fn and_more(bullet: &str, all: usize, most: usize) -> Option<String> {
    let more = all.saturating_sub(most);
    (more > 0).then(|| format!("{bullet} and {more} more"))
}

/// A title has at most 200 characters, and each pass removes at least one.
const MOST_PASSES: usize = 200;

/// A title: one line of at most 200 characters, unformatted. A squash turns it into a commit message, where code spans
/// do not protect, so active signs are removed. Idempotent.
pub fn title(text: &str) -> String {
    let mut title = title_once(text);
    // A removal may join parts into something active, such as the end of a comment.
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
    // Until nothing changes: a removal may join parts into something active.
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

/// Dollars and cents. The backslash is needed because GitHub reads two dollar signs on a line as a formula.
pub(super) fn dollars(usd: f64) -> String {
    let usd = if usd.is_finite() { usd.max(0.0) } else { 0.0 };
    format!("\\${usd:.2}")
}

pub(super) fn passing(counts: TestCounts) -> String {
    format!("{} of {} tests pass", counts.passed, counts.ran())
}

/// A finding's severity in one word; critical is bold.
pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "**critical**",
        Severity::Major | Severity::Minor => severity.as_str(),
    }
}
