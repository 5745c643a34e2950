//! Addresses of a repository's pages: our own links to lines and commits, which foreign text cannot change.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::text::code_span;
use journeyman_order::length::shorten;
use journeyman_order::{CommitSha, IssueNumber, Journal, OrderId};

/// Characters that are percent-encoded in a path: all but letters, digits and a few harmless signs.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A repository's pages. Without a known address the same text is shown without links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RepositoryLinks {
    /// `https://HOST/OWNER/NAME`, in characters that are safe in a Markdown link.
    root: Option<String>,
}

impl RepositoryLinks {
    pub(super) fn of(journal: &Journal) -> Self {
        let issue = &journal.opened().issue;
        Self::by_issue(&issue.url, issue.number)
    }

    /// From the page of an issue or a pull request, `https://HOST/OWNER/NAME/issues/7`.
    fn by_issue(url: &str, issue: IssueNumber) -> Self {
        let root = ["issues", "pull"].iter().find_map(|kind| url.strip_suffix(&format!("/{kind}/{issue}")));
        Self { root: root.filter(|root| is_linkable(root)).map(str::to_owned) }
    }

    /// The commit's short name, linked if possible.
    pub(super) fn commit(&self, commit: &CommitSha) -> String {
        match &self.root {
            Some(root) => format!("[`{}`]({root}/commit/{commit})", commit.short()),
            None => format!("`{}`", commit.short()),
        }
    }

    /// A reviewer's `path:line`, linked to that line at the commit. Foreign text: anything else is shown without a
    /// link. Empty if nothing is visible.
    pub(super) fn location(&self, commit: &CommitSha, place: &str) -> String {
        let shown = code_span(&shorten(place, 150));
        match (&self.root, FileLocation::of(place)) {
            (Some(root), Some(FileLocation { path, line })) if !shown.is_empty() => {
                let path = utf8_percent_encode(path, &ENCODED);
                format!("[{shown}]({root}/blob/{commit}/{path}#L{line})")
            }
            (Some(_) | None, Some(_) | None) => shown,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileLocation<'a> {
    pub(super) path: &'a str,
    /// The line, from 1; the first of a range.
    pub(super) line: u64,
}

impl<'a> FileLocation<'a> {
    /// Parses `path:line`, `path:line:column` or `path:line-line`; `None` without a line.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("./").unwrap_or(text);
        // The path ends where only lines and columns follow.
        let (path, line) = text.match_indices(':').find_map(|(at, _)| {
            let rest = text.get(at + 1..)?.trim_start_matches('L');
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let is_lines = rest.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '-' | 'L'));
            let line = rest.get(..digits)?.parse::<u64>().ok().filter(|_| is_lines)?;
            Some((text.get(..at)?, line))
        })?;
        let leads_elsewhere = path.split('/').any(|part| matches!(part, "" | "." | ".."));
        let fits = line > 0 && path.len() <= 400 && !leads_elsewhere && !path.chars().any(char::is_control);
        fits.then_some(Self { path, line })
    }
}

/// Whether it is a web address that fits into a Markdown link unchanged.
pub(super) fn is_linkable(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        && url.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~:/".contains(&b))
}

pub fn order_page(public_url: &Url, order: OrderId) -> String {
    format!("{}/orders/{order}", public_url.as_str().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha() -> CommitSha {
        "a".repeat(40).parse().unwrap()
    }

    #[test]
    fn a_place_is_linked_to_its_line_at_that_commit_whatever_the_path_is_made_of() {
        let pages = RepositoryLinks::by_issue("https://github.example.org/o/r/issues/7", IssueNumber(7));
        let root = format!("https://github.example.org/o/r/blob/{}", "a".repeat(40));
        for (place, shown, path) in [
            ("src/sum.py:3", "`src/sum.py:3`", "src/sum.py#L3"),
            ("./src/sum.py:3:14", "`./src/sum.py:3:14`", "src/sum.py#L3"),
            ("src/sum.py:12-14", "`src/sum.py:12-14`", "src/sum.py#L12"),
            ("src/sum.py:L12-L14", "`src/sum.py:L12-L14`", "src/sum.py#L12"),
            ("a b)](x|é:1", "`a b)](x|é:1`", "a%20b%29%5D%28x%7C%C3%A9#L1"),
            ("c:\\x:2", "`c:\\x:2`", "c%3A%5Cx#L2"),
        ] {
            assert_eq!(pages.location(&sha(), place), format!("[{shown}]({root}/{path})"));
        }
        for place in [
            "test_sum", "src/sum.py", "../x:1", "/etc/passwd:1", "x:0", "line 3 of x", "x:3 and more",
            "a//b:1", ":3",
        ] {
            assert_eq!(pages.location(&sha(), place), format!("`{place}`"));
        }
        assert_eq!(pages.location(&sha(), " "), "");
        assert_eq!(
            pages.commit(&sha()),
            format!("[`aaaaaaaaaa`](https://github.example.org/o/r/commit/{})", "a".repeat(40))
        );
        let of_pull = RepositoryLinks::by_issue("https://github.example.org/o/r/pull/7", IssueNumber(7));
        assert_eq!(of_pull, pages);
    }

    #[test]
    fn without_a_usable_address_nothing_is_linked() {
        for url in [
            "https://x/o/r/issues/8", "javascript:alert(1)/issues/7", "https://x/o)/r/issues/7", "",
            "/issues/7",
        ] {
            let pages = RepositoryLinks::by_issue(url, IssueNumber(7));
            assert_eq!(pages, RepositoryLinks::default(), "{url}");
            assert_eq!(pages.commit(&sha()), "`aaaaaaaaaa`");
            assert_eq!(pages.location(&sha(), "a:1"), "`a:1`");
        }
    }
}
