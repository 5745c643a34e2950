//! Helpers for text from outside.

use std::sync::LazyLock;

use regex::Regex;

use journeyman_order::commit_message::is_hidden;

/// The last `most` characters without control or invisible characters; newlines stay.
pub(super) fn end_of(text: &str, most: usize) -> String {
    let visible: Vec<char> = text.chars().rev().filter(|c| *c == '\n' || !is_hidden(*c)).take(most).collect();
    visible.into_iter().rev().collect::<String>().trim().to_owned()
}

/// The first `most` characters, with a mark if more was cut.
pub(super) fn beginning_of(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Text from outside as data in a prompt: invisible characters are removed, and it cannot close the frame that our
/// templates put around it. The visible text stays.
pub(super) fn as_data(text: &str) -> String {
    static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<(\s*/?\s*untrusted)").ok());
    let visible: String = text.chars().filter(|c| matches!(*c, '\n' | '\t') || !is_hidden(*c)).collect();
    match FRAME.as_ref() {
        Some(frame) => frame.replace_all(&visible, "&lt;$1").into_owned(),
        None => visible.replace('<', "&lt;"),
    }
}

/// Fenced in more backticks than any run inside.
pub(super) fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}
