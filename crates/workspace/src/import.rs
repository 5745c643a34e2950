//! The airlock: a tree comes in as data, is examined, and only then enters one of our repositories.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{Oid, Repository};

use super::bounds;
use super::conflicts::with_markers;
use super::examine::Examination;
use super::export::{self, ExportedBranch, ExportedObjects};
use super::large_files::pointer::LargeFilePointer;
use super::large_files::{LargeFilePointers, refusals};
use super::protected::ProtectedPaths;
use super::remarks::ExaminationReport;
use super::remote::{oid, sha};
use super::secrets::{SecretScan, SecretSet};
use super::source::ObjectSource;
use super::update::conflicts_of;
use super::{GitError, GitErrorKind, Workspaces};
use journeyman_order::bounds::{MOST_LOOKED_AT, MOST_NAMED};
use journeyman_order::{
    BranchName, Category, CommitSha, Feedback, Finding, OrderId, RepositoryName, TreeSha, commit_message,
};

#[derive(Debug, Clone, PartialEq)]
pub enum ImportOutcome {
    /// A tree that may be published; it is now in the repository of our commits.
    Imported {
        /// The commit that the agent pushed. It is not kept.
        pushed: CommitSha,
        tree: TreeSha,
        /// Its sanitised message; `None` if unusable.
        message: Option<String>,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
        /// What is allowed but people should know: manifests, lockfiles, programs; at most fifty.
        warnings: Vec<Finding>,
    },
    NothingPushed {
        because: String,
    },
    /// The tree may not be published, with the reason for the worker.
    Refused(Feedback),
}

/// Rules for a change beyond those of git and file systems.
#[derive(Debug, Clone, Copy)]
pub struct ImportRules<'a> {
    /// The branch to publish on; its name is published too, so it is examined.
    pub branch: &'a BranchName,
    /// Globs of paths that must not differ from the base, in any case. The last match decides, and a leading `!`
    /// releases a path. See [`super::default_protected`].
    pub protected: &'a [String],
    /// Our own secrets; no setting allows them.
    pub secrets: &'a SecretSet,
    /// Fingerprints from findings that look like secrets but are not.
    pub allowed_secrets: &'a [String],
}

