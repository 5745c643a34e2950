//! Lock files that a killed process left in a repository of ours. git takes them for a writer that is at work, and
//! refuses to write for as long as they are there.

use std::path::{Path, PathBuf};

use super::GitError;

/// Removes every lock file on references and settings. Only where nobody writes.
pub(super) fn clear(repository: &Path) -> Result<(), GitError> {
    let mut folders = vec![repository.to_owned()];
    while let Some(folder) = folders.pop() {
        for (path, is_folder) in entries(&folder)? {
            if is_folder {
                // Objects are written beside and renamed; nothing is locked there.
                if path != repository.join("objects") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| ending == "lock") {
                tracing::warn!(lock = %path.display(), "nobody holds it any more; removed");
                std::fs::remove_file(&path).map_err(|error| GitError::file("remove", &path, &error))?;
            }
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<(PathBuf, bool)>, GitError> {
    let said = |error: std::io::Error| GitError::file("look into", folder, &error);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(said)? {
        let entry = entry.map_err(said)?;
        entries.push((entry.path(), entry.file_type().map_err(said)?.is_dir()));
    }
    Ok(entries)
}
