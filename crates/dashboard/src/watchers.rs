//! Orders that somebody looks at: one watcher an order, however many pages of it are open. It holds the journal once, reads
//! what is new of it, makes each part once, and tells every page.
//!
//! Nobody who watches holds up the work: entries come from a channel that forgets, and an agent's words from the file that
//! they go to. Whoever was forgotten reads the journal again. Must never know: who the pages are of.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::rt::task::spawn_blocking;
use actix_web::web::Bytes;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::time::{Instant, sleep_until};

use journeyman_order::{Journal, JournalEntry, Move, MoveKey, OrderId};
use journeyman_store::{JournalStore as _, StoreError};

use super::memory::locked;
use super::parts::{PagePart, head_part, parts, runs_under_way, survey};
use super::transcript::{html, read};
use super::{DashboardState, LiveTranscript, LiveWork};

/// How often it is looked what agents have said.
const LOOK: Duration = Duration::from_millis(100);
/// How often it is looked whether anybody is still there, where nothing is said.
const QUIET: Duration = Duration::from_secs(1);
/// Where nobody tells of entries, as on a server that stands by, the journal is read this often.
const READ_AGAIN: Duration = Duration::from_secs(3);
/// That of an order that has ended.
const READ_AGAIN_ENDED: Duration = Duration::from_secs(30);
/// What was not sent yet of one page; whoever is slower is shown the page as it is then.
const MOST_WAITING: usize = 64;
/// Pages that follow at once, of all orders.
const MOST_PAGES: usize = 500;
/// Of what an agent has said, whoever comes later is shown so many bytes.
const MOST_RECENT: usize = 256 * 1024;

/// Every order that somebody looks at.
pub(crate) struct OrderWatchers {
    orders: Mutex<HashMap<OrderId, Arc<WatchedOrder>>>,
    places: Arc<Semaphore>,
}

/// An order that somebody looks at: what its page is now, and what is new.
pub(crate) struct WatchedOrder {
    page: Mutex<WatchedPage>,
    told: broadcast::Sender<ToldNews>,
}

/// What its pages are told.
#[derive(Clone)]
pub(crate) enum ToldNews {
    /// The page is there to be read.
    Begun,
    Event {
        to: PageReaders,
        event: Bytes,
    },
    /// Nothing more comes: the journal cannot be read now, or the server ends.
    Over,
}

/// Whose pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PageReaders {
    All,
    WhoMayAct,
    WhoMayNot,
}

impl PageReaders {
    pub(crate) fn have(self, may_act: bool) -> bool {
        match self {
            Self::All => true,
            Self::WhoMayAct => may_act,
            Self::WhoMayNot => !may_act,
        }
    }
}

#[derive(Default)]
struct WatchedPage {
    is_read: bool,
    /// The last entry that it shows.
    seq: u64,
    /// In the order of the page.
    parts: Vec<PartEvent>,
    runs: BTreeMap<MoveKey, RunWords>,
}

/// A part as its event.
#[derive(Clone)]
struct PartEvent {
    id: String,
    to: PageReaders,
    event: Bytes,
}

/// What the agent of a run has said last.
struct RunWords {
    begun: Bytes,
    recent: VecDeque<Bytes>,
}

/// A page's way into what is told.
pub(crate) struct EnteredPage {
    pub(crate) news: broadcast::Receiver<ToldNews>,
    /// What a page has to be sent first; none while the journal is not read yet.
    pub(crate) missed: Option<Vec<Bytes>>,
}

