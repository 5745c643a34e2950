//! A unified diff, a line at a time, with the kind of each line.

use super::text::visible;

const MOST_LINES: usize = 1_500;

/// A line and its CSS class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownDiffLine {
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiffView {
    pub(crate) lines: Vec<ShownDiffLine>,
    pub(crate) left_out: usize,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl DiffView {
    pub(crate) fn of(patch: &str) -> Option<Self> {
        let patch = visible(patch);
        let mut view = Self::default();
        // Inside a hunk only the first character counts, even if the line looks like a file's header.
        let mut is_in_hunk = false;
        for line in patch.lines() {
            is_in_hunk = if line.starts_with("diff ") { false } else { is_in_hunk || line.starts_with("@@") };
            let class = match line.chars().next() {
                Some('@') if line.starts_with("@@") => "hunk",
                Some('+') if is_in_hunk => "added",
                Some('-') if is_in_hunk => "removed",
                Some(_) if !is_in_hunk => "file",
                Some(_) | None => "same",
            };
            view.added += usize::from(class == "added");
            view.removed += usize::from(class == "removed");
            if view.lines.len() < MOST_LINES {
                view.lines.push(ShownDiffLine { class, text: line.to_owned() });
            } else {
                view.left_out += 1;
            }
        }
        (!view.lines.is_empty()).then_some(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart_by_where_they_stand() {
        let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-- old\n+++ new\n same\n";
        let view = DiffView::of(patch).unwrap();
        let classes: Vec<&str> = view.lines.iter().map(|line| line.class).collect();
        assert_eq!(classes, ["file", "file", "file", "hunk", "removed", "added", "same"]);
        assert_eq!((view.added, view.removed), (1, 1));
        assert_eq!(DiffView::of(""), None);
    }
}
