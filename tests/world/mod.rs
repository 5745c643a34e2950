//! The world of a story: GitHub's emulator, the whole application in this process, a repository with a test that
//! fails, an issue, people, and an agent that follows the story's script. Everything is real but the agent's
//! judgement: git over HTTP, SQLite, processes, the sandbox's walls.
//!
//! A story begins with [`Story`], acts through [`World::github`], waits with [`World::settled`] or
//! [`World::until`], and ends with [`World::end`], which looks whether anything is left that should not be.

mod ends;
pub mod judges;
pub mod look;
pub mod setting;
pub mod team;
mod webhook;

pub use setting::{STUBBORN, Story, WELL, slowly};

use std::time::{Duration, Instant};

use journeyman::app::{Application, ApplicationHandle};
use journeyman::config::Settings;
use journeyman::emulator::{DeliveryResult, Emulator};
use journeyman::order::next::OrderProjection;
use journeyman::order::{Journal, OrderId};
use journeyman::store::{JournalStore as _, OrderFilter, Store};
use secrecy::ExposeSecret as _;
use sqlx::{AssertSqlSafe, Connection as _};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Where the stories happen.
pub const REPOSITORY: &str = "acme/answers";
/// Opens the issue; may write.
pub const MAINTAINER: &str = "mona";
/// May set labels, and not write.
pub const TRIAGER: &str = "tria";
/// May look and comment, as everybody.
pub const OUTSIDER: &str = "oscar";
/// Opens the API.
pub const API_TOKEN: &str = "a-token-for-the-stories-only";
/// What deliveries are signed with.
pub const WEBHOOK_SECRET: &str = "a-webhook-secret-for-the-stories";

/// A story that takes longer has gone wrong.
const PATIENCE: Duration = Duration::from_secs(90);
const GLANCE: Duration = Duration::from_millis(15);

/// The world. Dropped without [`World::end`], it only cleans up: the story has failed before.
pub struct World {
    /// GitHub: what people do there, and what they see.
    pub github: Emulator,
    /// The issue that the story is about.
    pub issue: u64,
    /// A second door to Journeyman's database.
    pub store: Store,
    settings: Settings,
    place: TempDir,
    bot: Option<Bot>,
}

struct Bot {
    handle: ApplicationHandle,
    address: String,
    running: JoinHandle<anyhow::Result<()>>,
}

impl Bot {
    async fn start(settings: Settings, github: &Emulator) -> Self {
        let application = Application::build(settings).await.expect("the application can be built");
        let address = format!("http://{}", application.address());
        github.set_webhook_url(&format!("{address}/webhook"));
        let handle = application.handle();
        Self { handle, address, running: tokio::spawn(application.run()) }
    }
}

impl World {
    /// Stops Journeyman as SIGTERM does; its data stay. Deliveries fail until [`World::start_bot`].
    pub async fn stop_bot(&mut self) {
        let bot = self.bot.take().expect("Journeyman runs");
        let asked = Instant::now();
        bot.handle.stop();
        let ended = tokio::time::timeout(Duration::from_secs(10), bot.running).await;
        let ended = ended.unwrap_or_else(|_| panic!("Journeyman has not ended after {:?}", asked.elapsed()));
        ended.expect("Journeyman does not panic").expect("Journeyman ends well");
        self.assert_no_process_is_left().await;
    }

    /// Starts Journeyman on the data of before.
    pub async fn start_bot(&mut self) {
        assert!(self.bot.is_none(), "one Journeyman at a time");
        self.bot = Some(Bot::start(self.settings.clone(), &self.github).await);
    }

    /// Journeyman's data folder.
    pub fn data(&self) -> &std::path::Path {
        &self.settings.data.dir
    }

    /// Journeyman's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes Journeyman's database behind its back.
    pub async fn sql(&self, statement: &str) {
        let url = store_url(&self.settings);
        let mut database = sqlx::SqliteConnection::connect(url).await.expect("the database is there");
        let written = sqlx::query(AssertSqlSafe(statement)).execute(&mut database).await.expect(statement);
        assert!(written.rows_affected() > 0, "{statement}");
        database.close().await.expect("it closes");
    }

    /// Where Journeyman listens.
    pub fn address(&self) -> &str {
        &self.bot.as_ref().expect("Journeyman runs").address
    }

    /// The order of the story's issue that was opened last.
    pub async fn latest_order(&self) -> Option<OrderId> {
        let filter = OrderFilter { limit: 1, ..OrderFilter::default() };
        self.store.orders(&filter).await.expect("the store can be read").first().map(|row| row.id)
    }

    /// Every order there is, the latest first.
    pub async fn orders(&self) -> Vec<OrderId> {
        let filter = OrderFilter { limit: 1_000, ..OrderFilter::default() };
        let rows = self.store.orders(&filter).await.expect("the store can be read");
        rows.iter().map(|row| row.id).collect()
    }

    /// The journal of an order and what it tells now.
    pub async fn look(&self, order: OrderId) -> (Journal, OrderProjection) {
        let journal = self.store.journal(order).await.expect("the journal can be read");
        let projection = replay(&journal);
        (journal, projection)
    }

