//! Drives one order until it rests: ended, or waiting for a time or a signal.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::Engine;
use super::effects;
use super::live_journal::{LiveJournal, Turn};
use journeyman_order::moves::Retry;
use journeyman_order::next::Survey;
use journeyman_order::{Event, Journal, Move, MoveKey, OrderId, Outcome, Trouble};
use journeyman_store::{StoreError, Summary};

/// Why an order is not being driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// It ended, and everything about it is said.
    Ended,
    /// There is nothing to do before this.
    Until(DateTime<Utc>),
}

struct Drive {
    engine: Engine,
    order: OrderId,
    journal: LiveJournal,
    /// The turn that is on, for effects that have to say how things stand when they get round to it.
    turns: watch::Sender<Turn>,
    running: BTreeMap<MoveKey, (Move, AbortHandle)>,
    effects: JoinSet<(MoveKey, Outcome)>,
}

impl Engine {
    /// Goes from move to move. `signaled` tells of entries that somebody else wrote. Dropping the future stops what
    /// is under way; the journal then says what was intended, and the next drive does that again.
    pub(super) async fn drive(&self, order: OrderId, signaled: Arc<Notify>) -> Result<Rest, StoreError> {
        let journal = LiveJournal::read(Arc::clone(&self.parts.journals), order).await?;
        let turns = watch::Sender::new(journal.turn());
        let mut drive = Drive {
            engine: self.clone(),
            order,
            journal,
            turns,
            running: BTreeMap::new(),
            effects: JoinSet::new(),
        };
        let mut shown = None;
        loop {
            let turn = drive.turns.borrow().clone();
            let Turn { journal, survey } = &turn;
            drive.stop_what_is_not_named(survey);
            let summary = summary(survey);
            // Before anything is done: this is also how an order that `/retry` opened again takes the place.
            if shown.as_ref() != Some(&summary) {
                match self.parts.store.set_summary(order, &summary, None).await {
                    Ok(()) => {}
                    Err(StoreError::Refused { .. }) => return self.give_way(order, summary, journal).await,
                    Err(error) => return Err(error),
                }
                shown = Some(summary.clone());
            }
            if drive.start_what_is_named(&turn).await? {
                drive.next_turn();
                continue;
            }
            let at_rest = drive.running.is_empty();
            // An order that has ended can still owe GitHub its last status: until then it is to be woken.
            if at_rest && survey.next.wake_at.is_none() && survey.next.settled.is_some() {
                self.parts.store.set_summary(order, &summary, Some(journal.last_seq())).await?;
            }
            if at_rest {
                match (survey.next.wake_at, &survey.next.settled) {
                    (Some(until), _) => return Ok(Rest::Until(until)),
                    (None, Some(_)) => return Ok(Rest::Ended),
                    (None, None) if survey.trace.asks.is_some() => {
                        return Ok(Rest::Until(Utc::now() + chrono::TimeDelta::hours(1)));
                    }
                    // A journal that names nothing to do and no end would be a fault of ours; look again later.
                    (None, None) => return Ok(Rest::Until(Utc::now() + chrono::TimeDelta::minutes(1))),
                }
            }
            tokio::select! {
                Some(done) = drive.effects.join_next_with_id() => drive.write_down(done).await?,
                () = signaled.notified() => drive.journal.catch_up().await?,
                () = until(survey.next.wake_at) => drive.journal.catch_up().await?,
            }
            drive.next_turn();
        }
    }

    /// Another order has the place meanwhile; this one stays as it ended.
    async fn give_way(&self, order: OrderId, was: Summary, journal: &Journal) -> Result<Rest, StoreError> {
        tracing::warn!(%order, "is not opened again: another order is at work on its issue");
        let summary = Summary { active: false, ..was };
        self.parts.store.set_summary(order, &summary, Some(journal.last_seq())).await?;
        Ok(Rest::Ended)
    }
}

impl Drive {
    async fn write(&mut self, event: Event) -> Result<(), StoreError> {
        let entry = self.journal.append(event).await?;
        // Nobody has to watch.
        let _ = self.engine.written.send((self.order, entry));
        Ok(())
    }

    fn next_turn(&self) {
        self.turns.send_replace(self.journal.turn());
    }

