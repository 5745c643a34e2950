//! Where a line of one commit stands in another: people's reviews speak of the lines that they saw.

use git2::{Delta, DiffFindOptions, DiffOptions, ObjectType, Oid, Patch, Repository, Tree};

use super::remote::oid;
use super::{GitError, GitErrorKind, Workspaces};
use journeyman_order::{CommitSha, RepositoryName};

/// Bytes of a file that is compared. The time of a comparison grows with the square.
const LARGEST: usize = 512 << 10;
/// Files that are looked at for renames.
const MOST_RENAMES: usize = 1_000;

impl Workspaces {
    /// The line of `new` that a line of `old` is, both from 1, with renames followed. None when that line is not there
    /// any more as it was, when there was no such line, when the file is no text or huge, or when a commit is not known
    /// here.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn line_today(
        &self,
        repository: &RepositoryName,
        old: &CommitSha,
        new: &CommitSha,
        path: &str,
        line: u64,
    ) -> Result<Option<u64>, GitError> {
        let commits = self.commits(repository)?;
        let (Some(before), Some(after)) =
            (self.tree_if_here(&commits, old)?, self.tree_if_here(&commits, new)?)
        else {
            return Ok(None);
        };
        let Some(was) = blob(&before, path)? else { return Ok(None) };
        let is = match blob(&after, path)? {
            Some(is) => Some(is),
            None => renamed(&commits, &before, &after, path)?,
        };
        let (Some(was), Some(is)) = (text(&commits, was)?, is.map(|is| text(&commits, is)).transpose()?)
        else {
            return Ok(None);
        };
        is.map_or(Ok(None), |is| moved(&was, &is, line))
    }

    fn tree_if_here<'r>(
        &self,
        commits: &'r Repository,
        commit: &CommitSha,
    ) -> Result<Option<Tree<'r>>, GitError> {
        match self.tree_within(commits, oid(commit)?) {
            Ok(tree) => Ok(Some(tree)),
            Err(error) if error.kind == GitErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn said(error: &git2::Error) -> GitError {
    GitError::local("find a line again", error)
}

fn blob(tree: &Tree<'_>, path: &str) -> Result<Option<Oid>, GitError> {
    let place = std::path::Path::new(path);
    let plain = place.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    // Whoever told the path may have told anything.
    if path.is_empty() || path.contains('\0') || !plain {
        return Ok(None);
    }
    match tree.get_path(place) {
        Ok(entry) => Ok((entry.kind() == Some(ObjectType::Blob)).then(|| entry.id())),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(said(&error)),
    }
}

/// What a file that is gone from its path has become.
fn renamed(
    commits: &Repository,
    before: &Tree<'_>,
    after: &Tree<'_>,
    path: &str,
) -> Result<Option<Oid>, GitError> {
    let mut diff =
        commits.diff_tree_to_tree(Some(before), Some(after), None).map_err(|error| said(&error))?;
    let mut options = DiffFindOptions::new();
    options.renames(true).rename_limit(MOST_RENAMES);
    diff.find_similar(Some(&mut options)).map_err(|error| said(&error))?;
    let mut renamed = diff.deltas().filter(|delta| delta.status() == Delta::Renamed);
    let found = renamed.find(|delta| delta.old_file().path_bytes() == Some(path.as_bytes()));
    Ok(found.map(|delta| delta.new_file().id()))
}

fn text(commits: &Repository, id: Oid) -> Result<Option<Vec<u8>>, GitError> {
    let odb = commits.odb().map_err(|error| said(&error))?;
    let (size, _) = odb.read_header(id).map_err(|error| said(&error))?;
    if size > LARGEST {
        return Ok(None);
    }
    let bytes = odb.read(id).map_err(|error| said(&error))?.data().to_vec();
    Ok((!bytes.contains(&0)).then_some(bytes))
}

/// The line's new number, by what was put in and taken out before it.
fn moved(was: &[u8], is: &[u8], line: u64) -> Result<Option<u64>, GitError> {
    let lines = was.split_inclusive(|byte| *byte == b'\n').count() as u64;
    if line == 0 || line > lines {
        return Ok(None);
    }
    let mut options = DiffOptions::new();
    options.context_lines(0).interhunk_lines(0);
    let patch = Patch::from_buffers(was, None, is, None, Some(&mut options)).map_err(|error| said(&error))?;
    let (mut added, mut removed) = (0, 0);
    for index in 0..patch.num_hunks() {
        let (hunk, _) = patch.hunk(index).map_err(|error| said(&error))?;
        let (start, old, new) =
            (u64::from(hunk.old_start()), u64::from(hunk.old_lines()), u64::from(hunk.new_lines()));
        // One that only puts in names the line before it.
        let first = if old == 0 { start + 1 } else { start };
        if line < first {
            break;
        }
        if line < first + old {
            return Ok(None);
        }
        added += new;
        removed += old;
    }
    Ok((line + added).checked_sub(removed))
}

#[cfg(test)]
mod tests {
    use super::moved;

    fn today(was: &str, is: &str, line: u64) -> Option<u64> {
        moved(was.as_bytes(), is.as_bytes(), line).unwrap()
    }

    #[test]
    fn a_line_moves_with_what_comes_before_it_and_is_gone_when_it_changes() {
        let was = "a\nb\nc\nd\n";
        for (is, expected) in [
            ("a\nb\nc\nd\n", [Some(1), Some(2), Some(3), Some(4)]),
            ("x\na\nb\nc\nd\n", [Some(2), Some(3), Some(4), Some(5)]),
            ("a\nx\ny\nb\nc\nd\n", [Some(1), Some(4), Some(5), Some(6)]),
            ("b\nc\nd\n", [None, Some(1), Some(2), Some(3)]),
            ("a\nx\nd\n", [Some(1), None, None, Some(3)]),
            ("a\nb\nc\nd\nx\n", [Some(1), Some(2), Some(3), Some(4)]),
            ("a\nb\nc\nd", [Some(1), Some(2), Some(3), None]),
            ("", [None, None, None, None]),
        ] {
            let found: Vec<_> = (1..=4).map(|line| today(was, is, line)).collect();
            assert_eq!(found, expected, "{is:?}");
        }
        assert_eq!((today(was, was, 0), today(was, was, 5), today("", was, 1)), (None, None, None));
    }

    proptest::proptest! {
        /// Whatever was edited: a line that is found says the same, and order is kept.
        #[test]
        fn a_line_that_is_found_again_is_that_line(
            was in proptest::collection::vec("[abc]", 0..12), is in proptest::collection::vec("[abc]", 0..12),
        ) {
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let mut last = 0;
            for (line, number) in was.iter().zip(1_u64..) {
                if let Some(now) = today(&text(&was), &text(&is), number) {
                    proptest::prop_assert_eq!(is.get(usize::try_from(now).unwrap() - 1), Some(line));
                    proptest::prop_assert!(now > last);
                    last = now;
                }
            }
        }
    }
}
