//! `/orders/{id}/events`: what is new of an order, as server-sent events, to whoever may see it and for as long as they may.
//!
//! Nobody who looks holds up the work: entries come from a channel that forgets, and an agent's words from the file that they go
//! to. Whoever was forgotten reads the journal again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::rt::task::spawn_blocking;
use actix_web::web::{Bytes, Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio::time::{Instant, sleep_until};

use journeyman_order::{Journal, JournalEntry, Move, MoveKey, OrderId, RepositoryId};
use journeyman_store::{JournalStore as _, StoreError};

use super::answer::{PageResult, busy};
use super::order_page::row;
use super::parts::{PagePart, parts, projection, runs_under_way};
use super::session::{cookie, signed_in, still_reads};
use super::transcript::{html, read};
use super::{DashboardState, LiveTranscript, LiveWork};

/// A proxy must not think that nobody is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// How often it is looked whether whoever looks still may.
const LOOK_WHO: Duration = Duration::from_secs(3);
/// How often it is looked what agents have said, and whether the server ends where none works.
const LOOK: Duration = Duration::from_millis(100);
const QUIET: Duration = Duration::from_secs(1);
/// Where nobody tells of entries, as on a server that stands by, the journal is read this often.
const READ_AGAIN: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
pub(crate) struct EventsQuery {
    #[serde(default)]
    seq: u64,
}

pub(crate) async fn follow(
    request: HttpRequest,
    path: Path<String>,
    query: Query<EventsQuery>,
    state: Data<DashboardState>,
) -> PageResult {
    let Ok(session) = signed_in(&request, &state).await else {
        return Ok(HttpResponse::Unauthorized().finish());
    };
    let row = row(&state, &session, &path).await?;
    let Some(place) = state.shared.place() else {
        return Ok(busy("Too many pages follow the work at once. This one shows it when it is reloaded."));
    };
    // Before the journal is read, so that no entry falls in between.
    let entries = state.live.entries();
    let journal = Arc::new(state.store.journal(row.id).await?);
    let now = Instant::now();
    let follower = OrderFollower {
        state: state.get_ref().clone(),
        cookie: cookie(&request, &state),
        repository: row.repository_id,
        may_act: session.may_write(row.repository_id),
        order: row.id,
        shown: query.seq,
        journal,
        entries,
        parts: None,
        runs: LiveRuns::new(),
        waiting: VecDeque::new(),
        ended: state.shared.ended.subscribe(),
        looked_who: now,
        look: now,
        read: now,
        spoke: now,
        _place: place,
    };
    let stream = unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((Ok::<Bytes, actix_web::Error>(event), follower))
    });
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        // A proxy that gathers what it passes on would hold up every event.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(Box::pin(stream)))
}

fn event(name: &str, data: &Value) -> Bytes {
    // JSON has no line ends of its own.
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// Runs that are under way, with what they print, once they print.
type LiveRuns = BTreeMap<StartedRun, Option<Box<dyn LiveTranscript>>>;

/// A run, and how often it was started: one that is tried again prints to another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StartedRun {
    key: MoveKey,
    starts: usize,
}

struct OrderFollower {
    state: DashboardState,
    /// Of whoever looks: what they may see can end while they do.
    cookie: String,
    repository: RepositoryId,
    may_act: bool,
    order: OrderId,
    /// The last entry that the page showed when it came.
    shown: u64,
    journal: Arc<Journal>,
    entries: broadcast::Receiver<(OrderId, JournalEntry)>,
    /// What the page shows; none before it was made once.
    parts: Option<Vec<PagePart>>,
    runs: LiveRuns,
    waiting: VecDeque<Bytes>,
    ended: watch::Receiver<()>,
    looked_who: Instant,
    look: Instant,
    read: Instant,
    spoke: Instant,
    _place: OwnedSemaphorePermit,
}

