//! The folder of a command that runs once. It is removed at the end.

use std::path::Path;

use tempfile::TempDir;

use crate::app::remove_all;

pub(super) struct TemporaryPlace(TempDir);

impl TemporaryPlace {
    pub(super) fn make() -> std::io::Result<Self> {
        tempfile::Builder::new().prefix("journeyman-").tempdir().map(Self)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TemporaryPlace {
    fn drop(&mut self) {
        // A setup can leave folders that are not writable, which `TempDir` does not remove.
        if let Err(error) = remove_all(self.path()) {
            eprintln!("journeyman: {error}");
        }
    }
}
