//! Reads changes in `tests/fixtures/changes` and of languages' samples, which store only the differences from their base.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// A folder with all files of a change, in `before` and in `after`.
#[must_use]
pub fn laid_out(change: &Path) -> TempDir {
    let place = laid_over(&change.join("before"), &change.join("after"));
    let after = place.path().join("after");
    for gone in fs::read_to_string(change.join("gone")).unwrap_or_default().lines() {
        fs::remove_file(after.join(gone)).expect("it was there");
        // Git has no empty folders.
        let mut folders = Path::new(gone).ancestors().skip(1);
        while folders.next().is_some_and(|folder| fs::remove_dir(after.join(folder)).is_ok()) {}
    }
    place
}

/// A folder with all files of a base in `before`, and in `after` those of the change laid over them, if there are any.
#[must_use]
pub fn laid_over(before: &Path, after: &Path) -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    copy(before, &place.path().join("before"));
    copy(before, &place.path().join("after"));
    if after.exists() {
        copy(after, &place.path().join("after"));
    }
    place
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("a file");
        }
    }
}
