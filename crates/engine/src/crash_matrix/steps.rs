//! The steps of a life, and the fault at each. Everything that reaches outside the process passes through here.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::faults::{Fate, FaultyAnswer};
use journeyman_emulator::{Emulator, InProcessCaller};
use journeyman_github::{
    GitHubApi, GitHubConnection, GitHubError, IncomingAnswer, OutgoingRequest, RequestSender,
};
use journeyman_order::{DeliveryGuid, JournalEntry, JournalEvent, OrderId};
use journeyman_store::{JournalStore, Store, StoreError, StoreWatcher};
use secrecy::ExposeSecret as _;

/// A life of two orders and an outage of hours takes fewer than 2,000.
const MOST_STEPS: u64 = 20_000;

/// Where the process reaches out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seam {
    Store,
    GitHub,
    Work,
    Hook,
}

/// What will happen at a step.
#[derive(Debug, Default)]
pub(super) struct Directive {
    dies_after: Option<Duration>,
    unheard: bool,
    pub(super) hook: Option<Fate>,
    pub(super) answer: Option<(FaultyAnswer, bool)>,
}

#[derive(Debug)]
pub(super) struct StepsState {
    count: u64,
    last: String,
    pub(super) fates: Vec<(u64, Fate)>,
    pub(super) struck: Vec<(String, Fate)>,
    pub(super) points: BTreeSet<String>,
    /// How long the dead process stays down.
    pub(super) dead: Option<Duration>,
    pub(super) terminate: Option<Duration>,
    answers: Option<(FaultyAnswer, bool, u32)>,
    outage_until: DateTime<Utc>,
    refuses_until: DateTime<Utc>,
    /// When the last fault ended or will end.
    pub(super) trouble_until: DateTime<Utc>,
    /// Requests that GitHub refused, or answered with nonsense.
    pub(super) refused: BTreeSet<String>,
    entry: Option<String>,
    committing: Directive,
}

/// The clock of all processes: it continues from where the previous process died.
#[derive(Debug, Clone, Copy)]
struct VirtualTime {
    base: DateTime<Utc>,
    since: Option<Instant>,
}

/// What all processes of a life share.
pub(super) struct Steps {
    state: Mutex<StepsState>,
    time: Mutex<VirtualTime>,
    /// Something happened that the loop around the process must see.
    pub(super) news: Notify,
}

