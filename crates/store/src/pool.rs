//! The store's connections, and whether this server may still write.

use std::path::Path;
use std::sync::Arc;

use super::StoreError;
use super::connections::{Databases, open_postgres, open_sqlite};
pub(super) use super::connections::{
    OpenTransaction, WriteTransaction, execute, fetch, in_tx, read, reading, written,
};
use super::fence::Fence;
use super::watcher::StoreWatcher;

/// The open connections, and the fence that guards them.
#[derive(Clone)]
pub(super) struct ConnectionPools {
    pub(super) databases: Databases,
    pub(super) fence: Arc<Fence>,
    pub(super) watcher: Arc<dyn StoreWatcher>,
}

impl ConnectionPools {
    pub(super) async fn open(url: &str, watcher: Arc<dyn StoreWatcher>) -> Result<Self, StoreError> {
        let databases = if url.starts_with("sqlite:") {
            open_sqlite(url).await?
        } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            open_postgres(url).await?
        } else {
            return Err(StoreError::refused(
                "store.url",
                "it has to begin with sqlite:// or postgres://, such as sqlite://journeyman.db",
            ));
        };
        Ok(Self { databases, fence: Fence::new(), watcher })
    }

    /// Begins a transaction that takes the write lock at once. A read then a write under a plain BEGIN fails on SQLite
    /// if another writer comes between. Fails if another server has taken the database. `what` names its purpose in the
    /// log.
    pub(super) async fn begin(&self, what: &'static str) -> Result<WriteTransaction, StoreError> {
        let mut tx = self.databases.begin(what, &self.watcher).await?;
        self.fence.check(&mut tx).await?;
        Ok(tx)
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.databases {
            Databases::Sqlite { .. } => "sqlite",
            Databases::Postgres(_) => "postgres",
        }
    }

    /// The database's file; `None` if it has none.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.databases {
            Databases::Sqlite { file, .. } => file.as_deref(),
            Databases::Postgres(_) => None,
        }
    }

    pub(super) async fn close(&self) {
        match &self.databases {
            Databases::Sqlite { writer, readers, .. } => {
                readers.close().await;
                writer.close().await;
            }
            Databases::Postgres(pool) => pool.close().await,
        }
        self.fence.release();
    }
}
