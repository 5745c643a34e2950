//! What was under way when the server died, and how often: the next crash may have the same cause. What was cut off twice is
//! begun alone, before anything else, so that only the guilty one dies again; and what killed the server alone a few times is
//! not begun any more.
//!
//! May know: the names of what is under way. Must never know: what it does. Of each there is a small file while it runs, which
//! a server that ends in order takes away. Nothing here is synced: a machine that loses its power is nobody's fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

use journeyman_order::{DeliveryGuid, MoveKey, OrderId};

/// So many deaths may be somebody else's fault.
const BESIDE_OTHERS: u32 = 2;
/// So many deaths while nothing else was under way are its own.
const ALONE: u32 = 3;
/// So many are too many, whoever was beside it.
const AT_MOST: u32 = 10;
/// How long all others wait for those that were cut off.
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// How often it is looked whether a quarantine is over, where nobody says so.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// What was cut off and never begun again since is forgotten.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What may have ended the server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CrashSuspect {
    /// Reading an order's journal.
    Journal(OrderId),
    Effect(OrderId, MoveKey),
    /// Taking in deliveries, of which nobody knows yet which.
    Intake,
    Delivery(DeliveryGuid),
    Housekeeping(HousekeepingStep),
}

/// What is taken away, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HousekeepingStep {
    OrderFolders,
    Artifacts,
    Orders,
    ArtifactFiles,
    DeliveryBodies,
    Deliveries,
    Database,
    Mirrors,
}

impl CrashSuspect {
    fn order(&self) -> Option<OrderId> {
        match self {
            Self::Journal(order) | Self::Effect(order, _) => Some(*order),
            Self::Intake | Self::Delivery(_) | Self::Housekeeping(_) => None,
        }
    }

    /// Whether it has to come before the other can begin.
    fn leads_to(&self, other: &Self) -> bool {
        match self {
            Self::Journal(order) => other.order() == Some(*order),
            Self::Housekeeping(_) => matches!(other, Self::Housekeeping(_)),
            Self::Effect(..) | Self::Intake | Self::Delivery(_) => false,
        }
    }
}

/// How often the server died while one thing was under way, and in whose company.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CrashRecord {
    of: CrashSuspect,
    deaths: u32,
    alone: u32,
    under_way: Option<Company>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Company {
    Alone,
    Others,
}

impl CrashRecord {
    fn is_suspect(&self) -> bool {
        self.deaths >= BESIDE_OTHERS
    }

    /// The intake itself is never given up: each delivery is looked at by itself then.
    fn is_guilty(&self) -> bool {
        self.of != CrashSuspect::Intake && (self.alone >= ALONE || self.deaths >= AT_MOST)
    }
}

impl fmt::Display for CrashRecord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deaths, alone, .. } = self;
        write!(
            out,
            "the server died {deaths} times while this was under way, {alone} times with nothing beside it"
        )
    }
}

/// Whether something may begin.
#[derive(Debug)]
pub(super) enum Admission {
    /// It is under way until the guard is dropped.
    Granted(CrashGuard),
    /// What was cut off comes first.
    NotYet,
    /// It has ended the server too often. It is asked for only once: what begins by this name later is another try.
    Refused(CrashRecord),
}

/// What is under way in one data folder. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Quarantine(Arc<QuarantineInner>);

#[derive(Debug)]
struct QuarantineInner {
    folder: PathBuf,
    state: Mutex<QuarantineState>,
    /// Others may begin, or the next of those that were cut off.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct QuarantineState {
    known: BTreeMap<CrashSuspect, CrashRecord>,
    /// Those that have to be tried alone before others begin.
    suspects: BTreeSet<CrashSuspect>,
    alone: Option<CrashSuspect>,
    since: Option<Instant>,
}

impl QuarantineState {
    fn of_order(&self, order: OrderId) -> impl Iterator<Item = &CrashSuspect> {
        self.suspects.iter().filter(move |suspect| suspect.order() == Some(order))
    }

