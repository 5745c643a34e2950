//! What a disk, or a loss of power, did to a repository of ours: found by the hashes that git's files have of themselves,
//! taken out, and fetched again.
//!
//! Looked for only where something could not be read: it reads every byte. What is whole stays.

use std::collections::HashSet;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::read::ZlibDecoder;
use git2::Repository;
use sha1::{Digest, Sha1};

use super::bounds::KnownTreeSizes;
use super::remote::{kept, kept_as};
use super::whole::WholeCommits;
use super::{
    GitError, GitErrorKind, Remote, Workspaces, folder, incoming, init_bare, leftovers, remove_all,
    write_whole,
};
use journeyman_order::{CommitSha, RepositoryName};

/// Stands in a mirror that was mended, with another text each time: who has links to its packs makes new ones.
pub(super) const MENDED: &str = "mended";
/// The length of a SHA-1.
const HASH: usize = 20;
/// How often is said how far it is.
const SAY: Duration = Duration::from_secs(10);

/// How far something is that can take long.
struct MendProgress<'a> {
    path: &'a Path,
    what: &'static str,
    done: u64,
    said: Instant,
}

impl<'a> MendProgress<'a> {
    fn new(path: &'a Path, what: &'static str) -> Self {
        Self { path, what, done: 0, said: Instant::now() }
    }

    fn add(&mut self, some: u64) {
        self.done += some;
        if self.said.elapsed() >= SAY {
            self.said = Instant::now();
            tracing::info!(path = %self.path.display(), done = self.done, "is looked through: {}", self.what);
        }
    }
}

impl Workspaces {
    /// Looks whether the mirror of a repository and the repository of its commits are whole. What is damaged in them is
    /// removed and said in the log, the base branch is fetched again, and commits of which something is gone are
    /// forgotten. `needed` is a commit that has to be here afterwards. Whether anything is better now than it was.
    ///
    /// # Errors
    /// As the server answers, or when the disk fails.
    pub fn mend(
        &self,
        remote: &Remote<'_>,
        base_branch: &str,
        needed: Option<&CommitSha>,
    ) -> Result<bool, GitError> {
        let has = || needed.is_none_or(|needed| self.tree_of(remote.repository, needed).is_ok());
        let had = has() && self.has_tips(remote.repository);
        let mirrored = self.mirrored(remote.repository);
        let has_large = |needed: &CommitSha| self.has_large_files(remote.repository, needed).unwrap_or(true);
        let had_large = needed.is_none_or(has_large);
        let lock = self.lock(remote.repository);
        let held = lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mirror = self.own_path("mirrors", remote.repository);
        let mut damaged = mend_mirror(&mirror, !had)?;
        damaged |= mend_commits(&self.own_path("commits", remote.repository), &seen(remote.repository))?;
        damaged |= self.large_file_store(remote.repository).mend()?;
        if damaged {
            // Measured while something of them could not be read.
            incoming::forget_refused(&mirror)?;
            *self.inner.tree_sizes.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                KnownTreeSizes::default();
        }
        drop(held);
        let bring = || {
            self.fetch_again(remote, base_branch, needed)?;
            if damaged || !had {
                self.fetch_others(remote, base_branch, &mirrored)?;
            }
            needed.filter(|_| has()).map_or(Ok(()), |needed| self.fetch_large_files(remote, needed))
        };
        if let Err(error) = bring() {
            let is_final =
                matches!(error.kind, GitErrorKind::NotFound | GitErrorKind::NotForUs | GitErrorKind::Refused);
            if !(is_final && damaged) {
                return Err(error);
            }
            // What was made whole may be all that is needed. What rests on what did not come is not forgotten for it.
            tracing::warn!(repository = %remote.repository, "is mended, and yet does not come again: {error}");
            return Ok(true);
        }
        damaged |= !had_large && needed.is_some_and(has_large);
        if damaged || !had {
            // Once more, now that its packs are whole again.
            renew(&mirror)?;
        }
        damaged |= self.forget_incomplete(remote.repository)?;
        Ok(damaged || !had && has())
    }

    /// Fetches the base branch. Where it has become too much for us, what is needed of it comes by its own name.
    fn fetch_again(
        &self,
        remote: &Remote<'_>,
        base_branch: &str,
        needed: Option<&CommitSha>,
    ) -> Result<(), GitError> {
        match (self.fetch(remote, base_branch), needed) {
            (Err(error), Some(needed)) if error.kind == GitErrorKind::NotForUs => {
                self.fetch_commit(remote, base_branch, needed)
            }
            (fetched, _) => fetched.map(drop),
        }
    }

