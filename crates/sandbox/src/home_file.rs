//! Writes files into a job's home, where earlier jobs may have left links that lead outside.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

/// Writes a file, and its parent folders, below a home that no job is using. It follows no links and never writes into
/// an existing file.
///
/// # Errors
/// If the path leads outside, or on disk errors.
pub fn write_in_home(home: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let names = names_of(path)?;
    let Some((file, folders)) = names.split_last() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, home, folder, Mode::empty())?;
    for name in folders {
        match mkdirat(&at, *name, Mode::from(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        at = openat(&at, *name, folder, Mode::empty())?;
    }
    match unlinkat(&at, *file, rustix::fs::AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    File::from(openat(&at, *file, new, Mode::from(0o644))?).write_all(bytes)
}

fn names_of(path: &Path) -> io::Result<Vec<&std::ffi::OsStr>> {
    let names = path.components().map(|part| match part {
        Component::Normal(name) => Ok(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "a path that leads out of the home"))
        }
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_lands_in_the_home_and_never_where_a_link_leads() {
        let place = tempfile::tempdir().unwrap();
        let (home, outside) = (place.path().join("home"), place.path().join("outside"));
        for folder in [&home, &outside] {
            fs::create_dir(folder).unwrap();
        }
        write_in_home(&home, Path::new(".a/b/c.toml"), b"one").unwrap();
        write_in_home(&home, Path::new(".a/b/c.toml"), b"two").unwrap();
        assert_eq!(fs::read_to_string(home.join(".a/b/c.toml")).unwrap(), "two");

        symlink(&outside, home.join(".linked")).unwrap();
        assert!(write_in_home(&home, Path::new(".linked/c.toml"), b"x").is_err());
        fs::write(outside.join("theirs"), "theirs").unwrap();
        symlink(outside.join("theirs"), home.join("link")).unwrap();
        fs::hard_link(outside.join("theirs"), home.join("hard")).unwrap();
        for name in ["link", "hard"] {
            write_in_home(&home, Path::new(name), b"ours").unwrap();
            assert_eq!(fs::read_to_string(home.join(name)).unwrap(), "ours");
        }
        assert_eq!(fs::read_to_string(outside.join("theirs")).unwrap(), "theirs");
        for path in ["", "../x", "/x", "a/../x", "./x/../../y"] {
            assert!(write_in_home(&home, Path::new(path), b"x").is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}
