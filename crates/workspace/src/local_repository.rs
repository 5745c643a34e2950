//! A local repository whose commits we read in place: nothing is copied or changed.

use std::collections::HashSet;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::bounds::bounded_tree;
use super::libgit2::sha;
use super::{GitError, GitErrorKind, Workspaces, address, keep_whole};
use journeyman_order::bounds::{LARGEST_SOURCE, MOST_ENTRIES};
use journeyman_order::{CommitSha, RepositoryName};

impl Workspaces {
    /// Lets the mirror see the objects of a repository at `path`, for as long as that repository exists.
    pub fn import_local(&self, repository: &RepositoryName, path: &Path) -> Result<(), GitError> {
        let lender = open(path)?;
        // A linked work tree uses the objects of the main one.
        let objects = lender.commondir().join("objects");
        let objects = objects
            .canonicalize()
            .map_err(|error| GitError::file("find the objects in", &objects, &error))?;
        let Some(line) = objects.to_str().filter(|line| !line.contains(['\n', '"'])) else {
            return Err(GitError::broken(format!("{objects:?} cannot be named as a place of objects")));
        };
        let mirror = self.mirror(repository)?;
        let file = mirror.path().join("objects/info/alternates");
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| GitError::file("make", folder, &error))?;
        }
        std::fs::write(&file, format!("{line}\n")).map_err(|error| GitError::file("write", &file, &error))?;
        if let Ok(origin) = lender.find_remote("origin") {
            address::keep(mirror.path(), origin.url().unwrap_or_default())?;
        }
        self.keep_local_tags(&mirror, &lender)?;
        self.import_beside_objects(repository, &lender)
    }

    fn import_beside_objects(
        &self,
        repository: &RepositoryName,
        lender: &Repository,
    ) -> Result<(), GitError> {
        let Ok(head) = lender.head().and_then(|head| head.peel_to_commit()) else { return Ok(()) };
        self.tree_within(lender, head.id())?;
        let commit = sha(head.id())?;
        self.import_local_large_files(repository, lender, &head)?;
        self.import_local_submodules(repository, lender, &commit)?;
        keep_whole(&self.of_a_clone(repository, &commit), b"")
    }

    /// Whether a clone gave what it has beside a commit's objects: no server is asked for the rest.
    pub(super) fn is_of_a_clone(&self, repository: &RepositoryName, commit: &CommitSha) -> bool {
        self.of_a_clone(repository, commit).exists()
    }

    fn of_a_clone(&self, repository: &RepositoryName, commit: &CommitSha) -> PathBuf {
        self.own_path("lfs", repository).join("of-a-clone").join(commit.as_str())
    }

    /// Copies what a clone at `path` stores beside its objects for the checked-out commit: submodules and contents of
    /// Git LFS.
    pub fn import_beside(&self, repository: &RepositoryName, path: &Path) -> Result<(), GitError> {
        self.import_beside_objects(repository, &open(path)?)
    }
}

/// Finds and opens the repository around a local folder. It refuses one with a file on which git would block, because
/// another user may have made the clone.
pub fn open_clone(path: &Path) -> Result<Repository, GitError> {
    refuse_what_waits(path)?;
    let opened = Repository::discover(path)
        .map_err(|error| GitError::broken(format!("{}; {}", error.message(), remedy(&error, path))))?;
    // Later code walks the checked-out tree, so check its size; an unreadable one is noticed later.
    let head = opened.head().and_then(|head| head.peel_to_commit()).map(|head| head.id());
    match head.ok().map(|head| bounded_tree(&opened, head).map(drop)) {
        Some(Err(error)) if error.kind == GitErrorKind::NotForUs => Err(error),
        Some(_) | None => Ok(opened),
    }
}