impl Workspaces {
    /// Imports the output of [`Workspaces::export_command`]. All of it is untrusted, and nothing enters our
    /// repositories unless all of it may. Repeating it is harmless.
    ///
    /// If the base is a commit with conflicts, they must be settled: remaining markers are sent back. If no conflict
    /// was in a text, there are no markers, and a commit that changes nothing confirms our versions.
    pub fn import(
        &self,
        order: OrderId,
        repository: &RepositoryName,
        base: &CommitSha,
        export: &Path,
        rules: ImportRules<'_>,
    ) -> Result<ImportOutcome, GitError> {
        let protected = ProtectedPaths::new(rules.protected)?;
        let secrets = SecretScan::new(rules.secrets, rules.allowed_secrets);
        let commits = self.commits(repository)?;
        let base_id = oid(base)?;
        let base_tree = self.tree_within(&commits, base_id)?.id();
        let size = std::fs::metadata(export).map_or(0, |found| found.len());
        bounds::require_room(commits.path(), size, bounds::KEPT_FREE_OF_OBJECTS)?;
        let (pushed, objects) = match export::read(export)? {
            ExportedBranch::Nothing(because) => {
                // The reason contains names that the agent chose.
                let because = secrets.names(&because).map_or(because, |what| {
                    format!(
                        "the branch {} was not pushed, and what was found instead holds {what}",
                        rules.branch
                    )
                });
                return Ok(ImportOutcome::NothingPushed { because });
            }
            ExportedBranch::TooMuch(what) => {
                return Ok(ImportOutcome::Refused(Feedback::failed(Category::Policy, format!("{what}."))));
            }
            ExportedBranch::Commit(pushed, objects) => (pushed, objects),
        };
        if pushed == base_id {
            let because = "the branch is where it started: nothing was committed".to_owned();
            return Ok(ImportOutcome::NothingPushed { because });
        }
        let (tree, message) = match objects.commit(pushed)? {
            Some(Ok(sound)) => sound,
            None => {
                let because = "the pushed commit could not be read from the origin".to_owned();
                return Ok(ImportOutcome::NothingPushed { because });
            }
            Some(Err(why)) => {
                let why = format!("The pushed commit is not one that git makes: {why}.");
                return Ok(ImportOutcome::Refused(Feedback::failed(Category::Policy, why)));
            }
        };
        let conflicts = conflicts_of(&commits, order, base_id)?;
        if tree == base_tree && conflicts.as_ref().is_none_or(|files| !files.is_empty()) {
            let because = "the pushed commit changes no file".to_owned();
            return Ok(ImportOutcome::NothingPushed { because });
        }
        let ours = commits.odb()?;
        let source = ObjectSource::new(Some(&objects), &ours, base_tree);
        let mut examination = Examination::new(&source, &protected, Some(&secrets));
        for (what, text) in [("message", message.as_str()), ("branch's name", rules.branch.as_str())] {
            if let Some(secret) = secrets.names(text) {
                examination.remarks.refuse("", &format!("the {what} holds {secret}"));
            }
        }
        examination.compare(base_tree, tree)?;
        if examination.remarks.findings.is_empty() {
            if let Err(why) = self.measured(&source, None, tree)? {
                examination.remarks.refuse("", &format!("the repository then {why}"));
            } else {
                let (before, known) = self.large_files_given(repository, &commits, base_id)?;
                let refused = refusals::refused(&source, tree, &examination.changed, &before, &known)?;
                refused.iter().for_each(|(path, why)| examination.remarks.refuse(path, why));
            }
        }
        let left = match conflicts {
            // A file may have been moved with all its content.
            Some(files) if examination.remarks.findings.is_empty() => {
                let changed = examination.changed.iter().map(String::as_bytes);
                let all: BTreeSet<&[u8]> = files.iter().map(Vec::as_slice).chain(changed).collect();
                with_markers(|id, kind| source.read(id, kind), tree, all.into_iter())?
            }
            Some(_) | None => Vec::new(),
        };
        if !left.is_empty() {
            return Ok(ImportOutcome::Refused(unsettled(&left)));
        }
        let Examination { remarks, mut changed, needed, .. } = examination;
        let ExaminationReport { findings, warnings, .. } = remarks;
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
                changed_tests: Vec::new(),
            }));
        }
        for id in needed {
            take(&objects, &ours, id)?;
        }
        changed.truncate(MOST_LOOKED_AT);
        let tree =
            tree.to_string().parse::<TreeSha>().map_err(|error| GitError::broken(error.to_string()))?;
        Ok(ImportOutcome::Imported {
            pushed: sha(pushed)?,
            tree,
            message: commit_message::clean(&message),
            changed,
            warnings,
        })
    }
}

impl Workspaces {
    /// The pointers of the commit that work began with: by path, and all that its agent received. A commit with
    /// conflicts has those of both sides.
    fn large_files_given(
        &self,
        repository: &RepositoryName,
        commits: &Repository,
        base: Oid,
    ) -> Result<(LargeFilePointers, BTreeSet<LargeFilePointer>), GitError> {
        let base = commits.find_commit(base)?;
        let (odb, mut given) = (commits.odb()?, BTreeSet::new());
        let mut trees = vec![base.tree_id()];
        for side in base.parents().filter(|_| base.parent_count() > 1) {
            match self.tree_within(commits, side.id()) {
                Ok(tree) => trees.push(tree.id()),
                // A side that is over the limits gave the agent nothing.
                Err(error) if error.kind == GitErrorKind::NotForUs => {}
                Err(error) => return Err(error),
            }
        }
        let mut before = LargeFilePointers::new();
        for tree in trees {
            let files = self.large_files(repository, &odb, tree)?;
            given.extend(files.pointers().values().cloned());
            before.extend(files.pointers().iter().map(|(path, pointer)| (path.clone(), pointer.clone())));
        }
        Ok((before, given))
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

fn take(objects: &ExportedObjects, ours: &git2::Odb<'_>, id: Oid) -> Result<(), GitError> {
    let read =
        objects.read(id).map_err(|error| GitError::broken(format!("could not read an object: {error}")))?;
    let Some((kind, bytes)) = read else { return Err(GitError::broken("an examined object is gone")) };
    ours.write(kind, &bytes)?;
    Ok(())
}
