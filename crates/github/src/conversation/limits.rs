//! Limits on the text that people write. Texts are cut at the end, diffs in the middle.

use journeyman_order::bounds::LONGEST_TEXT;
use journeyman_order::length::shorten;

/// Characters of all texts together; later texts are cut short.
const LONGEST_READING: usize = 400_000;
/// Characters kept of each text after that.
const STUB: usize = 300;

#[derive(Debug, Default)]
pub(super) struct TextBudget {
    taken: usize,
}

impl TextBudget {
    pub(super) fn body(&mut self, text: &str) -> String {
        let most = self.most(LONGEST_TEXT);
        self.count(shorten(&clean(text), most))
    }

    /// A diff hunk, cut in the middle: its head names the place, its end is what the comment is about.
    pub(super) fn hunk(&mut self, text: &str) -> String {
        let most = self.most(LONGEST_TEXT);
        self.count(cut_middle(&clean(text), most))
    }

    fn most(&self, otherwise: usize) -> usize {
        if self.taken < LONGEST_READING { otherwise } else { STUB }
    }

    fn count(&mut self, text: String) -> String {
        self.taken += text.chars().count();
        text
    }
}

/// Normalizes line ends and replaces NUL, which no database accepts in text.
fn clean(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\0', "\u{fffd}")
}

/// The first line and the last ones.
fn cut_middle(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let head: String = text.lines().next().unwrap_or_default().chars().take(most / 4).collect();
    let room = most.saturating_sub(head.chars().count() + 8);
    let end: String = text.chars().skip(length - room).collect();
    let end = end.split_once('\n').map_or(end.as_str(), |(_, whole_lines)| whole_lines);
    format!("{head}\n[…]\n{end}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_diff_keeps_its_end() {
        let diff = format!("@@ -1,90 +1,90 @@ fn f()\n{}+the last", "+a line\n".repeat(90));
        let cut = cut_middle(&diff, 100);
        assert!(cut.starts_with("@@ -1,90 +1,90 @@ fn f()\n[…]\n+a line\n"), "{cut}");
        assert!(cut.ends_with("\n+the last"), "{cut}");
    }

    #[test]
    fn there_is_room_for_much_and_not_for_everything() {
        let mut room = TextBudget::default();
        let long = "word ".repeat(2_000);
        let cut: Vec<usize> = (0..200).map(|_| room.body(&long).chars().count()).collect();
        assert!(cut[0] > 3_900 && cut[0] <= LONGEST_TEXT, "{}", cut[0]);
        assert!(cut[199] <= STUB, "{}", cut[199]);
        assert!(cut.iter().sum::<usize>() < LONGEST_READING + 100_000);
        assert_eq!(room.body("a\0b\r\nc"), "a\u{fffd}b\nc");
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_it_may_be(text in "\\PC{0,400}(\n\\PC{0,90}){0,9}", most in 20_usize..300) {
            prop_assert!(cut_middle(&text, most).chars().count() <= most);
        }
    }
}
