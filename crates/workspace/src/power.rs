//! What is left where the machine ended and not the server: files that were not synced can be empty, or as they were before,
//! under their names. Ours are synced, or known by their hashes. What sandboxes wrote is neither.
//!
//! May know: in which folders of the data folder sandboxes write. Must never know: what an order does next.

use std::fs::File;
use std::io::ErrorKind;

use super::{GitError, Workspaces, remove_all, write_whole};

/// In the data folder while a server uses it: which start of the machine that is.
const RECORD: &str = "boot";
const THIS_BOOT: &str = "/proc/sys/kernel/random/boot_id";

impl Workspaces {
    /// Says that the data folder is used from now on. Where whoever used it before ended with the machine, what agents and
    /// setups wrote is taken away, as if the folder had been lost: it is made again by whoever needs it. What runs of agents
    /// came to stays.
    pub fn begin_use(&self) -> Result<(), GitError> {
        let record = self.inner.data.join(RECORD);
        // On a system that does not say, nothing is known of its end.
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
        write_whole(&record, boot.as_bytes()).map_err(|error| GitError::file("write", &record, &error))
    }

    /// Says that it is used no more, once all that was written is on the disk.
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

        // A first server; one after a kill; one after the machine's end.
        workspaces.begin_use().unwrap();
        workspaces.begin_use().unwrap();
        assert_eq!(are_there(), [true; 3], "the machine goes on, and has all that was written");
        std::fs::write(data.path().join(RECORD), b"damaged \xff\n").unwrap();
        workspaces.begin_use().unwrap();
        assert_eq!(are_there(), [false; 3]);
        assert!(places.runs.join("file").exists(), "what was paid for stays");

        // One that ended in peace, and then the machine.
        lay();
        workspaces.end_use().unwrap();
        assert!(!data.path().join(RECORD).exists());
        workspaces.begin_use().unwrap();
        assert_eq!(are_there(), [true; 3]);
    }
}
