//! A repository's history: where a branch left the base branch, and how people write commit messages.

use git2::{ErrorCode, Oid, Repository, Sort};

use super::remote::{kept, oid, sha};
use super::{GitError, Workspaces};
use journeyman_order::bounds::{LONGEST_NAME, MOST_LOOKED_AT};
use journeyman_order::commit_message::is_hidden;
use journeyman_order::{CommitSha, RepositoryName};

/// Number of subjects returned.
const MOST_SUBJECTS: usize = 50;

impl Workspaces {
    /// The commit to compare a change with: where it left the base branch as last fetched, or the last commit it merged
    /// from there. `base` if that is unknown.
    pub fn fork(
        &self,
        repository: &RepositoryName,
        base_branch: &str,
        base: &CommitSha,
        commit: &CommitSha,
    ) -> Result<CommitSha, GitError> {
        let commits = self.commits(repository)?;
        let Ok(head) = self.mirror(repository)?.refname_to_id(&kept(base_branch)) else {
            return Ok(base.clone());
        };
        merge_base(&commits, head, oid(commit)?)?.map_or_else(|| Ok(base.clone()), sha)
    }

    /// The first lines of up to fifty commits, newest first, each at most 120 characters. Merges are left out and only
    /// their first parents followed. Invisible characters are removed. People wrote them, so they are untrusted data.
    pub fn subjects(&self, repository: &RepositoryName, commit: &CommitSha) -> Result<Vec<String>, GitError> {
        let commits = self.commits(repository)?;
        let mut walk = commits.revwalk()?;
        walk.set_sorting(Sort::NONE)?;
        walk.simplify_first_parent()?;
        walk.push(oid(commit)?)?;
        let mut subjects = Vec::new();
        for id in walk.take(MOST_LOOKED_AT) {
            let commit = commits.find_commit(id?)?;
            if commit.parent_count() > 1 {
                continue;
            }
            let subject = subject(commit.message_raw_bytes());
            if !subject.is_empty() {
                subjects.push(subject);
            }
            if subjects.len() == MOST_SUBJECTS {
                break;
            }
        }
        Ok(subjects)
    }
}

/// The merge base of two histories; `None` if they are unrelated.
pub(super) fn merge_base(commits: &Repository, one: Oid, two: Oid) -> Result<Option<Oid>, GitError> {
    match commits.merge_base(one, two) {
        Ok(base) => Ok(Some(base)),
        // libgit2 also says this if a commit is missing, so check that first.
        Err(error) if error.code() == ErrorCode::NotFound => {
            let there = commits.find_commit(one).and_then(|_| commits.find_commit(two));
            there.map(|_| None).map_err(GitError::from)
        }
        Err(error) => Err(error.into()),
    }
}

fn subject(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message);
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let visible: String = line.chars().filter(|c| !is_hidden(*c)).take(LONGEST_NAME).collect();
    visible.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn a_subject_is_one_line_that_can_be_seen() {
        for (message, told) in [
            ("fix: the sum\n\nIt was off.", "fix: the sum"),
            ("\n\n  Fix it  \r\n", "Fix it"),
            ("a\u{202e}b\u{1b}[2Jc\u{200b}", "ab[2Jc"),
            ("", ""),
            ("\u{200b}", ""),
        ] {
            assert_eq!(subject(message.as_bytes()), told, "{message:?}");
        }
        assert_eq!(subject("ä".repeat(300).as_bytes()).chars().count(), 120);
        assert_eq!(subject(b"caf\xe9"), "caf\u{fffd}");
    }
}