    /// Whether all that the mirror was told of is here: a pack can be gone with its index, and nothing else tells.
    fn has_tips(&self, repository: &RepositoryName) -> bool {
        let tips = || {
            let (mirror, known) = (self.mirror(repository).ok()?, self.known(repository).ok()?);
            let mut all = WholeCommits::new(&mirror, Vec::new()).ok()?;
            let mut progress = MendProgress::new(mirror.path(), "objects are looked for");
            let mut is_here = |tip| matches!(all.missing(tip, &mut |some| progress.add(some)), Ok(None));
            Some(known.into_iter().all(&mut is_here))
        };
        tips().unwrap_or(false)
    }

    /// The names under which branches were kept, as far as they can be read.
    fn mirrored(&self, repository: &RepositoryName) -> HashSet<String> {
        let Ok(mirror) = self.mirror(repository) else { return HashSet::new() };
        let Ok(references) = mirror.references_glob(&kept_as("*")) else { return HashSet::new() };
        references.flatten().filter_map(|found| Some(found.name().ok()?.to_owned())).collect()
    }

    /// Fetches the other branches that had been fetched: commits of ours may rest on them.
    fn fetch_others(
        &self,
        remote: &Remote<'_>,
        base_branch: &str,
        mirrored: &HashSet<String>,
    ) -> Result<(), GitError> {
        for (name, _) in self.remote_heads(remote)? {
            let Some(branch) = name.strip_prefix("refs/heads/") else { continue };
            if branch == base_branch || !mirrored.contains(&kept(branch)) {
                continue;
            }
            match self.fetch(remote, branch) {
                Err(error) if matches!(error.kind, GitErrorKind::NotFound | GitErrorKind::NotForUs) => {
                    tracing::warn!(repository = %remote.repository, branch, "does not come again: {error}");
                }
                fetched => drop(fetched?),
            }
        }
        Ok(())
    }

    /// Forgets the commits of which something is gone: whoever fetches would believe that all of it is here.
    fn forget_incomplete(&self, repository: &RepositoryName) -> Result<bool, GitError> {
        let said = |error: git2::Error| GitError::local("look through a repository of ours", &error);
        let (mut known, commits) = (self.known(repository)?, self.commits(repository)?);
        // One that cannot be read at this moment says nothing of the others.
        known.retain(|tip| commits.find_commit(*tip).is_ok());
        let mut all = WholeCommits::new(&commits, known).map_err(said)?;
        let mut progress = MendProgress::new(commits.path(), "objects are looked for");
        let mut is_forgotten = false;
        for reference in commits.references().map_err(said)? {
            let mut reference = reference.map_err(said)?;
            let Some(tip) = reference.target() else { continue };
            let missing = all.missing(tip, &mut |some| progress.add(some));
            if let Some(why) = missing.unwrap_or_else(|error| Some(error.message)) {
                let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
                tracing::warn!(%repository, name, "a commit is not whole any more, and is forgotten: {why}");
                reference.delete().map_err(said)?;
                is_forgotten = true;
            }
        }
        Ok(is_forgotten)
    }

    pub(super) fn own_path(&self, kind: &str, repository: &RepositoryName) -> PathBuf {
        self.inner.data.join(kind).join(folder(repository))
    }
}

/// Where the repository of commits finds the mirror's objects. Relative, so that the data folder can be moved.
pub(super) fn seen(repository: &RepositoryName) -> String {
    format!("../../../../mirrors/{}/objects\n", folder(repository))
}

/// Of a mirror everything comes again: with nothing named in it, the next fetch asks for all.
fn mend_mirror(path: &Path, is_incomplete: bool) -> Result<bool, GitError> {
    let damage = damage_in(path)?;
    if damage.is_empty() && !is_incomplete {
        return Ok(false);
    }
    tracing::warn!(mirror = %path.display(), "is not whole, and is fetched again");
    // First: what is killed between the two has forgotten, and fetches.
    remove_all(&path.join("refs"))?;
    let packed = path.join("packed-refs");
    if packed.exists() {
        remove(&packed)?;
    }
    renew(path)?;
    let is_damaged = !damage.is_empty();
    remove_damage(path, damage)?;
    Ok(is_damaged)
}

