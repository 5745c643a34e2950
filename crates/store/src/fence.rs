//! Checks in every write transaction that this server still owns the database.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::StoreError;
use super::connections::{OpenTransaction, WriteTransaction, fetch};
use super::file_lock::FileLock;

pub(super) struct Fence {
    /// This server's number, set when it takes the database. Without one there is no check: tools may write too.
    pub(super) number: OnceLock<i64>,
    lock: Mutex<Option<HeldLock>>,
    pub(super) lost: watch::Sender<Option<String>>,
}

pub(super) enum HeldLock {
    File {
        _lock: FileLock,
    },
    /// A task owns the connection that holds the lock.
    Connection(AbortHandle),
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        match self {
            Self::File { .. } => {}
            Self::Connection(task) => task.abort(),
        }
    }
}

impl Fence {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { number: OnceLock::new(), lock: Mutex::new(None), lost: watch::Sender::new(None) })
    }

    /// Fails the transaction of a server that has lost the database. The new owner waits for those that passed here.
    pub(super) async fn check(&self, tx: &mut WriteTransaction) -> Result<(), StoreError> {
        let Some(ours) = self.number.get() else { return Ok(()) };
        let query = match &tx.on {
            OpenTransaction::Sqlite(_) => "SELECT fence, holder FROM server WHERE one = 1",
            OpenTransaction::Postgres(_) => "SELECT fence, holder FROM server WHERE one = 1 FOR KEY SHARE",
        };
        let (fence, holder): (i64, String) = fetch!(tx, fetch_one, query)?;
        if fence == *ours {
            return Ok(());
        }
        self.lost.send_replace(Some(holder.clone()));
        Err(StoreError::unavailable(format!("another server has taken the database: {holder}")))
    }

    pub(super) fn hold(&self, lock: HeldLock) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
    }

    pub(super) fn release(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(lock);
    }
}
