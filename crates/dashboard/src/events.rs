//! `/orders/{id}/events`: what is new of an order, as server-sent events: parts of its page, and what its agents say.
//!
//! Nobody who watches holds up the work: entries come from a channel that forgets, and an agent's words from the file that
//! they go to. Whoever was forgotten reads the journal again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use actix_web::http::header;
use actix_web::web::{Bytes, Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval};

use journeyman_order::{Journal, JournalEntry, Move, MoveKey, OrderId};
use journeyman_store::{JournalStore as _, StoreError};

use super::answer::of_store;
use super::order_page::row;
use super::parts::{parts, runs_under_way, survey};
use super::session::{cookie, signed_in, still_reads};
use super::transcript::{html, read};
use super::{DashboardState, LiveTranscript};

/// How often it is looked what agents have said.
const LOOK: Duration = Duration::from_millis(100);
/// A proxy must not think that nobody is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// Where nobody tells of entries, as on a server that stands by, the journal is read this often.
const READ_AGAIN: Duration = Duration::from_secs(3);
/// What was not sent yet of one page.
const MOST_WAITING: usize = 64;

#[derive(Deserialize)]
pub(crate) struct EventsQuery {
    /// The last entry that the page shows.
    #[serde(default)]
    seq: u64,
}

pub(crate) async fn follow(
    request: HttpRequest,
    path: Path<String>,
    query: Query<EventsQuery>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let Ok(session) = signed_in(&request, &state).await else {
        return HttpResponse::Unauthorized().finish();
    };
    let order = match row(&state, &session, &path).await {
        Ok(row) => row.id,
        Err(nothing) => return *nothing,
    };
    // Before the journal is read, so that no entry falls in between.
    let entries = state.live.entries();
    let journal = match state.store.journal(order).await {
        Ok(journal) => journal,
        Err(error) => return of_store(&error),
    };
    let (sender, receiver) = mpsc::channel(MOST_WAITING);
    let follower = OrderFollower {
        state: state.get_ref().clone(),
        cookie: cookie(&request),
        may_act: session.may_write(journal.opened().repository_id),
        order,
        journal,
        entries,
        sender,
        sent: BTreeMap::new(),
        runs: BTreeMap::new(),
        ended: BTreeSet::new(),
    };
    actix_web::rt::spawn(follower.run(query.seq));
    let stream = unfold(receiver, |mut receiver| async {
        let event: Bytes = receiver.recv().await?;
        Some((Ok::<Bytes, actix_web::Error>(event), receiver))
    });
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        // A proxy that gathers what it passes on would hold up every event.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(Box::pin(stream))
}

struct OrderFollower {
    state: DashboardState,
    /// Of whoever looks: what they may see can end while they do.
    cookie: String,
    may_act: bool,
    order: OrderId,
    journal: Journal,
    entries: broadcast::Receiver<(OrderId, JournalEntry)>,
    sender: mpsc::Sender<Bytes>,
    /// What the page has of each part.
    sent: BTreeMap<String, String>,
    /// Runs that are under way, with what they print, once they print.
    runs: BTreeMap<MoveKey, Option<Box<dyn LiveTranscript>>>,
    /// Runs whose end the page was told.
    ended: BTreeSet<MoveKey>,
}

/// The page is closed, whoever looks may not any more, or the server ends.
struct NobodyListens;

impl OrderFollower {
    async fn run(mut self, shown: u64) {
        let _ended: Result<(), NobodyListens> = self.follow(shown).await;
    }