/// What to do about a clone that cannot be opened.
fn remedy(error: &git2::Error, path: &Path) -> String {
    let said = error.message().to_ascii_lowercase();
    match () {
        () if error.code() == git2::ErrorCode::Owner => format!(
            "another user owns it: run Journeyman as that user, or say that you trust it with `git config --global --add \
             safe.directory {}`",
            path.canonicalize().unwrap_or_else(|_| path.to_owned()).display()
        ),
        () if said.contains("partialclone") => {
            "the clone is partial: clone it again without `--filter`".to_owned()
        }
        () if said.contains("extension") || said.contains("object format") => {
            "Journeyman reads repositories as `git init` makes them by default: clone it again".to_owned()
        }
        () => "name a git repository with at least one commit".to_owned(),
    }
}

fn open(path: &Path) -> Result<Repository, GitError> {
    refuse_what_waits(path)?;
    Repository::open(path).map_err(GitError::from)
}

/// The folders of a repository that git opens. Submodules are checked when they are copied.
const OPENED: [&str; 4] = ["objects", "refs", "info", "logs"];
const FILES: [&str; 7] =
    ["HEAD", "config", "commondir", "packed-refs", "shallow", "index", "objects/info/alternates"];

fn refuse_what_waits(path: &Path) -> Result<(), GitError> {
    let Some(git) = git_folder(path) else { return Ok(()) };
    let beside = [".gitignore", ".gitattributes"].map(|name| git.with_file_name(name));
    let mut found = beside.into_iter().find(|file| file.exists() && !file.is_file());
    let shared = || first_line(&git.join("commondir")).map(|line| git.join(line));
    if found.is_none() {
        found = waits(&git)?;
    }
    if let (None, Some(shared)) = (&found, shared()) {
        found = waits(&shared)?;
    }
    match found {
        Some(file) => Err(GitError::broken(format!(
            "{} is no file, and git would read it: remove it, or make the clone anew",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Finds the git folder the way git does, opening only regular files.
fn git_folder(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()?.ancestors().find_map(|folder| {
        let inner = folder.join(".git");
        if inner.is_dir() {
            return Some(inner);
        }
        let linked =
            first_line(&inner).and_then(|line| Some(folder.join(line.strip_prefix("gitdir:")?.trim())));
        let is_bare = || OPENED[..2].iter().all(|name| folder.join(name).is_dir());
        linked.or_else(|| is_bare().then(|| folder.to_owned()))
    })
}

fn first_line(file: &Path) -> Option<String> {
    let text = file.is_file().then(|| small_text(file).ok())??;
    text.lines().next().map(str::to_owned)
}

/// The text of a small git file, cut at the limit.
fn small_text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?.take(LARGEST_SOURCE as u64).read_to_string(&mut text)?;
    Ok(text)
}

/// A path in a repository on which git would block: neither file nor folder, or not a file where one is required.
fn waits(repository: &Path) -> Result<Option<PathBuf>, GitError> {
    let files = FILES.iter().map(|name| repository.join(name));
    if let Some(wrong) = files.clone().find(|file| file.exists() && !file.is_file()) {
        return Ok(Some(wrong));
    }
    let (mut open, mut seen, mut looked) = (vec![repository.to_owned()], HashSet::new(), 0);
    while let Some(folder) = open.pop() {
        if !folder.canonicalize().is_ok_and(|place| seen.insert(place)) {
            continue;
        }
        let is_whole = folder != repository;
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MOST_ENTRIES {
                return Err(GitError::broken(format!(
                    "{} has more than {MOST_ENTRIES} files: `git gc` puts them together",
                    repository.display()
                )));
            }
            let path = entry.path();
            // A dangling link is not opened.
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => path.metadata().map(|found| found.file_type()),
                kind => kind,
            };
            let Ok(kind) = kind else { continue };
            if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
                return Ok(Some(path));
            }
            if kind.is_dir() && (is_whole || OPENED.iter().any(|name| entry.file_name() == *name)) {
                open.push(path);
            } else if kind.is_file() && path.ends_with("info/alternates") {
                let objects = folder.parent().unwrap_or(&folder);
                let text = small_text(&path).unwrap_or_default();
                open.extend(text.lines().filter(|line| !line.is_empty()).map(|line| objects.join(line)));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn pipe(at: &Path) {
        let _ = fs::remove_file(at);
        mknodat(CWD, at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    /// The message for a repository after a change.
    fn said(change: &dyn Fn(&Path)) -> String {
        let place = tempfile::tempdir().unwrap();
        let repository = Repository::init(place.path().join("clone")).unwrap();
        change(repository.path());
        let inner = place.path().join("clone/deep");
        fs::create_dir(&inner).unwrap();
        open_clone(&inner).err().map(|error| error.message).unwrap_or_default()
    }

    #[test]
    fn a_clone_of_a_form_that_is_not_read_is_told_from_a_folder_that_is_none() {
        for (settings, words) in [
            (
                "[extensions]\n\tpartialClone = origin\n",
                "the clone is partial: clone it again without `--filter`",
            ),
            ("[extensions]\n\trefStorage = reftable\n", "clone it again"),
            ("[extensions]\n\tobjectFormat = sha256\n", "clone it again"),
            ("[extensions]\n\tofTomorrow = true\n", "clone it again"),
        ] {
            let text = format!("[core]\n\trepositoryformatversion = 1\n{settings}");
            let said = said(&|git| fs::write(git.join("config"), &text).unwrap());
            assert!(said.contains(words), "{said}");
        }
        let nothing = tempfile::tempdir().unwrap();
        let said = open_clone(nothing.path()).err().map(|error| error.message).unwrap_or_default();
        assert!(said.ends_with("name a git repository with at least one commit"), "{said}");
    }

    #[test]
    fn a_clone_of_another_user_is_told_with_what_makes_it_trusted() {
        let place = tempfile::tempdir().unwrap();
        let owner = git2::Error::new(git2::ErrorCode::Owner, git2::ErrorClass::Config, "not owned");
        let command = format!(
            "`git config --global --add safe.directory {}`",
            place.path().canonicalize().unwrap().display()
        );
        assert!(remedy(&owner, place.path()).ends_with(&command), "{}", remedy(&owner, place.path()));
    }

    #[test]
    fn a_clone_with_a_file_that_git_would_wait_for_is_not_opened_and_the_file_is_named() {
        assert_eq!(said(&|_| {}), "");
        for name in ["HEAD", "config", "commondir", "packed-refs", "index", "objects/info/alternates"] {
            let said = said(&|git| pipe(&git.join(name)));
            assert!(said.contains(&format!("/.git/{name} is no file")), "{name}: {said}");
        }
        for name in ["info/exclude", "refs/heads/main", "objects/pack/pack-1.idx", "FETCH_HEAD"] {
            let said = said(&|git| pipe(&git.join(name)));
            assert!(said.contains(&format!("/.git/{name} is no file")), "{name}: {said}");
        }
        let ignored = said(&|git| pipe(&git.with_file_name(".gitignore")));
        assert!(ignored.contains("/clone/.gitignore is no file"), "{ignored}");
        let folder = said(&|git| {
            fs::remove_file(git.join("config")).unwrap();
            fs::create_dir(git.join("config")).unwrap();
        });
        assert!(folder.contains("/.git/config is no file"), "{folder}");
        let device = said(&|git| {
            fs::remove_file(git.join("config")).unwrap();
            symlink("/dev/zero", git.join("config")).unwrap();
        });
        assert!(device.contains("/.git/config is no file"), "{device}");
    }

    #[test]
    fn what_a_clone_borrows_is_looked_at_too_and_plain_objects_of_elsewhere_are_fine() {
        let other = tempfile::tempdir().unwrap();
        let lender = Repository::init_bare(other.path()).unwrap();
        let objects = lender.path().join("objects");
        let borrow = |git: &Path| {
            fs::write(git.join("objects/info/alternates"), format!("{}\n", objects.display())).unwrap();
            symlink(".", git.join("refs/around")).unwrap();
        };
        assert_eq!(said(&borrow), "");
        pipe(&objects.join("pack/pack-1.idx"));
        assert!(said(&borrow).contains("pack/pack-1.idx is no file"));

        let linked = said(&|git| {
            pipe(&other.path().join("config"));
            fs::write(git.join("commondir"), other.path().to_str().unwrap()).unwrap();
        });
        assert!(linked.contains("/config is no file"), "{linked}");
    }
}
