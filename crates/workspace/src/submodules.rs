//! Submodules: those on the repository's own server are fetched at their recorded commits, and every checkout has their
//! files.
//!
//! May know: trees, `.gitmodules`, one fetch. Must never know: what they are needed for. `git submodule` never runs,
//! because the repository controls it.
//!
//! A repository's submodules share one local repository, `submodules/OWNER/NAME.git`, hidden from the work on other
//! repositories. A reference there means that a commit is complete and its names were checked. Only the server decides
//! who may read one, because a token is for one repository.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use git2::{Odb, Oid, Repository};
use url::Url;

use super::bounds::{self, TreeObjects as _};
use super::git_wire::{GitWire, WireLimits};
use super::gitmodules::{self, SubmoduleEntry};
use super::remote::{failed, oid};
use super::tree::{EntryMode, find, parse};
use super::{GitError, GitErrorKind, Remote, Workspaces, folder, keep_whole, names};
use journeyman_order::bounds::{LARGEST_SETTINGS, MOST_NAMED, MOST_PARTS};
use journeyman_order::{CommitSha, RepositoryName};

/// Most submodules of a commit, nested ones included.
pub(super) const MOST: usize = 32;
/// Deepest nesting.
pub(super) const DEEPEST: usize = 4;
/// Limits for all submodules of a commit together.
const LIMITS: WireLimits = WireLimits { whole: Duration::from_secs(20 * 60), ..WireLimits::USUAL };

const FILE: &[u8] = b".gitmodules";

/// Fetched submodules, by commit.
#[derive(Debug, Default, Clone)]
pub(super) struct FetchedSubmodules {
    trees: HashMap<Oid, Oid>,
    objects: Option<PathBuf>,
}

impl FetchedSubmodules {
    pub(super) fn tree(&self, commit: Oid) -> Option<Oid> {
        self.trees.get(&commit).copied()
    }

    /// Lets [`bounds`] find submodules; `None` if there are none.
    pub(super) fn finder(&self) -> Option<impl Fn(Oid, usize) -> Option<Oid> + '_> {
        let tree = |commit: Oid, nested: usize| self.tree(commit).filter(|_| nested < DEEPEST);
        (!self.trees.is_empty()).then_some(tree)
    }

    /// The objects of one of our repositories and of its submodules.
    pub(super) fn odb<'r>(&self, commits: &'r Repository) -> Result<Odb<'r>, git2::Error> {
        let odb = commits.odb()?;
        if let Some(objects) = self.objects.as_deref().and_then(Path::to_str) {
            odb.add_disk_alternate(objects)?;
        }
        Ok(odb)
    }
}

struct OpenSubmodule {
    tree: Oid,
    path: String,
    url: Url,
    depth: usize,
}

impl Workspaces {
    /// The fetched submodules of a repository.
    pub(super) fn fetched_submodules(
        &self,
        repository: &RepositoryName,
    ) -> Result<FetchedSubmodules, GitError> {
        let path = self.own_path("submodules", repository);
        if !path.join("complete").exists() {
            return Ok(FetchedSubmodules::default());
        }
        let store = Repository::open_bare(&path)?;
        let mut trees = HashMap::new();
        for found in store.references_glob("refs/submodules/*")? {
            let commit = found.and_then(|found| found.peel_to_commit())?;
            trees.insert(commit.id(), commit.tree_id());
        }
        Ok(FetchedSubmodules { trees, objects: Some(path.join("objects")) })
    }

    /// The missing submodules of a commit, each with the reason.
    pub(super) fn missing_submodules(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
    ) -> Option<Vec<String>> {
        let text = std::fs::read_to_string(self.missing_file(repository, commit)).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }

    /// Fetches the submodules of a commit that is here, nested ones included. If one is unavailable, the reason is
    /// recorded and it is an empty folder.
    pub(super) fn fetch_submodules(&self, remote: &Remote<'_>, commit: &CommitSha) -> Result<(), GitError> {
        if self.is_of_a_clone(remote.repository, commit) {
            return Ok(());
        }
        let until = Instant::now() + LIMITS.whole;
        let fetch = |store: &Repository, id: Oid, (of, _): (&Url, &str), said: &str| {
            Ok(match gitmodules::address(of, said) {
                Ok(url) => self.fetch_submodule(remote, store, id, &url, until)?.map(|tree| (tree, url)),
                Err(why) => Err(why),
            })
        };
        let commits = self.commits(remote.repository)?;
        self.gather_submodules(remote.repository, (&commits, commit), &remote.url, &fetch)
    }

