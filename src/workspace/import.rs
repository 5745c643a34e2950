//! The airlock: a tree comes in as data, is examined, and only then becomes part of a repository of ours.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{ObjectType, Oid};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::conflicts::with_markers;
use super::examine::Examination;
use super::export::{self, Exported, Objects};
use super::remote::{oid, sha};
use super::update::conflicts_of;
use super::{GitError, Workspaces};
use crate::order::{Category, CommitSha, Feedback, OrderId, RepositoryName, TreeSha, commit_message};

/// What a change must not touch when the repository's settings do not say: what decides what runs in CI, who reviews,
/// and where git fetches from.
pub const DEFAULT_PROTECTED: [&str; 6] =
    [".github/**", "CODEOWNERS", "docs/CODEOWNERS", ".gitmodules", "**/.lfsconfig", ".gitlab-ci.yml"];
/// Paths that are told.
pub(super) const MOST_TOLD: usize = 1_000;
/// Files with conflicts that are named in feedback.
const MOST_NAMED: usize = 10;

/// What came through.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportOutcome {
    /// A tree that may be published; it is in the repository of our commits now.
    Imported {
        /// The commit that the agent pushed. It is not kept.
        pushed: CommitSha,
        /// Its tree.
        tree: TreeSha,
        /// Its message made harmless; none when it is unusable.
        message: Option<String>,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
    },
    /// Nothing that could be taken.
    NothingPushed {
        /// What was found instead.
        because: String,
    },
    /// The tree may not be published; says why, for the worker.
    Refused(Feedback),
}

impl Workspaces {
    /// Takes what [`Workspaces::export_command`] wrote to its output. Nothing of it is believed, and nothing of it
    /// enters a repository of ours unless all of it may. Doing it again is harmless.
    ///
    /// Where the base is a commit with conflicts, they have to be settled: a marker that is left is sent back. Where it
    /// has none that could be left, because no conflict was in a text, a commit that changes nothing says that our
    /// versions are right.
    ///
    /// `protected` are globs of paths that must not differ from the base, whatever their case; see
    /// [`DEFAULT_PROTECTED`].
    ///
    /// # Errors
    /// When the base is not in the mirror, a glob is none, or the disk fails. Whatever an agent can do is an outcome.
    pub fn import(
        &self,
        order: OrderId,
        repository: &RepositoryName,
        base: &CommitSha,
        export: &Path,
        protected: &[String],
    ) -> Result<ImportOutcome, GitError> {
        let protected = globs(protected)?;
        let commits = self.commits(repository)?;
        let base_id = oid(base)?;
        let base_tree = commits
            .find_commit(base_id)
            .map_err(|error| GitError::local("find the base commit in the mirror", &error))?
            .tree_id();
        let (pushed, objects) = match export::read(export)? {
            Exported::Nothing(because) => return Ok(ImportOutcome::NothingPushed { because }),
            Exported::TooMuch(what) => {
                return Ok(ImportOutcome::Refused(Feedback::failed(Category::Policy, format!("{what}."))));
            }
            Exported::Commit(pushed, objects) => (pushed, objects),
        };
        if pushed == base_id {
            let because = "the branch is where it started: nothing was committed".to_owned();
            return Ok(ImportOutcome::NothingPushed { because });
        }
        let Some((tree, message)) = commit(&objects, pushed)? else {
            let because = "the pushed commit could not be read from the origin".to_owned();
            return Ok(ImportOutcome::NothingPushed { because });
        };
        let conflicts = conflicts_of(&commits, order, base_id)?;
        if tree == base_tree && conflicts.as_ref().is_none_or(|files| !files.is_empty()) {
            let because = "the pushed commit changes no file".to_owned();
            return Ok(ImportOutcome::NothingPushed { because });
        }
        let ours = commits.odb().map_err(|error| GitError::local("open a repository of ours", &error))?;
        let mut examination = Examination::new(&objects, &ours, &protected);
        examination.compare(Some(base_tree), Some(tree))?;
        let left = match conflicts {
            // A file can have been moved with all that is in it.
            Some(files) if examination.findings.is_empty() => {
                let changed = examination.changed.iter().map(String::as_bytes);
                let all: BTreeSet<&[u8]> = files.iter().map(Vec::as_slice).chain(changed).collect();
                with_markers(|id, kind| examination.read(id, kind), tree, all.into_iter())?
            }
            Some(_) | None => Vec::new(),
        };
        if !left.is_empty() {
            return Ok(ImportOutcome::Refused(unsettled(&left)));
        }
        let Examination { findings, mut changed, needed, .. } = examination;
        if !findings.is_empty() {
            let summary = match findings.as_slice() {
                [only] => only.description.clone(),
                [first, rest @ ..] => format!("{} And {} more.", first.description, rest.len()),
                [] => String::new(),
            };
            return Ok(ImportOutcome::Refused(Feedback {
                passed: false,
                score: 0.0,
                summary,
                issues: findings,
            }));
        }
        for id in needed {
            take(&objects, &ours, id)?;
        }
        changed.truncate(MOST_TOLD);
        let tree =
            tree.to_string().parse::<TreeSha>().map_err(|error| GitError::broken(error.to_string()))?;
        Ok(ImportOutcome::Imported {
            pushed: sha(pushed)?,
            tree,
            message: commit_message::clean(&message),
            changed,
        })
    }
}

fn unsettled(files: &[String]) -> Feedback {
    let named: Vec<String> =
        files.iter().take(MOST_NAMED).map(|file| format!("`{}`", file.escape_debug())).collect();
    let more = match files.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Feedback::failed(
        Category::LogicError,
        format!("Conflict markers are left in {}{more}.", named.join(", ")),
    )
    .suggest("Decide for each conflict what is right, take the markers out, and push again.")
}

/// The tree and the message of an exported commit; none when it is not there or not a commit.
fn commit(objects: &Objects, id: Oid) -> Result<Option<(Oid, String)>, GitError> {
    let read =
        objects.read(id).map_err(|error| GitError::broken(format!("could not read a commit: {error}")))?;
    let Some((ObjectType::Commit, bytes)) = read else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let Some((head, message)) = text.split_once("\n\n") else { return Ok(None) };
    let tree = head.lines().next().and_then(|line| line.strip_prefix("tree "));
    let tree = tree.filter(|tree| tree.parse::<TreeSha>().is_ok()).and_then(|tree| Oid::from_str(tree).ok());
    Ok(tree.map(|tree| (tree, message.to_owned())))
}

fn take(objects: &Objects, ours: &git2::Odb<'_>, id: Oid) -> Result<(), GitError> {
    let read =
        objects.read(id).map_err(|error| GitError::broken(format!("could not read an object: {error}")))?;
    let Some((kind, bytes)) = read else { return Err(GitError::broken("an examined object is gone")) };
    ours.write(kind, &bytes).map_err(|error| GitError::local("keep an object", &error))?;
    Ok(())
}

pub(super) fn globs(patterns: &[String]) -> Result<GlobSet, GitError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // Without regard to case: on some machines `.GITHUB` is the same folder.
        let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build();
        set.add(
            glob.map_err(|error| GitError::broken(format!("protected: {pattern:?} is not a glob: {error}")))?,
        );
    }
    set.build().map_err(|error| GitError::broken(format!("protected: {error}")))
}
