//! What was under way when the server died: the next crash may have the same cause. What was cut off twice is begun alone,
//! before anything else, so that only the guilty one dies again; and what killed the server alone a few times is not begun
//! any more, once the server has lived a while without it.
//!
//! May know: the names of what is under way. Must never know: what it does. Of each there is a small file while it runs, which
//! a server that ends in order takes away. Nothing here is synced: a machine that ends is nobody's fault.

mod crash_record;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crash_record::CrashCompany;
pub(crate) use crash_record::{BackgroundPass, CrashRecord, CrashSuspect, HousekeepingStep};
use journeyman_order::{MoveKey, OrderId};

/// How long all others wait for those that were cut off.
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// Before something is given up, the server has to live so long without it: else it dies of something that is not known here.
const COUNTER_TEST: Duration = Duration::from_secs(20);
/// How often it is looked whether a quarantine is over, where nobody says so.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// There as long as nothing is begun.
const COUNTER_TEST_FILE: &str = "counter-test";

/// Whether something may begin.
#[derive(Debug)]
pub(super) enum Admission {
    /// It is under way until the guard is dropped.
    Granted(CrashGuard),
    /// What was cut off comes first.
    NotYet,
    /// It has ended the server too often. That holds until it is forgotten.
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
    /// Nothing begins before this.
    counter_test_until: Option<Instant>,
}

impl QuarantineState {
    fn of_order(&self, order: OrderId) -> impl Iterator<Item = &CrashSuspect> {
        self.suspects.iter().filter(move |suspect| suspect.order() == Some(order))
    }

    /// Whether it is the turn of a suspect: what lasted long the last time comes after the others.
    fn is_next(&self, suspect: &CrashSuspect) -> bool {
        let lasts = |of: &CrashSuspect| self.known.get(of).is_some_and(|record| record.late > 0);
        !lasts(suspect) || self.suspects.iter().all(lasts)
    }

    /// In which company it may begin now; none where it has to wait.
    fn turn_of(&self, of: &CrashSuspect, is_on: bool) -> Option<CrashCompany> {
        if self.counter_test_until.is_some() {
            return None;
        }
        // Of two pages that may both be what kills, the second would be counted with the first.
        let is_other_page = |one: &CrashRecord| one.of != *of && one.of.is_page() && one.is_doubted();
        let is_doubted_page = of.is_page() && self.known.get(of).is_some_and(CrashRecord::is_doubted);
        if is_doubted_page && self.is_any_under_way(is_other_page) {
            return None;
        }
        if !is_on {
            return Some(CrashCompany::Others);
        }
        // One of those that are taken in alone.
        if matches!(of, CrashSuspect::Delivery(_)) && self.alone == Some(CrashSuspect::Intake) {
            return Some(CrashCompany::Alone);
        }
        if self.alone.is_some() {
            return None;
        }
        if !self.suspects.contains(of) {
            let leads = self.suspects.iter().any(|suspect| of.leads_to(suspect));
            return leads.then_some(CrashCompany::Others);
        }
        // What leads to another one would be counted with it.
        let may_come = self.is_next(of) && !self.is_any_under_way(|one| one.of != *of);
        may_come.then_some(CrashCompany::Alone)
    }

    fn is_any_under_way(&self, which: impl Fn(&CrashRecord) -> bool) -> bool {
        self.known.values().any(|record| record.under_way.is_some() && which(record))
    }
}

impl Quarantine {
    /// Reads what an earlier server left that did not end in order. Nobody else may use the folder.
    pub(super) fn open(folder: PathBuf) -> Self {
        let inner = QuarantineInner { folder, state: Mutex::default(), changed: watch::Sender::new(()) };
        let quarantine = Self(Arc::new(inner));
        if quarantine.0.folder.exists() {
            quarantine.read_left();
        }
        quarantine
    }