    fn is_passed(&self) -> bool {
        self.since.is_none_or(|since| since.elapsed() >= LONGEST)
    }
}

impl Quarantine {
    /// Reads what an earlier server left that did not end in order. Nobody else may use the folder.
    pub(super) fn open(folder: PathBuf) -> Self {
        let inner = QuarantineInner { folder, state: Mutex::default(), changed: watch::Sender::new(()) };
        let quarantine = Self(Arc::new(inner));
        quarantine.read_left();
        quarantine
    }

    fn read_left(&self) {
        let mut state = self.state();
        for file in std::fs::read_dir(&self.0.folder).into_iter().flatten().flatten() {
            let path = file.path();
            let Some(mut record) = read(&path) else {
                remove(&path);
                continue;
            };
            if let Some(company) = record.under_way.take() {
                record.deaths = record.deaths.saturating_add(1);
                record.alone += u32::from(company == Company::Alone);
                tracing::warn!(what = ?record.of, "was under way when the server ended without a word: {record}");
                // At once: it has not begun again, and the next death may be another's.
                self.keep(&record);
            }
            if record.is_suspect() {
                state.suspects.insert(record.of.clone());
            }
            state.known.insert(record.of.clone(), record);
        }
        if !state.suspects.is_empty() {
            state.since = Some(Instant::now());
            tracing::warn!(
                count = state.suspects.len(),
                "what was cut off more than once is tried alone first"
            );
        }
    }

    fn state(&self) -> MutexGuard<'_, QuarantineState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of each change that lets something else begin.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Whether the server has died of it, or beside it, more than once.
    pub(super) fn is_suspected(&self, of: &CrashSuspect) -> bool {
        self.state().known.get(of).is_some_and(CrashRecord::is_suspect)
    }

    /// Whether others wait for what was cut off.
    pub(super) fn is_on(&self) -> bool {
        let state = self.state();
        if !state.suspects.is_empty() && state.is_passed() {
            drop(state);
            tracing::warn!("what was cut off takes long; others do not wait for it any longer");
            self.lift();
            return false;
        }
        !state.suspects.is_empty()
    }

    /// Nobody waits any more.
    pub(super) fn lift(&self) {
        let mut state = self.state();
        state.suspects.clear();
        // What is still under way has company from now on.
        if let Some(alone) = state.alone.take()
            && let Some(record) = state.known.get_mut(&alone)
        {
            record.under_way = Some(Company::Others);
            self.keep(record);
        }
        self.0.changed.send_replace(());
    }

    /// Whether an order may be driven: in a quarantine only those that something of was cut off.
    pub(super) fn lets_drive(&self, order: OrderId) -> bool {
        if !self.is_on() {
            return true;
        }
        let state = self.state();
        let is_free = state.alone.as_ref().is_none_or(|alone| alone.order() == Some(order));
        is_free && state.of_order(order).next().is_some()
    }

    /// Ends where all that others wait for are orders, and none of these: they have nothing to do now.
    pub(super) fn lift_unless(&self, mut driven: impl Iterator<Item = OrderId>) -> bool {
        let state = self.state();
        let is_idle = state.suspects.iter().all(|suspect| suspect.order().is_some())
            && !driven.any(|order| state.of_order(order).next().is_some());
        drop(state);
        let lifts = is_idle && self.is_on();
        if lifts {
            self.lift();
        }
        lifts
    }

