//! What requests share beside the store: turns at what costs much, places for pages that follow an order, and word of sessions
//! that are over.

use aws_lc_rs::rand;
use tokio::sync::watch;

use super::events::FollowerPlaces;
use super::heavy::HeavyWork;

#[derive(Default)]
pub struct SharedWork {
    /// Reading what an agent said in a run.
    pub(crate) transcripts: HeavyWork,
    pub(crate) renderings: HeavyWork,
    pub(crate) places: FollowerPlaces,
    pub(crate) sessions: EndedSessions,
}

/// Word of sessions that are over, and a secret of this server alone.
pub(crate) struct EndedSessions {
    /// Goes with the server; none where the machine has no randomness.
    chance: Option<[u8; 32]>,
    told: watch::Sender<()>,
}

impl Default for EndedSessions {
    fn default() -> Self {
        let mut chance = [0; 32];
        let chance = rand::fill(&mut chance).ok().map(|()| chance);
        Self { chance, told: watch::channel(()).0 }
    }
}

impl EndedSessions {
    pub(crate) fn chance(&self) -> Option<&[u8; 32]> {
        self.chance.as_ref()
    }

    /// Says that some session is over: whoever holds something open looks whether it is theirs.
    pub(crate) fn tell(&self) {
        self.told.send_replace(());
    }

    pub(crate) fn ends(&self) -> watch::Receiver<()> {
        self.told.subscribe()
    }
}
