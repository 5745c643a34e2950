//! Small root folders from this machine's own programs, for commands that run in their own root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository;

/// Packages that `make fetch` unpacks under `.cache`.
const UNPACKED: [&str; 2] = ["redis", "postgres"];

/// Finds programs of this machine as a shell does, and copies them into `bin` of a folder that will be a `/`, with
/// their libraries.
///
/// # Panics
/// If a program is missing.
pub fn copy_programs(root: &Path, programs: &[&str]) {
    for folder in ["bin", "usr/bin", "etc"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for program in programs {
        let found = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program]).output().unwrap();
        let path = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
        assert!(path.is_absolute(), "{program} is missing");
        copy_program(root, &path, program);
    }
}

/// Copies one program under this name.
pub fn copy_program(root: &Path, program: &Path, name: &str) {
    copy(program, &root.join("bin").join(name));
    copy_libraries(root, program);
}

/// Copies the libraries that the linker lists for a program, if any.
pub fn copy_libraries(root: &Path, program: &Path) {
    let cache = repository().join(".cache");
    let mut command = Command::new("ldd");
    if UNPACKED.iter().any(|package| program.starts_with(cache.join(package))) {
        let folders = UNPACKED.iter().flat_map(|package| fs::read_dir(cache.join(package).join("usr/lib")));
        let folders: Vec<String> =
            folders.flatten().flatten().map(|folder| folder.path().display().to_string()).collect();
        command.env("LD_LIBRARY_PATH", folders.join(":"));
    }
    let needed = command.arg(program).output().unwrap();
    for word in
        String::from_utf8_lossy(&needed.stdout).split_whitespace().filter(|word| word.starts_with('/'))
    {
        copy_file(root, Path::new(word));
    }
}

/// Where a file of an unpacked package would be installed.
pub fn as_installed(path: &Path) -> PathBuf {
    let cache = repository().join(".cache");
    let below = UNPACKED.iter().find_map(|package| path.strip_prefix(cache.join(package)).ok());
    below.map_or_else(|| path.to_owned(), |below| Path::new("/").join(below))
}

/// Copies a file to its installed path in a root.
pub fn copy_file(root: &Path, file: &Path) {
    copy(file, &root.join(as_installed(file).strip_prefix("/").unwrap()));
}

/// Copies a whole folder to its installed path in a root.
pub fn copy_folder(root: &Path, folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => copy_folder(root, &path),
            false => copy_file(root, &path),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    if !to.exists() {
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}
