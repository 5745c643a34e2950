//! What earlier versions kept in the current folder, where `store.url` and `data.dir` no longer begin.

use std::io;
use std::path::Path;

use secrecy::ExposeSecret as _;

use super::UsageError;
use crate::attest::KEY_FILE;
use crate::config::{EffectiveSetting, Settings, sqlite_url};
use crate::store::DatabaseFiles;

/// Folders of a data folder. One alone may be anybody's.
const FOLDERS: [&str; 3] = ["orders", "mirrors", "artifacts"];

/// What lies in the current folder, where the defaults of `store.url` and `data.dir` began in earlier versions, and not where
/// they begin now: a server that started all the same would have forgotten it.
pub(super) fn left_behind(settings: &Settings, shown: &[EffectiveSetting]) -> Result<(), UsageError> {
    let is_default = |key: &str| shown.iter().any(|one| one.key == key && one.from == "default");
    let before = |now: &Path| std::path::absolute(now.file_name()?).ok();
    let mut moved = Vec::new();
    let database = DatabaseFiles::of(settings.store.url.expose_secret()).map(|files| files.database);
    if let Some(now) = database.filter(|_| is_default("store.url"))
        && let Some(before) = before(&now).filter(|before| before.is_file())
        && !looked_at("store.url", &now, now.try_exists())?
    {
        moved.push(("store.url", sqlite_url(&before), before, now));
    }
    let data = &settings.data.dir;
    // Where the current folder may not be entered, nothing of ours was kept in it.
    if is_default("data.dir")
        && let Some(before) = before(data).filter(|before| holds_data(before).unwrap_or_default())
        && !looked_at("data.dir", data, holds_data(data))?
    {
        moved.push(("data.dir", before.display().to_string(), before, data.clone()));
    }
    if moved.is_empty() {
        return Ok(());
    }
    let lines = moved.into_iter().map(|(key, value, before, now)| {
        format!("\n  {} to {}, or set {key} = {value:?}", before.display(), now.display())
    });
    Err(UsageError(format!(
        "store.url and data.dir that are not set begin at the folder of the settings now, and no longer at the current one. \
         Nothing was done there. Move what is there, with all whose names begin so (such as journeyman.db-wal and \
         journeyman.db.artifacts):{}",
        lines.collect::<String>()
    )))
}

/// Whether something is there; one that may not be looked at is not taken for one that is not there.
fn looked_at(key: &str, place: &Path, is_there: io::Result<bool>) -> Result<bool, UsageError> {
    is_there.map_err(|error| {
        UsageError(format!(
            "{} ({key}) cannot be looked at: {error}; let the user that runs Journeyman enter its folder",
            place.display()
        ))
    })
}

/// Whether a folder holds data of a server. An empty one holds none.
fn holds_data(folder: &Path) -> io::Result<bool> {
    let mut folders = 0;
    for name in FOLDERS {
        folders += usize::from(folder.join(name).try_exists()?);
    }
    Ok(folders > 1 || folder.join(KEY_FILE).try_exists()?)
}
