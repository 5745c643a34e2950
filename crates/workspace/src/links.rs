//! Resolves the symbolic links of a whole tree, each across all others.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use git2::{ObjectType, Oid};

use super::libgit2::oid;
use super::source::ObjectSource;
use super::tree::{EntryMode, parse};
use super::{GitError, Workspaces};
use journeyman_order::bounds::{DEEPEST, LONGEST_TEXT, MOST_ENTRIES, MOST_HOPS};
use journeyman_order::{CommitSha, RepositoryName};

/// Most names followed for one path.
const MOST_STEPS: usize = 4_096;
/// Most names followed for all links of a tree.
const MOST_NAMES: usize = 20_000_000;
/// Most paths seen through links.
const MOST_SEEN: usize = 50_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// This path, which may not exist; empty: the root.
    Inside(String),
    Outside,
    /// A cycle, or too many links.
    Endless,
}

/// The links of a tree, by path.
#[derive(Debug, Default)]
pub struct TreeLinks {
    targets: BTreeMap<String, String>,
    names: Cell<usize>,
}

impl Workspaces {
    /// The links of a commit; empty if it has too many files to search.
    pub fn links(&self, repository: &RepositoryName, commit: &CommitSha) -> Result<TreeLinks, GitError> {
        let commits = self.commits(repository)?;
        let tree = self.tree_within(&commits, oid(commit)?)?.id();
        let ours = commits.odb()?;
        Ok(TreeLinks::of(&ObjectSource::new(None, &ours, tree), tree)?.unwrap_or_default())
    }
}

impl TreeLinks {
    /// The links of a tree; `None` if it is too large to search. Links that are not UTF-8 are left out.
    pub(super) fn of(source: &ObjectSource<'_>, tree: Oid) -> Result<Option<Self>, GitError> {
        let (mut links, mut left) = (Self::default(), MOST_ENTRIES);
        let mut folders = vec![(tree, String::new(), 0)];
        while let Some((folder, path, depth)) = folders.pop() {
            let entries = source.read(folder, ObjectType::Tree)?.and_then(|bytes| parse(&bytes));
            for entry in entries.unwrap_or_default() {
                let Some(fewer) = left.checked_sub(1) else { return Ok(None) };
                left = fewer;
                let Ok(name) = std::str::from_utf8(&entry.name) else { continue };
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
                match entry.mode {
                    EntryMode::Tree if depth < DEEPEST => folders.push((entry.id, path, depth + 1)),
                    EntryMode::Link => {
                        // A link too long for any system is recorded as a link to itself.
                        let is_long =
                            source.header(entry.id)?.is_some_and(|(_, size)| size > LONGEST_TEXT as u64);
                        let target = match is_long {
                            true => Some(Ok(name.to_owned())),
                            false => source.read(entry.id, ObjectType::Blob)?.map(String::from_utf8),
                        };
                        if let Some(Ok(target)) = target {
                            links.targets.insert(path, target);
                        }
                    }
                    EntryMode::Tree
                    | EntryMode::File
                    | EntryMode::Executable
                    | EntryMode::Gitlink
                    | EntryMode::Other(_) => {}
                }
            }
        }
        Ok(Some(links))
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.targets.keys().map(String::as_str)
    }

    /// Whether the limit of names was reached, so that some links may be reported as endless wrongly.
    pub(super) fn are_too_many(&self) -> bool {
        self.names.get() > MOST_NAMES
    }

    /// Where a path leads when every link on it is followed.
    pub(super) fn follow(&self, path: &str) -> LinkTarget {
        let mut ahead: VecDeque<&str> = path.split('/').collect();
        let mut here: Vec<&str> = Vec::new();
        let (mut hops, mut steps) = (0, 0);
        while let Some(part) = ahead.pop_front() {
            steps += 1;
            self.names.set(self.names.get() + here.len() + 1);
            if self.are_too_many() {
                return LinkTarget::Endless;
            }
            match part {
                "" | "." => continue,
                ".." if here.pop().is_some() => continue,
                ".." => return LinkTarget::Outside,
                name => here.push(name),
            }
            if let Some(target) = self.targets.get(&here.join("/")) {
                hops += 1;
                if hops > DEEPEST || steps > MOST_STEPS {
                    return LinkTarget::Endless;
                }
                if target.starts_with('/') {
                    return LinkTarget::Outside;
                }
                here.pop();
                for part in target.split('/').rev() {
                    ahead.push_front(part);
                }
            }
        }
        LinkTarget::Inside(here.join("/"))
    }

    /// The other path in the tree that a path leads to; `None` if it has no links or one leads outside.
    pub fn behind(&self, path: &str) -> Option<String> {
        match self.follow(path) {
            LinkTarget::Inside(end) => (end != path).then_some(end),
            LinkTarget::Outside | LinkTarget::Endless => None,
        }
    }

