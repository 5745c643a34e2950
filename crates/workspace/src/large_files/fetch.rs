//! Fetches the contents that a commit's pointers name, only from the server of its repository.
//!
//! May know: pointers, `.lfsconfig`, the server's answers. Must never know: who asks.

use std::collections::BTreeSet;

use git2::Repository;
use url::Url;

use super::batch::{LargeFileServer, NotFetched};
use super::pointer::LargeFilePointer;
use super::store::LargeFileStore;
use super::{LargeFilePointers, LargeFiles};
use crate::remote::oid;
use crate::{GitError, GitErrorKind, Remote, Workspaces, folder, gitmodules};
use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::{CommitSha, RepositoryName, byte_order_mark};

/// Largest file, then the total per commit, in bytes.
const LARGEST: u64 = 512 << 20;
const MOST_BYTES: u64 = 2 << 30;
/// Most files per commit.
const MOST: usize = 10_000;
/// Bytes that must stay free on the disk.
const KEPT_FREE: u64 = 1 << 30;
/// The file in which a repository names another server.
const CONFIG: &str = ".lfsconfig";

impl Workspaces {
    /// Fetches the contents of a commit's large files that are missing here. If one is unavailable, the reason is
    /// recorded and its file stays a pointer.
    pub fn fetch_large_files(&self, remote: &Remote<'_>, commit: &CommitSha) -> Result<(), GitError> {
        let commits = self.commits(remote.repository)?;
        let files = self.large_files_of(remote.repository, &commits, commit)?;
        if files.pointers().is_empty() || self.is_of_a_clone(remote.repository, commit) {
            return Ok(());
        }
        let _held = self.lock_of(format!("lfs {}", folder(remote.repository)));
        files.store.clear()?;
        let wanted = wanted(&files)?;
        if wanted.is_empty() {
            return Ok(());
        }
        let server = match server(&commits, commit, &remote.url)? {
            Ok(server) => server,
            Err(why) => return note_all(&files.store, &wanted, &why),
        };
        let server = LargeFileServer {
            url: server,
            token: remote.token.as_ref(),
            outgoing: &self.outgoing,
            is_given_up: &self.is_given_up,
        };
        match server.bring(&files.store, &wanted) {
            Ok(()) => Ok(()),
            Err(NotFetched::Broken(error)) => Err(error),
            Err(NotFetched::Never(why)) => note_all(&files.store, &wanted, &why),
            Err(NotFetched::ForNow(why)) => {
                let message = format!(
                    "could not fetch files of Git LFS of {}: {why} (it will be tried again)",
                    remote.repository
                );
                Err(GitError::new(GitErrorKind::Unavailable, message))
            }
        }
    }

    /// Whether each content of a commit is here or has a recorded reason for its absence.
    pub fn has_large_files(&self, repository: &RepositoryName, commit: &CommitSha) -> Result<bool, GitError> {
        let files = self.large_files_of(repository, &self.commits(repository)?, commit)?;
        let is_known =
            |pointer: &LargeFilePointer| files.store.has(pointer) || files.store.reason(pointer).is_some();
        Ok(files.pointers().values().all(is_known))
    }

    pub(crate) fn large_files_of(
        &self,
        repository: &RepositoryName,
        commits: &Repository,
        commit: &CommitSha,
    ) -> Result<LargeFiles, GitError> {
        let tree = commits.find_commit(oid(commit)?)?.tree_id();
        self.large_files(repository, &commits.odb()?, tree)
    }
}