impl Steps {
    pub(super) fn new(fates: Vec<(u64, Fate)>, now: DateTime<Utc>) -> Self {
        let state = StepsState {
            count: 0,
            last: String::new(),
            fates,
            struck: Vec::new(),
            points: BTreeSet::new(),
            dead: None,
            terminate: None,
            answers: None,
            outage_until: now,
            refuses_until: now,
            trouble_until: now,
            refused: BTreeSet::new(),
            entry: None,
            committing: Directive::default(),
        };
        Self {
            state: Mutex::new(state),
            time: Mutex::new(VirtualTime { base: now, since: None }),
            news: Notify::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, StepsState> {
        self.state.lock().unwrap()
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        let time = *self.time.lock().unwrap();
        let elapsed = time.since.map(|since| since.elapsed()).unwrap_or_default();
        time.base + TimeDelta::from_std(elapsed).unwrap_or_default()
    }

    /// A process begins in its own runtime.
    pub(super) fn begin(&self) {
        let mut state = self.state();
        (state.dead, state.terminate) = (None, None);
        state.committing = Directive::default();
        state.entry = None;
        drop(state);
        self.time.lock().unwrap().since = Some(Instant::now());
    }

    /// The process has ended. Time stops until it is moved.
    pub(super) fn end(&self) {
        let now = self.now();
        *self.time.lock().unwrap() = VirtualTime { base: now, since: None };
    }

    pub(super) fn pass_time(&self, time: Duration) {
        let mut clock = self.time.lock().unwrap();
        clock.base += TimeDelta::from_std(time).unwrap_or_default();
    }

    fn trouble_for(&self, time: Duration) -> DateTime<Utc> {
        let until = self.now() + TimeDelta::from_std(time).unwrap_or_default();
        let mut state = self.state();
        state.trouble_until = state.trouble_until.max(until);
        until
    }

    /// A dead process does nothing more.
    async fn alive(&self) {
        if self.state().dead.is_some() {
            std::future::pending::<()>().await;
        }
    }

    async fn die(&self, down: Duration) {
        self.trouble_for(down);
        self.state().dead = Some(down);
        self.news.notify_one();
        std::future::pending::<()>().await;
    }

    /// Reaches a step.
    pub(super) async fn pass(&self, seam: Seam, point: &str) -> Directive {
        self.alive().await;
        if self.is_endless() {
            self.die(Duration::ZERO).await;
        }
        let fate = {
            let mut state = self.state();
            state.count += 1;
            point.clone_into(&mut state.last);
            if !state.points.contains(point) {
                state.points.insert(point.to_owned());
            }
            let count = state.count;
            let strikes = |(step, fate): &(u64, Fate)| *step <= count && can_strike(fate, seam);
            let at = state.fates.iter().position(strikes);
            at.map(|at| {
                let (_, fate) = state.fates.remove(at);
                state.struck.push((point.to_owned(), fate.clone()));
                fate
            })
        };
        let mut directive = Directive::default();
        if let Some(fate) = fate {
            self.trouble_for(Duration::ZERO);
            match fate {
                Fate::DieBefore { down } => self.die(down).await,
                Fate::DieAfter { down } => directive.dies_after = Some(down),
                Fate::Terminate { down } => {
                    self.state().terminate = Some(down);
                    self.trouble_for(down);
                    self.news.notify_one();
                }
                Fate::GitHub { answer, applied, times } => {
                    self.state().answers = Some((answer, applied, times));
                }
                Fate::Outage { lasts } => {
                    let until = self.trouble_for(lasts);
                    self.state().outage_until = until;
                }
                Fate::StoreRefuses { lasts } => {
                    let until = self.trouble_for(lasts);
                    self.state().refuses_until = until;
                }
                Fate::CommitUnheard => directive.unheard = true,
                Fate::HookLost | Fate::HookTwice | Fate::HookUnderTwoGuids | Fate::HookLate { .. } => {
                    if let Fate::HookLate { by } = &fate {
                        self.trouble_for(*by);
                    }
                    directive.hook = Some(fate);
                }
            }
        }
        if seam == Seam::GitHub {
            let mut state = self.state();
            if let Some((answer, applied, times)) = state.answers.take() {
                directive.answer = Some((answer, applied));
                if answer.is_refusal() {
                    state.refused.insert(point.to_owned());
                }
                if times > 1 {
                    state.answers = Some((answer, applied, times - 1));
                }
            }
        }
        directive
    }

    /// Completes a step.
    pub(super) async fn passed(&self, directive: &mut Directive) {
        if let Some(down) = directive.dies_after.take() {
            self.die(down).await;
        }
        self.alive().await;
    }

    /// Whether it repeats itself endlessly.
    pub(super) fn is_endless(&self) -> bool {
        self.state().count > MOST_STEPS
    }

    /// For debugging.
    pub(super) fn last(&self) -> (u64, String) {
        let state = self.state();
        (state.count, state.last.clone())
    }

    /// Whether the database refuses everything.
    pub(super) fn refuses(&self) -> bool {
        self.now() < self.state().refuses_until
    }

    fn is_out(&self) -> bool {
        self.now() < self.state().outage_until
    }
}

fn can_strike(fate: &Fate, seam: Seam) -> bool {
    match fate {
        Fate::DieBefore { .. } | Fate::DieAfter { .. } | Fate::Terminate { .. } => true,
        Fate::GitHub { .. } | Fate::Outage { .. } => seam == Seam::GitHub,
        Fate::StoreRefuses { .. } | Fate::CommitUnheard => seam == Seam::Store,
        Fate::HookLost | Fate::HookTwice | Fate::HookUnderTwoGuids | Fate::HookLate { .. } => {
            seam == Seam::Hook
        }
    }
}

/// Virtual time does not pass while this lives: another thread is working.
pub(super) struct Busy {
    _until_dropped: std::sync::mpsc::Sender<()>,
}

impl Busy {
    pub(super) fn new() -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::task::spawn_blocking(move || receiver.recv());
        Self { _until_dropped: sender }
    }
}

/// The database of one process.
pub(super) struct WatchedStore(pub(super) Arc<Steps>);

#[async_trait]
impl StoreWatcher for WatchedStore {
    async fn begins(&self, _what: &'static str) -> Result<Box<dyn Send>, StoreError> {
        let Self(steps) = self;
        steps.alive().await;
        if steps.refuses() {
            // The error takes a moment.
            tokio::time::sleep(Duration::from_millis(100)).await;
            return Err(StoreError::Unavailable { because: "the disk is full".to_owned() });
        }
        Ok(Box::new(Busy::new()))
    }