    /// Waits until everything that was delivered is taken in and no order has anything left to do.
    pub async fn quiet(&self) {
        let begun = Instant::now();
        while !self.is_quiet().await {
            if begun.elapsed() > PATIENCE {
                panic!("not quiet after {PATIENCE:?}: {}", self.tell().await);
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// In the order in which work comes in, so that none slips through between two looks. While an order is at work
    /// nothing else has to be looked at.
    async fn is_quiet(&self) -> bool {
        if !self.store.waking_orders().await.expect("the store can be read").is_empty() {
            return false;
        }
        !self.is_delivering()
            && self.store.pending_deliveries(0, 1).await.expect("the store can be read").is_empty()
            && self.store.waking_orders().await.expect("the store can be read").is_empty()
    }

    fn is_delivering(&self) -> bool {
        self.github.deliveries().iter().any(|one| one.outcome == DeliveryResult::Queued)
    }

    /// Waits until GitHub has delivered all that happened, or failed to.
    pub async fn delivered(&self) {
        let begun = Instant::now();
        while self.is_delivering() {
            assert!(begun.elapsed() < PATIENCE, "it is delivered for ever");
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits until all is quiet, and tells how the latest order ended.
    pub async fn settled(&self) -> Ended {
        self.quiet().await;
        let order = self.latest_order().await.expect("there is an order");
        let (journal, projection) = self.look(order).await;
        assert!(projection.next.settled.is_some(), "an order at rest has ended");
        if !projection.surfaces().verified {
            let shown = self.on_github(&order, &projection);
            assert_eq!(
                shown.says_verified(),
                Vec::<&str>::new(),
                "of an order whose verdict is {:?}",
                projection.verdict
            );
        }
        Ended { order, projection, journal }
    }

    /// The same, of an order that ended like this.
    pub async fn settled_as(&self, word: &str) -> Ended {
        let ended = self.settled().await;
        assert_eq!(ended.word(), word, "{}", ended.because());
        ended
    }

    /// Waits until the latest order's journal shows something.
    pub async fn until<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&Journal, &OrderProjection) -> Option<T>,
    ) -> T {
        let begun = Instant::now();
        let mut known: Option<(Journal, OrderProjection, Instant)> = None;
        loop {
            if let Some(order) = self.latest_order().await {
                known = match known.take().filter(|(journal, ..)| journal.opened().order == order) {
                    // A journal that has not grown is replayed only now and then: what is waited for may be due.
                    Some((mut journal, projection, replayed)) => {
                        let before = journal.last_seq();
                        self.store.catch_up(&mut journal).await.expect("the journal can be read");
                        let is_current = journal.last_seq() == before && replayed.elapsed() < 10 * GLANCE;
                        let projection = if is_current { projection } else { replay(&journal) };
                        Some((journal, projection, if is_current { replayed } else { Instant::now() }))
                    }
                    None => {
                        let (journal, projection) = self.look(order).await;
                        Some((journal, projection, Instant::now()))
                    }
                };
                if let Some(seen) =
                    known.as_ref().and_then(|(journal, projection, _)| look(journal, projection))
                {
                    return seen;
                }
            }
            if begun.elapsed() > PATIENCE {
                panic!("waited in vain for {what}: {}", self.tell().await);
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits until an effect's name was written as begun.
    pub async fn until_begun(&self, key: &str) {
        self.until(key, |journal, _| look::begun(journal, key).then_some(())).await;
    }

    /// Changes Journeyman's settings; they hold from the next [`World::start_bot`].
    pub fn change_settings(&mut self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings);
    }

    /// Writes another script for the agent's next runs.
    pub fn rescript(&self, scenes: &str) {
        setting::write_script(self.place.path(), scenes);
    }

    /// Opens the API as the holder of its token does.
    pub async fn api(
        &self,
        method: &str,
        path: &str,
        body: Option<serde_json::Value>,
    ) -> (u16, serde_json::Value) {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let method = method.parse().expect("a method");
        let url = format!("{}{path}", self.address());
        let mut request = client.request(method, url).bearer_auth(API_TOKEN);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("Journeyman answers");
        let status = response.status().as_u16();
        let text = response.text().await.expect("an answer has a body");
        (status, serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)))
    }

    async fn tell(&self) -> String {
        let mut told = String::new();
        for order in self.orders().await {
            let (journal, projection) = self.look(order).await;
            told += &format!("\n{order}: {:?}, {:?}", projection.next.settled, projection.next.moves);
            for entry in journal.entries().iter().rev().take(12).rev() {
                told += &format!("\n  {entry:?}");
            }
        }
        told
    }
}

/// How an order ended.
#[derive(Debug)]
pub struct Ended {
    pub order: OrderId,
    /// What its journal tells.
    pub projection: OrderProjection,
    pub journal: Journal,
}

impl Ended {
    /// In a word.
    pub fn word(&self) -> &'static str {
        self.projection.surfaces().outcome
    }

    /// Why, or nothing.
    pub fn because(&self) -> String {
        self.projection.surfaces().because.unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(bot) = self.bot.take() {
            bot.handle.stop();
            bot.running.abort();
        }
    }
}

fn replay(journal: &Journal) -> OrderProjection {
    journeyman::order::projection(journal.pipeline(), journal, chrono::Utc::now())
}

/// The database's address, for a second look.
fn store_url(settings: &Settings) -> &str {
    settings.store.url.expose_secret()
}
