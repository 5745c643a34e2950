//! Drives one order until it rests: ended, or waiting for a time or a signal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::effect_error::never;
use super::effects;
use super::live_journal::{Claim, JournalSnapshot, LiveJournal};
use super::notifications::AskedPeople;
use super::order_counting::{OrderCounting, count_run, effect_kind, expect_run, statement_line};
use super::store_patience::StorePatience;
use super::{Clock, Engine};
use journeyman_metrics::metrics;
use journeyman_order::next::OrderProjection;
use journeyman_order::surfaces::OrderLabel;
use journeyman_order::{
    EffectOutcome, Journal, JournalEntry, JournalEvent, Move, MoveKey, OrderId, SignalKind,
};
use journeyman_store::{OrderSummary, Store, StoreError};

/// An effect interrupted this many times in a row is not started again automatically.
const MOST_DEATHS: usize = 3;
/// Bytes kept of an outcome that is not used.
const MOST_OF_LATE: usize = 1 << 20;
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DriveOutcome {
    Ended,
    Until(DateTime<Utc>),
}

struct OrderDriver {
    engine: Engine,
    order: OrderId,
    journal: LiveJournal,
    /// The current turn, for effects that report the order's state at the moment they act.
    turns: watch::Sender<JournalSnapshot>,
    running: BTreeMap<MoveKey, RunningEffect>,
    /// The effect that was interrupted twice and holds the permit to run alone.
    alone: Option<(MoveKey, OwnedSemaphorePermit)>,
    waits: bool,
    /// From the starts that this drive wrote. Any other start was cut off, and a new one is written.
    claims: BTreeMap<MoveKey, Claim>,
    effects: JoinSet<EffectOutcome>,
}

struct RunningEffect {
    claim: Claim,
    r#move: Move,
    task: AbortHandle,
}

impl Engine {
    /// `signaled` announces entries of others. Dropping the future stops running effects; the next drive repeats them.
    pub(super) async fn drive(
        &self,
        order: OrderId,
        signaled: Arc<Notify>,
    ) -> Result<DriveOutcome, StoreError> {
        let clock = &self.parts.clock;
        let journal = match LiveJournal::read(Arc::clone(&self.parts.journals), clock.clone(), order).await {
            Ok(journal) => journal,
            Err(error @ (StoreError::UnreadableJournal { .. } | StoreError::NotFound { .. })) => {
                return self.end_unreadable(order, &error).await;
            }
            Err(error) => return Err(error),
        };
        let turns = watch::Sender::new(journal.snapshot());
        let mut drive = OrderDriver {
            engine: self.clone(),
            order,
            journal,
            turns,
            running: BTreeMap::new(),
            alone: None,
            waits: false,
            claims: BTreeMap::new(),
            effects: JoinSet::new(),
        };
        let mut shown = None;
        let (mut counting, mut asked) = (OrderCounting::default(), AskedPeople::default());
        loop {
            let turn = drive.turns.borrow().clone();
            let JournalSnapshot { journal, projection } = &turn;
            drive.stop_unplanned(projection);
            counting.turn(journal, &projection.trace);
            if asked.since_now(projection) {
                self.notify(journal, projection);
            }
            let summary = summary(journal, projection);
            // Comes first: this is also how an order that `/retry` reopened takes the place.
            if shown.as_ref() != Some(&summary) {
                // An unavailable store must not cost the order its running work.
                let summarized =
                    StorePatience::outlast(order, || self.parts.store.set_summary(order, &summary, None));
                match summarized.await {
                    Ok(before) if !summary.active && before != summary.state => {
                        metrics().order_ended(&summary.state);
                        if let Some(line) = statement_line(&self.parts.agents, journal, &projection.trace) {
                            metrics().statements_ended(&line.agent, &line.model, &line.counts);
                            let kept = || self.parts.store.keep_statements(order, &line);
                            StorePatience::outlast(order, kept).await?;
                        }
                        self.notify(journal, projection);
                    }
                    Ok(_) => {}
                    Err(StoreError::Refused { .. }) => return self.give_way(order, summary, journal).await,
                    Err(error) => return Err(error),
                }
                shown = Some(summary.clone());
            }
            let drains = self.drain.is_cancelled();
            if drains && drive.running.is_empty() {
                return Ok(DriveOutcome::Until(clock.now()));
            }
            if !drains && drive.start_planned(&turn).await? {
                drive.next_turn();
                continue;
            }
            let at_rest = drive.running.is_empty() && !drive.waits;
            // An order that has ended may still owe GitHub its last status, so it must wake up until that is posted.
            if at_rest && projection.next.wake_at.is_none() && projection.next.settled.is_some() {
                self.parts.store.set_summary(order, &summary, Some(journal.last_seq())).await?;
            }
            if at_rest {
                match (projection.next.wake_at, &projection.next.settled) {
                    (Some(until), _) => return Ok(DriveOutcome::Until(until)),
                    (None, Some(_)) => return Ok(DriveOutcome::Ended),
                    (None, None) if projection.trace.asks.is_some() => {
                        return Ok(DriveOutcome::Until(clock.now() + chrono::TimeDelta::hours(1)));
                    }
                    // A journal with no move and no end would be our bug; check again later.
                    (None, None) => {
                        return Ok(DriveOutcome::Until(clock.now() + chrono::TimeDelta::minutes(1)));
                    }
                }
            }
            tokio::select! {
                Some(done) = drive.effects.join_next_with_id() => drive.record_outcome(done).await?,
                () = signaled.notified() => drive.journal.catch_up().await?,
                () = until(projection.next.wake_at, clock) => drive.journal.catch_up().await?,
                () = tokio::time::sleep(AGAIN), if drive.waits => {}
                () = self.drain.cancelled(), if !drains => {}
            }
            drive.next_turn();
        }
    }