    /// Other paths through which links show `paths`, each with the real path.
    pub fn seen_as(&self, paths: &[String]) -> Vec<(String, String)> {
        let ends: Vec<(&str, String)> = self
            .paths()
            .filter_map(|link| match self.follow(link) {
                LinkTarget::Inside(end) => Some((link, end)),
                LinkTarget::Outside | LinkTarget::Endless => None,
            })
            .collect();
        let (mut all, mut known): (Vec<(String, String)>, BTreeSet<String>) = Default::default();
        let mut round: Vec<(String, String)> =
            paths.iter().map(|path| (path.clone(), path.clone())).collect();
        for _ in 0..MOST_HOPS {
            let mut next = Vec::new();
            round.sort();
            for (link, end) in &ends {
                // All paths at or below the end are adjacent in the order, except for names that sort between.
                let from = round.partition_point(|(path, _)| path.as_str() < end.as_str());
                let rest = round.iter().skip(if end.is_empty() { 0 } else { from });
                for (path, real) in rest.take_while(|(path, _)| path.starts_with(end.as_str())) {
                    let below = path.strip_prefix(end.as_str()).unwrap_or_default();
                    let below = if end.is_empty() { format!("/{below}") } else { below.to_owned() };
                    let is_below = below.is_empty() || below.starts_with('/');
                    let seen = format!("{link}{below}");
                    // A path below the link's own end would be seen through it forever.
                    if is_below && seen.len() <= MOST_STEPS && known.insert(seen.clone()) {
                        next.push((seen, real.clone()));
                    }
                    if known.len() >= MOST_SEEN {
                        all.extend(next);
                        return all;
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            all.extend(next.iter().cloned());
            round = next;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(all: &[(&str, &str)]) -> TreeLinks {
        let targets = all.iter().map(|(path, target)| ((*path).to_owned(), (*target).to_owned())).collect();
        TreeLinks { targets, ..TreeLinks::default() }
    }

    fn inside(path: &str) -> LinkTarget {
        LinkTarget::Inside(path.to_owned())
    }

    #[test]
    fn links_are_followed_over_one_another() {
        let links = links(&[
            ("docs/up", ".."),
            ("a", "docs/up/src"),
            ("out", "docs/up/.."),
            ("far", "old/x"),
            ("old", "/opt"),
            ("one", "two"),
            ("two", "one"),
            ("self", "self/x"),
            ("gone", "nowhere/at/all"),
            ("d/e", "../f"),
            ("d/back", "e/../../.."),
        ]);
        for (path, end) in [
            ("a", inside("src")),
            ("a/b", inside("src/b")),
            ("docs/up", inside("")),
            ("out", LinkTarget::Outside),
            ("far", LinkTarget::Outside),
            ("one", LinkTarget::Endless),
            ("self", LinkTarget::Endless),
            ("gone", inside("nowhere/at/all")),
            ("d/e/x", inside("f/x")),
            ("d/back", LinkTarget::Outside),
            ("plain/file", inside("plain/file")),
            ("..", LinkTarget::Outside),
        ] {
            assert_eq!(links.follow(path), end, "{path}");
        }
    }

    #[test]
    fn a_link_that_is_longer_than_any_system_follows_is_not_kept_and_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init_bare(folder.path()).unwrap();
        let odb = repository.odb().unwrap();
        let mut tree = repository.treebuilder(None).unwrap();
        for (name, text) in [("short", "a"), ("long", &"a/".repeat(3_000))] {
            tree.insert(name, odb.write(ObjectType::Blob, text.as_bytes()).unwrap(), 0o120_000).unwrap();
        }
        let tree = tree.write().unwrap();
        let links = TreeLinks::of(&ObjectSource::new(None, &odb, tree), tree).unwrap().unwrap();
        assert_eq!((links.follow("short"), links.follow("long")), (inside("a"), LinkTarget::Endless));
        assert!(links.targets.values().all(|target| target.len() < 10));
    }

    #[test]
    fn links_that_lead_over_more_names_than_are_followed_are_said_to() {
        let long = "x/".repeat(2_000);
        let links = links(&[("short", "x"), ("long", &long)]);
        for _ in 0..1_000 {
            assert_eq!(links.follow("short"), inside("x"));
        }
        assert!(!links.are_too_many());
        let ends = (0..20).map(|_| links.follow("long"));
        assert!(ends.last() == Some(LinkTarget::Endless) && links.are_too_many());
    }

    #[test]
    fn what_changes_behind_a_link_is_seen_under_the_links_name() {
        let links = links(&[
            ("AGENTS.md", "docs/ai.md"),
            (".cargo", "tools/cargo"),
            ("tools/cargo/deep", "../../more"),
            ("root", "."),
        ]);
        let changed = ["docs/ai.md", "docs/ai.md.bak", "more/x", "tools/cargo/config.toml", "tools/cargo-x"];
        let seen = links.seen_as(&changed.map(str::to_owned));
        let stands_for = |path: &str| seen.iter().find(|(as_, _)| as_ == path).map(|(_, real)| real.as_str());
        assert_eq!(stands_for("AGENTS.md"), Some("docs/ai.md"));
        assert_eq!(stands_for(".cargo/config.toml"), Some("tools/cargo/config.toml"));
        assert_eq!(stands_for(".cargo/deep/x"), Some("more/x"));
        assert_eq!(stands_for("root/tools/cargo-x"), Some("tools/cargo-x"));
        assert!(!seen.iter().any(|(as_, _)| as_.starts_with("AGENTS.md.") || as_.starts_with(".cargo-")));
    }

    proptest::proptest! {
        #[test]
        fn following_ends_inside_or_says_that_it_does_not(
            all in proptest::collection::vec(("[ab](/[ab]){0,2}", "([ab.]|\\.\\.)(/([ab]|\\.\\.)){0,3}"), 0..6),
        ) {
            let links = links(&all.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>());
            for path in links.paths() {
                if let LinkTarget::Inside(end) = links.follow(path) {
                    proptest::prop_assert!(!end.split('/').any(|part| part == ".."), "{}", end);
                    // No link remains on it.
                    proptest::prop_assert_eq!(links.follow(&end), LinkTarget::Inside(end.clone()));
                }
            }
            links.seen_as(&["a/b".to_owned(), "b".to_owned()]);
        }
    }
}