/// The contents to fetch, in the order of their paths. Those over the limits are recorded as unavailable.
fn wanted(files: &LargeFiles) -> Result<Vec<LargeFilePointer>, GitError> {
    let store = &files.store;
    let (mut wanted, mut all, mut room) = (Vec::new(), 0_u64, store.room().saturating_sub(KEPT_FREE));
    for (count, pointer) in unique(files.pointers()).into_iter().enumerate() {
        all = all.saturating_add(pointer.size);
        if store.has(&pointer) {
            store.touch(&pointer.id);
        }
        if store.has_any_size(&pointer.id) {
            continue;
        }
        let why = match () {
            () if pointer.size > LARGEST => format!("it is larger than {} MiB", LARGEST >> 20),
            () if count >= MOST => format!("there are more than {MOST}"),
            () if all > MOST_BYTES => {
                format!("those of the commit are larger than {} GiB together", MOST_BYTES >> 30)
            }
            () if pointer.size > room => "there is no room for it on the disk".to_owned(),
            () => {
                room -= pointer.size;
                wanted.push(pointer);
                continue;
            }
        };
        store.note(&pointer.id, &why)?;
    }
    Ok(wanted)
}

/// Distinct pointers.
fn unique(pointers: &LargeFilePointers) -> Vec<LargeFilePointer> {
    let mut seen = BTreeSet::new();
    pointers.values().filter(|pointer| seen.insert(*pointer)).cloned().collect()
}

fn note_all(store: &LargeFileStore, wanted: &[LargeFilePointer], why: &str) -> Result<(), GitError> {
    wanted.iter().try_for_each(|pointer| store.note(&pointer.id, why))
}

/// The server with a commit's contents; an inner error says why no server is asked.
fn server(commits: &Repository, commit: &CommitSha, remote: &Url) -> Result<Result<Url, String>, GitError> {
    let tree = commits.find_commit(oid(commit)?).and_then(|commit| commit.tree())?;
    let repository = match tree.get_name(CONFIG) {
        None => Ok(remote.clone()),
        Some(entry) => {
            let blob = entry.to_object(commits).ok().and_then(|object| object.into_blob().ok());
            let is_file = matches!(entry.filemode(), 0o100_644 | 0o100_755);
            let text = blob.filter(|blob| is_file && blob.size() <= LARGEST_SETTINGS);
            match text.map(|blob| named_address(blob.content())) {
                None => Err(format!("{CONFIG} cannot be read")),
                Some(Err(why)) => Err(format!("{CONFIG}: {why}")),
                Some(Ok(None)) => Ok(remote.clone()),
                Some(Ok(Some(address))) => {
                    let address = address.trim_end_matches('/').trim_end_matches("/info/lfs");
                    gitmodules::address(remote, address).map_err(|why| format!("as {CONFIG} says, {why}"))
                }
            }
        }
    };
    Ok(repository.map(|mut url| {
        let path = url.path().trim_end_matches('/');
        let path = if path.ends_with(".git") { path.to_owned() } else { format!("{path}.git") };
        url.set_path(&format!("{path}/info/lfs"));
        url
    }))
}

/// The most specific address in the file; `None` if it names none.
fn named_address(bytes: &[u8]) -> Result<Option<String>, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no text")?;
    let text = byte_order_mark::strip(text);
    let (mut section, mut general, mut of_origin) = (String::new(), None, None);
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let plain: String = header.chars().filter(|c| !c.is_whitespace()).collect();
            section = plain.to_ascii_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim().to_ascii_lowercase();
        match (section.as_str(), key.as_str()) {
            ("lfs]", "url") => general = Some(gitmodules::plain_value(value.trim())?),
            ("remote\"origin\"]", "lfsurl") => of_origin = Some(gitmodules::plain_value(value.trim())?),
            _ => {}
        }
    }
    Ok(general.or(of_origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_lfsconfig_names_is_read_and_what_is_not_plain_is_refused() {
        let read = |text: &str| named_address(text.as_bytes());
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("[lfs]\n\tfetchexclude = x\n[other]\n\turl = https://a.example\n"), Ok(None));
        let named = Ok(Some("https://lfs.example/a/b".to_owned()));
        assert_eq!(read("# theirs\n[LFS]\n\tURL = \"https://lfs.example/a/b\"\n"), named);
        assert_eq!(read("[remote \"origin\"]\n\tlfsurl = https://lfs.example/a/b ; here\n"), named);
        assert!(read("[lfs]\n\turl = https://a.example/\\\n").is_err());
        assert!(named_address(&[0xff]).is_err());
    }
}