    /// Collects the submodules of a commit, nested ones included. `bring` gets the submodule's commit, the parent's
    /// address, the submodule's path, and its address as written.
    pub(super) fn gather_submodules(
        &self,
        repository: &RepositoryName,
        (commits, commit): (&Repository, &CommitSha),
        url: &Url,
        bring: &BringSubmodule<'_>,
    ) -> Result<(), GitError> {
        let tree = self.tree_within(commits, oid(commit)?)?;
        if tree.get_name_bytes(FILE).is_none() {
            return Ok(());
        }
        let store = self.own_repository("submodules", repository, None)?;
        let _held = self.lock_of(format!("submodules {}", folder(repository)));
        let odb = self.fetched_submodules(repository)?.odb(commits)?;
        let (mut missing, mut count) = (Vec::new(), 0);
        let root = OpenSubmodule { tree: tree.id(), path: String::new(), url: url.clone(), depth: 0 };
        let mut open = vec![root];
        while let Some(next) = open.pop() {
            let listed = match listed(&odb, next.tree)? {
                Ok(listed) => listed,
                Err(why) => {
                    missing.push((None, format!("those of {}: {why}", joined(&next.path, ".gitmodules"))));
                    continue;
                }
            };
            for (path, found) in listed {
                let whole = joined(&next.path, &path);
                let (id, said) = match found {
                    Ok(found) => found,
                    Err(why) => {
                        missing.push((None, format!("{whole}: {why}")));
                        continue;
                    }
                };
                let brought = match () {
                    () if count == MOST => Err(format!("there are more than {MOST}")),
                    () if next.depth == DEEPEST => Err(format!("it lies in {DEEPEST} others")),
                    () => bring(&store, id, (&next.url, &whole), &said)?,
                };
                match brought {
                    Ok((tree, url)) => {
                        count += 1;
                        open.push(OpenSubmodule { tree, path: whole, url, depth: next.depth + 1 });
                    }
                    Err(why) => missing.push((Some(id), format!("{whole}: {why}"))),
                }
            }
            odb.refresh()?;
        }
        let plain = |line: &String| line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        // A commit fetched from an allowed source is there for every path that records it.
        let known = self.fetched_submodules(repository)?;
        missing.retain(|(id, _): &(Option<Oid>, String)| id.is_none_or(|id| known.tree(id).is_none()));
        missing.sort_by(|one, other| one.1.cmp(&other.1));
        let lines: Vec<String> = missing.iter().take(MOST_NAMED).map(|(_, line)| plain(line)).collect();
        keep_whole(&self.missing_file(repository, commit), lines.join("\n").as_bytes())
    }

    /// Fetches one commit without its history, and returns its tree. An inner error says why it is unavailable.
    fn fetch_submodule(
        &self,
        remote: &Remote<'_>,
        store: &Repository,
        id: Oid,
        url: &Url,
        until: Instant,
    ) -> Result<Result<Oid, String>, GitError> {
        if let Some(tree) = kept(store, id)? {
            return Ok(Ok(tree));
        }
        let fetched = format!("refs/fetched/{id}");
        let name = url.path().trim_start_matches('/').trim_end_matches(".git").to_owned();
        let whole = until.saturating_duration_since(Instant::now());
        let too_long = || format!("{name} was not fetched in {} minutes", LIMITS.whole.as_secs() / 60);
        if whole.is_zero() {
            return Ok(Err(too_long()));
        }
        let limits = WireLimits { whole, ..LIMITS };
        let fetch = GitWire { url, limits, ..self.wire(store.path(), remote) };
        if let Err(failure) = fetch.fetch(1, &format!("+{id}:{fetched}")) {
            return match failure.kind {
                GitErrorKind::Unavailable if Instant::now() >= until => Ok(Err(too_long())),
                GitErrorKind::Unavailable => Err(failed(failure.kind, "fetch", remote, &failure.said)),
                GitErrorKind::Unauthorized | GitErrorKind::Forbidden | GitErrorKind::NotFound => {
                    Ok(Err(format!(
                        "{name} is not there or is not public, and the App's token is for {} alone",
                        remote.repository
                    )))
                }
                GitErrorKind::Refused | GitErrorKind::NotForUs | GitErrorKind::Broken => {
                    Ok(Err(format!("the commit {id} could not be fetched from {name}")))
                }
            };
        }
        let tree = store.refname_to_id(&fetched).and_then(|found| store.find_commit(found));
        let Some(tree) = tree.ok().filter(|commit| commit.id() == id).map(|commit| commit.tree_id()) else {
            return Ok(Err(format!("{name} has something else than a commit there")));
        };
        if let Err(why) = keep(store, id, tree)? {
            return Ok(Err(format!("{name} cannot be checked out: {why}")));
        }
        store.find_reference(&fetched).and_then(|mut found| found.delete())?;
        Ok(Ok(tree))
    }