    fn read_left(&self) {
        let folder = &self.0.folder;
        let counter_test = folder.join(COUNTER_TEST_FILE);
        let died_without = counter_test.exists();
        let mut state = self.state();
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = file.path();
            let is_half = path.extension().is_some();
            let Some(mut record) = CrashRecord::read(&path).filter(|_| !is_half) else {
                remove(&path);
                continue;
            };
            let was = record.clone();
            if record.died() {
                tracing::warn!(what = ?record.of, "was under way when the server ended without a word: {record}");
            }
            if died_without && record.is_guilty() {
                tracing::error!(what = ?record.of, "is not to blame: the server died without it, of something else");
                record.clear();
            }
            // At once: it has not begun again, and the next death may be another's.
            if record != was {
                self.keep(&record);
            }
            if record.is_suspect() {
                state.suspects.insert(record.of.clone());
            }
            state.known.insert(record.of.clone(), record);
        }
        if state.suspects.is_empty() {
            return;
        }
        state.since = Some(Instant::now());
        tracing::warn!(count = state.suspects.len(), "what was cut off more than once is tried alone first");
        if state.known.values().any(|record| record.is_guilty() && record.under_way.is_none())
            && std::fs::write(&counter_test, "nothing is under way\n").is_ok()
        {
            state.counter_test_until = Some(Instant::now() + COUNTER_TEST);
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

    /// Whether it is seen that the server does not die by itself.
    fn is_counter_test(&self) -> bool {
        let mut state = self.state();
        let Some(until) = state.counter_test_until else { return false };
        if Instant::now() < until {
            return true;
        }
        state.counter_test_until = None;
        remove(&self.0.folder.join(COUNTER_TEST_FILE));
        self.0.changed.send_replace(());
        false
    }

    /// Whether others wait for what was cut off.
    pub(super) fn is_on(&self) -> bool {
        if self.is_counter_test() {
            return true;
        }
        let state = self.state();
        let is_on = !state.suspects.is_empty();
        let is_over = state.since.is_none_or(|since| since.elapsed() >= LONGEST);
        drop(state);
        if is_on && is_over {
            tracing::warn!("what was cut off takes long; others do not wait for it any longer");
            self.lift();
        }
        is_on && !is_over
    }

    /// Nobody waits any more.
    fn lift(&self) {
        let mut state = self.state();
        state.suspects.clear();
        state.alone = None;
        // What is still under way has company from now on.
        for record in state.known.values_mut().filter(|one| one.under_way == Some(CrashCompany::Alone)) {
            record.under_way = Some(CrashCompany::LaterOthers);
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
        is_free
            && state.counter_test_until.is_none()
            && state.of_order(order).any(|suspect| state.is_next(suspect))
    }

    /// Ends where all that others wait for are orders, and none of these: they have nothing to do now.
    pub(super) fn lift_unless(&self, mut driven: impl Iterator<Item = OrderId>) -> bool {
        let is_on = self.is_on();
        let state = self.state();
        let is_idle = state.suspects.iter().all(|suspect| suspect.order().is_some())
            && !driven.any(|order| state.of_order(order).next().is_some());
        let lifts = is_on && is_idle && state.counter_test_until.is_none();
        drop(state);
        if lifts {
            self.lift();
        }
        lifts
    }

    /// Of this order only these effects are wanted: nobody waits for others.
    pub(super) fn keep_only<'k>(&self, order: OrderId, wanted: impl Iterator<Item = &'k MoveKey>) {
        let wanted: BTreeSet<&MoveKey> = wanted.collect();
        self.acquit(|suspect| {
            matches!(suspect, CrashSuspect::Effect(of, key) if *of == order && !wanted.contains(key))
        });
    }

    /// An order is not driven any more: nobody waits for it. Where it has ended, what is known of its effects is forgotten.
    pub(super) fn rested(&self, order: OrderId, has_ended: bool) {
        self.acquit(|suspect| suspect.order() == Some(order));
        if has_ended {
            self.forget(|known| matches!(known, CrashSuspect::Effect(of, _) if *of == order));
        }
    }

    /// It was gone through to its end, or to where it went no further: nobody waits for more of it.
    pub(super) fn passed(&self, pass: BackgroundPass) {
        self.acquit(|suspect| suspect.pass() == Some(pass));
    }

    /// All that was to be taken in has been.
    pub(super) fn taken_in(&self) {
        self.acquit(|suspect| matches!(suspect, CrashSuspect::Delivery(_)));
        self.forget(|known| matches!(known, CrashSuspect::Delivery(_)));
    }

    /// What was refused is written down: what begins by this name later is another try.
    pub(super) fn settled(&self, of: &CrashSuspect) {
        self.acquit(|suspect| suspect == of);
        self.forget(|known| known == of);
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

    /// Nothing is held against these any more, unless they are under way.
    fn forget(&self, whom: impl Fn(&CrashSuspect) -> bool) {
        self.state().known.retain(|known, record| {
            let is_kept = record.under_way.is_some() || !whom(known);
            if !is_kept {
                remove(&known.file(&self.0.folder));
            }
            is_kept
        });
    }

    /// Says that something begins, unless others come first or it has ended the server too often.
    pub(super) fn begin(&self, of: &CrashSuspect) -> Admission {
        let is_on = self.is_on();
        let mut state = self.state();
        if state.counter_test_until.is_some() {
            return Admission::NotYet;
        }
        if let Some(record) = state.known.get_mut(of).filter(|record| record.is_guilty()) {
            if !record.is_old(&of.file(&self.0.folder)) {
                let record = record.clone();
                drop(state);
                self.acquit(|suspect| suspect == of);
                return Admission::Refused(record);
            }
            *record = CrashRecord::new(of.clone());
        }
        let Some(company) = state.turn_of(of, is_on) else { return Admission::NotYet };
        if company == CrashCompany::Alone && state.alone.is_none() {
            state.alone = Some(of.clone());
        }
        let record = state.known.entry(of.clone()).or_insert_with(|| CrashRecord::new(of.clone()));
        record.under_way = Some(company);
        record.at_once += 1;
        self.keep(record);
        Admission::Granted(CrashGuard { quarantine: self.clone(), of: of.clone(), has_ended: false })
    }

    /// Waits until it may begin.
    pub(super) async fn turn(&self, of: &CrashSuspect) {
        let mut changes = self.changes();
        loop {
            let is_on = self.is_on();
            if self.state().turn_of(of, is_on).is_some() {
                return;
            }
            let _long_enough = tokio::time::timeout(LOOK_AGAIN, changes.changed()).await;
        }
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

    /// As [`Quarantine::begin_in_turn`], and does it.
    ///
    /// # Errors
    /// It has ended the server too often.
    pub(super) async fn perform<T>(
        &self,
        of: &CrashSuspect,
        work: impl Future<Output = T>,
    ) -> Result<T, CrashRecord> {
        let under_way = self.begin_in_turn(of).await?;
        let done = work.await;
        under_way.ended();
        Ok(done)
    }

    /// It is not under way any more. Where it has ended, nothing is held against it.
    fn leave(&self, of: &CrashSuspect, has_ended: bool) {
        let mut state = self.state();
        if let Some(record) = state.known.get_mut(of) {
            record.at_once = record.at_once.saturating_sub(1);
            if record.at_once > 0 {
                return;
            }
        }
        let is_clean = has_ended || state.known.get(of).is_none_or(|record| record.deaths + record.late == 0);
        if is_clean {
            state.known.remove(of);
            remove(&of.file(&self.0.folder));
        } else if let Some(record) = state.known.get_mut(of) {
            record.under_way = None;
            self.keep(record);
        }
        if state.alone.as_ref() == Some(of) {
            state.alone = None;
        }
        let others_wait = !state.suspects.is_empty();
        state.suspects.remove(of);
        if others_wait {
            self.0.changed.send_replace(());
        }
    }

    /// The server ends in order: it dies of nothing, whatever is still under way.
    pub(super) fn end(&self) {
        let under_way: Vec<CrashSuspect> = {
            let mut state = self.state();
            let found = state.known.values_mut().filter(|record| record.under_way.is_some());
            found
                .map(|record| {
                    record.at_once = 0;
                    record.of.clone()
                })
                .collect()
        };
        for of in under_way {
            self.leave(&of, false);
        }
    }

    /// What cannot be kept is not counted: a full disk must not keep anything from being tried.
    fn keep(&self, record: &CrashRecord) {
        let folder = &self.0.folder;
        let written = record.write(folder).or_else(|_| {
            std::fs::create_dir_all(folder)?;
            record.write(folder)
        });
        if let Err(error) = written {
            tracing::debug!(folder = %folder.display(), "a crash could not be told from here: {error}");
        }
    }
}

impl Drop for QuarantineInner {
    fn drop(&mut self) {
        // It ends in order.
        if self.state.get_mut().unwrap_or_else(PoisonError::into_inner).counter_test_until.is_some() {
            remove(&self.folder.join(COUNTER_TEST_FILE));
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

fn remove(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::debug!(path = %path.display(), "cannot be taken away: {error}");
        }
        Ok(()) | Err(_) => {}
    }
}
