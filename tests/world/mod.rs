//! The world of a story: the GitHub emulator, the whole application in this process, a repository with a failing test,
//! an issue, people, and an agent that follows the story's script. Only the agent's judgement is fake: git over HTTP,
//! SQLite, processes and the sandbox are real.
//!
//! A story starts with [`Story`], acts through [`World::github`], waits with [`World::settled`] or [`World::until`],
//! and ends with [`World::end`], which checks that nothing unexpected is left.

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

/// The stories' repository.
pub const REPOSITORY: &str = "acme/answers";
/// Opens the issue; may write.
pub const MAINTAINER: &str = "mona";
/// May set labels, but not write.
pub const TRIAGER: &str = "tria";
/// May read and comment, like everyone.
pub const OUTSIDER: &str = "oscar";
/// The API's token.
pub const API_TOKEN: &str = "a-token-for-the-stories-only";
/// The secret that signs deliveries.
pub const WEBHOOK_SECRET: &str = "a-webhook-secret-for-the-stories";

/// The timeout of a story.
const PATIENCE: Duration = Duration::from_secs(90);
const GLANCE: Duration = Duration::from_millis(15);

/// The world. Dropping it without [`World::end`] only cleans up, because the story has already failed.
pub struct World {
    /// GitHub: what people do and see there.
    pub github: Emulator,
    /// The story's issue.
    pub issue: u64,
    /// A second connection to Journeyman's database.
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
    /// Stops Journeyman like SIGTERM and keeps its data. Deliveries fail until [`World::start_bot`].
    pub async fn stop_bot(&mut self) {
        let bot = self.bot.take().expect("Journeyman runs");
        let asked = Instant::now();
        bot.handle.stop();
        let ended = tokio::time::timeout(Duration::from_secs(10), bot.running).await;
        let ended = ended.unwrap_or_else(|_| panic!("Journeyman has not ended after {:?}", asked.elapsed()));
        ended.expect("Journeyman does not panic").expect("Journeyman ends well");
        self.assert_no_process_is_left().await;
    }

    /// Restarts Journeyman on its existing data.
    pub async fn start_bot(&mut self) {
        assert!(self.bot.is_none(), "one Journeyman at a time");
        self.bot = Some(Bot::start(self.settings.clone(), &self.github).await);
    }

    pub fn data(&self) -> &std::path::Path {
        &self.settings.data.dir
    }

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

    /// The address that Journeyman listens on.
    pub fn address(&self) -> &str {
        &self.bot.as_ref().expect("Journeyman runs").address
    }

    /// The newest order of the story's issue.
    pub async fn latest_order(&self) -> Option<OrderId> {
        let filter = OrderFilter { limit: 1, ..OrderFilter::default() };
        self.store.orders(&filter).await.expect("the store can be read").first().map(|row| row.id)
    }

    /// All orders, newest first.
    pub async fn orders(&self) -> Vec<OrderId> {
        let filter = OrderFilter { limit: 1_000, ..OrderFilter::default() };
        let rows = self.store.orders(&filter).await.expect("the store can be read");
        rows.iter().map(|row| row.id).collect()
    }

    /// An order's journal and its current projection.
    pub async fn look(&self, order: OrderId) -> (Journal, OrderProjection) {
        let journal = self.store.journal(order).await.expect("the journal can be read");
        let projection = replay(&journal);
        (journal, projection)
    }

    /// Waits until all deliveries are handled and no order has anything left to do.
    pub async fn quiet(&self) {
        let begun = Instant::now();
        while !self.is_quiet().await {
            if begun.elapsed() > PATIENCE {
                panic!("not quiet after {PATIENCE:?}: {}", self.tell().await);
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Checks in the direction in which work arrives, so that none slips through. If an order is working, the rest
    /// needs no check.
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

    /// Waits until GitHub has delivered everything, or failed to.
    pub async fn delivered(&self) {
        let begun = Instant::now();
        while self.is_delivering() {
            assert!(begun.elapsed() < PATIENCE, "it is delivered for ever");
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits until all is quiet, and returns how the latest order ended.
    pub async fn settled(&self) -> Ended {
        self.quiet().await;
        let order = self.latest_order().await.expect("there is an order");
        let (journal, projection) = self.look(order).await;
        assert!(projection.next.settled.is_some(), "an order at rest has ended");
        if !projection.surfaces().verified {
            let shown = self.on_github(&journal, &projection);
            assert_eq!(
                shown.says_verified(),
                Vec::<&str>::new(),
                "of an order whose verdict is {:?}",
                projection.verdict
            );
        }
        Ended { order, projection, journal }
    }

    /// The same, and checks how the order ended.
    pub async fn settled_as(&self, word: &str) -> Ended {
        let ended = self.settled().await;
        assert_eq!(ended.word(), word, "{}", ended.because());
        ended
    }

    /// Waits until `look` returns something for the latest order's journal.
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
                    // Replays an unchanged journal only now and then, because a due time may have passed.
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

    /// Waits until the journal has the intent of this effect.
    pub async fn until_begun(&self, key: &str) {
        self.until(key, |journal, _| look::begun(journal, key).then_some(())).await;
    }

    /// Changes Journeyman's settings from the next [`World::start_bot`] on.
    pub fn change_settings(&mut self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings);
    }

    /// Writes another script for the agent's next runs.
    pub fn rescript(&self, scenes: &str) {
        setting::write_script(self.place.path(), scenes);
    }

    /// Calls the API with its token.
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
    /// Its journal's projection.
    pub projection: OrderProjection,
    pub journal: Journal,
}

impl Ended {
    /// Its outcome in one word.
    pub fn word(&self) -> &'static str {
        self.projection.surfaces().outcome
    }

    /// The reason, or an empty text.
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

/// The database's address, for a second connection.
fn store_url(settings: &Settings) -> &str {
    settings.store.url.expose_secret()
}