    async fn commits(&self, what: &'static str) -> Result<(), StoreError> {
        let Self(steps) = self;
        let entry = if what == "an entry" { steps.state().entry.take() } else { None };
        let point = entry.unwrap_or_else(|| format!("store: {what}"));
        let directive = steps.pass(Seam::Store, &point).await;
        steps.state().committing = directive;
        Ok(())
    }

    async fn committed(&self, _what: &'static str) -> Result<(), StoreError> {
        let Self(steps) = self;
        let mut directive = std::mem::take(&mut steps.state().committing);
        steps.passed(&mut directive).await;
        match directive.unheard {
            true => Err(StoreError::Unavailable { because: "the connection broke".to_owned() }),
            false => Ok(()),
        }
    }
}

/// Records the names of entries as they are written.
pub(super) struct NamedEntries(pub(super) Arc<Steps>, pub(super) Store);

#[async_trait]
impl JournalStore for NamedEntries {
    async fn append_after(
        &self,
        order: OrderId,
        last: u64,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<Option<JournalEntry>, StoreError> {
        let name = match &event {
            JournalEvent::Intended { key, .. } => format!("intended: {}", kind_of(&key.0)),
            JournalEvent::Observed { key, .. } => format!("observed: {}", kind_of(&key.0)),
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => "a signal".to_owned(),
        };
        self.0.state().entry = Some(name);
        self.1.append_after(order, last, event, at).await
    }

    async fn entries_after(&self, order: OrderId, seq: u64) -> Result<Vec<JournalEntry>, StoreError> {
        JournalStore::entries_after(&self.1, order, seq).await
    }
}

/// The kind of an effect, whatever it belongs to.
pub(super) fn kind_of(key: &str) -> String {
    let first = key.split('/').next().unwrap_or_default();
    let last = key.rsplit('/').next().unwrap_or_default();
    let word = if matches!(first, "status" | "check" | "authorize" | "answer")
        && last.bytes().all(|b| !b.is_ascii_alphabetic())
    {
        first
    } else {
        last
    };
    let word = word.trim_end_matches(|of: char| of.is_ascii_digit() || of == '-');
    if word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        first.to_owned()
    } else {
        word.to_owned()
    }
}

/// GitHub, for one process.
pub(super) struct DirectConnection {
    pub(super) steps: Arc<Steps>,
    pub(super) emulator: Arc<Emulator>,
}

fn point_of(request: &OutgoingRequest<'_>) -> String {
    if request.api == GitHubApi::GraphQl {
        let document = request.body.and_then(|body| body["query"].as_str()).unwrap_or_default();
        let name = document.split(['(', '{', ' ']).find(|word| word.len() > 8).unwrap_or("graphql");
        return format!("GitHub: {name}");
    }
    let path = request.route.split('?').next().unwrap_or_default();
    let words: Vec<&str> = path
        .split('/')
        .skip(if path.starts_with("/repos/") { 4 } else { 1 })
        .filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()))
        .take(3)
        .collect();
    format!("GitHub: {} {}", request.method.as_str(), words.join("/"))
}

