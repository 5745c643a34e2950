//! Lays files over a checkout that nobody else has touched yet. Paths come from a change and links from a commit, so
//! that nothing is written through a link.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use journeyman_verify::{Overlay, OverlayAction};

pub(super) fn lay(tree: &Path, overlays: &[Overlay]) -> io::Result<()> {
    for overlay in overlays {
        let Some(path) = inside(tree, &overlay.path)? else {
            return Err(io::Error::other(format!("{:?} leads out of the checkout", overlay.path)));
        };
        match &overlay.action {
            OverlayAction::Remove => remove(&path)?,
            OverlayAction::Write(bytes) => write(&path, bytes)?,
        }
    }
    Ok(())
}

/// Where the path lies in the tree; none where it climbs out, or through a link.
pub(super) fn inside(tree: &Path, path: &str) -> io::Result<Option<PathBuf>> {
    let mut place = tree.to_owned();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Ok(None) };
        place.push(name);
        if parts.peek().is_some() {
            match std::fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => {}
                // A file or a link where a folder is needed: the folder takes its place.
                Ok(_) => std::fs::remove_file(&place)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Some(place).filter(|place| place != tree))
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mode = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => found.permissions().mode() & 0o777,
        Ok(_) | Err(_) if bytes.starts_with(b"#!") => 0o755,
        Ok(_) | Err(_) => 0o644,
    };
    remove(path)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(tree: &Path, path: &str, lay: OverlayAction) -> io::Result<()> {
        super::lay(tree, &[Overlay { path: path.to_owned(), action: lay }])
    }

    #[test]
    fn nothing_is_written_through_a_link_or_out_of_the_checkout() {
        let place = tempfile::tempdir().unwrap();
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("linked")).unwrap();
        std::os::unix::fs::symlink(outside.join("kept"), tree.join("file")).unwrap();
        for path in ["../outside/x", "/etc/x", "", ".", "a/../../x"] {
            assert!(laid(&tree, path, OverlayAction::Write(b"x".to_vec())).is_err(), "{path:?}");
        }
        laid(&tree, "linked/kept", OverlayAction::Write(b"x".to_vec())).unwrap();
        laid(&tree, "file", OverlayAction::Write(b"x".to_vec())).unwrap();
        laid(&tree, "new/deep/run.sh", OverlayAction::Write(b"#!/bin/sh".to_vec())).unwrap();
        assert_eq!(std::fs::read(outside.join("kept")).unwrap(), b"kept");
        assert_eq!(std::fs::read(tree.join("linked/kept")).unwrap(), b"x");
        let mode = std::fs::metadata(tree.join("new/deep/run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111);
        laid(&tree, "linked", OverlayAction::Remove).unwrap();
        laid(&tree, "gone", OverlayAction::Remove).unwrap();
        assert!(!tree.join("linked").exists() && outside.join("kept").exists());
    }
}
