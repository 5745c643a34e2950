//! Bare repositories: creating, reading, merging. `git_http` serves them.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use git2::build::TreeUpdateBuilder;
use git2::{BranchType, FileMode, Oid, Repository, Signature, Sort};

use crate::clock;

/// As on GitHub, rejects workflow changes by an App without the permission `workflows`, and breaches of rulesets.
const UPDATE_HOOK: &str = include_str!("update-hook.sh");

/// The author of a commit made by the emulator.
fn signature(login: &str) -> Result<Signature<'static>, git2::Error> {
    let time = git2::Time::new(clock::now().timestamp(), 0);
    Signature::new(login, &format!("{login}@users.noreply.localhost"), &time)
}

/// Creates an empty bare repository whose `HEAD` names the default branch.
pub(crate) fn create(path: &Path, default_branch: &str) -> anyhow::Result<()> {
    let mut options = git2::RepositoryInitOptions::new();
    options.bare(true).mkdir(true).mkpath(true).external_template(false).initial_head(default_branch);
    Repository::init_opts(path, &options).with_context(|| format!("{} could not be made", path.display()))?;
    write_hook(path)
}

/// Prepares a repository that git cloned, and returns its default branch. A detached `HEAD` becomes a branch.
pub(crate) fn adopt(path: &Path) -> anyhow::Result<String> {
    write_hook(path)?;
    let repository = Repository::open_bare(path)?;
    let head = repository.head().context("HEAD names no commit")?;
    if head.is_branch() {
        return Ok(String::from_utf8_lossy(head.shorthand_bytes()).into_owned());
    }
    let commit = head.peel_to_commit()?.id();
    let taken = |name: &str| {
        repository.find_reference(&format!("refs/heads/{name}")).is_ok_and(|it| it.target() != Some(commit))
    };
    let branch = if taken("main") { "detached-head" } else { "main" };
    let reference = format!("refs/heads/{branch}");
    repository.reference(&reference, commit, true, "HEAD was detached")?;
    repository.set_head(&reference)?;
    Ok(branch.to_owned())
}

fn write_hook(path: &Path) -> anyhow::Result<()> {
    let hooks = path.join("hooks");
    std::fs::create_dir_all(&hooks)?;
    let hook = hooks.join("update");
    std::fs::write(&hook, UPDATE_HOOK)?;
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// The branch that receives a commit.
pub(crate) struct CommitTarget<'a> {
    /// Its name, or another reference that begins with `refs/`.
    pub branch: &'a str,
    /// The start of a new branch; `None` for an empty history.
    pub start: Option<&'a str>,
}

/// Commits these files to a branch; `None` deletes a file. A file that starts with `#!` is executable.
pub(crate) fn commit(
    path: &Path,
    to: &CommitTarget<'_>,
    login: &str,
    message: &str,
    files: &BTreeMap<String, Option<Vec<u8>>>,
) -> anyhow::Result<String> {
    let repository = Repository::open_bare(path)?;
    let is_whole = to.branch.starts_with("refs/");
    let reference = if is_whole { to.branch.to_owned() } else { format!("refs/heads/{}", to.branch) };
    let parent = match (repository.find_reference(&reference), to.start) {
        (Ok(found), _) => Some(found.peel_to_commit()?),
        (Err(_), Some(start)) => Some(repository.find_commit(Oid::from_str(start)?)?),
        (Err(_), None) => None,
    };
    let empty = repository.find_tree(repository.treebuilder(None)?.write()?)?;
    let base = match &parent {
        Some(parent) => parent.tree()?,
        None => empty,
    };
    let mut update = TreeUpdateBuilder::new();
    for (name, bytes) in files {
        match bytes {
            Some(bytes) => {
                let mode = if bytes.starts_with(b"#!") { FileMode::BlobExecutable } else { FileMode::Blob };
                update.upsert(name.as_str(), repository.blob(bytes)?, mode);
            }
            None => {
                update.remove(name.as_str());
            }
        }
    }
    let tree = update.create_updated(&repository, &base).context("the files do not make a tree")?;
    let tree = repository.find_tree(tree)?;
    let by = signature(login)?;
    let parents: Vec<_> = parent.iter().collect();
    let made = repository.commit(Some(&reference), &by, &by, message, &tree, &parents)?;
    Ok(made.to_string())
}

/// Branches and their heads.
pub(crate) fn heads(path: &Path) -> BTreeMap<String, String> {
    let list = || -> Result<BTreeMap<String, String>, git2::Error> {
        let repository = Repository::open_bare(path)?;
        let mut heads = BTreeMap::new();
        for branch in repository.branches(Some(BranchType::Local))? {
            let (branch, _) = branch?;
            if let (Ok(Some(name)), Some(target)) = (branch.name(), branch.get().target()) {
                heads.insert(name.to_owned(), target.to_string());
            }
        }
        Ok(heads)
    };
    list().unwrap_or_default()
}

/// The head of one branch.
pub(crate) fn head(path: &Path, branch: &str) -> Option<String> {
    let repository = Repository::open_bare(path).ok()?;
    let found = repository.find_reference(&format!("refs/heads/{branch}")).ok()?;
    found.target().map(|oid| oid.to_string())
}

