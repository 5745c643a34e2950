//! Brings the base branch into an order's branch, in our own repository: nothing is checked out or run.

use std::collections::{BTreeSet, HashSet};

use chrono::{DateTime, Utc};
use git2::{Commit, Delta, MergeOptions, ObjectType, Oid, Repository};

use super::commit_origin::{CommitOrigin, plain, signature};
use super::conflicts::{self, MergeTrees};
use super::history::merge_base;
use super::human_commits::examine_commit;
use super::protected::ProtectedPaths;
use super::remote::{oid, sha};
use super::{GitError, GitErrorKind, NewCommit, Remote, Workspaces, walk};
use journeyman_order::bounds::MOST_LOOKED_AT;
use journeyman_order::commit_message;
use journeyman_order::conversation::BranchUpdateMethod;
use journeyman_order::{BranchName, CommitSha, OrderId, TreeSha};

/// How deep nested merge bases are merged to find the common base of two branches.
const DEEPEST: u32 = 16;

/// A branch to update. Until the base branch moves, the same input gives the same commit.
#[derive(Debug, Clone, Copy)]
pub struct BranchUpdate<'a> {
    pub order: OrderId,
    /// The commit's name within the order, of `[A-Za-z0-9_-]`.
    pub name: &'a str,
    pub head: &'a CommitSha,
    pub branch: Option<&'a BranchName>,
    pub base_branch: &'a str,
    pub how: BranchUpdateMethod,
    /// The commit's date, in whole seconds.
    pub date: DateTime<Utc>,
    /// Globs of paths in which an agent must not settle conflicts.
    pub protected: &'a [String],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchUpdateOutcome {
    /// It contains the base branch already.
    UpToDate,
    /// Our commit that contains the base branch.
    Clean {
        base: CommitSha,
        commit: CommitSha,
        tree: TreeSha,
        /// Paths that differ from the base branch's head, sorted, at most a thousand.
        changed: Vec<String>,
        /// The changes from there, in the form of [`Workspaces::patch`].
        patch: String,
    },
    Conflicts {
        base: CommitSha,
        /// Our commit, with both as parents and conflict markers in its files. [`Workspaces::push`] refuses it.
        marked: CommitSha,
        /// The files, sorted, at most a thousand. Files that are not text have no markers but our version.
        paths: Vec<String>,
    },
}

impl Workspaces {
    /// Fetches the base branch and brings it into the order's branch: by a merge commit, or by a rebase to one commit
    /// with the message of the branch's first. A rebase drops commits, so it becomes a merge if one is not ours.
    ///
    /// # Errors
    /// [`GitErrorKind::NotForUs`] if both sides changed a protected path or the result is unusable; otherwise as the
    /// server answers, or if the head is missing.
    pub fn update_branch(
        &self,
        remote: &Remote<'_>,
        new: BranchUpdate<'_>,
    ) -> Result<BranchUpdateOutcome, GitError> {
        plain(new.name)?;
        let base = self.fetch(remote, new.base_branch)?;
        let commits = self.commits(remote.repository)?;
        let ours = commits.find_commit(oid(new.head)?)?;
        let theirs = commits.find_commit(oid(&base)?)?;
        self.require_merge_within(&commits, ours.id(), theirs.id())?;
        let met = merge_base(&commits, ours.id(), theirs.id())?;
        if met == Some(theirs.id()) {
            return Ok(BranchUpdateOutcome::UpToDate);
        }
        let mut options = MergeOptions::new();
        options.find_renames(true).recursion_limit(DEEPEST);
        let mut index = commits.merge_commits(&ours, &theirs, Some(&options))?;
        if index.has_conflicts() {
            let before = met.map(|met| commits.find_commit(met).and_then(|met| met.tree())).transpose();
            let trees = MergeTrees { before: before?, ours: ours.tree()?, theirs: theirs.tree()? };
            let (tree, paths) = conflicts::mark(&commits, &mut index, &trees)?;
            return marked(&commits, new, (&ours, &theirs), tree, paths);
        }
        let tree = index.write_tree_to(&commits)?;
        let tree = tree.to_string().parse().map_err(|error| GitError::broken(format!("{error}")))?;
        let first = match new.how {
            BranchUpdateMethod::Merge => None,
            BranchUpdateMethod::Rebase => first_of_ours(&commits, new.order, ours.id(), theirs.id())?,
        };
        let (parent, merges, message) = match first {
            Some(message) => (&base, None, message),
            None => (new.head, Some(&base), merge_message(new)),
        };
        let BranchUpdate { order, name, date, .. } = new;
        let made = NewCommit { order, name, tree: &tree, parent, merges, message: &message, date };
        let commit = self.commit(remote.repository, made)?;
        let (tree, changed) =
            examine_commit(&commits, theirs.id(), oid(&commit)?, &ProtectedPaths::nothing())?;
        let patch = self.patch(remote.repository, &base, &commit)?;
        Ok(BranchUpdateOutcome::Clean { base, commit, tree, changed, patch })
    }

