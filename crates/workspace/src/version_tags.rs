//! A repository's versions, from its tags: builds that ask git for their version get the newest one reachable from the
//! commit.
//!
//! May know: names of tags and their commits, as a server lists them. Must never know: who asks for a version.
//!
//! A server lists its tags with its branches. They are saved beside the mirror, without fetching their objects.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, Sort};

use super::libgit2::oid;
use super::{GitError, Workspaces, keep_whole};
use journeyman_order::bounds::{LARGEST_DOCUMENT, LONGEST_NAME, MOST_ITEMS};
use journeyman_order::{CommitSha, RepositoryName};

/// Saves tags, listed as `refs/tags/NAME` and `refs/tags/NAME^{}` with their objects.
pub(super) fn keep<'n>(mirror: &Path, listed: impl Iterator<Item = (&'n str, Oid)>) -> Result<(), GitError> {
    let mut tags: HashMap<&str, Oid> = HashMap::new();
    for (name, id) in listed {
        let Some(name) = name.strip_prefix("refs/tags/") else { continue };
        // For an annotated tag, `^{}` marks the commit and comes second.
        let own = name.strip_suffix("^{}").unwrap_or(name);
        if is_version(own) && tags.len() < MOST_ITEMS {
            tags.insert(own, id);
        }
    }
    let mut lines: Vec<String> = tags.iter().map(|(name, id)| format!("{id} {name}\n")).collect();
    lines.sort();
    keep_whole(&file(mirror), lines.concat().as_bytes())
}

fn file(mirror: &Path) -> PathBuf {
    mirror.join("journeyman-tags")
}

/// Whether a tag names a version, in plain letters.
fn is_version(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.contains(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._/+-".contains(c))
}

impl Workspaces {
    /// The newest version tag on a commit or its ancestors, if known.
    pub fn version_tag(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
    ) -> Result<Option<String>, GitError> {
        let mirror = self.mirror(repository)?;
        let tags = tags_of(mirror.path());
        if tags.is_empty() {
            return Ok(None);
        }
        let commits = self.commits(repository)?;
        let mut walk = commits.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        walk.push(oid(commit)?)?;
        // The walk ends at missing commits, as in a shallow clone.
        let found = walk.map_while(Result::ok).take(MOST_ITEMS).find_map(|id| tags.get(&id).cloned());
        Ok(found)
    }

    /// Saves the tags of a local repository.
    pub(super) fn keep_local_tags(&self, mirror: &Repository, lender: &Repository) -> Result<(), GitError> {
        let mut listed = Vec::new();
        for tag in lender.references_glob("refs/tags/*")?.filter_map(Result::ok) {
            if let (Ok(name), Ok(commit)) = (tag.name(), tag.peel_to_commit()) {
                listed.push((name.to_owned(), commit.id()));
            }
        }
        keep(mirror.path(), listed.iter().map(|(name, id)| (name.as_str(), *id)))
    }
}

/// Tags by commit. Of several on one commit, the shortest: `v1.2` rather than `package-v1.2`.
fn tags_of(mirror: &Path) -> HashMap<Oid, String> {
    let file = file(mirror);
    let is_ours = std::fs::metadata(&file).is_ok_and(|found| found.len() <= LARGEST_DOCUMENT as u64);
    let text = if is_ours { std::fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
    let mut tags: HashMap<Oid, String> = HashMap::new();
    for (id, name) in text.lines().filter_map(|line| line.split_once(' ')) {
        let Ok(id) = Oid::from_str(id) else { continue };
        let known = tags.entry(id).or_insert_with(|| name.to_owned());
        if (name.len(), name) < (known.len(), known) {
            name.clone_into(known);
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_with_a_number_are_versions() {
        for (name, is) in [
            ("v1.2.3", true),
            ("package/v1.0+build", true),
            ("2024-01-01", true),
            ("latest", false),
            ("-d1", false),
            ("v1 2", false),
            ("v1;reboot", false),
            ("v1\u{e9}", false),
            ("", false),
        ] {
            assert_eq!(is_version(name), is, "{name:?}");
        }
    }

    #[test]
    fn a_commit_has_the_newest_version_behind_it() {
        let (data, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let lender = Repository::init(there.path()).unwrap();
        let tree = lender.find_tree(lender.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let mut parent: Option<Oid> = None;
        let mut all = Vec::new();
        for second in 1..=4 {
            let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(second, 0)).unwrap();
            let before = parent.map(|id| lender.find_commit(id).unwrap());
            let parents: Vec<_> = before.iter().collect();
            let id = lender.commit(Some("refs/heads/main"), &who, &who, "One", &tree, &parents).unwrap();
            parent = Some(id);
            all.push(id);
        }
        let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(9, 0)).unwrap();
        let object = lender.find_object(all[1], None).unwrap();
        lender.tag("v1.1", &object, &who, "annotated", false).unwrap();
        lender.tag_lightweight("package-v1.1", &object, false).unwrap();
        lender.tag_lightweight("v2.0", &lender.find_object(all[3], None).unwrap(), false).unwrap();
        lender.tag_lightweight("nightly", &lender.find_object(all[2], None).unwrap(), false).unwrap();
        let workspaces = Workspaces::new(data.path()).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        workspaces.import_local(&repository, there.path()).unwrap();
        let of = |at: usize| {
            let commit = all[at].to_string().parse().unwrap();
            workspaces.version_tag(&repository, &commit).unwrap()
        };
        assert_eq!([of(0), of(1), of(2), of(3)].map(Option::unwrap_or_default), ["", "v1.1", "v1.1", "v2.0"]);
    }
}