fn mend_commits(path: &Path, seen: &str) -> Result<bool, GitError> {
    let damage = damage_in(path)?;
    let alternates = path.join("objects/info/alternates");
    let sees = std::fs::read_to_string(&alternates).is_ok_and(|there| there == seen);
    if !sees && path.exists() {
        tracing::warn!(path = %alternates.display(), "does not say where the mirror is, and is written again");
        write_whole(&alternates, seen.as_bytes())
            .map_err(|error| GitError::file("write", &alternates, &error))?;
    }
    if damage.is_empty() {
        return Ok(!sees);
    }
    remove_damage(path, damage)?;
    Ok(true)
}

/// What is found of a damaged repository.
struct Damage {
    file: PathBuf,
    what: &'static str,
}

fn remove_damage(path: &Path, damage: Vec<Damage>) -> Result<(), GitError> {
    for Damage { file, what } in damage {
        tracing::warn!(file = %file.display(), "{what}; it is removed, and made again");
        remove(&file)?;
        if file.extension().is_some_and(|ending| ending == "pack" || ending == "idx") {
            for beside in ["pack", "idx", "rev", "bitmap", "mtimes"].map(|ending| file.with_extension(ending))
            {
                if beside.exists() {
                    remove(&beside)?;
                }
            }
        }
    }
    // These only say again, for speed, what is in the packs.
    for derived in ["pack/multi-pack-index", "info/commit-graph"].map(|name| path.join("objects").join(name))
    {
        if derived.exists() {
            remove(&derived)?;
        }
    }
    remove_all(&path.join("objects/info/commit-graphs"))?;
    for folder in ["objects", "refs"] {
        let folder = path.join(folder);
        std::fs::create_dir_all(&folder).map_err(|error| GitError::file("make", &folder, &error))?;
    }
    // Puts back what was there and is gone now, and leaves all else.
    init_bare(path, "main").map(drop)
}

