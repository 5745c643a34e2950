//! Computing the next moves from a long journal, compared with a short one. The long one is a pull request open for
//! months, while its base branch moves and people ask for its status.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use journeyman::order::{EffectOutcome, Journal, JournalEntry, JournalEvent, Move, NextMoves, next};
use serde_json::{Value, json};

use super::{heading, line, ratio};

/// A real journal: a person requested changes and got an answer.
const BEGINNING: &str = include_str!(
    "../../crates/order/journals/0.1.0/a_person_asks_for_changes_and_every_thread_is_answered.jsonl"
);
const LENGTHS: [usize; 2] = [1_000, 10_000];
const TIMES: usize = 50;

pub fn measure() {
    heading("step: what to do next, told from a long journal");
    let person = json!({"by": "person", "login": "mona", "id": 2006});
    let words = [
        (
            "the base branch moves",
            json!({"signal": "base_moved", "head": "b5cfa7736853ef8d5ce20ebca9d938261369bccd"}),
        ),
        ("somebody asks how it stands", json!({"signal": "commanded", "command": {"command": "status"}})),
    ];
    for (what, mut signal) in words {
        signal["by"] = person.clone();
        let mut order = OpenPull::begin();
        let [short, long] = LENGTHS.map(|length| {
            while order.journal.entries().len() < length {
                order.hear(&signal);
            }
            order.cost_of_a_step()
        });
        let [fewer, more] = LENGTHS;
        line(&format!("{what}, {fewer} entries"), short, "");
        line(&format!("{what}, {more} entries"), long, &format!("{} those", ratio(long, short)));
    }
}

/// An order whose pull request waits for people.
struct OpenPull {
    journal: Journal,
    now: DateTime<Utc>,
    /// The state of the pull request, with nothing to answer.
    pull: EffectOutcome,
}

impl OpenPull {
    fn begin() -> Self {
        let values: Vec<Value> =
            BEGINNING.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let last = |of: &str, kind: &str| {
            let mut found = values.iter().rev().map(|entry| &entry[of]).filter(|found| found[of] == kind);
            found.next().cloned().expect("it was made")
        };
        let mut pull = last("outcome", "pull_read");
        pull["head"] = last("move", "push")["commit"].clone();
        pull["mergeable"] = json!("cleanly");
        for said in ["threads", "remarks"] {
            pull[said] = json!([]);
        }
        let entries: Vec<JournalEntry> =
            values.into_iter().map(|entry| serde_json::from_value(entry).expect("an entry")).collect();
        let now = entries.last().expect("an entry").at;
        Self {
            journal: Journal::new(entries).expect("a journal"),
            now,
            pull: serde_json::from_value(pull).expect("an outcome"),
        }
    }

    fn next(&self) -> NextMoves {
        next(self.journal.pipeline(), &self.journal, self.now)
    }

    fn push(&mut self, event: JournalEvent) {
        let seq = self.journal.last_seq() + 1;
        self.journal.push(JournalEntry { seq, at: self.now, event }).expect("the next entry");
    }

    /// Adds a signal and all effects that follow from it.
    fn hear(&mut self, signal: &Value) {
        self.now += TimeDelta::minutes(10);
        let event = json!({"event": "signaled", "signal": signal, "delivery": null});
        self.push(serde_json::from_value(event).expect("a signal"));
        loop {
            let NextMoves { moves, wake_at, .. } = self.next();
            let Some((key, r#move)) = moves.into_iter().next() else {
                match wake_at.filter(|due| *due > self.now) {
                    Some(due) => self.now = due,
                    None => return,
                }
                continue;
            };
            let outcome = self.made(&r#move);
            self.push(JournalEvent::Intended { key: key.clone(), r#move: Box::new(r#move) });
            self.push(JournalEvent::Observed { key, outcome: Box::new(outcome) });
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are only said")]
    fn made(&self, r#move: &Move) -> EffectOutcome {
        match r#move {
            Move::ReadPull { .. } => self.pull.clone(),
            Move::ShowStatus { .. } => EffectOutcome::StatusShown { comment: Some(1) },
            Move::Authorize { .. } => EffectOutcome::Authorized { allowed: true },
            Move::FinishPull { .. } => EffectOutcome::PullFinished,
            _ => EffectOutcome::Done,
        }
    }

    fn cost_of_a_step(&self) -> Duration {
        let tries = (0..TIMES).map(|_| {
            let begun = Instant::now();
            std::hint::black_box(self.next());
            begun.elapsed()
        });
        tries.min().unwrap_or_default()
    }
}
