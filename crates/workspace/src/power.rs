//! Recovery after a machine crash: files that were not synced can be empty or outdated. Ours are synced or verified by
//! hash, but files written in sandboxes are not.
//!
//! May know: the folders in the data folder that sandboxes write. Must never know: what an order does next.

use std::fs::File;
use std::io::ErrorKind;

use super::{GitError, Workspaces, keep_whole, remove_all};

/// Holds the machine's boot id while a server uses the data folder.
const RECORD: &str = "boot";
const THIS_BOOT: &str = "/proc/sys/kernel/random/boot_id";

impl Workspaces {
    /// Marks the data folder as in use. If the machine crashed during the last use, it deletes what agents and setups
    /// wrote, as if the folder were lost; it is recreated on demand. Results of agent runs stay.
    pub fn begin_use(&self) -> Result<(), GitError> {
        let record = self.inner.data.join(RECORD);
        // A system without a boot id cannot tell a machine crash.
        let Ok(boot) = std::fs::read_to_string(THIS_BOOT) else { return Ok(()) };
        let before = match std::fs::read(&record) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(GitError::file("read", &record, &error)),
        };
        if before.is_some_and(|before| before != boot.as_bytes()) {
            tracing::warn!(
                "the machine ended before the server did (was its power cut?): work trees, agents' homes and \
                 environments are made again"
            );
            for order in self.orders_with_folders()? {
                self.remove(order)?;
            }
            remove_all(&self.all_environments())?;
        }
        keep_whole(&record, boot.as_bytes())
    }

    /// Syncs the disk and marks the data folder as unused.
    pub fn end_use(&self) -> Result<(), GitError> {
        let data = &self.inner.data;
        let failed = |error: std::io::Error| GitError::file("sync", data, &error);
        let folder = File::open(data).map_err(failed)?;
        rustix::fs::syncfs(&folder).map_err(|error| failed(error.into()))?;
        let failed_cache = |error: std::io::Error| GitError::file("sync", &self.cache, &error);
        let cache = File::open(&self.cache).map_err(failed_cache)?;
        rustix::fs::syncfs(&cache).map_err(|error| failed_cache(error.into()))?;
        match std::fs::remove_file(data.join(RECORD)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            Ok(()) | Err(_) => folder.sync_all().map_err(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use journeyman_order::OrderId;

    #[test]
    fn what_sandboxes_wrote_is_taken_away_where_the_machine_ended_before_the_server() {
        let data = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(data.path()).unwrap();
        let places = workspaces.order_dirs(OrderId(uuid::Uuid::from_u128(7)));
        let environment = workspaces.all_environments().join("octo/sum.git");
        let lay = || {
            for folder in [&places.work, &places.home, &places.runs, &environment] {
                std::fs::create_dir_all(folder).unwrap();
                std::fs::write(folder.join("file"), "").unwrap();
            }
        };
        let are_there = || [&places.work, &places.home, &environment].map(|folder| folder.exists());
        lay();

        // First a new server, then one after a kill, then one after a machine crash.
        workspaces.begin_use().unwrap();
        workspaces.begin_use().unwrap();
        assert_eq!(are_there(), [true; 3], "the machine goes on, and has all that was written");
        std::fs::write(data.path().join(RECORD), b"damaged \xff\n").unwrap();
        workspaces.begin_use().unwrap();
        assert_eq!(are_there(), [false; 3]);
        assert!(places.runs.join("file").exists(), "what was paid for stays");

        // A clean shutdown of the server, then of the machine.
        lay();
        workspaces.end_use().unwrap();
        assert!(!data.path().join(RECORD).exists());
        workspaces.begin_use().unwrap();
        assert_eq!(are_there(), [true; 3]);
    }
}
