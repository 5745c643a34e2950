//! Reads changes in `tests/fixtures/changes`, which store only the differences from their base.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// A folder with all files of a change, in `before` and in `after`.
#[must_use]
pub fn laid_out(change: &Path) -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    let after = place.path().join("after");
    copy(&change.join("before"), &place.path().join("before"));
    copy(&change.join("before"), &after);
    if change.join("after").exists() {
        copy(&change.join("after"), &after);
    }
    for gone in fs::read_to_string(change.join("gone")).unwrap_or_default().lines() {
        fs::remove_file(after.join(gone)).expect("it was there");
        // Git has no empty folders.
        let mut folders = Path::new(gone).ancestors().skip(1);
        while folders.next().is_some_and(|folder| fs::remove_dir(after.join(folder)).is_ok()) {}
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