    /// Of this order only these effects are wanted: nobody waits for others.
    pub(super) fn keep_only<'k>(&self, order: OrderId, wanted: impl Iterator<Item = &'k MoveKey>) {
        let wanted: BTreeSet<&MoveKey> = wanted.collect();
        self.acquit(|suspect| match suspect {
            CrashSuspect::Effect(of, key) => *of == order && !wanted.contains(key),
            CrashSuspect::Journal(_)
            | CrashSuspect::Intake
            | CrashSuspect::Delivery(_)
            | CrashSuspect::Housekeeping(_) => false,
        });
    }

    /// An order is not driven any more: nobody waits for it. Where it has ended, what is known of it is forgotten.
    pub(super) fn rested(&self, order: OrderId, has_ended: bool) {
        self.acquit(|suspect| suspect.order() == Some(order));
        if has_ended {
            let mut state = self.state();
            let gone: Vec<CrashSuspect> =
                state.known.keys().filter(|known| known.order() == Some(order)).cloned().collect();
            for suspect in gone {
                state.known.remove(&suspect);
                remove(&self.file(&suspect));
            }
        }
    }

    /// Nobody waits for what was to be taken away.
    pub(super) fn housekept(&self) {
        self.acquit(|suspect| matches!(suspect, CrashSuspect::Housekeeping(_)));
    }

    /// Nobody waits for these.
    fn acquit(&self, whom: impl Fn(&CrashSuspect) -> bool) {
        let mut state = self.state();
        let before = state.suspects.len();
        state.suspects.retain(|suspect| !whom(suspect));
        if state.suspects.len() != before {
            self.0.changed.send_replace(());
        }
    }

    /// Says that something begins, unless others come first or it has ended the server too often.
    pub(super) fn begin(&self, of: &CrashSuspect) -> Admission {
        let is_on = self.is_on();
        let mut state = self.state();
        if let Some(record) = state.known.get(of).filter(|record| record.is_guilty()) {
            let record = record.clone();
            state.known.remove(of);
            remove(&self.file(of));
            drop(state);
            self.acquit(|suspect| suspect == of);
            return Admission::Refused(record);
        }
        // One of those that are taken in alone.
        let is_within = matches!(of, CrashSuspect::Delivery(_)) && state.alone == Some(CrashSuspect::Intake);
        let is_suspect = state.suspects.contains(of);
        let leads_to_one = state.suspects.iter().any(|suspect| of.leads_to(suspect));
        if is_on && !is_within && (!(is_suspect || leads_to_one) || state.alone.is_some()) {
            return Admission::NotYet;
        }
        let company = if is_on && (is_suspect || is_within) { Company::Alone } else { Company::Others };
        if company == Company::Alone && !is_within {
            state.alone = Some(of.clone());
        }
        let record = state.known.entry(of.clone()).or_insert_with(|| CrashRecord {
            of: of.clone(),
            deaths: 0,
            alone: 0,
            under_way: None,
        });
        record.under_way = Some(company);
        self.keep(record);
        Admission::Granted(CrashGuard { quarantine: self.clone(), of: of.clone(), has_ended: false })
    }

    /// As [`Quarantine::begin`], when its turn has come.
    ///
    /// # Errors
    /// It has ended the server too often.
    pub(super) async fn begin_in_turn(&self, of: &CrashSuspect) -> Result<CrashGuard, CrashRecord> {
        let mut changes = self.changes();
        loop {
            match self.begin(of) {
                Admission::Granted(guard) => return Ok(guard),
                Admission::Refused(record) => return Err(record),
                Admission::NotYet => {
                    let _long_enough = tokio::time::timeout(LOOK_AGAIN, changes.changed()).await;
                }
            }
        }
    }

    /// It is not under way any more. Where it has ended, nothing is held against it.
    fn leave(&self, of: &CrashSuspect, has_ended: bool) {
        let mut state = self.state();
        let is_clean = has_ended || state.known.get(of).is_none_or(|record| record.deaths == 0);
        if is_clean {
            state.known.remove(of);
            remove(&self.file(of));
        } else if let Some(record) = state.known.get_mut(of) {
            record.under_way = None;
            self.keep(record);
        }
        if state.alone.as_ref() == Some(of) {
            state.alone = None;
        }
        let was_suspect = state.suspects.remove(of);
        if was_suspect {
            self.0.changed.send_replace(());
        }
    }

    fn file(&self, of: &CrashSuspect) -> PathBuf {
        let name = serde_json::to_vec(of).unwrap_or_default();
        self.0.folder.join(hex::encode(&Sha256::digest(name)[..16]))
    }

    /// What cannot be kept is not counted: a full disk must not keep anything from being tried.
    fn keep(&self, record: &CrashRecord) {
        let path = self.file(&record.of);
        let written = serde_json::to_vec(record).map_err(std::io::Error::from).and_then(|json| {
            std::fs::write(&path, &json).or_else(|_| {
                std::fs::create_dir_all(&self.0.folder)?;
                std::fs::write(&path, &json)
            })
        });
        if let Err(error) = written {
            tracing::warn!(path = %path.display(), "a crash could not be told from here: {error}");
        }
    }
}

