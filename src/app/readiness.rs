//! Whether the application can work, the store aside: it accepts work, GitHub knows its App, and its disks have space.

use std::path::PathBuf;
use std::sync::Arc;

use secrecy::ExposeSecret as _;

use super::registration::AppProblem;
use crate::config::Settings;
use crate::engine::Engine;
use crate::http::Readiness;
use crate::store::DatabaseFiles;
use crate::workspace::{KEPT_FREE_OF_OBJECTS, free_bytes};

/// With less free space the server is not ready: the next delivery could already be lost.
const LEAST_ROOM: u64 = 64 * 1024 * 1024;

/// Ready as long as the engine is not stopping, GitHub knows the App, and there is disk space.
pub(super) fn ready(
    engine: &Engine,
    settings: &Settings,
    app: AppProblem,
) -> Arc<dyn Fn() -> Readiness + Send + Sync> {
    let engine = engine.clone();
    let data = settings.data.dir.clone();
    let folders: Vec<PathBuf> =
        [Some(settings.data.dir.clone()), folder_of(settings.store.url.expose_secret())]
            .into_iter()
            .flatten()
            .collect();
    Arc::new(move || {
        if engine.is_stopping() {
            return Readiness::NotReady { because: "it was asked to stop".to_owned() };
        }
        if let Some(because) = app.get() {
            return Readiness::NotReady { because };
        }
        let disk_free_bytes = folders.iter().filter_map(|folder| free_bytes(folder)).min();
        match disk_free_bytes.filter(|free| *free < LEAST_ROOM) {
            Some(free) => Readiness::NotReady {
                because: format!("the disk is nearly full: {free} bytes are free, {LEAST_ROOM} are needed"),
            },
            None => Readiness::Ready { disk_free_bytes, orders_wait_because: too_little(free_bytes(&data)) },
        }
    })
}

/// Why no repository can be fetched if there is little space for its objects.
fn too_little(free: Option<u64>) -> Option<String> {
    let free = free.filter(|free| *free < KEPT_FREE_OF_OBJECTS)?;
    Some(format!(
        "`data.dir` has {} MiB of free space, and {} MiB have to stay free: until there is more, nothing is fetched and no agent's \
         work is taken in",
        free >> 20,
        KEPT_FREE_OF_OBJECTS >> 20
    ))
}

/// The folder of a database that is a file.
fn folder_of(url: &str) -> Option<PathBuf> {
    let database = std::path::absolute(DatabaseFiles::of(url)?.database).ok()?;
    Some(database.parent()?.to_owned()).filter(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::too_little;

    #[test]
    fn a_disk_with_room_for_deliveries_and_not_for_repositories_says_that_orders_wait() {
        insta::assert_snapshot!(too_little(Some(100 << 20)).expect("it is too little"), @"`data.dir` has 100 MiB of free space, and 256 MiB have to stay free: until there is more, nothing is fetched and no agent's work is taken in");
        assert_eq!((too_little(Some(256 << 20)), too_little(None)), (None, None));
    }
}
