//! Only one server uses a database at a time. It holds a lock. A paused process or broken connection can lose it
//! unnoticed, so it also has a number that every write transaction checks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgPool};
use sqlx::{Connection as _, PgConnection};

use super::backup::DatabaseFiles;
use super::connections::Databases;
use super::fence::HeldLock;
use super::file_lock::FileLock;
use super::pool::{OpenTransaction, fetch, read};
use super::watcher::StoreWatcher;
use super::{Store, StoreError};

/// Key of the lock in PostgreSQL, besides the schema's name.
const LOCK: i32 = 0x4a4d_414e;
/// A server that is shutting down gives up the database within this time, so that another can follow.
const PATIENCE: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(100);
/// How often to check the connection that holds the lock.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

impl Store {
    /// Takes the database for one server; other servers see the name `holder`. From then on the previous owner cannot
    /// write. Waits for a server that is shutting down.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if another server owns it, with its name.
    pub async fn take(&self, holder: &str) -> Result<(), StoreError> {
        let ours = &self.pools.fence;
        match &self.pools.databases {
            Databases::Sqlite { file: Some(file), .. } => {
                let lock = DatabaseFiles::beside(file).lock;
                let lock = FileLock::take(lock, holder, "the database").await?;
                ours.hold(HeldLock::File { _lock: lock });
            }
            // A database in memory has no other user.
            Databases::Sqlite { file: None, .. } => {}
            Databases::Postgres(pool) => ours.hold(self.lock_postgres(pool).await?),
        }
        let mut tx = self.pools.begin("the tenure").await?;
        if let OpenTransaction::Postgres(_) = &tx.on {
            let (_,): (i64,) = fetch!(tx, fetch_one, "SELECT fence FROM server WHERE one = 1 FOR UPDATE")?;
        }
        let (fence,): (i64,) = fetch!(tx, fetch_one,
            "UPDATE server SET fence = fence + 1, holder = $1 WHERE one = 1 RETURNING fence";
            holder)?;
        tx.commit().await?;
        let _first = ours.number.set(fence);
        Ok(())
    }

    /// Returns the name of a server that has taken the database: immediately on an attempted write, otherwise within
    /// seconds.
    pub async fn lost(&self) -> String {
        let mut lost = self.pools.fence.lost.subscribe();
        lost.mark_changed();
        loop {
            let _told_or_time_to_look = tokio::time::timeout(LOOK_AGAIN, lost.changed()).await;
            if let Some(holder) = lost.borrow_and_update().clone() {
                return holder;
            }
            let row: Result<(i64, String), sqlx::Error> =
                read!(self, fetch_one, "SELECT fence, holder FROM server WHERE one = 1");
            if let (Some(ours), Ok((fence, holder))) = (self.pools.fence.number.get(), row)
                && fence != *ours
            {
                return holder;
            }
        }
    }

    async fn lock_postgres(&self, pool: &PgPool) -> Result<HeldLock, StoreError> {
        let begun = Instant::now();
        let options = (*pool.connect_options()).clone();
        loop {
            if let Some(connection) = locked(&options).await? {
                let task = tokio::spawn(keep(connection, options, Arc::clone(&self.pools.watcher)));
                return Ok(HeldLock::Connection(task.abort_handle()));
            }
            if begun.elapsed() > PATIENCE {
                let (holder,): (String,) = read!(self, fetch_one, "SELECT holder FROM server WHERE one = 1")?;
                return Err(StoreError::unavailable(format!(
                    "another Journeyman has the database (store.url): {holder}"
                )));
            }
            tokio::time::sleep(GLANCE).await;
        }
    }
}

/// A connection that holds the lock; `None` if another server holds it.
async fn locked(options: &PgConnectOptions) -> Result<Option<PgConnection>, StoreError> {
    let mut connection = PgConnection::connect_with(options).await?;
    let (got,): (bool,) = sqlx::query_as("SELECT pg_try_advisory_lock($1, hashtext(current_schema()))")
        .bind(LOCK)
        .fetch_one(&mut connection)
        .await?;
    Ok(got.then_some(connection))
}

/// Keeps the lock, and takes it again after a restart of PostgreSQL. If another server was faster, the next transaction
/// detects it.
async fn keep(mut connection: PgConnection, options: PgConnectOptions, watcher: Arc<dyn StoreWatcher>) {
    let mut is_broken = false;
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        let Ok(_begun) = watcher.begins("the lock").await else { continue };
        if !is_broken && connection.ping().await.is_ok() {
            continue;
        }
        if !is_broken {
            tracing::warn!("the connection that holds the database's lock broke");
        }
        is_broken = true;
        if let Ok(Some(again)) = locked(&options).await {
            (connection, is_broken) = (again, false);
        }
    }
}
