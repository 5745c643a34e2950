//! `/orders/{id}/events`: news of an order as server-sent events, to viewers who may see it, for as long as they may.
//!
//! Viewers never block the work: entries come from a lossy channel, and agents' output from its file. A viewer that
//! missed entries rereads the journal.

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
use super::text::line;
use super::transcript::{html, read};
use super::{DashboardState, LiveTranscript, LiveWork};

/// Keeps proxies from closing an idle connection.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// How often to check that the viewer may still see the order.
const LOOK_WHO: Duration = Duration::from_secs(3);
/// How often to check for agents' output, and, if none runs, for the server's shutdown.
const LOOK: Duration = Duration::from_millis(100);
const QUIET: Duration = Duration::from_secs(1);
/// Without notifications of entries, as on a standby server, the journal is read this often.
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
    // Subscribes before the journal is read, so that no entry is missed in between.
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
        progress: None,
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
        // A buffering proxy would delay every event.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(Box::pin(stream)))
}

fn event(name: &str, data: &Value) -> Bytes {
    // JSON contains no raw line breaks.
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// Running agents, with their output once there is some.
type LiveRuns = BTreeMap<StartedRun, Option<Box<dyn LiveTranscript>>>;

/// A run and its try: each try prints to its own file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StartedRun {
    key: MoveKey,
    starts: usize,
}

struct OrderFollower {
    state: DashboardState,
    /// The viewer's cookie: their rights can end while they watch.
    cookie: String,
    repository: RepositoryId,
    may_act: bool,
    order: OrderId,
    /// The last entry included in the loaded page.
    shown: u64,
    journal: Arc<Journal>,
    entries: broadcast::Receiver<(OrderId, JournalEntry)>,
    /// The parts that the page shows; `None` before the first rendering.
    parts: Option<Vec<PagePart>>,
    runs: LiveRuns,
    /// What the page says runs now. A page that was just loaded says nothing.
    progress: Option<String>,
    waiting: VecDeque<Bytes>,
    ended: watch::Receiver<()>,
    looked_who: Instant,
    look: Instant,
    read: Instant,
    spoke: Instant,
    _place: OwnedSemaphorePermit,
}

impl OrderFollower {
    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // After a pause in reading, the rights are checked before anything is sent.
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

    /// Polls for what nothing announces: shutdown, what runs, agents' output, and missed entries.
    async fn look_again(&mut self) -> Option<()> {
        if self.state.live.is_stopping() {
            return None;
        }
        let progress = self.state.live.progress(self.order).map(|text| line(&text, 300));
        if progress != self.progress {
            self.waiting.push_back(event("progress", &json!({"text": progress})));
            self.progress = progress;
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

    /// Whether the journal has grown. The entry itself is read from the journal, with any missed ones.
    async fn take(&mut self, entry: Result<(OrderId, JournalEntry), RecvError>) -> bool {
        match entry {
            Ok((order, _)) if order != self.order => return false,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => {
                tokio::time::sleep(LOOK).await;
                return false;
            }
        }
        // Handles a burst of entries together.
        while let Ok(_) | Err(TryRecvError::Lagged(_)) = self.entries.try_recv() {}
        self.catch_up().await
    }

    async fn catch_up(&mut self) -> bool {
        let before = self.journal.last_seq();
        let read: Result<(), StoreError> = self.state.store.catch_up(Arc::make_mut(&mut self.journal)).await;
        read.is_ok() && self.journal.last_seq() > before
    }

    /// Renders the page and queues its changed parts. `None` if rendering fails; the log says why.
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
            // The last output of finished runs.
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

    /// Queues agents' new output.
    async fn listen(&mut self) -> Option<()> {
        if self.runs.is_empty() {
            return Some(());
        }
        let mut runs = std::mem::take(&mut self.runs);
        let (live, journal, order) = (Arc::clone(&self.state.live), Arc::clone(&self.journal), self.order);
        // Reads files and renders output off the request threads.
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

/// The parts of a page, and the running agents.
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

/// The events for a run's output since the last call.
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
    // Reads a limited amount at a time, so that a flood arrives in pieces.
    let items = read(&transcript.read_on().unwrap_or_default());
    if !items.is_empty() {
        events.push(event("words", &json!({"run": name, "html": html(&items)})));
    }
    events
}
