//! What a killed process left in a repository of ours: lock files, which git takes for a writer that is at work, so that
//! it refuses to write for as long as they are there; and packs that are not whole, which are as large as what was fetched.

use std::path::{Path, PathBuf};

use super::{GitError, remove_all};

/// What is fetched, until it was looked at.
pub(super) const COMING: &str = "incoming";

/// Removes every lock file on references and settings, every pack that is not whole, and what had come and was not looked at.
/// Only where nobody writes.
pub(super) fn clear(repository: &Path) -> Result<(), GitError> {
    remove_all(&repository.join(COMING))?;
    clear_locks(repository)?;
    clear_packs(repository)
}

/// Packs that are not whole, by how git and libgit2 name them until they are.
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

pub(super) fn entries(folder: &Path) -> Result<Vec<(PathBuf, bool)>, GitError> {
    let said = |error: std::io::Error| GitError::file("look into", folder, &error);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(said)? {
        let entry = entry.map_err(said)?;
        entries.push((entry.path(), entry.file_type().map_err(said)?.is_dir()));
    }
    Ok(entries)
}
