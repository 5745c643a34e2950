//! Cleans up what a killed process left in our repositories: lock files, because git refuses to write while they exist,
//! and partial packs, which are as large as the fetch.

use std::path::{Path, PathBuf};

use super::{GitError, remove_all};

/// The folder of a fetch that has not been checked yet.
pub(super) const COMING: &str = "incoming";

/// Deletes lock files on references and settings, partial packs and unchecked fetches. Only call it while no process
/// writes.
pub(super) fn clear(repository: &Path) -> Result<(), GitError> {
    remove_all(&repository.join(COMING))?;
    clear_locks(repository)?;
    clear_packs(repository)
}

/// Deletes partial packs, by the names that git and libgit2 give them.
fn clear_packs(repository: &Path) -> Result<(), GitError> {
    let packs = repository.join("objects/pack");
    for (path, _) in if packs.exists() { entries(&packs)? } else { Vec::new() } {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if ["tmp_", ".tmp-", "pack_git2_"].iter().any(|prefix| name.starts_with(prefix)) {
            tracing::warn!(pack = %path.display(), "nobody writes it any more; removed");
            std::fs::remove_file(&path).map_err(|error| GitError::file("remove", &path, &error))?;
        }
    }
    Ok(())
}

fn clear_locks(repository: &Path) -> Result<(), GitError> {
    let mut folders = vec![repository.to_owned()];
    while let Some(folder) = folders.pop() {
        for (path, is_folder) in entries(&folder)? {
            if is_folder {
                // Objects are written to temporary files and renamed, without locks.
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

pub(super) fn entries(folder: &Path) -> Result<Vec<(PathBuf, bool)>, GitError> {
    let said = |error: std::io::Error| GitError::file("look into", folder, &error);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(said)? {
        let entry = entry.map_err(said)?;
        entries.push((entry.path(), entry.file_type().map_err(said)?.is_dir()));
    }
    Ok(entries)
}
