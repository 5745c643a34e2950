//! Moments for a crash, enumerated from a journal.

use std::collections::BTreeMap;

use journeyman::order::{Journal, JournalEvent, MoveKey};
use serde::{Deserialize, Serialize};

/// When a process kills itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Moment {
    /// The order's first entry is written, and nothing else has happened.
    Opened,
    /// This many signals are written, and the last was not yet handled.
    Signaled {
        /// How many, from 1.
        nth: u32,
    },
    /// Around an entry, named by its effect.
    Around {
        /// Which side of which entry.
        point: Point,
        /// The effect, in the form of [`name`].
        effect: String,
        /// Which of the effects with that name, from 1.
        nth: u32,
    },
    /// Around the nth entry that this process writes, from 1.
    Nth {
        nth: u32,
        /// Before it is written, instead of after.
        before: bool,
    },
    /// Every time this effect of this issue's order is made.
    Poisoned { issue: u64, effect: String },
}

/// Sides of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Point {
    /// The intent is durable; the effect is not made.
    Intended,
    /// The effect is made; its observation is not written.
    Unobserved,
    /// The observation is durable.
    Observed,
}

/// The name of an effect without what differs between orders: commits, and the number of status updates.
pub fn name(key: &MoveKey) -> String {
    let is_commit = |word: &str| word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let without = |part: &str| {
        let words: Vec<&str> =
            part.split('-').map(|word| if is_commit(word) { "COMMIT" } else { word }).collect();
        words.join("-")
    };
    let parts: Vec<String> = key.0.split('/').map(without).collect();
    if parts.first().is_some_and(|part| part == "status") { "status".to_owned() } else { parts.join("/") }
}

impl Moment {
    /// Every moment of an order: after each entry, and between each effect and its observation.
    pub fn all(journal: &Journal) -> Vec<Self> {
        let mut counted = Counted::default();
        let mut signals = 0;
        let mut moments = Vec::new();
        for entry in journal.entries() {
            match &entry.event {
                JournalEvent::Opened(_) => moments.push(Self::Opened),
                JournalEvent::Intended { key, .. } => moments.push(counted.around(Point::Intended, key)),
                JournalEvent::Observed { key, .. } => {
                    moments.push(counted.around(Point::Unobserved, key));
                    moments.push(counted.around(Point::Observed, key));
                }
                // GitHub reports our own labels too.
                JournalEvent::Signaled { .. } => {
                    signals += 1;
                    moments.push(Self::Signaled { nth: signals });
                }
            }
        }
        moments
    }

    /// Whether the moment has no fixed place in an order: status updates, check runs and signals depend on speed, and
    /// agents work meanwhile.
    pub fn is_beside_the_work(&self) -> bool {
        match self {
            Self::Opened => false,
            Self::Signaled { .. } | Self::Nth { .. } | Self::Poisoned { .. } => true,
            Self::Around { effect, .. } => effect == "status" || effect.starts_with("check/"),
        }
    }
}

/// Before an intent, after one, during an agent's run, and during a test run.
pub fn representatives(mut moments: Vec<Moment>) -> Vec<Moment> {
    let chosen = [
        (Point::Observed, "implement/1/commit"),
        (Point::Intended, "publish/COMMIT/push-1"),
        (Point::Unobserved, "implement/1/agent"),
        (Point::Unobserved, "implement/2/tests"),
    ];
    moments.retain(|moment| match moment {
        Moment::Around { point, effect, nth: 1 } => chosen.contains(&(*point, effect.as_str())),
        _ => false,
    });
    moments
}

/// Counts entries of the same name.
#[derive(Debug, Default)]
pub struct Counted(BTreeMap<(Point, String), u32>);

impl Counted {
    /// The moment around the next entry of this name.
    pub fn around(&mut self, point: Point, key: &MoveKey) -> Moment {
        let effect = name(key);
        let nth = self.0.entry((point, effect.clone())).or_default();
        *nth += 1;
        Moment::Around { point, effect, nth: *nth }
    }
}
