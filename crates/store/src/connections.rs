//! Connections: one writer and a few readers for SQLite, one pool for PostgreSQL.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::SqlSafeStr;
use sqlx::error::DatabaseError;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteError, SqliteJournalMode, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres, Sqlite, SqliteConnection, SqlitePool, Transaction,
};

use super::StoreError;
use super::watcher::StoreWatcher;
use journeyman_metrics::metrics;

const READERS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 10;
/// How long a caller waits for a connection or a lock before the store reports that it is busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// A migration's name, and its SQL for SQLite and for PostgreSQL.
type MigrationTexts = (&'static str, &'static str, &'static str);

macro_rules! migrations {
    ($($name:literal),* $(,)?) => {
        [$((
            $name,
            include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        )),*]
    };
}

/// In order. A released file is never edited.
const MIGRATIONS: [MigrationTexts; 15] = migrations![
    "0001_first", "0002_branches", "0003_spending", "0004_server", "0005_retention", "0006_waking",
    "0007_repositories", "0008_looks", "0009_packed", "0010_lists", "0011_traces", "0012_models",
    "0013_after_merge", "0014_statements", "0015_merge_groups",
];

/// Replaces sqlx's macro, which would build sqlx a second time for the compiler.
fn migrator(text: fn(MigrationTexts) -> &'static str) -> Migrator {
    let migrations = (1..).zip(MIGRATIONS).map(|(version, texts)| {
        // The name follows the number.
        let name = texts.0.get(5..).unwrap_or_default();
        Migration::new(version, name.into(), MigrationType::Simple, text(texts).into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
}

#[derive(Clone)]
pub(super) enum Databases {
    /// One writer, so that writes queue here and not in SQLite's busy handler. A database in memory has no file.
    Sqlite { writer: SqlitePool, readers: SqlitePool, file: Option<PathBuf> },
    /// Any number of readers and writers.
    Postgres(PgPool),
}

/// A write transaction. Dropping it without [`WriteTransaction::commit`] rolls it back.
pub(super) struct WriteTransaction {
    pub(super) on: OpenTransaction,
    what: &'static str,
    since: Instant,
    watcher: Arc<dyn StoreWatcher>,
    _begun: Box<dyn Send>,
}

pub(super) enum OpenTransaction {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// Runs the same query in a transaction of either database.
macro_rules! in_tx {
    ($tx:expr, $connection:ident => $query:expr) => {
        match &mut $tx.on {
            $crate::connections::OpenTransaction::Sqlite(tx) => {
                let $connection = &mut **tx;
                $query.await
            }
            $crate::connections::OpenTransaction::Postgres(tx) => {
                let $connection = &mut **tx;
                $query.await
            }
        }
    };
}
pub(super) use in_tx;

/// Runs the same read query on a pool of either database.
macro_rules! reading {
    ($pools:expr, $pool:ident => $query:expr) => {
        match $pools.watcher.begins("a read").await {
            Err(refused) => Err($crate::connections::refused(&refused)),
            Ok(_until_read) => match &$pools.databases {
                $crate::connections::Databases::Sqlite { readers: $pool, .. } => $query.await,
                $crate::connections::Databases::Postgres($pool) => $query.await,
            },
        }
    };
}
pub(super) use reading;

/// Reads rows without a transaction. Arguments: the store, the fetch method, the query, and its bound values.
macro_rules! read {
    ($store:expr, $fetch:ident, $query:expr $(; $($bound:expr),+)?) => {
        $crate::connections::reading!(&$store.pools, pool => {
            sqlx::query_as($query)$($(.bind($bound))+)?.$fetch(pool)
        })
    };
}
pub(super) use read;

/// Like `read!`, in a transaction.
macro_rules! fetch {
    ($tx:expr, $fetch:ident, $query:expr $(; $($bound:expr),+)?) => {
        $crate::connections::in_tx!($tx, connection => {
            sqlx::query_as($query)$($(.bind($bound))+)?.$fetch(connection)
        })
    };
}
pub(super) use fetch;

/// Writes in a transaction and returns the number of changed rows.
macro_rules! execute {
    ($tx:expr, $query:expr $(; $($bound:expr),+)?) => {
        match &mut $tx.on {
            $crate::connections::OpenTransaction::Sqlite(tx) => {
                let done = sqlx::query($query)$($(.bind($bound))+)?.execute(&mut **tx).await;
                done.map(|done| done.rows_affected())
            }
            $crate::connections::OpenTransaction::Postgres(tx) => {
                let done = sqlx::query($query)$($(.bind($bound))+)?.execute(&mut **tx).await;
                done.map(|done| done.rows_affected())
            }
        }
    };
}
pub(super) use execute;

/// Like `execute!`, in its own transaction, with its name for the log.
macro_rules! written {
    ($store:expr, $what:expr, $query:expr $(; $($bound:expr),+)?) => {{
        let mut tx = $store.pools.begin($what).await?;
        let rows = $crate::connections::execute!(tx, $query $(; $($bound),+)?)?;
        tx.commit().await?;
        rows
    }};
}
pub(super) use written;

/// An error for a read that the watcher refused, in the database's form.
pub(super) fn refused(error: &StoreError) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other(error.to_string()))
}

impl Databases {
    /// Begins a write transaction, with its name for the log.
    pub(super) async fn begin(
        &self,
        what: &'static str,
        watcher: &Arc<dyn StoreWatcher>,
    ) -> Result<WriteTransaction, StoreError> {
        metrics().store_begins(what);
        let begun = watcher.begins(what).await?;
        let since = Instant::now();
        let on = match self {
            Self::Sqlite { writer, .. } => {
                writer.begin_with("BEGIN IMMEDIATE").await.map(OpenTransaction::Sqlite)
            }
            Self::Postgres(pool) => pool.begin().await.map(OpenTransaction::Postgres),
        };
        let on = on.inspect_err(|_| metrics().store_failed(what))?;
        Ok(WriteTransaction { on, what, since, watcher: Arc::clone(watcher), _begun: begun })
    }
}

impl WriteTransaction {
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        self.watcher.commits(self.what).await?;
        let kept = match self.on {
            OpenTransaction::Sqlite(tx) => tx.commit().await,
            OpenTransaction::Postgres(tx) => tx.commit().await,
        };
        kept.inspect_err(|_| metrics().store_failed(self.what))?;
        metrics().store_wrote(self.what, self.since.elapsed());
        self.watcher.committed(self.what).await
    }
}

pub(super) async fn open_sqlite(url: &str) -> Result<Databases, StoreError> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| StoreError::refused("store.url", error.to_string()))?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(PATIENCE);
    let file = options.get_filename().to_owned();
    let in_memory = url.contains(":memory:") || url.contains("mode=memory");
    if !in_memory {
        create(&file).map_err(|error| {
            StoreError::unavailable(format!("store.url: cannot create {}: {error}", file.display()))
        })?;
    }
    let cannot_open = |error: sqlx::Error| {
        let what = format!("store.url: cannot open {}", file.display());
        match damage_in(&error).is_some() {
            true => StoreError::broken(what, format!("{error}: put a backup in its place")),
            false => StoreError::unavailable(format!("{what}: {error}")),
        }
    };
    let one = SqlitePoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
    // An in-memory database exists only in its one connection, which must not be closed when idle.
    let one = if in_memory {
        one.min_connections(1).idle_timeout(None).max_lifetime(None)
    } else {
        // The connection is our own thread: testing it would cost more than most queries.
        one.test_before_acquire(false).after_release(|connection, _| Box::pin(is_whole(connection)))
    };
    // For a new file: lets deleted space return to the disk in small steps.
    let writing = options.clone().auto_vacuum(SqliteAutoVacuum::Incremental);
    let writing = writing.pragma("temp_store", "memory");
    let writer = one.connect_with(writing).await.map_err(cannot_open)?;
    migrator(|(_, sqlite, _)| sqlite)
        .run(&writer)
        .await
        .map_err(|error| tables(&file.display().to_string(), &error))?;
    let readers = if in_memory {
        writer.clone()
    } else {
        SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(PATIENCE)
            .connect_with(options.read_only(true))
            .await
            .map_err(cannot_open)?
    };
    Ok(Databases::Sqlite { writer, readers, file: (!in_memory).then_some(file) })
}