fn event(name: &str, data: &Value) -> Bytes {
    // JSON has no line ends of its own.
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

impl Default for OrderWatchers {
    fn default() -> Self {
        Self { orders: Mutex::default(), places: Arc::new(Semaphore::new(MOST_PAGES)) }
    }
}

impl OrderWatchers {
    /// A place among the pages that follow; none where all are taken.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Enters a page that shows an order up to the entry `shown`.
    pub(crate) fn enter(
        &self,
        state: &DashboardState,
        order: OrderId,
        shown: u64,
        may_act: bool,
    ) -> (Arc<WatchedOrder>, EnteredPage) {
        let mut orders = locked(&self.orders);
        let watched = orders.entry(order).or_insert_with(|| {
            let watched = Arc::new(WatchedOrder::new());
            actix_web::rt::spawn(watch(state.clone(), order, Arc::clone(&watched)));
            watched
        });
        // While the watcher cannot leave.
        let entered = watched.enter(shown, may_act);
        (Arc::clone(watched), entered)
    }

    /// Whether nobody listens, and the watcher is dismissed.
    fn is_left(&self, order: OrderId, watched: &Arc<WatchedOrder>) -> bool {
        let mut orders = locked(&self.orders);
        let is_left = watched.told.receiver_count() == 0;
        if is_left {
            orders.remove(&order);
        }
        is_left
    }

    /// Whoever comes now gets another watcher.
    fn end(&self, order: OrderId, watched: &Arc<WatchedOrder>) {
        let mut orders = locked(&self.orders);
        if orders.get(&order).is_some_and(|there| Arc::ptr_eq(there, watched)) {
            orders.remove(&order);
        }
        let _nobody_listens = watched.told.send(ToldNews::Over);
    }

    /// How many orders are watched.
    #[cfg(test)]
    pub(crate) fn watched(&self) -> usize {
        locked(&self.orders).len()
    }
}

impl WatchedOrder {
    fn new() -> Self {
        Self { page: Mutex::default(), told: broadcast::channel(MOST_WAITING).0 }
    }

    /// From now on, and what came before: nothing is told twice, and nothing falls in between.
    pub(crate) fn enter(&self, shown: u64, may_act: bool) -> EnteredPage {
        let page = locked(&self.page);
        EnteredPage { news: self.told.subscribe(), missed: page.is_read.then(|| page.missed(shown, may_act)) }
    }

    fn tell(&self, to: PageReaders, event: Bytes) {
        let _nobody_listens = self.told.send(ToldNews::Event { to, event });
    }

    /// Tells the parts that are others than before.
    fn show(&self, seq: u64, parts: Vec<PartEvent>) {
        let mut page = locked(&self.page);
        let before: HashMap<(&str, PageReaders), &Bytes> =
            page.parts.iter().map(|part| ((part.id.as_str(), part.to), &part.event)).collect();
        for part in &parts {
            if page.is_read && before.get(&(part.id.as_str(), part.to)) != Some(&&part.event) {
                self.tell(part.to, part.event.clone());
            }
        }
        page.parts = parts;
        page.seq = seq;
        if !page.is_read {
            page.is_read = true;
            let _nobody_listens = self.told.send(ToldNews::Begun);
        }
    }

    fn say(&self, said: RunSaid) {
        let mut page = locked(&self.page);
        let name = said.key.file_name();
        if said.has_begun {
            let begun = event("run-begun", &json!({"run": name, "name": said.key.to_string()}));
            page.runs
                .insert(said.key.clone(), RunWords { begun: begun.clone(), recent: VecDeque::default() });
            self.tell(PageReaders::All, begun);
        }
        let Some(html) = said.html else { return };
        let words = event("words", &json!({"run": name, "html": html}));
        if let Some(run) = page.runs.get_mut(&said.key) {
            run.recent.push_back(words.clone());
            let mut held: usize = run.recent.iter().map(Bytes::len).sum();
            while held > MOST_RECENT && run.recent.len() > 1 {
                held -= run.recent.pop_front().map_or(0, |first| first.len());
            }
        }
        self.tell(PageReaders::All, words);
    }

    fn end_run(&self, key: &MoveKey) {
        locked(&self.page).runs.remove(key);
        self.tell(PageReaders::All, event("run-ended", &json!({"run": key.file_name()})));
    }
}

impl WatchedPage {
    fn missed(&self, shown: u64, may_act: bool) -> Vec<Bytes> {
        let is_old = shown != self.seq;
        let parts = self.parts.iter().filter(|part| is_old && part.to.have(may_act));
        let runs = self.runs.values().flat_map(|run| std::iter::once(&run.begun).chain(&run.recent));
        parts.map(|part| &part.event).chain(runs).cloned().collect()
    }
}

/// Runs that are under way, with what they print, once they print.
type LiveRuns = BTreeMap<StartedRun, Option<Box<dyn LiveTranscript>>>;

/// A run, and how often it was started: one that is tried again prints to another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StartedRun {
    key: MoveKey,
    starts: usize,
}