/// Resolves a SHA, a branch or a tag to a commit.
pub(crate) fn resolve(path: &Path, reference: &str) -> Option<String> {
    let repository = Repository::open_bare(path).ok()?;
    commit_of(&repository, reference).map(|commit| commit.id().to_string())
}

fn commit_of<'a>(repository: &'a Repository, reference: &str) -> Option<git2::Commit<'a>> {
    let named = [format!("refs/heads/{reference}"), format!("refs/tags/{reference}"), reference.to_owned()];
    named.iter().find_map(|name| {
        if let Ok(oid) = Oid::from_str(name)
            && name.len() == 40
        {
            return repository.find_commit(oid).ok();
        }
        repository.find_reference(name).ok()?.peel_to_commit().ok()
    })
}

/// Points a branch at an existing commit.
pub(crate) fn point(path: &Path, branch: &str, commit: &str) -> Result<(), git2::Error> {
    let repository = Repository::open_bare(path)?;
    let commit = repository.find_commit(Oid::from_str(commit)?)?.id();
    repository.reference(&format!("refs/heads/{branch}"), commit, true, "pushed").map(drop)
}

pub(crate) fn delete(path: &Path, branch: &str) -> Result<(), git2::Error> {
    Repository::open_bare(path)?.find_reference(&format!("refs/heads/{branch}"))?.delete()
}

/// How many commits `head` is ahead of `base`; `None` if either is missing.
pub(crate) fn ahead(path: &Path, base: &str, head: &str) -> Option<usize> {
    let repository = Repository::open_bare(path).ok()?;
    repository
        .graph_ahead_behind(Oid::from_str(head).ok()?, Oid::from_str(base).ok()?)
        .ok()
        .map(|(ahead, _)| ahead)
}

/// A commit, for events and pages.
#[derive(Debug, Clone)]
pub(crate) struct CommitFacts {
    pub sha: String,
    pub message: String,
    /// Only the name.
    pub author: String,
}

/// The newest `most` commits of `head` that are not in `base`, oldest first; without a base, of its whole history.
pub(crate) fn commits(path: &Path, base: Option<&str>, head: &str, most: usize) -> Vec<CommitFacts> {
    let list = || -> Result<Vec<CommitFacts>, git2::Error> {
        let repository = Repository::open_bare(path)?;
        let mut walk = repository.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL)?;
        walk.push(Oid::from_str(head)?)?;
        if let Some(base) = base {
            walk.hide(Oid::from_str(base)?)?;
        }
        let mut found = Vec::new();
        for oid in walk.take(most) {
            let commit = repository.find_commit(oid?)?;
            found.push(CommitFacts {
                sha: commit.id().to_string(),
                message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
                author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
            });
        }
        found.reverse();
        Ok(found)
    };
    list().unwrap_or_default()
}

/// What a commit has at a path.
#[derive(Debug)]
pub(crate) enum ContentLookup {
    File(Vec<u8>),
    Folder,
    NoSuchRef,
    NoSuchPath,
}

pub(crate) fn find(path: &Path, reference: &str, file: &str) -> ContentLookup {
    let Ok(repository) = Repository::open_bare(path) else { return ContentLookup::NoSuchRef };
    let commit = commit_of(&repository, reference);
    let Some(tree) = commit.and_then(|commit| commit.tree().ok()) else { return ContentLookup::NoSuchRef };
    let file = file.trim_matches('/');
    let object = if file.is_empty() {
        Some(tree.into_object())
    } else {
        tree.get_path(Path::new(file)).ok().and_then(|entry| entry.to_object(&repository).ok())
    };
    let Some(object) = object else { return ContentLookup::NoSuchPath };
    match object.as_blob() {
        Some(blob) => ContentLookup::File(blob.content().to_vec()),
        None if object.as_tree().is_some() => ContentLookup::Folder,
        None => ContentLookup::NoSuchPath,
    }
}

/// Whether two commits merge without conflicts; `None` if either is missing.
pub(crate) fn merges(path: &Path, base: &str, head: &str) -> Option<bool> {
    let look = || -> Result<bool, git2::Error> {
        let repository = Repository::open_bare(path)?;
        let commit = |sha: &str| repository.find_commit(Oid::from_str(sha)?);
        Ok(!repository.merge_commits(&commit(base)?, &commit(head)?, None)?.has_conflicts())
    };
    look().ok()
}

/// Merges `head` into the branch `base` with a merge commit and returns its SHA; `None` if they conflict.
pub(crate) fn merge(
    path: &Path,
    base: &str,
    head: &str,
    login: &str,
    message: &str,
) -> anyhow::Result<Option<String>> {
    let repository = Repository::open_bare(path)?;
    let reference = format!("refs/heads/{base}");
    let ours = repository.find_reference(&reference)?.peel_to_commit()?;
    let theirs = repository.find_commit(Oid::from_str(head)?)?;
    let mut index = repository.merge_commits(&ours, &theirs, None)?;
    if index.has_conflicts() {
        return Ok(None);
    }
    let tree = repository.find_tree(index.write_tree_to(&repository)?)?;
    let by = signature(login)?;
    let made = repository.commit(Some(&reference), &by, &by, message, &tree, &[&ours, &theirs])?;
    Ok(Some(made.to_string()))
}
