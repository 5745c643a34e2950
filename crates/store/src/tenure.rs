//! One server has a database at a time. It holds a lock; and since a lock can be lost without notice (a process that was
//! paused, a connection that broke), it also has a number that is looked at in every transaction that writes.

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

/// Of the lock in PostgreSQL, beside the name of the schema.
const LOCK: i32 = 0x4a4d_414e;
/// Whoever ends gives its place away within this, so that one server can follow another.
const PATIENCE: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(100);
/// How often the connection that holds the lock is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

impl Store {
    /// Takes the database for one server, which is called so in what another is told. From then on whoever had it before
    /// writes nothing. One that is about to end is waited for.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when another server has it, with that one's name.
    pub async fn take(&self, holder: &str) -> Result<(), StoreError> {
        let ours = &self.pools.fence;
        match &self.pools.databases {
            Databases::Sqlite { file: Some(file), .. } => {
                let lock = DatabaseFiles::beside(file).lock;
                let lock = FileLock::take(lock, holder, "the database").await?;
                ours.hold(HeldLock::File { _lock: lock });
            }
            // One in memory is nobody else's.
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

    /// Returns when another server has taken the database, with its name: at once where something was to be written,
    /// else within seconds.
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

/// A connection that holds the lock; none where another has it.
async fn locked(options: &PgConnectOptions) -> Result<Option<PgConnection>, StoreError> {
    let mut connection = PgConnection::connect_with(options).await?;
    let (got,): (bool,) = sqlx::query_as("SELECT pg_try_advisory_lock($1, hashtext(current_schema()))")
        .bind(LOCK)
        .fetch_one(&mut connection)
        .await?;
    Ok(got.then_some(connection))
}

/// Keeps the lock; where PostgreSQL was restarted, it is taken again. Another may have been quicker, which the next
/// transaction finds out.
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