impl StartedRun {
    fn of(journal: &Journal, key: MoveKey) -> Self {
        let starts = journal.intended(&key).count();
        Self { key, starts }
    }
}

/// What came of a run since the last look.
struct RunSaid {
    key: MoveKey,
    has_begun: bool,
    html: Option<String>,
}

/// A journal as its page shows it.
struct ShownJournal {
    parts: Vec<PartEvent>,
    under_way: BTreeSet<StartedRun>,
    is_ended: bool,
}

impl ShownJournal {
    fn of(journal: &Journal, state: &DashboardState) -> Result<Self, askama::Error> {
        let survey = survey(journal);
        let told = |part: PagePart, to| PartEvent {
            event: event("part", &json!({"id": part.id, "into": part.into, "html": part.html})),
            id: part.id,
            to,
        };
        let mut all = Vec::new();
        for part in parts(journal, &survey, &state.address(), true)? {
            let to = if part.has_buttons() { PageReaders::WhoMayAct } else { PageReaders::All };
            all.push(told(part, to));
        }
        all.push(told(head_part(journal, &survey, false)?, PageReaders::WhoMayNot));
        Ok(Self {
            parts: all,
            under_way: runs_under_way(journal, &survey)
                .into_iter()
                .map(|key| StartedRun::of(journal, key))
                .collect(),
            is_ended: survey.next.settled.is_some(),
        })
    }
}

/// Follows one order.
struct OrderWatcher {
    state: DashboardState,
    order: OrderId,
    watched: Arc<WatchedOrder>,
    journal: Arc<Journal>,
    entries: broadcast::Receiver<(OrderId, JournalEntry)>,
    runs: LiveRuns,
    is_ended: bool,
}

/// Why a watcher ends.
enum WatchEnd {
    NobodyListens,
    /// The server ends, or what is to be shown cannot be made; the log says why.
    Over,
}

/// Until nobody looks any more.
async fn watch(state: DashboardState, order: OrderId, watched: Arc<WatchedOrder>) {
    let shared = Arc::clone(&state.shared);
    // Before the journal is read, so that no entry falls in between.
    let entries = state.live.entries();
    let end = match state.store.journal(order).await {
        Ok(journal) => {
            let journal = Arc::new(journal);
            let watcher = OrderWatcher {
                state,
                order,
                watched: Arc::clone(&watched),
                journal,
                entries,
                runs: LiveRuns::new(),
                is_ended: false,
            };
            watcher.follow().await
        }
        Err(error) => {
            tracing::warn!(%order, %error, "the journal of an order that somebody looks at cannot be read");
            WatchEnd::Over
        }
    };
    match end {
        WatchEnd::NobodyListens => {}
        WatchEnd::Over => shared.watchers.end(order, &watched),
    }
}