    /// Another order took the place meanwhile, so this one stays ended.
    async fn give_way(
        &self,
        order: OrderId,
        was: OrderSummary,
        journal: &Journal,
    ) -> Result<DriveOutcome, StoreError> {
        tracing::warn!(%order, "is not opened again: another order is at work on its issue");
        let summary = OrderSummary { active: false, ..was };
        self.parts.store.set_summary(order, &summary, Some(journal.last_seq())).await?;
        Ok(DriveOutcome::Ended)
    }
}

impl OrderDriver {
    async fn start(&mut self, key: &MoveKey, r#move: &Move) -> Result<bool, StoreError> {
        let Some((claim, entry)) = self.journal.start(key, r#move).await? else { return Ok(false) };
        self.claims.insert(key.clone(), claim);
        self.tell(entry);
        Ok(true)
    }

    async fn conclude(&mut self, claim: &Claim, outcome: EffectOutcome) -> Result<(), StoreError> {
        match self.journal.conclude(claim, outcome.clone()).await? {
            Some(entry) => self.tell(entry),
            None => keep_late(&self.engine.parts.store, claim, &outcome).await,
        }
        Ok(())
    }

    fn tell(&self, entry: JournalEntry) {
        // There may be no watcher.
        let _ = self.engine.written.send((self.order, entry));
    }

    fn next_turn(&self) {
        self.turns.send_replace(self.journal.snapshot());
    }

    /// Stops a cancelled order's agent at once. A short effect may finish: it is nearly done.
    fn stop_unplanned(&mut self, projection: &OrderProjection) {
        let named = |key: &MoveKey| projection.next.moves.iter().any(|(known, _)| known == key);
        self.running.retain(|key, effect| {
            if named(key) || !takes_long(&effect.r#move) {
                return true;
            }
            tracing::info!(%key, "stopped, because it is not wanted any more");
            effect.task.abort();
            false
        });
    }

    /// Starts effects whose intent is written, and writes the intent of others. Returns whether the journal may
    /// have grown.
    async fn start_planned(&mut self, turn: &JournalSnapshot) -> Result<bool, StoreError> {
        let mut written = false;
        let moves = &turn.projection.next.moves;
        self.alone.take_if(|(alone, _)| moves.iter().all(|(key, _)| key != alone));
        self.waits = false;
        for (key, r#move) in moves {
            if self.running.contains_key(key) {
                continue;
            }
            let open = turn.journal.open_start(key);
            let claim = self.claims.get(key).filter(|claim| Some(claim.start) == open).cloned();
            if claim.is_none()
                && let Some(start) = open
            {
                match deaths(&turn.journal, key, self.engine.ended_at) {
                    deaths if deaths >= MOST_DEATHS => {
                        tracing::error!(order = %self.order, %key, deaths, "not begun again: it was interrupted each time");
                        let outcome = EffectOutcome::Trouble(never(format!(
                            "{key} was interrupted {deaths} times in a row, as when the server crashes. Journeyman \
                             does not repeat it by itself; /retry tries it once more"
                        )));
                        let cut_off = Claim { order: self.order, key: key.clone(), start };
                        self.conclude(&cut_off, outcome).await?;
                        written = true;
                        continue;
                    }
                    deaths if deaths + 1 == MOST_DEATHS && !self.goes_alone(key) => {
                        self.waits = true;
                        continue;
                    }
                    _ => {}
                }
            }
            let Some(claim) = claim else {
                if !self.start(key, r#move).await? {
                    // What others wrote may forbid the rest of this turn as well.
                    return Ok(true);
                }
                written = true;
                continue;
            };
            let attempt = turn.journal.attempts(key) + 1;
            tracing::info!(order = %self.order, %key, attempt, "begins");
            let (effects, parts) = (Arc::clone(&self.engine.effects), Arc::clone(&self.engine.parts));
            let effect = effects::Effect { key: key.clone(), attempt, r#move: r#move.clone() };
            let turns = self.turns.subscribe();
            let order = self.order;
            let kind = effect_kind(r#move);
            if let Move::RunAgent(task) = r#move {
                expect_run(&self.engine.parts.agents, &turn.journal, task);
            }
            let task = self.effects.spawn(async move {
                let begun = Instant::now();
                let outcome = effects.perform(parts, order, effect, turns).await;
                let done = !matches!(outcome, EffectOutcome::Trouble(_));
                metrics().effect_ended(kind, done, begun.elapsed());
                outcome
            });
            self.running.insert(key.clone(), RunningEffect { claim, r#move: r#move.clone(), task });
        }
        Ok(written)
    }

    fn goes_alone(&mut self, key: &MoveKey) -> bool {
        if self.alone.is_none()
            && let Ok(permit) = Arc::clone(&self.engine.alone).try_acquire_owned()
        {
            self.alone = Some((key.clone(), permit));
        }
        self.alone.as_ref().is_some_and(|(alone, _)| alone == key)
    }

    async fn record_outcome(
        &mut self,
        done: Result<(Id, EffectOutcome), JoinError>,
    ) -> Result<(), StoreError> {
        let id = match &done {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        // Matched by task, not by key: a stopped effect may end after its successor began.
        let ended = self.running.extract_if(.., |_, effect| effect.task.id() == id).next();
        let Some((key, RunningEffect { claim, r#move, .. })) = ended else { return Ok(()) };
        let outcome = match done {
            Ok((_, outcome)) => outcome,
            Err(error) if error.is_cancelled() => return Ok(()),
            Err(error) => {
                tracing::error!(order = %self.order, %key, "an effect panicked: {error}");
                EffectOutcome::Trouble(never("an internal error; see the server's log"))
            }
        };
        if let EffectOutcome::Trouble(trouble) = &outcome {
            tracing::warn!(order = %self.order, %key, message = trouble.message, "could not be done");
        } else {
            tracing::info!(order = %self.order, %key, "observed");
        }
        if let (Move::RunAgent(task), EffectOutcome::AgentRan(run)) = (&r#move, &outcome) {
            count_run(&self.engine.parts.agents, &self.turns.borrow().journal, task, run);
        }
        self.conclude(&claim, outcome).await?;
        self.alone.take_if(|(alone, _)| *alone == key);
        Ok(())
    }
}

/// Keeps a refused outcome for people. Whoever started the effect again answers for it.
async fn keep_late(store: &Store, Claim { order, key, start }: &Claim, outcome: &EffectOutcome) {
    tracing::warn!(%order, %key, start, "was started again before it ended, so its outcome is kept and not used");
    let name = format!("late-{}-{start}.json", key.file_name());
    let mut text = serde_json::to_vec(outcome).unwrap_or_default();
    text.truncate(MOST_OF_LATE);
    if let Err(error) = store.put_artifact(*order, &name, "application/json", &text).await {
        tracing::warn!(%order, %key, %error, "the late outcome is not kept");
    }
}

/// How often an effect started without an outcome since a person's last command and the last clean shutdown.
fn deaths(journal: &Journal, key: &MoveKey, ended_at: Option<DateTime<Utc>>) -> usize {
    let entries = journal.entries().iter().rev();
    let since = entries.take_while(|entry| ended_at.is_none_or(|ended| entry.at > ended));
    let starts = since.map_while(|entry| match &entry.event {
        JournalEvent::Observed { key: known, .. } if known == key => None,
        JournalEvent::Signaled { signal, .. } if matches!(signal.kind, SignalKind::Commanded { .. }) => None,
        JournalEvent::Intended { key: known, .. } => Some(usize::from(known == key)),
        JournalEvent::Observed { .. } | JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => Some(0),
    });
    starts.sum()
}

fn takes_long(r#move: &Move) -> bool {
    matches!(r#move, Move::RunAgent(_) | Move::RunTests { .. } | Move::Prepare)
}

fn summary(journal: &Journal, projection: &OrderProjection) -> OrderSummary {
    let state = match (&projection.next.settled, projection.trace.running()) {
        (Some(_), _) => projection.surfaces().outcome.to_owned(),
        (None, Some(stage)) => match stage.rounds.last() {
            Some(round) => format!("{}, round {}", stage.name, round.round),
            None => stage.name.clone(),
        },
        (None, None) => "starting".to_owned(),
    };
    let is_group = journal.opened().merge_group().is_some();
    OrderSummary {
        active: projection.next.settled.is_none(),
        state,
        // The order's own name for somebody's branch is on no server.
        branch: projection.trace.branch.clone().filter(|_| journal.opened().adopted_branch().is_none()),
        // A pull request leads to its own order, not to that of a merge group.
        pull: if is_group { None } else { projection.trace.pull.as_ref().map(|pull| pull.number) },
        pull_at: projection.trace.pull.is_some().then(|| pull_opened_at(journal)).flatten(),
        needs_person: match journeyman_render::label(projection) {
            OrderLabel::NeedsHuman | OrderLabel::NeedsInfo => true,
            OrderLabel::Working | OrderLabel::Done | OrderLabel::None => false,
        },
        verified: projection.surfaces().verified,
        rounds: u32::try_from(projection.trace.worker_rounds()).unwrap_or(u32::MAX),
        microusd: (projection.trace.usage.usd.max(0.0) * 1e6).round() as u64,
    }
}

fn pull_opened_at(journal: &Journal) -> Option<DateTime<Utc>> {
    let is_opening = |event: &JournalEvent| match event {
        JournalEvent::Observed { outcome, .. } => matches!(**outcome, EffectOutcome::PullOpened { .. }),
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Intended { .. } => false,
    };
    journal.entries().iter().find(|entry| is_opening(&entry.event)).map(|entry| entry.at)
}

async fn until(moment: Option<DateTime<Utc>>, clock: &Clock) {
    match moment {
        Some(moment) => tokio::time::sleep((moment - clock.now()).to_std().unwrap_or_default()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    const KEPT: &str =
        include_str!("../../order/journals/0.1.0/a_cancel_that_was_heard_is_not_forgotten.jsonl");

    /// A journal whose first step started three times without an outcome, and that step.
    fn interrupted_three_times() -> (Journal, MoveKey, DateTime<Utc>) {
        let entries = KEPT.lines().map(|line| serde_json::from_str(line).expect("an entry"));
        let kept = Journal::new(entries.collect()).expect("a journal");
        let (length, key) = (1..)
            .zip(kept.entries())
            .find_map(|(length, entry)| match &entry.event {
                JournalEvent::Intended { key, .. } => Some((length, key.clone())),
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Observed { .. } => {
                    None
                }
            })
            .expect("a step");
        let mut journal = kept.prefix(length).expect("its beginning");
        let first = journal.entries()[length - 1].clone();
        for again in 1..3 {
            let at = first.at + TimeDelta::minutes(again);
            journal
                .push(JournalEntry { seq: journal.last_seq() + 1, at, ..first.clone() })
                .expect("an entry");
        }
        (journal, key, first.at)
    }

    #[test]
    fn starts_without_an_outcome_count_until_an_orderly_shutdown() {
        let (journal, key, first) = interrupted_three_times();
        assert_eq!(deaths(&journal, &key, None), 3);
        assert_eq!(deaths(&journal, &key, Some(first + TimeDelta::seconds(90))), 1);
        assert_eq!(deaths(&journal, &MoveKey("another".to_owned()), None), 0);
    }
}