/// As long as it is there, a server that ends has died of what it stands for, or beside it.
#[derive(Debug)]
pub(super) struct CrashGuard {
    quarantine: Quarantine,
    of: CrashSuspect,
    has_ended: bool,
}

impl CrashGuard {
    /// It has come to its end, and that is written down.
    pub(super) fn ended(mut self) {
        self.has_ended = true;
    }
}

impl Drop for CrashGuard {
    fn drop(&mut self) {
        self.quarantine.leave(&self.of, self.has_ended);
    }
}

fn read(path: &Path) -> Option<CrashRecord> {
    let is_old = || Some(path.metadata().ok()?.modified().ok()?.elapsed().ok()? > KEPT);
    if is_old().unwrap_or_default() {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn remove(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), "cannot be taken away: {error}");
        }
        Ok(()) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(number: u128) -> OrderId {
        OrderId(uuid::Uuid::from_u128(number))
    }

    fn effect(of: u128) -> CrashSuspect {
        CrashSuspect::Effect(order(of), MoveKey("implement/1/tests".to_owned()))
    }

    fn started(folder: &Path) -> Quarantine {
        Quarantine::open(folder.join("under-way"))
    }

    fn granted(admission: Admission) -> CrashGuard {
        match admission {
            Admission::Granted(guard) => guard,
            Admission::NotYet | Admission::Refused(_) => panic!("{admission:?}"),
        }
    }

    /// The server dies: nobody takes anything away.
    fn dies(guards: impl IntoIterator<Item = CrashGuard>) {
        guards.into_iter().for_each(std::mem::forget);
    }

    #[tokio::test]
    async fn what_kills_the_server_again_and_again_is_given_up_and_what_was_beside_it_is_not() {
        let place = tempfile::tempdir().expect("a folder");
        let [guilty, innocent, third] = [1, 2, 3].map(effect);
        for _ in 0..BESIDE_OTHERS {
            let server = started(place.path());
            assert!(!server.is_on());
            dies([&guilty, &innocent].map(|of| granted(server.begin(of))));
        }

        for _ in 0..ALONE {
            let server = started(place.path());
            assert!(server.is_on() && server.lets_drive(order(1)) && !server.lets_drive(order(3)));
            assert!(matches!(server.begin(&third), Admission::NotYet));
            let alone = granted(server.begin(&guilty));
            assert!(matches!(server.begin(&innocent), Admission::NotYet));
            assert!(!server.lets_drive(order(2)));
            dies([alone]);
        }

        let server = started(place.path());
        let Admission::Refused(record) = server.begin(&guilty) else { panic!("it may begin") };
        assert_eq!(
            record.to_string(),
            "the server died 5 times while this was under way, 3 times with nothing beside it"
        );
        assert!(server.is_on(), "the other one has not been tried");
        granted(server.begin(&innocent)).ended();
        assert!(!server.is_on());
        granted(server.begin(&third)).ended();
        // A person asked for it once more.
        granted(server.begin(&guilty)).ended();
        assert_eq!(std::fs::read_dir(place.path().join("under-way")).expect("a folder").count(), 0);
    }

    #[tokio::test]
    async fn a_server_that_ends_in_order_leaves_nothing_and_forgives_nothing() {
        let place = tempfile::tempdir().expect("a folder");
        let suspect = effect(1);
        drop(granted(started(place.path()).begin(&suspect)));
        assert_eq!(std::fs::read_dir(place.path().join("under-way")).expect("a folder").count(), 0);
        for _ in 0..BESIDE_OTHERS {
            dies([granted(started(place.path()).begin(&suspect))]);
            drop(granted(started(place.path()).begin(&suspect)));
        }
        let server = started(place.path());
        assert!(server.is_on(), "it was stopped in between, and had not ended");
        server.rested(order(1), true);
        assert!(!server.is_on() && !started(place.path()).is_on(), "an order that has ended is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn others_wait_ten_minutes_at_most_and_what_takes_longer_has_company_from_then_on() {
        let place = tempfile::tempdir().expect("a folder");
        let [slow, other] = [1, 2].map(effect);
        for _ in 0..BESIDE_OTHERS {
            dies([granted(started(place.path()).begin(&slow))]);
        }
        for _ in BESIDE_OTHERS..AT_MOST {
            let server = started(place.path());
            let mut changes = server.changes();
            let alone = granted(server.begin(&slow));
            tokio::time::advance(LONGEST).await;
            assert!(!server.is_on());
            assert!(changes.has_changed().expect("it is there"), "{:?}", changes.borrow_and_update());
            let beside = granted(server.begin(&other));
            beside.ended();
            dies([alone]);
        }
        let Admission::Refused(record) = started(place.path()).begin(&slow) else { panic!("it may begin") };
        assert_eq!(
            record.to_string(),
            "the server died 10 times while this was under way, 0 times with nothing beside it"
        );
    }

    #[tokio::test]
    async fn what_is_not_wanted_any_more_is_not_waited_for() {
        let place = tempfile::tempdir().expect("a folder");
        let suspect = effect(1);
        for _ in 0..BESIDE_OTHERS {
            dies([granted(started(place.path()).begin(&suspect))]);
        }
        let server = started(place.path());
        granted(server.begin(&CrashSuspect::Journal(order(1)))).ended();
        assert!(server.is_on() && !server.lift_unless(std::iter::once(order(1))));
        server.keep_only(order(1), std::iter::empty());
        assert!(!server.is_on());
    }

    #[tokio::test]
    async fn a_delivery_that_kills_the_server_is_refused_and_not_those_before_it() {
        let place = tempfile::tempdir().expect("a folder");
        let delivery = |name: &str| CrashSuspect::Delivery(name.parse().expect("a GUID"));
        for _ in 0..BESIDE_OTHERS {
            let server = started(place.path());
            assert!(!server.is_suspected(&CrashSuspect::Intake));
            dies([granted(server.begin(&CrashSuspect::Intake))]);
        }
        for _ in 0..ALONE {
            let server = started(place.path());
            assert!(server.is_suspected(&CrashSuspect::Intake) && !server.lift_unless(std::iter::empty()));
            let intake = granted(server.begin(&CrashSuspect::Intake));
            assert!(matches!(server.begin(&effect(1)), Admission::NotYet));
            granted(server.begin(&delivery("harmless"))).ended();
            dies([intake, granted(server.begin(&delivery("poison")))]);
        }

        let server = started(place.path());
        let intake = granted(server.begin(&CrashSuspect::Intake));
        granted(server.begin(&delivery("harmless"))).ended();
        assert!(matches!(server.begin(&delivery("poison")), Admission::Refused(_)));
        intake.ended();
        assert!(!server.is_on() && !server.is_suspected(&CrashSuspect::Intake));
    }

    #[test]
    fn what_is_no_record_is_taken_away() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("under-way");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("torn"), "{\"of\":").expect("a file");
        Quarantine::open(folder.clone());
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
    }
}