#[async_trait]
impl GitHubConnection for DirectConnection {
    async fn exchange(&self, request: OutgoingRequest<'_>) -> Result<IncomingAnswer, GitHubError> {
        let steps = &self.steps;
        // No answer arrives at once.
        tokio::time::sleep(Duration::from_millis(60)).await;
        let mut directive = steps.pass(Seam::GitHub, &point_of(&request)).await;
        let cut = || GitHubError::unavailable(format!("no answer to {}", request.name));
        if steps.is_out() {
            return Err(cut());
        }
        if let Some((answer, false)) = directive.answer {
            return faulty(answer, None).await.ok_or_else(cut);
        }
        let base = match request.api {
            GitHubApi::Rest => "/api/v3",
            GitHubApi::GraphQl => "/api",
        };
        let caller = match &request.sender {
            RequestSender::App => InProcessCaller::App,
            RequestSender::Token(token) => InProcessCaller::Token(token.expose_secret().to_owned()),
        };
        let body = request.body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        journeyman_emulator::set_time(steps.now());
        let path = format!("{base}{}", request.route);
        let answered = self.emulator.exchange(caller, request.method.as_str(), &path, &body);
        steps.passed(&mut directive).await;
        let mut answer =
            IncomingAnswer { status: answered.status, body: answered.body, ..IncomingAnswer::default() };
        for (name, value) in answered.headers {
            insert(&mut answer, &name, &value);
        }
        match directive.answer {
            Some((otherwise, _)) => faulty(otherwise, Some(&answer)).await.ok_or_else(cut),
            None => Ok(answer),
        }
    }
}

fn insert(answer: &mut IncomingAnswer, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (name.parse::<http::HeaderName>(), value.parse()) {
        answer.headers.insert(name, value);
    }
}

/// `None`: the answer is incomplete or missing.
async fn faulty(answer: FaultyAnswer, real: Option<&IncomingAnswer>) -> Option<IncomingAnswer> {
    let of = |status: u16, body: &str| IncomingAnswer {
        status,
        body: body.as_bytes().to_vec(),
        ..IncomingAnswer::default()
    };
    let limited = |status: u16, headers: &[(&str, String)]| {
        let mut answer = of(status, r#"{"message": "You have exceeded a secondary rate limit"}"#);
        for (name, value) in headers {
            insert(&mut answer, name, value);
        }
        answer
    };
    Some(match answer {
        FaultyAnswer::Cut => return None,
        FaultyAnswer::Silence => {
            tokio::time::sleep(Duration::from_secs(40)).await;
            return None;
        }
        FaultyAnswer::Status(status) => of(status, r#"{"message": "no"}"#),
        FaultyAnswer::SecondaryLimit => limited(403, &[("retry-after", "40".to_owned())]),
        FaultyAnswer::TooMany => limited(429, &[("retry-after", "90".to_owned())]),
        FaultyAnswer::PrimaryLimit => {
            let reset = (Utc::now().timestamp() + 120).to_string();
            limited(403, &[("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", reset)])
        }
        FaultyAnswer::Page => of(200, "<html>Please sign in</html>"),
        FaultyAnswer::Empty => of(200, ""),
        FaultyAnswer::Half => {
            let body = real.map(|real| real.body.clone()).unwrap_or_else(|| br#"{"id": 1, "na"#.to_vec());
            IncomingAnswer { status: 200, body: body[..body.len() / 2].to_vec(), ..IncomingAnswer::default() }
        }
        FaultyAnswer::OtherShape => of(200, r#"{"hello": ["world"]}"#),
    })
}

/// A GUID of our own making.
pub(super) fn guid(number: u64) -> DeliveryGuid {
    uuid::Uuid::from_u128(u128::from(number) << 64 | 0x4000_8000_0000_0000_0000)
        .to_string()
        .parse()
        .expect("a GUID")
}
