//! The database of a life, and direct access to it without the store.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::postgres::PgRow;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection, FromRow, PgConnection};

use super::steps::Busy;

/// Where the databases are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DatabaseServer {
    Sqlite,
    Postgres { url: String },
}

/// The real time within which a server notices that a process died.
const FREE_WITHIN: Duration = Duration::from_secs(20);

/// Which connections hold a schema's lock.
const HOLDERS: &str = "FROM pg_locks WHERE locktype = 'advisory' AND granted \
                       AND objid = hashtext($1)::bit(32)::bigint::oid";

/// A database of one life.
pub(super) enum LifeDatabase {
    File {
        url: String,
        path: PathBuf,
    },
    /// Its own schema on the server.
    Schema {
        url: String,
        schema: String,
    },
}

/// A night has hundreds of lives, so each cleans up.
impl Drop for LifeDatabase {
    fn drop(&mut self) {
        let Self::Schema { url, schema } = self else { return };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let Ok(mut server) = PgConnection::connect(url).await else { return };
            let drop = sqlx::query(AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE")));
            let _ = drop.execute(&mut server).await;
        });
    }
}

/// Order, effect, try, state and cost of an agent's run.
type SpendingRow = (String, String, i64, String, Option<i64>);

/// A delivery's GUID, event and conclusion, and the reason.
type DeliveryRow = (String, String, Option<String>, Option<String>);

impl LifeDatabase {
    /// On a server the store creates its tables; a file begins as a copy of `empty`.
    pub(super) fn new(on: &DatabaseServer, place: &Path, empty: &Path) -> Self {
        match on {
            DatabaseServer::Sqlite => {
                let path = place.join("journeyman.db");
                std::fs::copy(empty, &path).expect("a database");
                Self::File { url: format!("sqlite://{}", path.display()), path }
            }
            DatabaseServer::Postgres { url } => {
                let schema = format!("life{}", uuid::Uuid::now_v7().simple());
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(async {
                    let mut server = PgConnection::connect(url).await.expect("PostgreSQL answers");
                    let create = sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA {schema}")));
                    create.execute(&mut server).await.expect("a schema");
                });
                let separator = if url.contains('?') { '&' } else { '?' };
                Self::Schema { url: format!("{url}{separator}options[search_path]={schema}"), schema }
            }
        }
    }

    pub(super) fn url(&self) -> &str {
        match self {
            Self::File { url, .. } | Self::Schema { url, .. } => url,
        }
    }

    pub(super) fn is_a_server(&self) -> bool {
        match self {
            Self::File { .. } => false,
            Self::Schema { .. } => true,
        }
    }

    /// Waits until a server has noticed that the previous process died. This takes real time.
    pub(super) async fn is_free(&self) {
        let Self::Schema { url, schema } = self else { return };
        let mut server = PgConnection::connect(url).await.expect("PostgreSQL answers");
        let begun = Instant::now();
        loop {
            let holders = sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) {HOLDERS}")));
            let holders: i64 = holders.bind(schema).fetch_one(&mut server).await.expect("the locks");
            if holders == 0 {
                return;
            }
            assert!(begun.elapsed() < FREE_WITHIN, "the process of before still has the database");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The conclusion of each delivery, for debugging.
    pub(super) async fn conclusions(&self) -> Vec<DeliveryRow> {
        let query = "SELECT guid, event || '.' || coalesce(action, ''), conclusion, because \
                     FROM deliveries ORDER BY id";
        self.rows(query).await
    }

    pub(super) async fn spending(&self) -> Vec<SpendingRow> {
        self.rows("SELECT order_id, key, attempt, state, actual_microusd FROM spending").await
    }

    async fn rows<Row>(&self, query: &'static str) -> Vec<Row>
    where
        Row: Send + Unpin + for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow>,
    {
        let _busy = Busy::new();
        let rows = match self {
            Self::File { path, .. } => {
                let file = SqliteConnectOptions::new().filename(path).read_only(true);
                let mut file = SqliteConnection::connect_with(&file).await.expect("the database opens");
                sqlx::query_as(query).fetch_all(&mut file).await
            }
            Self::Schema { url, .. } => {
                let mut server = PgConnection::connect(url).await.expect("PostgreSQL answers");
                sqlx::query_as(query).fetch_all(&mut server).await
            }
        };
        rows.expect("the rows")
    }
}
