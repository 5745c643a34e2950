//! Lines of files across commits: the piece of a diff that a line stands in, and where a line went.

use std::path::Path;

use git2::{Diff, DiffOptions, Oid, Patch, Repository};

use super::diffs::with_diff;

/// The patch of one file in a diff, by its new name, or by its old one when it is gone.
fn patch_of<'a>(diff: &Diff<'a>, path: &str) -> Result<Option<Patch<'a>>, git2::Error> {
    let named = |file: git2::DiffFile<'_>| file.path_bytes() == Some(path.as_bytes());
    let at = diff.deltas().position(|delta| named(delta.new_file()) || named(delta.old_file()));
    at.map_or(Ok(None), |at| Patch::from_diff(diff, at))
}

/// The piece of a pull request's diff that a line of the branch stands in, down to that line; none when the diff has not got
/// it.
pub(crate) fn hunk(git: &Path, (base, head): (&str, &str), path: &str, line: u64) -> Option<String> {
    let look = |diff: &Diff<'_>| {
        let Some(patch) = patch_of(diff, path)? else { return Ok(None) };
        for at in 0..patch.num_hunks() {
            let (head, count) = patch.hunk(at)?;
            let mut text = String::from_utf8_lossy(head.header()).trim_end().to_owned();
            for number in 0..count {
                let one = patch.line_in_hunk(at, number)?;
                // "No newline at end of file" is a line of the diff and none of the file.
                let origin = match one.origin() {
                    origin @ ('+' | '-' | ' ') => origin,
                    _ => '\\',
                };
                let content = String::from_utf8_lossy(one.content());
                let shown = if origin == '\\' { "" } else { content.trim_end_matches(['\n', '\r']) };
                text.push_str(&format!("\n{origin}{shown}"));
                if matches!(origin, '+' | ' ') && one.new_lineno().map(u64::from) == Some(line) {
                    return Ok(Some(text));
                }
            }
        }
        Ok(None)
    };
    with_diff(git, base, head, look).ok().flatten()
}

/// Where a line of a file at one commit is at another; none when it was changed or is gone.
pub(crate) fn follow(git: &Path, old: &str, new: &str, path: &str, line: u64) -> Option<u64> {
    if old == new {
        return Some(line);
    }
    let look = || -> Result<Option<u64>, git2::Error> {
        let repository = Repository::open_bare(git)?;
        let tree = |sha: &str| repository.find_commit(Oid::from_str(sha)?)?.tree();
        let mut options = DiffOptions::new();
        options.context_lines(0).pathspec(path).disable_pathspec_match(true);
        let diff = repository.diff_tree_to_tree(Some(&tree(old)?), Some(&tree(new)?), Some(&mut options))?;
        let Some(patch) = patch_of(&diff, path)? else { return Ok(Some(line)) };
        let mut today = line;
        for at in 0..patch.num_hunks() {
            let (hunk, _) = patch.hunk(at)?;
            let (from, old, new) =
                (u64::from(hunk.old_start()), u64::from(hunk.old_lines()), u64::from(hunk.new_lines()));
            // An insertion stands after the line that its head names.
            let first = if old == 0 { from + 1 } else { from };
            if line < first {
                break;
            }
            if line < first + old {
                return Ok(None);
            }
            today = today + new - old;
        }
        Ok(Some(today))
    };
    look().ok().flatten()
}
