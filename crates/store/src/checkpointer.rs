//! Takes what was written from SQLite's log into its file beside whoever writes. Otherwise the commit that finds the log
//! full does all of it, and every delivery behind that one waits for two flushes of megabytes.

use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::mpsc;

/// After so many deliveries: each writes a page or two, and the log is full at 4,000.
const AFTER: usize = 600;

/// Counts what is written. Its task ends with it.
pub(super) struct Checkpointer {
    written: usize,
    wake: Option<mpsc::Sender<()>>,
}

impl Checkpointer {
    /// Of a database that is a file; otherwise it does nothing.
    pub(super) fn start(file: Option<&Path>) -> Self {
        let wake = file.map(|file| {
            let (wake, woken) = mpsc::channel(1);
            tokio::spawn(checkpoint(file.to_owned(), woken));
            wake
        });
        Self { written: 0, wake }
    }

    pub(super) fn wrote(&mut self, deliveries: usize) {
        self.written += deliveries;
        if self.written > AFTER
            && let Some(wake) = &self.wake
        {
            self.written = 0;
            // One that is at work takes this with it, or the next one does.
            let _ = wake.try_send(());
        }
    }
}

async fn checkpoint(file: PathBuf, mut woken: mpsc::Receiver<()>) {
    while woken.recv().await.is_some() {
        // Otherwise whoever commits does it.
        if let Err(error) = copy(&file).await {
            tracing::debug!("the database's log was not copied: {error}");
        }
    }
}

/// Nobody is waited for, and nobody waits. The connection is not kept: whoever closes the database closes its last one.
async fn copy(file: &Path) -> Result<(), sqlx::Error> {
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await?;
    sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await?;
    connection.close().await
}
