//! Deletes what a job, an agent or a repository may have written. The system's `rm` handles any depth of folders and
//! follows no link.
//!
//! May know: paths. Must never know: their owners.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};

use super::GitError;

/// Deletes a path and everything in it. A missing path is fine.
pub fn remove_all(path: &Path) -> Result<(), GitError> {
    remove(path).map_err(|error| GitError::file("remove", path, &error))
}

fn remove(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        found => found?,
    };
    if !found.is_dir() {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
    }
    if run("rm", "-rf", path).is_ok() {
        return Ok(());
    }
    // Some tools make their cache folders read-only.
    run("chmod", "-Rf", path).and_then(|()| run("rm", "-rf", path))
}

fn run(program: &str, option: &str, path: &Path) -> io::Result<()> {
    let mode = (program == "chmod").then_some("u+rwX");
    let mut command = Command::new(program);
    command.arg(option).args(mode).arg("--").arg(path).stdin(Stdio::null());
    let ended = command.output()?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&ended.stderr).trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_links_lead_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let [folder, outside] = ["-folder", "outside"].map(|name| place.path().join(name));
        fs::create_dir_all(folder.join("in/deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        for link in ["link", "in/link", "in/deep/link"] {
            symlink(&outside, folder.join(link)).unwrap();
        }
        remove_all(&folder).unwrap();
        symlink(&outside, &folder).unwrap();
        remove_all(&folder).unwrap();
        assert!(!folder.is_symlink() && outside.join("kept").is_file());
        remove_all(&outside.join("kept")).unwrap();
        remove_all(&outside.join("kept")).unwrap();
        assert!(!outside.join("kept").exists());
    }

    #[test]
    fn folders_that_nobody_may_enter_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("cache");
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/file"), "").unwrap();
        for path in ["a/b", "a", ""] {
            fs::set_permissions(folder.join(path), fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove_all(&folder).unwrap();
        assert!(!folder.exists());
    }
}