    fn missing_file(&self, repository: &RepositoryName, commit: &CommitSha) -> PathBuf {
        self.own_path("submodules", repository).join("missing").join(commit.as_str())
    }
}

/// An inner error says why a submodule is unavailable.
pub(super) type BringSubmodule<'a> =
    dyn Fn(&Repository, Oid, (&Url, &str), &str) -> Result<Result<(Oid, Url), String>, GitError> + 'a;

/// The tree of a commit, if it is completely here.
pub(super) fn kept(store: &Repository, id: Oid) -> Result<Option<Oid>, GitError> {
    let known = store.find_reference(&format!("refs/submodules/{id}")).ok();
    let tree = known.map(|known| known.peel_to_tree().map(|tree| tree.id()));
    tree.transpose().map_err(GitError::from)
}

/// Keeps a commit whose objects are here, if it is safe to check out.
pub(super) fn keep(store: &Repository, id: Oid, tree: Oid) -> Result<Result<(), String>, GitError> {
    let odb = store.odb()?;
    if let Some(why) = bounds::excess(&odb, tree)? {
        return Ok(Err(format!("it {why}")));
    }
    if let Err(why) = examine(&odb, tree)? {
        return Ok(Err(why));
    }
    store.reference(&format!("refs/submodules/{id}"), id, true, "")?;
    Ok(Ok(()))
}

type ListedSubmodule = (String, Result<(Oid, String), String>);

/// The submodules of a tree, each with its commit and its address as written, or with the reason for refusing it.
fn listed(odb: &Odb<'_>, tree: Oid) -> Result<Result<Vec<ListedSubmodule>, &'static str>, GitError> {
    let at = |path: &[u8]| find(|folder| odb.folder(folder), tree, path);
    let Some((mode, file)) = at(FILE)? else { return Ok(Ok(Vec::new())) };
    if !matches!(mode, EntryMode::File | EntryMode::Executable) {
        return Ok(Err("it is no file"));
    }
    if odb.header(file)?.is_some_and(|(_, size)| size > LARGEST_SETTINGS as u64) {
        return Ok(Err(gitmodules::TOO_LARGE));
    }
    let bytes = odb.read(file)?;
    let entries = match gitmodules::parse(bytes.data()) {
        Ok(entries) => entries,
        Err(why) => return Ok(Err(why)),
    };
    // If a path has several entries, the last one counts, as in git.
    let mut all: BTreeMap<String, Result<(Oid, String), String>> = BTreeMap::new();
    for SubmoduleEntry { path, url } in entries.into_iter().take(2 * MOST) {
        let found = match gitmodules::path_problem(&path) {
            Some(why) => Err(why.to_owned()),
            None => match at(path.as_bytes())? {
                Some((EntryMode::Gitlink, id)) => Ok((id, url)),
                // Git does not treat it as a submodule either.
                Some(_) | None => continue,
            },
        };
        all.insert(path, found);
    }
    Ok(Ok(all.into_iter().collect()))
}

/// Whether a tree is safe to check out. An inner error says why not.
fn examine(odb: &Odb<'_>, tree: Oid) -> Result<Result<(), String>, GitError> {
    let (mut open, mut count) = (vec![tree], 0);
    while let Some(tree) = open.pop() {
        let object = odb.read(tree)?;
        let Some(entries) = parse(object.data()) else { return Ok(Err("a folder is malformed".to_owned())) };
        for entry in entries {
            count += 1;
            if count > MOST_PARTS {
                return Ok(Err(format!("it has more than {MOST_PARTS} files")));
            }
            let name = String::from_utf8_lossy(&entry.name);
            if matches!(&*name, "." | "..") || name.contains('/') || names::is_dot_git(&name) {
                return Ok(Err("a name in it leads elsewhere".to_owned()));
            }
            if matches!(entry.mode, EntryMode::Tree | EntryMode::Other(0o40_000)) {
                open.push(entry.id);
            }
        }
    }
    Ok(Ok(()))
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
