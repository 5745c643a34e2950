//! A change as text, for review. An agent wrote the content, so everything is bounded.

use git2::{Diff, DiffDelta, Odb, Patch};

use super::{GitError, Workspaces};
use journeyman_order::{CommitSha, RepositoryName};

/// Most characters of a patch.
const MOST: usize = 60_000;
/// Characters reserved for the notice of what was left out.
const NOTICE: usize = 1_000;
/// Largest file compared, in bytes; a larger one is only named. Comparing takes quadratic time.
const LARGEST: usize = 512 << 10;

/// A patch under construction.
#[derive(Default)]
struct PatchText {
    text: String,
    /// Where each file begins, and its path.
    files: Vec<(usize, String)>,
}

impl Workspaces {
    /// A commit's changes as a unified diff of at most 60,000 characters. A longer one is cut at a line's end, and its
    /// last line lists the omissions. Binary and huge files are only named; invalid UTF-8 is replaced.
    pub fn patch(
        &self,
        repository: &RepositoryName,
        base: &CommitSha,
        commit: &CommitSha,
    ) -> Result<String, GitError> {
        let commits = self.commits(repository)?;
        let (diff, odb) = self.compare(&commits, base, commit)?;
        let mut text = PatchText::default();
        let mut characters = 0;
        for (index, delta) in diff.deltas().enumerate() {
            let path = path(&delta);
            // Nothing after the cut is compared, however much there is.
            if characters <= MOST {
                let piece = piece(&diff, index, &delta, &odb)?;
                characters += piece.chars().count();
                text.files.push((text.text.len(), path));
                text.text.push_str(&piece);
            } else {
                text.files.push((usize::MAX, path));
            }
        }
        Ok(if characters <= MOST { text.text } else { text.cut() })
    }
}

fn piece(diff: &Diff<'_>, index: usize, delta: &DiffDelta<'_>, odb: &Odb<'_>) -> Result<String, git2::Error> {
    let size = |id: git2::Oid| {
        if id.is_zero() { 0 } else { odb.read_header(id).map_or(0, |(size, _)| size) }
    };
    let (before, after) = (size(delta.old_file().id()), size(delta.new_file().id()));
    let largest = before.max(after);
    if largest > LARGEST {
        let what = match (before, after) {
            (0, _) => "added",
            (_, 0) => "deleted",
            (_, _) => "changed",
        };
        return Ok(format!("[{what}, not compared: {} has {largest} bytes]\n", path(delta)));
    }
    let Some(mut patch) = Patch::from_diff(diff, index)? else { return Ok(String::new()) };
    let mut text = String::from_utf8_lossy(&patch.to_buf()?).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn path(delta: &DiffDelta<'_>) -> String {
    let bytes = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes());
    String::from_utf8_lossy(bytes.unwrap_or_default()).escape_debug().to_string()
}

impl PatchText {
    fn cut(mut self) -> String {
        let most = self.text.char_indices().nth(MOST - NOTICE).map_or(self.text.len(), |(at, _)| at);
        let end = self.text[..most].rfind('\n').map_or(0, |at| at + 1);
        self.text.truncate(end);
        let whole = self.files.iter().filter(|(begin, _)| *begin >= end).map(|(_, path)| path.as_str());
        let whole: Vec<&str> = whole.collect();
        let broken = self.files.iter().rfind(|(begin, _)| *begin < end).map(|(_, path)| path.as_str());
        let mut notice = format!("[cut at {MOST} characters; left out: ");
        if let Some(path) = broken {
            notice.push_str(&format!("the rest of {}", beginning(path)));
        }
        if !whole.is_empty() {
            let and = if broken.is_some() { " and " } else { "" };
            let plural = if whole.len() == 1 { "" } else { "s" };
            notice.push_str(&format!("{and}{} file{plural}: ", whole.len()));
        }
        for (place, path) in whole.iter().enumerate() {
            if notice.chars().count() > NOTICE - 350 {
                notice.push_str(" …");
                break;
            }
            notice.push_str(if place == 0 { "" } else { ", " });
            notice.push_str(&beginning(path));
        }
        notice.push_str("]\n");
        self.text.push_str(&notice);
        self.text
    }
}

fn beginning(path: &str) -> String {
    path.chars().take(200).collect()
}
