//! The next moves: a pure function of the journal. Crash recovery is calling it again.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::backoff::Backoff;
use super::effect_name::{EffectPart, ReservedWord};
use super::journal::{Journal, JournalEntry, JournalEvent};
use super::journal_index::EntryKind;
use super::moves::{EffectOutcome, Move, MoveKey, Retry};
use super::pipeline::Pipeline;
use super::replay::Replay;
use super::replay::budget::OrderBudget;
use super::replay::signal_log::{AnsweredSignal, SignalAnswer, SignalLog};
use super::settlement::Settlement;
use super::surfaces::Surfaces;
use super::trace::OrderTrace;
use super::verdict::Verdict;

mod best_effort;

use self::best_effort::{BestEffortMoves, MOST_ATTEMPTS};

/// How often the last status is tried: nothing else says how an order ended, and GitHub may recover within an hour.
const MOST_LAST_STATUS_ATTEMPTS: usize = 12;

#[derive(Debug, Clone, PartialEq)]
pub struct NextMoves {
    /// Effects to run now, in parallel. Those under way that are no longer listed must be stopped.
    pub moves: Vec<(MoveKey, Move)>,
    /// When to ask again even if nothing happens.
    pub wake_at: Option<DateTime<Utc>>,
    /// How the order ended, if it has. Moves can remain, such as the last status.
    pub settled: Option<Settlement>,
}

/// Everything that a journal says about its order.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderProjection {
    pub next: NextMoves,
    /// What the replay observed.
    pub trace: OrderTrace,
    pub verdict: Verdict,
    /// How each signal was handled.
    pub answers: Vec<AnsweredSignal>,
    /// The order's limits, and what it has used of them.
    pub budget: OrderBudget,
    /// How many changes were worth showing so far.
    pub revision: u64,
}

impl OrderProjection {
    /// What people see of it.
    pub fn surfaces(&self) -> Surfaces {
        let shown = Surfaces::of(self.next.settled.as_ref(), &self.verdict);
        if self.trace.is_given { shown.of_given_change(self.next.settled.as_ref()) } else { shown }
    }

    /// The commands that a person can give now, the likeliest first.
    pub fn next_commands(&self) -> Vec<&'static str> {
        match &self.next.settled {
            None if self.trace.asks.is_some() => vec!["approve", "plan", "cancel"],
            None => vec!["cancel"],
            Some(Settlement::Merged { .. } | Settlement::Closed { .. } | Settlement::Refused { .. }) => {
                Vec::new()
            }
            Some(_) if self.surfaces().can_be_approved => vec!["retry", "approve"],
            Some(_) => vec!["retry"],
        }
    }
}

pub fn next(pipeline: &Pipeline, journal: &Journal, now: DateTime<Utc>) -> NextMoves {
    projection(pipeline, journal, now).next
}

/// The next moves, and everything else that a replay of the journal yields.
pub fn projection(pipeline: &Pipeline, journal: &Journal, now: DateTime<Utc>) -> OrderProjection {
    let signals = SignalLog::read(pipeline, journal, now);
    let mut replay = Replay::new(pipeline, journal, journal.entries().len(), &signals, now);
    let ran = replay.run();
    let answers = ran.answers_begun;
    let budget = replay.budget();
    let trace = replay.trace;

    let cancelled =
        || signals.cancelled().map(|because| Settlement::Cancelled { because: because.to_owned() });
    let mut next = match signals.closed().map(|closure| closure.settlement()).or_else(cancelled) {
        Some(settled) => NextMoves { moves: Vec::new(), wake_at: None, settled: Some(settled) },
        None => NextMoves { moves: ran.moves, wake_at: ran.wake_at, settled: ran.settled },
    };
    // Permission checks come first, because their answers may make the rest unnecessary.
    next.moves.retain(|(key, _)| signals.pending.iter().all(|(asked, _)| asked != key));
    next.moves.splice(0..0, signals.pending.iter().cloned());

    let verdict = Verdict::of(pipeline, &trace, next.settled.as_ref());
    let revision = revision(journal, &signals.answers, (next.settled.as_ref(), signals.first_end()));
    let mut best_effort = BestEffortMoves::of(journal, now);
    // Of a merge group, only the check run speaks.
    let is_group = journal.opened().merge_group().is_some();
    if !is_group && !matches!(next.settled, Some(Settlement::Refused { .. })) {
        best_effort.say_what_became(&signals);
        best_effort.say_that_the_text_stays(&signals);
    }
    best_effort.tidy_up(&signals, &trace);
    best_effort.end_the_text((&signals, answers), &trace, next.settled.as_ref());
    best_effort.check_run(&trace, Surfaces::of(next.settled.as_ref(), &verdict).check);
    next.moves.append(&mut best_effort.moves);
    next.wake_at = [next.wake_at, signals.ask_again, best_effort.wake_at].into_iter().flatten().min();
    let is_last = next.settled.is_some();
    if !is_group && let Some(shown) = status(journal, (revision, is_last), now, &mut next.wake_at) {
        next.moves.push(shown);
    }
    OrderProjection { next, trace, verdict, answers: signals.answers, budget, revision }
}

