//! Starting a server with a thousand open orders, with no ended orders and with many, until each open order was read,
//! checked and left until its time comes. Compared with writing as many bare rows one by one,
//! since each of these orders is written once.

use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use chrono::Utc;
use journeyman::app::Application;
use journeyman::config::{DeliveryMode, GithubSettings, Settings};
use journeyman::emulator::keys;
use journeyman::order::moves::Retry;
use journeyman::order::{
    EffectError, EffectOutcome, JournalEvent, Move, MoveKey, OrderInput, Person, Requester, UserId,
    WriteLimits,
};
use journeyman::store::Store;
use secrecy::SecretString;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};

use super::journal::opened;
use super::{heading, line, ratio};

const AT_HAND: u32 = 1_000;
const ENDED: u32 = 99_000;
const PATIENCE: Duration = Duration::from_secs(300);

pub async fn measure() {
    heading(&format!("resume: a server starts with {AT_HAND} orders at hand"));
    let folder = tempfile::tempdir().expect("a folder");
    let least = bare_rows(folder.path()).await;
    line(&format!("{AT_HAND} bare rows, each on disk"), least, "");
    let alone = resumed(&folder.path().join("alone"), 0).await;
    line("no others", alone, &format!("{} the bare rows", ratio(alone, least)));
    let beside = resumed(&folder.path().join("beside"), ENDED).await;
    line(
        &format!("beside {ENDED} that have ended"),
        beside,
        &format!("{} without them", ratio(beside, alone)),
    );
}

pub async fn connected(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::from_str(&format!("sqlite://{}", file.display())).expect("a name");
    let options = options.create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
    let options = options.synchronous(SqliteSynchronous::Full).busy_timeout(Duration::from_secs(10));
    SqliteConnection::connect_with(&options).await.expect("a database")
}

pub async fn execute(connection: &mut SqliteConnection, text: String) {
    sqlx::query(sqlx::AssertSqlSafe(text)).execute(connection).await.expect("SQL");
}

async fn bare_rows(folder: &Path) -> Duration {
    let mut bare = connected(&folder.join("bare.db")).await;
    execute(&mut bare, "CREATE TABLE entries (seq INTEGER PRIMARY KEY, event TEXT NOT NULL)".to_owned())
        .await;
    let begun = Instant::now();
    for _ in 0..AT_HAND {
        execute(&mut bare, "INSERT INTO entries (event) VALUES ('opened')".to_owned()).await;
    }
    begun.elapsed()
}

async fn resumed(folder: &Path, ended: u32) -> Duration {
    std::fs::create_dir(folder).expect("a folder");
    let file = folder.join("bench.db");
    let url = format!("sqlite://{}", file.display());
    prepare(&url, &file, AT_HAND, ended).await;

    let github = GithubSettings {
        api_url: "http://127.0.0.1:9".parse().expect("an address"),
        app_id: 1,
        private_key: keys::generate().expect("keys").private_pem,
        deliveries: DeliveryMode::Webhook,
        webhook_secrets: vec![SecretString::from("a secret for this measurement")],
        writes: WriteLimits::NONE,
        client: None,
    };
    let mut settings = Settings::load_beside(github, None, std::iter::empty()).expect("settings");
    settings.server.listen = ([127, 0, 0, 1], 0).into();
    settings.data.dir = folder.join("data");
    settings.store.url = SecretString::from(url);
    let application = Application::build(settings).await.expect("the application");
    let handle = application.handle();
    let begun = Instant::now();
    let serving = tokio::spawn(application.run());
    all_looked_through(&file).await;
    let took = begun.elapsed();
    handle.stop();
    serving.await.expect("it ends").expect("it ends well");
    took
}

/// Waits until every open order was read, checked and left until its time comes.
pub async fn all_looked_through(file: &Path) {
    let mut connection = connected(file).await;
    let begun = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let left = "SELECT COUNT(*) FROM orders WHERE active AND state = 'opened'";
        let left: i64 = sqlx::query_scalar(left).fetch_one(&mut connection).await.expect("a count");
        if left == 0 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{left} are left after {PATIENCE:?}");
    }
}

/// A connection with a table `copies`: numbers from 2 to the last one, each with an order's id.
pub async fn numbered_copies(file: &Path, last: u32) -> SqliteConnection {
    let mut connection = connected(file).await;
    for text in [
        "CREATE TEMPORARY TABLE copies (number INTEGER PRIMARY KEY, id TEXT NOT NULL)".to_owned(),
        format!(
            "WITH RECURSIVE numbers (number) AS (VALUES (2) UNION ALL SELECT number + 1 FROM numbers WHERE number < {last}) \
             INSERT INTO copies SELECT number, printf('018f0000-0000-7000-8000-%012x', number) FROM numbers"
        ),
    ] {
        execute(&mut connection, text).await;
    }
    connection
}

/// The store opens one order and makes it wait. The others are copies of it.
pub async fn prepare(url: &str, file: &Path, at_hand: u32, ended: u32) {
    let store = Store::open(url).await.expect("a store");
    let person = Person { login: "anna".to_owned(), id: UserId(7) };
    let opened = OrderInput { by: Requester::Person(person.clone()), ..opened() };
    let order = opened.order;
    store.open_order(opened, Utc::now(), None).await.expect("an order");
    let key = MoveKey("authorize/1".to_owned());
    let asked = JournalEvent::Intended { key: key.clone(), r#move: Box::new(Move::Authorize { person }) };
    let wait = EffectError { message: "busy".to_owned(), retry: Retry::After { seconds: 3_600 } };
    let told = JournalEvent::Observed { key, outcome: Box::new(EffectOutcome::Trouble(wait)) };
    for event in [asked, told] {
        store.append(order, event, Utc::now()).await.expect("an entry");
    }
    store.close().await;

    let mut copies = numbered_copies(file, at_hand + ended).await;
    for text in [
        // Ended orders are only rows here, because their journals are never read.
        format!(
            "INSERT INTO orders (id, repository, repository_id, issue, state, active, branch, pull, opened_at, \
             updated_at, last_seq, rested_seq) SELECT copies.id, repository, repository_id, copies.number, state, \
             copies.number <= {at_hand}, branch, pull, opened_at, updated_at, last_seq, \
             CASE WHEN copies.number <= {at_hand} THEN 0 ELSE last_seq END FROM orders, copies \
             WHERE orders.id = '{order}'"
        ),
        format!(
            "INSERT INTO journal SELECT copies.id, seq, at, replace(event, '{order}', copies.id) FROM journal, copies \
             WHERE journal.order_id = '{order}' AND copies.number <= {at_hand}"
        ),
    ] {
        execute(&mut copies, text).await;
    }
}
