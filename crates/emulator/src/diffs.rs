//! Diffs between two commits.

use std::path::Path;

use git2::{DiffFormat, DiffOptions, Oid, Repository};

use super::repos::ahead;

/// The size of a pull request's changes.
#[derive(Debug, Default)]
pub(crate) struct DiffSize {
    pub commits: usize,
    pub files: usize,
    pub additions: usize,
    pub deletions: usize,
}

/// Computes a diff from the merge base, as GitHub does.
fn with_diff<T>(
    path: &Path,
    base: &str,
    head: &str,
    look: impl FnOnce(&git2::Diff<'_>) -> Result<T, git2::Error>,
) -> Result<T, git2::Error> {
    let repository = Repository::open_bare(path)?;
    let head = Oid::from_str(head)?;
    let from = match Oid::from_str(base).and_then(|base| repository.merge_base(base, head)) {
        Ok(from) => Some(repository.find_commit(from)?.tree()?),
        // Without a common or any base, everything is new.
        Err(_) => None,
    };
    let to = repository.find_commit(head)?.tree()?;
    let mut options = DiffOptions::new();
    let diff = repository.diff_tree_to_tree(from.as_ref(), Some(&to), Some(&mut options))?;
    look(&diff)
}

pub(crate) fn size(path: &Path, base: &str, head: &str) -> Option<DiffSize> {
    let commits = ahead(path, base, head)?;
    let stats = with_diff(path, base, head, |diff| diff.stats()).ok()?;
    Some(DiffSize {
        commits,
        files: stats.files_changed(),
        additions: stats.insertions(),
        deletions: stats.deletions(),
    })
}

/// The changes of one file, for a page.
#[derive(Debug)]
pub(crate) struct FileDiff {
    pub path: String,
    pub lines: Vec<DiffLine>,
}

/// One line of the changes.
#[derive(Debug)]
pub(crate) struct DiffLine {
    /// `+`, `-` or a space; `@` for a hunk's header and for remarks.
    pub origin: char,
    pub text: String,
    /// Its number in the new file; `None` for a deleted line.
    pub line: Option<u32>,
}

/// The most lines of a diff to show.
const MOST_LINES: usize = 3_000;

pub(crate) fn diff(path: &Path, base: &str, head: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut count = 0;
    let done = with_diff(path, base, head, |diff| {
        diff.print(DiffFormat::Patch, |delta, _, line| {
            let bytes = delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default();
            let name = String::from_utf8_lossy(bytes).into_owned();
            if files.last().is_none_or(|file| file.path != name) {
                files.push(FileDiff { path: name, lines: Vec::new() });
            }
            let origin = match line.origin() {
                'F' => return true,
                '+' | '-' | ' ' => line.origin(),
                _ => '@',
            };
            let text = String::from_utf8_lossy(line.content()).trim_end_matches('\n').to_owned();
            if let Some(file) = files.last_mut() {
                file.lines.push(DiffLine { origin, text, line: line.new_lineno() });
            }
            count += 1;
            count < MOST_LINES
        })
    });
    if done.is_err()
        && count >= MOST_LINES
        && let Some(file) = files.last_mut()
    {
        file.lines.push(DiffLine { origin: '@', text: "… the rest is not shown".to_owned(), line: None });
    }
    files
}