const NEWEST_TABLES: &str = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations";
const OF_A_NEWER_ONE: &str =
    "is of a newer Journeyman: start that one, or put back what was saved before it was installed";

fn tables(place: &str, error: &MigrateError) -> StoreError {
    let what = format!("the tables in {place} (store.url)");
    match matches!(error, MigrateError::VersionMissing(_)) {
        true => StoreError::broken(what, format!("the database {OF_A_NEWER_ONE}")),
        false => StoreError::broken(what, error),
    }
}

/// Why this program cannot use an SQLite database, as far as can be checked without writing to it.
pub async fn problem_of_sqlite(file: &Path) -> Option<String> {
    let plain = SqliteConnectOptions::new().filename(file).read_only(true);
    // Read the file as it is, without creating files beside it. A server may be writing, so damage counts only if a
    // normal read confirms it.
    let newest = match newest_tables(&plain.clone().immutable(true)).await {
        Err(error) if damage_in(&error).is_some() => newest_tables(&plain).await,
        newest => newest,
    };
    match newest {
        Ok(version) => is_newer(version).then(|| OF_A_NEWER_ONE.to_owned()),
        Err(error) => damage_in(&error).map(|error| {
            format!("is damaged ({error}): put a backup in its place, or move it away to begin anew")
        }),
    }
}

