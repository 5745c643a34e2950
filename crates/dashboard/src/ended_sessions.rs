//! Word of sessions that are over, and a secret of this server alone.

use aws_lc_rs::rand;
use tokio::sync::watch;

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
