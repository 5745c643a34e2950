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
/// How long a caller waits for a connection or a lock before it hears that the store is busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a migration is called, and its text for SQLite and for PostgreSQL.
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

/// In their order. A file that was released is never edited.
const MIGRATIONS: [MigrationTexts; 14] = migrations![
    "0001_first",
    "0002_branches",
    "0003_spending",
    "0004_server",
    "0005_retention",
    "0006_waking",
    "0007_repositories",
    "0008_looks",
    "0009_packed",
    "0010_lists",
    "0011_traces",
    "0012_models",
    "0013_after_merge",
    "0014_statements",
];

/// The macro of sqlx for this costs a second build of sqlx for the compiler.
fn migrator(text: fn(MigrationTexts) -> &'static str) -> Migrator {
    let migrations = (1..).zip(MIGRATIONS).map(|(version, texts)| {
        // Behind its number.
        let name = texts.0.get(5..).unwrap_or_default();
        Migration::new(version, name.into(), MigrationType::Simple, text(texts).into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
}

#[derive(Clone)]
pub(super) enum Databases {
    /// One writer, so that writes queue here and not in SQLite's busy handler. One in memory has no file.
    Sqlite { writer: SqlitePool, readers: SqlitePool, file: Option<PathBuf> },
    /// Any number of both.
    Postgres(PgPool),
}

/// A transaction that may write. Dropped without [`WriteTransaction::commit`] it leaves nothing behind.
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

/// Runs the same query in a transaction of either kind.
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

/// Runs the same reading query on a pool of either kind.
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

/// Reads rows in a read of its own: the store, how many, the query, and what is bound in it.
macro_rules! read {
    ($store:expr, $fetch:ident, $query:expr $(; $($bound:expr),+)?) => {
        $crate::connections::reading!(&$store.pools, pool => {
            sqlx::query_as($query)$($(.bind($bound))+)?.$fetch(pool)
        })
    };
}
pub(super) use read;

/// The same, in a transaction.
macro_rules! fetch {
    ($tx:expr, $fetch:ident, $query:expr $(; $($bound:expr),+)?) => {
        $crate::connections::in_tx!($tx, connection => {
            sqlx::query_as($query)$($(.bind($bound))+)?.$fetch(connection)
        })
    };
}
pub(super) use fetch;

/// Writes in a transaction, and says how many rows are others then.
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

/// The same, in a transaction of its own, as it is called in the log.
macro_rules! written {
    ($store:expr, $what:expr, $query:expr $(; $($bound:expr),+)?) => {{
        let mut tx = $store.pools.begin($what).await?;
        let rows = $crate::connections::execute!(tx, $query $(; $($bound),+)?)?;
        tx.commit().await?;
        rows
    }};
}
pub(super) use written;

/// A read that its watcher refused, as a database would.
pub(super) fn refused(error: &StoreError) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other(error.to_string()))
}

impl Databases {
    /// Begins a transaction that may write, as it is called in the log.
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
    // The one connection of a database in memory is the database: it must not be closed for being idle.
    let one = if in_memory {
        one.min_connections(1).idle_timeout(None).max_lifetime(None)
    } else {
        // It is a thread of ours: to ask whether it is still there costs more than most of what it does.
        one.test_before_acquire(false).after_release(|connection, _| Box::pin(is_whole(connection)))
    };
    // Of a new file: what is removed from it can be given back to the disk bit by bit.
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

/// Why this program cannot use a database of SQLite, as far as one can tell. Nothing is written into it.
pub async fn problem_of_sqlite(file: &Path) -> Option<String> {
    let plain = SqliteConnectOptions::new().filename(file).read_only(true);
    // Read as it lies there, and nothing comes to be beside it. Somebody may be writing at this moment: only what is damaged
    // by SQLite's own rules as well is damaged.
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

/// Why this program cannot use a database of PostgreSQL, as far as one can tell. Nothing is written into it.
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

/// Whether tables are of a program after this one.
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

/// SQLite says that what it reads is no database, or not as it wrote it.
pub(super) fn is_damage(error: &dyn DatabaseError) -> bool {
    const CORRUPT: u32 = 11;
    const NOT_A_DATABASE: u32 = 26;
    let is_sqlite = error.try_downcast_ref::<SqliteError>().is_some();
    let code = error.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
    is_sqlite && matches!(code, Some(CORRUPT | NOT_A_DATABASE))
}

/// Whether a connection can be used again. Where a write fails for want of room, SQLite ends the transaction by itself
/// and sqlx counts it as open for as long as the connection lives, so that none can be begun on it.
async fn is_whole(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // Its end is only queued when a connection comes back; this waits for it.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// Creates the file and its folder. It holds private repositories' issues: nobody else reads it, and SQLite
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