impl OrderFollower {
    /// The next event; none when it is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // Whoever did not read for a while hears nothing before it is looked again whether they may.
            if self.looked_who.elapsed() >= LOOK_WHO && !self.still_reads().await {
                return None;
            }
            if let Some(event) = self.waiting.pop_front() {
                self.spoke = Instant::now();
                return Some(event);
            }
            if self.parts.is_none() {
                self.show().await?;
                continue;
            }
            tokio::select! {
                entry = self.entries.recv() => {
                    if self.take(entry).await {
                        self.show().await?;
                    }
                }
                changed = self.ended.changed() => {
                    if changed.is_err() || !self.still_reads().await {
                        return None;
                    }
                }
                () = sleep_until(self.look) => self.look_again().await?,
            }
        }
    }

    async fn still_reads(&mut self) -> bool {
        self.looked_who = Instant::now();
        still_reads(&self.state, &self.cookie, self.repository).await
    }

    /// What nobody tells: that the server ends, what agents have said, and entries that the channel forgot.
    async fn look_again(&mut self) -> Option<()> {
        if self.state.live.is_stopping() {
            return None;
        }
        self.listen().await?;
        self.look = Instant::now() + if self.runs.is_empty() { QUIET } else { LOOK };
        if self.read.elapsed() > READ_AGAIN {
            self.read = Instant::now();
            if self.catch_up().await {
                self.show().await?;
            }
        }
        if self.spoke.elapsed() > SIGN_OF_LIFE {
            self.waiting.push_back(Bytes::from_static(b": here\n\n"));
        }
        Some(())
    }

    /// Whether the journal has grown. An entry that is told of is read there, with all that were forgotten.
    async fn take(&mut self, entry: Result<(OrderId, JournalEntry), RecvError>) -> bool {
        match entry {
            Ok((order, _)) if order != self.order => return false,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => {
                tokio::time::sleep(LOOK).await;
                return false;
            }
        }
        // What came at once is shown at once.
        while let Ok(_) | Err(TryRecvError::Lagged(_)) = self.entries.try_recv() {}
        self.catch_up().await
    }

    async fn catch_up(&mut self) -> bool {
        let before = self.journal.last_seq();
        let read: Result<(), StoreError> = self.state.store.catch_up(Arc::make_mut(&mut self.journal)).await;
        read.is_ok() && self.journal.last_seq() > before
    }

    /// Makes the page as it is now, and keeps what is new of it to be sent. None where it cannot be made; the log says why.
    async fn show(&mut self) -> Option<()> {
        let (journal, address, may_act) = (Arc::clone(&self.journal), self.state.address(), self.may_act);
        let turn = self.state.shared.renderings.wait().await;
        let made = turn.take(move || made(&journal, &address, may_act)).await.ok()?;
        let (parts, under_way) =
            made.inspect_err(|error| tracing::error!(%error, "a page could not be made")).ok()?;
        for part in &parts {
            let is_known = match &self.parts {
                Some(before) => before.contains(part),
                None => self.shown == self.journal.last_seq(),
            };
            if !is_known {
                let data = json!({"id": part.id, "into": part.into, "html": part.html});
                self.waiting.push_back(event("part", &data));
            }
        }
        self.parts = Some(parts);
        let over: Vec<StartedRun> =
            self.runs.keys().filter(|run| !under_way.contains(*run)).cloned().collect();
        if !over.is_empty() {
            // Their last words.
            self.listen().await?;
        }
        for run in over {
            self.runs.remove(&run);
            self.waiting.push_back(event("run-ended", &json!({"run": run.key.file_name()})));
        }
        for run in under_way {
            self.runs.entry(run).or_insert(None);
        }
        self.look = self.look.min(Instant::now() + LOOK);
        Some(())
    }

    /// Keeps what agents have said since to be sent.
    async fn listen(&mut self) -> Option<()> {
        if self.runs.is_empty() {
            return Some(());
        }
        let mut runs = std::mem::take(&mut self.runs);
        let (live, journal, order) = (Arc::clone(&self.state.live), Arc::clone(&self.journal), self.order);
        // Files are read and words made pages beside the threads that answer.
        let heard = spawn_blocking(move || {
            let said: Vec<Bytes> = runs
                .iter_mut()
                .flat_map(|(run, transcript)| hear(&*live, &journal, order, run, transcript))
                .collect();
            (runs, said)
        });
        let heard = heard.await;
        let (runs, said) =
            heard.inspect_err(|error| tracing::error!(%error, "what agents say could not be read")).ok()?;
        self.runs = runs;
        self.waiting.extend(said);
        Some(())
    }
}

/// The parts of a page, and the runs that are under way.
fn made(
    journal: &Journal,
    address: &str,
    may_act: bool,
) -> Result<(Vec<PagePart>, BTreeSet<StartedRun>), askama::Error> {
    let projection = projection(journal);
    let started = |key: MoveKey| {
        let starts = journal.intended(&key).count();
        StartedRun { key, starts }
    };
    let under_way = runs_under_way(journal, &projection).into_iter().map(started).collect();
    Ok((parts(journal, &projection, address, may_act)?, under_way))
}

/// The events of what a run has said since the last look.
fn hear(
    live: &dyn LiveWork,
    journal: &Journal,
    order: OrderId,
    StartedRun { key, .. }: &StartedRun,
    transcript: &mut Option<Box<dyn LiveTranscript>>,
) -> Vec<Bytes> {
    let (name, mut events) = (key.file_name(), Vec::new());
    if transcript.is_none() {
        let task = journal
            .intended(key)
            .rev()
            .find_map(|intended| if let Move::RunAgent(task) = intended { Some(task) } else { None });
        let attempt = journal.attempts(key) + 1;
        *transcript = task.and_then(|task| live.transcript(order, key, attempt, task));
        if transcript.is_some() {
            events.push(event("run-begun", &json!({"run": name, "name": key.to_string()})));
        }
    }
    let Some(transcript) = transcript else { return events };
    // Some of it is read at a time, so that a flood is shown in pieces.
    let items = read(&transcript.read_on().unwrap_or_default());
    if !items.is_empty() {
        events.push(event("words", &json!({"run": name, "html": html(&items)})));
    }
    events
}