fn remove(file: &Path) -> Result<(), GitError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(GitError::file("remove", file, &error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn renew(mirror: &Path) -> Result<(), GitError> {
    let now = chrono::Utc::now().timestamp_micros().to_string();
    let file = mirror.join(MENDED);
    write_whole(&file, now.as_bytes()).map_err(|error| GitError::file("write", &file, &error))
}

/// Removes what is no object, as far as objects have files of their own: libgit2 reads one that is cut off for ever. What is
/// gone is found to be missing, and comes again.
pub(super) fn remove_damaged_objects(path: &Path) -> Result<(), GitError> {
    let objects = path.join("objects");
    let mut progress = MendProgress::new(path, "bytes are read");
    for file in files_below(&objects)? {
        match is_damaged_object(&objects, &file, &mut progress) {
            Ok(true) => {
                tracing::warn!(file = %file.display(), "is not the object that it is called, and is removed");
                remove(&file)?;
            }
            Ok(false) => {}
            // Perhaps nobody needs it.
            Err(error) => tracing::warn!(file = %file.display(), "{error}"),
        }
    }
    Ok(())
}

/// Whether a file is called like an object, and is another or none.
fn is_damaged_object(objects: &Path, file: &Path, progress: &mut MendProgress<'_>) -> Result<bool, GitError> {
    match object_name(objects, file) {
        Some(name) => is_damaged(file, has_hash(file, &name, progress)),
        None => Ok(false),
    }
}

/// Every file that is not what git wrote. Of a repository that is not there: none.
fn damage_in(path: &Path) -> Result<Vec<Damage>, GitError> {
    let mut damage = Vec::new();
    if !path.exists() {
        return Ok(damage);
    }
    let mut say = |file: PathBuf, what| damage.push(Damage { file, what });
    let head = std::fs::read(path.join("HEAD")).map(|head| head.starts_with(b"ref: refs/heads/"));
    if is_damaged(&path.join("HEAD"), head)? {
        say(path.join("HEAD"), "does not say what a repository begins with");
    }
    if !git2::Config::open(&path.join("config")).is_ok_and(|config| config.get_bool("core.bare").is_ok()) {
        say(path.join("config"), "is not the configuration of a repository");
    }
    if packed_references_are_damaged(&path.join("packed-refs")) {
        say(path.join("packed-refs"), "is not a list of references");
    }
    for file in files_below(&path.join("refs"))? {
        let is_named = std::fs::read(&file).map(|bytes| {
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            line.len() == 2 * HASH && line.iter().all(u8::is_ascii_hexdigit)
        });
        if is_damaged(&file, is_named)? {
            say(file, "is not a reference");
        }
    }
    let objects = path.join("objects");
    let mut progress = MendProgress::new(path, "bytes are read");
    for file in files_below(&objects)? {
        let is_in_packs = file.parent().is_some_and(|folder| folder.ends_with("objects/pack"));
        let ending = file.extension().and_then(|ending| ending.to_str());
        match (is_in_packs, ending) {
            (true, Some("pack" | "idx")) if is_damaged(&file, ends_with_its_hash(&file, &mut progress))? => {
                say(file, "is not what it was when it was written");
            }
            // One without the other is nothing.
            (true, Some("pack")) if !file.with_extension("idx").exists() => say(file, "has no index"),
            (true, Some("idx")) if !file.with_extension("pack").exists() => say(file, "has no pack"),
            (false, None) => {
                if is_damaged_object(&objects, &file, &mut progress)? {
                    say(file, "is not the object that it is called");
                }
            }
            (true | false, _) => {}
        }
    }
    Ok(damage)
}

/// Everything but folders, at any depth.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, GitError> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for (path, is_folder) in if folder.is_dir() { leftovers::entries(&folder)? } else { Vec::new() } {
            if is_folder { folders.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}

fn packed_references_are_damaged(file: &Path) -> bool {
    let Ok(text) = std::fs::read(file) else { return file.exists() };
    let is_sound = |line: &[u8]| {
        let id = line.strip_prefix(b"^").unwrap_or(line);
        line.starts_with(b"#") || id.len() >= 2 * HASH && id[..2 * HASH].iter().all(u8::is_ascii_hexdigit)
    };
    !text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).all(is_sound)
}

/// The name of an object that has a file of its own.
fn object_name(objects: &Path, file: &Path) -> Option<String> {
    let (folder, rest) = file.strip_prefix(objects).ok()?.to_str()?.split_once('/')?;
    let name = format!("{folder}{rest}");
    (folder.len() == 2 && name.len() == 2 * HASH && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then_some(name)
}

fn has_hash(file: &Path, name: &str, progress: &mut MendProgress<'_>) -> std::io::Result<bool> {
    let hash = hash_of(ZlibDecoder::new(std::fs::File::open(file)?), progress)?;
    Ok(hex::encode(hash) == name)
}

/// Whether a file was read and is not what it should be, or its disk cannot read it.
///
/// # Errors
/// When it cannot be opened now, and may be sound: nothing is taken away, or forgotten, for want of a permission or of a place
/// among the open files.
fn is_damaged(file: &Path, is_sound: std::io::Result<bool>) -> Result<bool, GitError> {
    /// `EIO`: the disk has lost it.
    const LOST: i32 = 5;
    match is_sound {
        Ok(is_sound) => Ok(!is_sound),
        Err(error)
            if error.raw_os_error() == Some(LOST)
                || matches!(
                    error.kind(),
                    ErrorKind::NotFound
                        | ErrorKind::UnexpectedEof
                        | ErrorKind::InvalidData
                        | ErrorKind::InvalidInput
                ) =>
        {
            Ok(true)
        }
        Err(error) => {
            let message = format!("could not read {file:?}, whose repository is to be mended: {error}");
            Err(GitError::new(GitErrorKind::Unavailable, message))
        }
    }
}

/// Packs and their indices end with the hash of all that is before it.
fn ends_with_its_hash(file: &Path, progress: &mut MendProgress<'_>) -> std::io::Result<bool> {
    let mut file = std::fs::File::open(file)?;
    let length = file.metadata()?.len().saturating_sub(HASH as u64);
    let hash = hash_of((&mut file).take(length), progress)?;
    let mut end = [0; HASH];
    file.read_exact(&mut end)?;
    Ok(hash == end)
}

fn hash_of(mut bytes: impl Read, progress: &mut MendProgress<'_>) -> std::io::Result<[u8; HASH]> {
    let (mut hash, mut piece) = (Sha1::new(), vec![0; 64 << 10]);
    loop {
        match bytes.read(&mut piece)? {
            0 => return Ok(hash.finalize().into()),
            length => {
                hash.update(&piece[..length]);
                progress.add(length as u64);
            }
        }
    }
}

/// Has what is written here synced before anything names it, objects and references.
pub(super) fn sync_what_is_written(repository: &Repository) -> Result<(), git2::Error> {
    let mut config = repository.config()?;
    if config.get_bool("core.fsyncObjectFiles").unwrap_or(false) {
        return Ok(());
    }
    config.set_bool("core.fsyncObjectFiles", true)
}

#[cfg(test)]
mod tests {
    use git2::{Oid, Signature, Time};

    use super::*;

    #[test]
    fn what_cannot_be_opened_now_is_not_called_damaged_and_is_waited_for() {
        let said = |read| is_damaged(Path::new("pack"), read).map_err(|error| error.kind);
        let raw = |code| Err(std::io::Error::from_raw_os_error(code));
        assert_eq!(said(Err(ErrorKind::PermissionDenied.into())), Err(GitErrorKind::Unavailable));
        assert_eq!(said(raw(24)), Err(GitErrorKind::Unavailable), "too many open files");
        assert_eq!(said(raw(5)), Ok(true), "the disk cannot read it");
        for kind in [ErrorKind::UnexpectedEof, ErrorKind::InvalidData] {
            assert_eq!(said(Err(kind.into())), Ok(true));
        }
        assert_eq!((said(Ok(false)), said(Ok(true))), (Ok(true), Ok(false)));
    }

    #[test]
    fn an_object_that_was_cut_off_is_gone_before_libgit2_reads_it_for_ever() {
        let data = tempfile::tempdir().unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let (object, whole, length) = {
            let all = Workspaces::new(data.path()).unwrap();
            let commits = all.commits(&repository).unwrap();
            let text: String = (0..10_000).map(|line| format!("{line}\n")).collect();
            let (object, whole) = (commits.blob(text.as_bytes()).unwrap(), commits.blob(b"whole").unwrap());
            let name = object.to_string();
            let file = commits.path().join("objects").join(&name[..2]).join(&name[2..]);
            let length = std::fs::metadata(&file).unwrap().len() / 2;
            let bytes = std::fs::read(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
            (object, whole, length)
        };
        assert!(length > 100, "it is cut off where its content is");

        // By the next process.
        let commits = Workspaces::new(data.path()).unwrap().commits(&repository).unwrap();

        assert_eq!(commits.find_blob(object).unwrap_err().code(), git2::ErrorCode::NotFound);
        assert_eq!(commits.find_blob(whole).unwrap().content(), b"whole");
    }

    #[test]
    fn of_commits_those_are_forgotten_of_which_something_is_gone_and_no_others_however_deep_their_trees() {
        let data = tempfile::tempdir().unwrap();
        let all = Workspaces::new(data.path()).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let commits = all.commits(&repository).unwrap();
        let file = |text: &str| commits.blob(text.as_bytes()).unwrap();
        let folder = |id: Oid, mode: i32| {
            let mut folder = commits.treebuilder(None).unwrap();
            folder.insert("a", id, mode).unwrap();
            folder.write().unwrap()
        };
        let who = Signature::new("A", "a@example.org", &Time::new(1, 0)).unwrap();
        let commit = |name: &str, tree: Oid, parent: Option<Oid>| {
            let parent = parent.map(|parent| commits.find_commit(parent).unwrap());
            let (tree, parents) = (commits.find_tree(tree).unwrap(), parent.iter().collect::<Vec<_>>());
            let made = commits.commit(None, &who, &who, name, &tree, &parents).unwrap();
            commits.reference(&format!("refs/journeyman/{name}"), made, true, "").unwrap();
            made
        };
        let sound = folder(file("sound"), 0o100_644);
        let deep = (0..5_000).fold(sound, |inner, _| folder(inner, 0o040_000));
        let below = commit("deep", deep, None);
        commit("deep-above", sound, Some(below));
        let lost = [file("lost"), folder(file("of a lost folder"), 0o100_644)];
        let a_file = commit("a-file", folder(folder(lost[0], 0o100_644), 0o040_000), Some(below));
        commit("a-file-above", sound, Some(a_file));
        commit("a-folder", folder(lost[1], 0o040_000), None);
        let a_commit = commit("a-commit", sound, None);
        commit("a-commit-above", sound, Some(a_commit));
        for id in lost.into_iter().chain([a_commit]) {
            let name = id.to_string();
            std::fs::remove_file(commits.path().join("objects").join(&name[..2]).join(&name[2..])).unwrap();
        }

        assert!(all.forget_incomplete(&repository).unwrap());

        let left =
            |reference: git2::Reference<'_>| String::from_utf8_lossy(reference.name_bytes()).into_owned();
        let left: Vec<_> = commits.references().unwrap().map(|found| left(found.unwrap())).collect();
        assert_eq!(left, ["refs/journeyman/deep", "refs/journeyman/deep-above"]);
        assert!(!all.forget_incomplete(&repository).unwrap());
    }
}