/// Why this program cannot use a PostgreSQL database, as far as can be checked without writing to it.
pub async fn problem_of_postgres(url: &str) -> Option<String> {
    const FOUND: &str = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL, \
                         coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)";
    let asked = async {
        let mut connection = PgConnection::connect_with(&PgConnectOptions::from_str(url)?).await?;
        let (has_tables, may_create): (bool, bool) = sqlx::query_as(FOUND).fetch_one(&mut connection).await?;
        if !has_tables {
            let refused = "the role may not create tables there; make it the owner of the database";
            return Ok((!may_create).then(|| refused.to_owned()));
        }
        let newest: i64 = sqlx::query_scalar(NEWEST_TABLES).fetch_one(&mut connection).await?;
        Ok(is_newer(newest).then(|| format!("it {OF_A_NEWER_ONE}")))
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(problem)) => problem,
        Ok(Err(sqlx::Error::Database(error))) => {
            Some(format!("{}; create what is missing, or change store.url", error.message()))
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("it takes connections and does not answer".to_owned()),
    }
}

/// Whether tables belong to a newer program.
pub(super) fn is_newer(version: i64) -> bool {
    usize::try_from(version).is_ok_and(|version| version > MIGRATIONS.len())
}

pub(super) async fn newest_tables(options: &SqliteConnectOptions) -> Result<i64, sqlx::Error> {
    let mut connection = SqliteConnection::connect_with(options).await?;
    sqlx::query_scalar::<_, i64>(NEWEST_TABLES).fetch_one(&mut connection).await
}

fn damage_in(error: &sqlx::Error) -> Option<&dyn DatabaseError> {
    error.as_database_error().filter(|error| is_damage(*error))
}

/// Whether SQLite reports that a file is damaged or not a database.
pub(super) fn is_damage(error: &dyn DatabaseError) -> bool {
    const CORRUPT: u32 = 11;
    const NOT_A_DATABASE: u32 = 26;
    let is_sqlite = error.try_downcast_ref::<SqliteError>().is_some();
    let code = error.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
    is_sqlite && matches!(code, Some(CORRUPT | NOT_A_DATABASE))
}

/// Whether a connection is reusable. If a write fails on a full disk, SQLite ends the transaction, but sqlx
/// counts it as open for good. Then no other can begin.
async fn is_whole(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // A returned connection's rollback is only queued; this waits for it.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// Creates the file and its folder. It contains private repositories' issues, so only this user can read it. SQLite
/// gives the files beside it the same permissions.
fn create(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| *folder != Path::new("")) {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(|_| ())
}

pub(super) async fn open_postgres(url: &str) -> Result<Databases, StoreError> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|error| StoreError::refused("store.url", format!("not a PostgreSQL URL: {error}")))?;
    let at = format!("{}:{}", options.get_host(), options.get_port());
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .connect_with(options)
        .await
        .map_err(|error| {
            StoreError::unavailable(format!("store.url: cannot open PostgreSQL at {at}: {error}"))
        })?;
    migrator(|(.., postgres)| postgres).run(&pool).await.map_err(|error| tables("PostgreSQL", &error))?;
    Ok(Databases::Postgres(pool))
}
