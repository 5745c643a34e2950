//! Small root folders made of this machine's own programs, for what is run in a root of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies programs of this machine into a folder that is to be somebody's `/`, each where its name in a shell leads to,
/// with the libraries that they need.
///
/// # Panics
/// When one is not there.
pub fn copy_programs(root: &Path, programs: &[&str]) {
    for folder in ["bin", "usr/bin", "etc"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for program in programs {
        let found = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program]).output().unwrap();
        let path = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
        assert!(path.is_absolute(), "{program} is missing");
        let name = path.file_name().unwrap();
        copy(&path, &root.join("bin").join(name));
        copy_libraries(root, &path);
    }
}

/// What the linker says that a program needs, where it says so.
pub fn copy_libraries(root: &Path, program: &Path) {
    let needed = Command::new("ldd").arg(program).output().unwrap();
    for word in
        String::from_utf8_lossy(&needed.stdout).split_whitespace().filter(|word| word.starts_with('/'))
    {
        copy(Path::new(word), &root.join(word.trim_start_matches('/')));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    if !to.exists() {
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}