    async fn follow(&mut self, shown: u64) -> Result<(), NobodyListens> {
        let is_current = shown == self.journal.last_seq();
        self.show(!is_current).await?;
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut spoke, mut looked) = (Instant::now(), Instant::now());
        loop {
            let is_news = tokio::select! {
                entry = self.entries.recv() => self.take(entry).await,
                _ = ticks.tick() => {
                    if self.state.live.is_stopping() {
                        return Err(NobodyListens);
                    }
                    self.listen().await?;
                    let is_due = looked.elapsed() > READ_AGAIN;
                    if is_due {
                        let repository = self.journal.opened().repository_id;
                        if !still_reads(&self.state, &self.cookie, repository).await {
                            return Err(NobodyListens);
                        }
                        looked = Instant::now();
                    }
                    is_due && self.catch_up().await
                }
            };
            if is_news {
                self.show(true).await?;
            }
            if spoke.elapsed() > SIGN_OF_LIFE {
                spoke = Instant::now();
                self.send(Bytes::from_static(b": here\n\n")).await?;
            }
        }
    }

    /// Whether the journal has grown.
    async fn take(&mut self, entry: Result<(OrderId, JournalEntry), broadcast::error::RecvError>) -> bool {
        let mut is_news = match entry {
            Ok((order, _)) if order != self.order => return false,
            Ok((_, entry)) if entry.seq <= self.journal.last_seq() => false,
            Ok((_, entry)) => self.journal.push(entry).is_ok() || self.catch_up().await,
            Err(broadcast::error::RecvError::Lagged(_)) => self.catch_up().await,
            Err(broadcast::error::RecvError::Closed) => {
                tokio::time::sleep(LOOK).await;
                false
            }
        };
        // What came at once is shown at once.
        while let Ok((order, entry)) = self.entries.try_recv() {
            if order == self.order && self.journal.push(entry).is_ok() {
                is_news = true;
            }
        }
        is_news
    }

    async fn catch_up(&mut self) -> bool {
        let before = self.journal.last_seq();
        let read: Result<(), StoreError> = self.state.store.catch_up(&mut self.journal).await;
        read.is_ok() && self.journal.last_seq() > before
    }

    /// Sends the parts that are others than the page has.
    async fn show(&mut self, is_sent: bool) -> Result<(), NobodyListens> {
        let survey = survey(&self.journal);
        let parts =
            parts(&self.journal, &survey, self.state.public_url.as_ref(), self.may_act).unwrap_or_default();
        for part in parts {
            if self.sent.get(&part.id) == Some(&part.html) {
                continue;
            }
            if is_sent {
                let told = json!({"id": part.id, "into": part.into, "html": part.html});
                self.event("part", &told).await?;
            }
            self.sent.insert(part.id, part.html);
        }
        let under_way: BTreeSet<MoveKey> = runs_under_way(&self.journal, &survey).into_iter().collect();
        let over: Vec<MoveKey> = self.runs.keys().filter(|key| !under_way.contains(*key)).cloned().collect();
        for key in over {
            self.listen_to(&key).await?;
            self.runs.remove(&key);
            self.event("run-ended", &json!({"run": key.file_name()})).await?;
            self.ended.insert(key);
        }
        for key in under_way {
            self.runs.entry(key).or_insert(None);
        }
        Ok(())
    }

    /// Sends what agents have said since.
    async fn listen(&mut self) -> Result<(), NobodyListens> {
        let keys: Vec<MoveKey> = self.runs.keys().cloned().collect();
        for key in keys {
            self.listen_to(&key).await?;
        }
        Ok(())
    }

    async fn listen_to(&mut self, key: &MoveKey) -> Result<(), NobodyListens> {
        if let Some(None) = self.runs.get(key)
            && let Some(transcript) = self.transcript(key)
        {
            self.runs.insert(key.clone(), Some(transcript));
            self.event("run-begun", &json!({"run": key.file_name(), "name": key.to_string()})).await?;
        }
        let Some(Some(transcript)) = self.runs.get_mut(key) else { return Ok(()) };
        // Some of it is read at a time, so that a flood is shown in pieces.
        let lines = transcript.read_on().unwrap_or_default();
        let items = read(&lines);
        if items.is_empty() {
            return Ok(());
        }
        self.event("words", &json!({"run": key.file_name(), "html": html(&items)})).await
    }

    fn transcript(&self, key: &MoveKey) -> Option<Box<dyn LiveTranscript>> {
        let task = self
            .journal
            .intended(key)
            .rev()
            .find_map(|intended| if let Move::RunAgent(task) = intended { Some(task) } else { None })?;
        self.state.live.transcript(self.order, key, task)
    }

    async fn event(&self, name: &str, data: &Value) -> Result<(), NobodyListens> {
        // JSON has no line ends of its own.
        self.send(Bytes::from(format!("event: {name}\ndata: {data}\n\n"))).await
    }

    async fn send(&self, event: Bytes) -> Result<(), NobodyListens> {
        self.sender.send(event).await.map_err(|_| NobodyListens)
    }
}