    /// A cancelled order's agent is stopped at once. What is short is let finish: it is nearly done.
    fn stop_what_is_not_named(&mut self, survey: &Survey) {
        let named = |key: &MoveKey| survey.next.moves.iter().any(|(known, _)| known == key);
        self.running.retain(|key, (r#move, effect)| {
            if named(key) || !takes_long(r#move) {
                return true;
            }
            tracing::info!(%key, "stopped, because it is not wanted any more");
            effect.abort();
            false
        });
    }

    /// Starts the effects whose intent is written, and writes the others': these begin in the next turn, so that what
    /// they are handed holds their own intent. Whether anything was written.
    async fn start_what_is_named(&mut self, turn: &Turn) -> Result<bool, StoreError> {
        let mut written = false;
        for (key, r#move) in &turn.survey.next.moves {
            if self.running.contains_key(key) {
                continue;
            }
            if !is_intended(&turn.journal, key) {
                let event = Event::Intended { key: key.clone(), r#move: Box::new(r#move.clone()) };
                self.write(event).await?;
                written = true;
                continue;
            }
            let attempt = attempts(&turn.journal, key) + 1;
            tracing::info!(order = %self.order, %key, attempt, "begins");
            let task = effects::perform(
                Arc::clone(&self.engine.parts),
                self.order,
                effects::Effect { key: key.clone(), attempt, r#move: r#move.clone() },
                self.turns.subscribe(),
            );
            let name = key.clone();
            let effect = self.effects.spawn(async move { (name, task.await) });
            self.running.insert(key.clone(), (r#move.clone(), effect));
        }
        Ok(written)
    }

    async fn write_down(
        &mut self,
        done: Result<(Id, (MoveKey, Outcome)), JoinError>,
    ) -> Result<(), StoreError> {
        let id = match &done {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        // Told apart by the task and not by the key: one that was stopped may end after its successor has begun.
        let Some(key) =
            self.running.iter().find(|(_, (_, effect))| effect.id() == id).map(|(key, _)| key.clone())
        else {
            return Ok(());
        };
        self.running.remove(&key);
        let outcome = match done {
            Ok((_, (_, outcome))) => outcome,
            Err(error) if error.is_cancelled() => return Ok(()),
            Err(error) => {
                tracing::error!(order = %self.order, %key, "an effect panicked: {error}");
                internal_fault()
            }
        };
        if let Outcome::Trouble(trouble) = &outcome {
            tracing::warn!(order = %self.order, %key, message = trouble.message, "could not be done");
        } else {
            tracing::info!(order = %self.order, %key, "observed");
        }
        self.write(Event::Observed { key, outcome: Box::new(outcome) }).await
    }
}

fn internal_fault() -> Outcome {
    Outcome::Trouble(Trouble {
        message: "a fault of Journeyman's own; the server's log says more".to_owned(),
        retry: Retry::Never,
    })
}

fn takes_long(r#move: &Move) -> bool {
    matches!(r#move, Move::RunAgent(_) | Move::RunTests { .. } | Move::Prepare)
}

/// Whether the last that was written of an effect is its intent.
fn is_intended(journal: &Journal, key: &MoveKey) -> bool {
    let last = journal.entries().iter().rev().find_map(|entry| match &entry.event {
        Event::Intended { key: known, .. } if known == key => Some(true),
        Event::Observed { key: known, .. } if known == key => Some(false),
        Event::Opened(_) | Event::Signaled { .. } | Event::Intended { .. } | Event::Observed { .. } => None,
    });
    last.unwrap_or(false)
}

/// How often an effect was observed, which is how often it was tried to an end.
fn attempts(journal: &Journal, key: &MoveKey) -> usize {
    let seen = |event: &Event| matches!(event, Event::Observed { key: known, .. } if known == key);
    journal.entries().iter().filter(|entry| seen(&entry.event)).count()
}

fn summary(survey: &Survey) -> Summary {
    let state = match (&survey.next.settled, survey.trace.running()) {
        (Some(_), _) => survey.surfaces().outcome.to_owned(),
        (None, Some(stage)) => match stage.rounds.last() {
            Some(round) => format!("{}, round {}", stage.name, round.round),
            None => stage.name.clone(),
        },
        (None, None) => "starting".to_owned(),
    };
    Summary {
        active: survey.next.settled.is_none(),
        state,
        branch: survey.trace.branch.clone(),
        pull: survey.trace.pull.as_ref().map(|pull| pull.number),
    }
}

async fn until(moment: Option<DateTime<Utc>>) {
    match moment {
        Some(moment) => tokio::time::sleep((moment - Utc::now()).to_std().unwrap_or_default()).await,
        None => std::future::pending().await,
    }
}
