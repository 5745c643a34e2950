//! Tracks lines of files across commits: a line's diff hunk, and where a line moved.

use std::path::Path;

use git2::{DiffOptions, Oid, Patch, Repository};

use super::diffs::diff;

/// The hunk of a pull request's diff that contains this line of the branch, cut after it; `None` if the diff does not
/// contain the line.
pub(crate) fn hunk(git: &Path, (base, head): (&str, &str), path: &str, line: u64) -> Option<String> {
    let mut hunk = Vec::new();
    for one in diff(git, base, head).into_iter().find(|file| file.path == path)?.lines {
        match one.origin {
            '@' if one.text.starts_with("@@") => hunk = vec![one.text.trim_end().to_owned()],
            // "No newline at end of file" is a line of the diff but not of the file.
            '@' => hunk.push("\\".to_owned()),
            origin => hunk.push(format!("{origin}{}", one.text.trim_end_matches('\r'))),
        }
        if one.origin != '@' && one.line.map(u64::from) == Some(line) {
            return Some(hunk.join("\n"));
        }
    }
    None
}

/// A line's number at another commit; `None` if the line was changed or deleted.
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
        let patch = diff.get_delta(0).map_or(Ok(None), |_| Patch::from_diff(&diff, 0))?;
        let Some(patch) = patch else { return Ok(Some(line)) };
        let mut today = line;
        for at in 0..patch.num_hunks() {
            let (hunk, _) = patch.hunk(at)?;
            let (from, old, new) =
                (u64::from(hunk.old_start()), u64::from(hunk.old_lines()), u64::from(hunk.new_lines()));
            // The header of an insertion names the line before it.
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
