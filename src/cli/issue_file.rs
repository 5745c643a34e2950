//! Reads an issue from a Markdown file: the first line is the title, the rest its text.

use std::path::Path;

use super::UsageError;
use crate::order::byte_order_mark;

pub(super) struct IssueFile {
    pub(super) title: String,
    pub(super) body: String,
}

pub(super) fn read(path: &Path) -> anyhow::Result<IssueFile> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| UsageError(format!("--issue {}: {error}", path.display())))?;
    parse(&text).ok_or_else(|| {
        let problem = format!("--issue {}: the file is empty; its first line is the title", path.display());
        UsageError(problem).into()
    })
}

pub(super) fn parse(text: &str) -> Option<IssueFile> {
    let text = byte_order_mark::strip(text).trim_start();
    let (title, body) = text.split_once('\n').unwrap_or((text, ""));
    let title = title.trim().trim_start_matches('#').trim();
    (!title.is_empty()).then(|| IssueFile { title: title.to_owned(), body: body.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_title() {
        for mark in ["", "\u{feff}"] {
            let issue = parse(&format!("{mark}\n# The sum is wrong\n\nIt is off by one.\n")).unwrap();
            assert_eq!(
                (issue.title.as_str(), issue.body.as_str()),
                ("The sum is wrong", "It is off by one.")
            );
        }
        assert!(parse(" \n").is_none());
    }
}
