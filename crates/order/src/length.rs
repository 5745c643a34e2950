//! GitHub's length limits, and how we cut a longer text.

use crate::bounds::MOST_IN_A_SENTENCE;

/// GitHub's limit for the body of an issue, a comment or a pull request, in characters.
pub const LONGEST_BODY: usize = 65_536;

/// The note at the end of a cut text.
pub const CUT_NOTE: &str = "*Shortened: what follows does not fit here.*";

/// At most `most` characters; a cut text ends with `…`.
pub fn shorten(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    if most > 0 {
        short.push('…');
    }
    short
}

/// Room for names in a sentence that goes on behind them.
const ROOM_FOR_NAMES: usize = 160;

/// The first of these names, as far as there is room, and how many more of `total` there are.
pub fn some_of(names: &[String], total: u64) -> String {
    let mut shown = String::new();
    let mut left = total;
    for name in names.iter().take(MOST_IN_A_SENTENCE).map(|name| shorten(name, ROOM_FOR_NAMES)) {
        if !shown.is_empty() && shown.len() + name.len() > ROOM_FOR_NAMES {
            break;
        }
        shown.push_str(if shown.is_empty() { "" } else { ", " });
        shown.push_str(&name);
        left = left.saturating_sub(1);
    }
    match left {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A body that fits GitHub's limit: cut after a line, with open blocks closed, and a note. Our bodies are sized to fit;
/// this is the fallback.
pub fn fit(body: &str, most: usize) -> String {
    if body.chars().nth(most).is_none() {
        return body.to_owned();
    }
    const FOLDED: &str = "</details>";
    // Room for the note, a closing fence and a closing fold, each after a blank line.
    let room = most.saturating_sub(CUT_NOTE.len() + FOLDED.len() + MOST_FENCE + 6);
    let cut: String = body.chars().take(room).collect();
    let (whole, part) = cut.rsplit_once('\n').unwrap_or(("", &cut));
    // Part of a line is kept only if it is most of the text and contains no code.
    let part = if part.len() > whole.len() && !part.contains('`') { part.trim_end_matches('\\') } else { "" };
    let mut kept = format!("{whole}\n{part}").trim().to_owned();
    let (fence, folds) = left_open(&kept);
    if let Some(fence) = fence.filter(|fence| fence.len() <= MOST_FENCE) {
        kept.push('\n');
        kept.push_str(&fence);
    }
    if folds > 0 {
        kept.push_str("\n\n");
        kept.push_str(FOLDED);
    }
    format!("{kept}\n\n{CUT_NOTE}").chars().take(most).collect()
}

/// The longest fence, with its quote signs, that is closed at a cut, in characters.
const MOST_FENCE: usize = 80;

/// What is open at the end of a text: a code block, by its closing fence, and our folds, whose tags are on their own
/// lines.
fn left_open(text: &str) -> (Option<String>, usize) {
    let mut open: Option<(&str, &str)> = None;
    let mut folds = 0_usize;
    for line in text.lines() {
        let bare = line.trim_start_matches(['>', ' ']);
        let (quote, _) = line.split_at(line.len() - bare.len());
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        // A backtick after the backticks makes it a code span.
        let is_fence = ticks >= 3 && bare.get(ticks..).is_some_and(|after| !after.contains('`'));
        match open {
            None if is_fence => open = bare.get(..ticks).map(|fence| (quote, fence)),
            None if line == "<details>" => folds += 1,
            None if line == "</details>" => folds = folds.saturating_sub(1),
            Some((_, fence)) if bare.trim_end() == fence => open = None,
            Some(_) | None => {}
        }
    }
    (open.map(|(quote, fence)| format!("{quote}{fence}")), folds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_leave_room_for_what_stands_behind_them() {
        let names = |long: usize| ["a", "b", "c"].map(|one| one.repeat(long)).to_vec();
        assert_eq!(some_of(&names(2), 9), "aa, bb, cc and 6 more");
        assert_eq!(some_of(&names(90), 3), format!("{} and 2 more", "a".repeat(90)));
        assert!(some_of(&names(900), 1).ends_with('…'));
    }
}