    /// Checks that all trees that a merge reads are within the limits. With several merge bases, libgit2 merges those
    /// first.
    pub(super) fn require_merge_within(
        &self,
        commits: &Repository,
        ours: Oid,
        theirs: Oid,
    ) -> Result<(), GitError> {
        let (mut open, mut seen) = (vec![(ours, theirs)], HashSet::new());
        while let Some((one, other)) = open.pop().filter(|_| seen.len() < MOST_LOOKED_AT) {
            for side in [one, other] {
                self.tree_within(commits, side)?;
            }
            let met: Vec<Oid> =
                commits.merge_bases(one, other).map_or_else(|_| Vec::new(), |met| met.to_vec());
            if let [only] = met.as_slice() {
                self.tree_within(commits, *only)?;
            }
            let pairs = met
                .iter()
                .enumerate()
                .flat_map(|(at, one)| met.iter().skip(at + 1).map(|other| (*one, *other)));
            open.extend(pairs.filter(|pair| seen.insert(*pair)).take(MOST_LOOKED_AT));
        }
        Ok(())
    }
}

fn merge_message(new: BranchUpdate<'_>) -> String {
    let into = new.branch.map(|branch| format!(" into {branch}")).unwrap_or_default();
    let message = format!("Merge branch '{}'{into}", new.base_branch);
    commit_message::clean(&message).unwrap_or_else(|| "Merge the base branch".to_owned())
}

/// The message of the branch's first commit; `None` if the branch is empty or a commit is not ours.
fn first_of_ours(
    commits: &Repository,
    order: OrderId,
    head: Oid,
    base: Oid,
) -> Result<Option<String>, GitError> {
    let ours = CommitOrigin::Bot.all(commits, order)?;
    let mut first = None;
    for id in walk(commits, head, [base])? {
        let id = id?;
        if !ours.contains(&id) {
            return Ok(None);
        }
        let commit = commits.find_commit(id)?;
        if commit.parent_count() == 1 {
            first = Some(String::from_utf8_lossy(commit.message_raw_bytes()).into_owned());
        }
    }
    Ok(first)
}

/// Keeps the tree with the conflict markers as a commit that is never published.
fn marked(
    commits: &Repository,
    new: BranchUpdate<'_>,
    (ours, theirs): (&Commit<'_>, &Commit<'_>),
    tree: Oid,
    paths: BTreeSet<Vec<u8>>,
) -> Result<BranchUpdateOutcome, GitError> {
    let paths: Vec<String> =
        paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).take(MOST_LOOKED_AT).collect();
    let protected = ProtectedPaths::new(new.protected)?;
    if let Some(path) = paths.iter().find(|path| protected.is_match(path)) {
        let message = format!(
            "{path:?} is protected, and both the branch and {} have changed it: a person has to merge them",
            new.base_branch
        );
        return Err(GitError::new(GitErrorKind::NotForUs, message));
    }
    let author = signature(new.date.timestamp())?;
    let tree = commits.find_tree(tree)?;
    let message = format!("Conflicts with {}, to be settled\n", new.base_branch);
    let marked = commits.commit(None, &author, &author, &message, &tree, &[ours, theirs])?;
    let reference = CommitOrigin::Conflicted.reference(new.order, new.name, marked);
    commits.reference(&reference, marked, true, "")?;
    examine_commit(commits, theirs.id(), marked, &ProtectedPaths::nothing())?;
    Ok(BranchUpdateOutcome::Conflicts { base: sha(theirs.id())?, marked: sha(marked)?, paths })
}

/// The files with conflict markers in a commit; `None` if it is not such a commit of this order.
pub(super) fn conflicts_of(
    commits: &Repository,
    order: OrderId,
    commit: Oid,
) -> Result<Option<Vec<Vec<u8>>>, GitError> {
    if !CommitOrigin::Conflicted.all(commits, order)?.contains(&commit) {
        return Ok(None);
    }
    let commit = commits.find_commit(commit)?;
    let (old, new) = (commit.parent(0).and_then(|parent| parent.tree()), commit.tree());
    let diff = commits.diff_tree_to_tree(Some(&old?), Some(&new?), None)?;
    let odb = commits.odb()?;
    let mut files = Vec::new();
    for delta in diff.deltas().filter(|delta| delta.status() != Delta::Deleted) {
        let file = delta.new_file();
        let is_text = odb.read_header(file.id()).is_ok_and(|(_, kind)| kind == ObjectType::Blob);
        if is_text && conflicts::has_markers(odb.read(file.id())?.data()) {
            files.extend(file.path_bytes().map(<[u8]>::to_vec));
        }
    }
    Ok(Some(files))
}