impl OrderWatcher {
    async fn follow(mut self) -> WatchEnd {
        match self.until_the_end().await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn until_the_end(&mut self) -> Result<std::convert::Infallible, WatchEnd> {
        self.show().await?;
        let (mut look, mut read) = (Instant::now(), Instant::now());
        loop {
            let is_news = tokio::select! {
                entry = self.entries.recv() => self.take(entry).await,
                () = sleep_until(look) => {
                    if self.state.live.is_stopping() {
                        return Err(WatchEnd::Over);
                    }
                    if self.state.shared.watchers.is_left(self.order, &self.watched) {
                        return Err(WatchEnd::NobodyListens);
                    }
                    self.listen().await?;
                    look = Instant::now() + if self.runs.is_empty() { QUIET } else { LOOK };
                    let pause = if self.is_ended { READ_AGAIN_ENDED } else { READ_AGAIN };
                    let is_due = read.elapsed() > pause;
                    if is_due {
                        read = Instant::now();
                    }
                    is_due && self.catch_up().await
                }
            };
            if is_news {
                self.show().await?;
                look = look.min(Instant::now() + LOOK);
            }
        }
    }

    /// Whether the journal has grown.
    async fn take(&mut self, entry: Result<(OrderId, JournalEntry), broadcast::error::RecvError>) -> bool {
        let mut is_news = match entry {
            Ok((order, _)) if order != self.order => return false,
            Ok((_, entry)) => self.push(entry).await,
            Err(broadcast::error::RecvError::Lagged(_)) => self.catch_up().await,
            Err(broadcast::error::RecvError::Closed) => {
                tokio::time::sleep(LOOK).await;
                false
            }
        };
        // What came at once is shown at once.
        loop {
            is_news |= match self.entries.try_recv() {
                Ok((order, _)) if order != self.order => false,
                Ok((_, entry)) => self.push(entry).await,
                // It is told once that some were forgotten.
                Err(broadcast::error::TryRecvError::Lagged(_)) => self.catch_up().await,
                Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => break,
            };
        }
        is_news
    }

    /// Whether the journal has grown: by this entry, or where some before it are missing, by all there are.
    async fn push(&mut self, entry: JournalEntry) -> bool {
        if entry.seq <= self.journal.last_seq() {
            return false;
        }
        Arc::make_mut(&mut self.journal).push(entry).is_ok() || self.catch_up().await
    }

    async fn catch_up(&mut self) -> bool {
        let before = self.journal.last_seq();
        let read: Result<(), StoreError> = self.state.store.catch_up(Arc::make_mut(&mut self.journal)).await;
        read.is_ok() && self.journal.last_seq() > before
    }

    /// Makes the page as it is now, and tells what is new of it.
    async fn show(&mut self) -> Result<(), WatchEnd> {
        let (journal, state) = (Arc::clone(&self.journal), self.state.clone());
        let turn = self.state.shared.renderings.wait().await;
        let shown = turn.take(move || ShownJournal::of(&journal, &state)).await;
        let shown = match shown {
            Ok(Ok(shown)) => shown,
            Ok(Err(error)) => {
                tracing::error!(%error, "a page could not be made");
                return Err(WatchEnd::Over);
            }
            Err(_) => return Err(WatchEnd::Over),
        };
        self.watched.show(self.journal.last_seq(), shown.parts);
        self.is_ended = shown.is_ended;
        if self.runs.keys().any(|run| !shown.under_way.contains(run)) {
            // Their last words.
            self.listen().await?;
        }
        let over: Vec<StartedRun> =
            self.runs.keys().filter(|run| !shown.under_way.contains(*run)).cloned().collect();
        for run in over {
            self.runs.remove(&run);
            self.watched.end_run(&run.key);
        }
        for run in shown.under_way {
            self.runs.entry(run).or_insert(None);
        }
        Ok(())
    }

    /// Tells what agents have said since.
    async fn listen(&mut self) -> Result<(), WatchEnd> {
        if self.runs.is_empty() {
            return Ok(());
        }
        let mut runs = std::mem::take(&mut self.runs);
        let (live, journal, order) = (Arc::clone(&self.state.live), Arc::clone(&self.journal), self.order);
        // Files are read and words made pages beside the threads that answer.
        let heard = spawn_blocking(move || {
            let said: Vec<RunSaid> = runs
                .iter_mut()
                .filter_map(|(run, transcript)| hear(&*live, &journal, order, run, transcript))
                .collect();
            (runs, said)
        });
        let (runs, said) = heard.await.map_err(|error| {
            tracing::error!(%error, "what agents say could not be read");
            WatchEnd::Over
        })?;
        self.runs = runs;
        for said in said {
            self.watched.say(said);
        }
        Ok(())
    }
}

fn hear(
    live: &dyn LiveWork,
    journal: &Journal,
    order: OrderId,
    StartedRun { key, .. }: &StartedRun,
    transcript: &mut Option<Box<dyn LiveTranscript>>,
) -> Option<RunSaid> {
    let has_begun = transcript.is_none();
    if has_begun {
        let task = journal
            .intended(key)
            .rev()
            .find_map(|intended| if let Move::RunAgent(task) = intended { Some(task) } else { None })?;
        let attempt = journal.attempts(key) + 1;
        *transcript = live.transcript(order, key, attempt, task);
    }
    // Some of it is read at a time, so that a flood is shown in pieces.
    let items = read(&transcript.as_mut()?.read_on().unwrap_or_default());
    let html = (!items.is_empty()).then(|| html(&items));
    (has_begun || html.is_some()).then(|| RunSaid { key: key.clone(), has_begun, html })
}