/// How many changes were worth showing. Nothing is shown to people who may not request work.
fn revision(
    journal: &Journal,
    answers: &[AnsweredSignal],
    (settled, ended): (Option<&Settlement>, Option<u64>),
) -> u64 {
    let is_news = |entry: &&JournalEntry| match &entry.event {
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => false,
        JournalEvent::Intended { r#move, .. } => matches!(
            **r#move,
            Move::Prepare
                | Move::RunAgent(_)
                | Move::RunTests { .. }
                | Move::Push { .. }
                | Move::FinishPull { .. }
                | Move::ReadPull { .. }
        ),
        JournalEvent::Observed { key, outcome } => {
            // A plan or its questions were shown, so the order now waits for a person.
            (**outcome == EffectOutcome::Done && matches!(key.part(), EffectPart::Other("show" | "ask")))
                // Waiting for a retry must not look like work.
                || matches!(&**outcome, EffectOutcome::AgentRan(run) if run.failure.is_some())
                || matches!(**outcome, EffectOutcome::PullOpened { .. })
                // It was under way when a person ended the order, and no later change will show it.
                || (matches!(**outcome, EffectOutcome::Pushed | EffectOutcome::PullFinished)
                    && ended.is_some_and(|seq| seq < entry.seq))
        }
    };
    let revision = journal.entries().iter().filter(is_news).count() as u64;
    let taken = answers.iter().filter(|answered| answered.answer == SignalAnswer::Taken).count();
    match settled {
        Some(Settlement::Refused { .. }) => 0,
        Some(_) => revision + taken as u64 + 1,
        None => revision + taken as u64,
    }
}

/// The status to show. One edit at a time, so that an older one never overwrites a newer one.
fn status(
    journal: &Journal,
    (revision, is_last): (u64, bool),
    now: DateTime<Utc>,
    wake_at: &mut Option<DateTime<Utc>>,
) -> Option<(MoveKey, Move)> {
    let mut open: Option<u64> = None;
    let mut settled_revision = 0;
    let mut troubles: Vec<(DateTime<Utc>, Retry)> = Vec::new();
    for entry in journal.whole().of_kind(EntryKind::Status) {
        match &entry.event {
            JournalEvent::Intended { r#move, .. } => {
                if let Move::ShowStatus { revision } = **r#move {
                    if open != Some(revision) {
                        troubles.clear();
                    }
                    open = Some(revision);
                }
            }
            JournalEvent::Observed { key, outcome } => match (open, &**outcome) {
                (Some(shown), EffectOutcome::StatusShown { .. }) => (open, settled_revision) = (None, shown),
                (Some(shown), EffectOutcome::Trouble(trouble)) if *key == status_key(shown) => {
                    troubles.push((entry.at, trouble.retry));
                    let tries = troubles.iter().filter(|(_, retry)| *retry != Retry::Outage);
                    let is_owed = is_last && shown == revision;
                    let most = if is_owed { MOST_LAST_STATUS_ATTEMPTS } else { MOST_ATTEMPTS };
                    if tries.count() >= most {
                        (open, settled_revision) = (None, shown);
                    }
                }
                (Some(_) | None, _) => {}
            },
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    let wanted = match open {
        Some(shown) => shown,
        None if revision > settled_revision => revision,
        None => return None,
    };
    if let (Some(_), Some((last, retry))) = (open, troubles.last()) {
        let grown = 1 << (2 * troubles.len().min(5));
        let pause = match retry {
            Retry::After { seconds } => (*seconds).max(grown),
            Retry::Soon | Retry::Never => grown,
            Retry::Outage => owed_after(&troubles).as_secs(),
        };
        let due = *last + Duration::from_secs(pause);
        if now < due {
            *wake_at = Some(wake_at.map_or(due, |known| known.min(due)));
            return None;
        }
    }
    Some((status_key(wanted), Move::ShowStatus { revision: wanted }))
}

/// The status is retried for as long as GitHub is away, because nothing else says how an order ended.
fn owed_after(troubles: &[(DateTime<Utc>, Retry)]) -> Duration {
    let outages = troubles.iter().rev().take_while(|(_, retry)| *retry == Retry::Outage).count();
    let outages = u32::try_from(outages).unwrap_or(u32::MAX);
    let pause = Backoff::OUTAGE.pause(outages, None).or_else(|| Backoff::OWED.pause(outages, None));
    pause.unwrap_or(Backoff::OWED.longest)
}

fn status_key(revision: u64) -> MoveKey {
    MoveKey::beside(ReservedWord::Status, revision)
}

#[cfg(test)]
mod tests;
