//! The files of a checkout as they were when it was made, held against what is there later: what is tested is what is
//! pushed. Whoever wrote to it meanwhile is not trusted: no link is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::overlay::{inside, write};

/// Files that are kept in memory to be put back, in bytes altogether; beyond, a setup that changes one fails.
const MOST_KEPT: u64 = 256 << 20;
/// Paths that are named.
const MOST_NAMED: usize = 50;

/// What a path holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TrackedContent {
    File { digest: [u8; 32], is_executable: bool },
    Link(Vec<u8>),
}

/// Every file of a checkout.
pub(super) struct TrackedFiles {
    files: BTreeMap<PathBuf, TrackedContent>,
    /// As far as they fit.
    bytes: BTreeMap<PathBuf, Vec<u8>>,
}

impl TrackedFiles {
    /// Everything in a checkout that nobody has touched yet.
    pub(super) fn of(tree: &Path) -> io::Result<Self> {
        let mut tracked = Self { files: BTreeMap::new(), bytes: BTreeMap::new() };
        let mut open = vec![tree.to_owned()];
        let mut kept = 0;
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                let found = std::fs::symlink_metadata(&path)?;
                if found.is_dir() {
                    open.push(path);
                    continue;
                }
                let own = path.strip_prefix(tree).map_err(io::Error::other)?.to_owned();
                if found.is_file() {
                    kept += found.len();
                    if kept <= MOST_KEPT {
                        tracked.bytes.insert(own.clone(), std::fs::read(&path)?);
                    }
                }
                if let Some(held) = tracked_content(&path)? {
                    tracked.files.insert(own, held);
                }
            }
        }
        Ok(tracked)
    }

    /// Whether Python would find something compiled beside a source of the checkout.
    pub(super) fn has_compiled_python(&self, tree: &Path) -> bool {
        let is = |path: &Path, kind: &str| path.extension().is_some_and(|own| own == kind);
        let sources = self.files.keys().filter(|path| is(path, "py"));
        let folders: BTreeSet<&Path> = sources.filter_map(|path| path.parent()).collect();
        self.files.keys().any(|path| is(path, "pyc"))
            || folders
                .iter()
                .any(|folder| std::fs::symlink_metadata(tree.join(folder).join("__pycache__")).is_ok())
    }

    /// The paths that hold something else now, the first of them.
    pub(super) fn differ(&self, tree: &Path) -> Vec<String> {
        let others =
            self.files.iter().filter(|(path, was)| !matches!(now(tree, path), Ok(Some(now)) if now == **was));
        others.map(|(path, _)| path.display().to_string()).take(MOST_NAMED).collect()
    }

    /// Makes every file that is another one what it was.
    pub(super) fn put_back(&self, tree: &Path) -> io::Result<()> {
        for (path, was) in &self.files {
            if matches!(now(tree, path), Ok(Some(now)) if now == *was) {
                continue;
            }
            let name = path.display().to_string();
            let place = inside(tree, &name)?
                .ok_or_else(|| io::Error::other(format!("{name:?} leads out of the checkout")))?;
            match (was, self.bytes.get(path)) {
                (TrackedContent::Link(target), _) => {
                    super::overlay::remove(&place)?;
                    symlink(Path::new(std::ffi::OsStr::from_bytes(target)), &place)?;
                }
                (TrackedContent::File { is_executable, .. }, Some(bytes)) => {
                    write(&place, bytes)?;
                    let mode = if *is_executable { 0o755 } else { 0o644 };
                    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(mode))?;
                }
                (TrackedContent::File { .. }, None) => {
                    return Err(io::Error::other(format!(
                        "{name:?} was changed and is too large to be put back"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// What a path of a checkout holds now, if no link is on the way.
fn now(tree: &Path, path: &Path) -> io::Result<Option<TrackedContent>> {
    let mut place = tree.to_owned();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        if parts.peek().is_some() && !std::fs::symlink_metadata(&place)?.is_dir() {
            return Ok(None);
        }
    }
    tracked_content(&place)
}

fn tracked_content(path: &Path) -> io::Result<Option<TrackedContent>> {
    let found = std::fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Ok(Some(TrackedContent::Link(std::fs::read_link(path)?.as_os_str().as_bytes().to_vec())));
    }
    if !found.is_file() {
        return Ok(None);
    }
    // Whatever it is by now, opening it must neither wait nor follow.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let mut digest = Sha256::new();
    let mut rest = file.take(found.len().saturating_add(1));
    let mut block = vec![0; 64 << 10];
    loop {
        let length = rest.read(&mut block)?;
        if length == 0 {
            break;
        }
        digest.update(&block[..length]);
    }
    let is_executable = found.permissions().mode() & 0o100 != 0;
    Ok(Some(TrackedContent::File { digest: digest.finalize().into(), is_executable }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_would_find_compiled_is_seen() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("calc/old")).unwrap();
        std::fs::write(place.path().join("calc/parse.py"), "").unwrap();
        let tracked = TrackedFiles::of(place.path()).unwrap();
        assert!(!tracked.has_compiled_python(place.path()));
        std::fs::create_dir(place.path().join("calc/old/__pycache__")).unwrap();
        assert!(!tracked.has_compiled_python(place.path()), "nobody looks there");
        std::fs::create_dir(place.path().join("calc/__pycache__")).unwrap();
        assert!(tracked.has_compiled_python(place.path()));
        std::fs::remove_dir(place.path().join("calc/__pycache__")).unwrap();
        std::fs::write(place.path().join("calc/old/other.pyc"), "").unwrap();
        assert!(TrackedFiles::of(place.path()).unwrap().has_compiled_python(place.path()));
    }

    #[test]
    fn what_was_changed_meanwhile_is_named_and_put_back() {
        let place = tempfile::tempdir().unwrap();
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        std::fs::create_dir_all(tree.join("src")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        for name in ["same", "edited", "gone", "src/linked", "swapped"] {
            std::fs::write(tree.join(name), name).unwrap();
        }
        std::fs::write(outside.join("kept"), "kept").unwrap();
        symlink("same", tree.join("link")).unwrap();
        let tracked = TrackedFiles::of(&tree).unwrap();
        assert_eq!(tracked.differ(&tree), Vec::<String>::new());
        std::fs::write(tree.join("edited"), "other").unwrap();
        std::fs::remove_file(tree.join("gone")).unwrap();
        std::fs::write(tree.join("new"), "untracked").unwrap();
        std::fs::remove_dir_all(tree.join("src")).unwrap();
        symlink(&outside, tree.join("src")).unwrap();
        std::fs::remove_file(tree.join("swapped")).unwrap();
        symlink(outside.join("kept"), tree.join("swapped")).unwrap();
        std::fs::remove_file(tree.join("link")).unwrap();
        assert_eq!(tracked.differ(&tree), ["edited", "gone", "link", "src/linked", "swapped"]);
        tracked.put_back(&tree).unwrap();
        assert_eq!(tracked.differ(&tree), Vec::<String>::new());
        assert_eq!(std::fs::read(outside.join("kept")).unwrap(), b"kept");
        assert!(!outside.join("linked").exists(), "nothing is written through a link");
    }
}
