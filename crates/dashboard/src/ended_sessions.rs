//! Sessions of the API's token that were ended before their time. The cookie says until when it holds, and nobody can take
//! that back: so it is noted here that it does not. What is noted is gone with the server, and with it the chance that
//! every cookie of it is signed with.

use std::collections::HashMap;
use std::sync::Mutex;

use aws_lc_rs::rand;
use tokio::sync::watch;

use super::memory::{SecretHash, hashed, locked, make_room};

/// Beyond it those that would be over first are forgotten, which are of somebody who signs in and out all day.
const MOST: usize = 16_384;

/// Sessions that are over, and who wants to hear of it.
pub(crate) struct EndedSessions {
    /// Of this server alone; none where the machine has no randomness, and then nobody signs in.
    chance: Option<[u8; 32]>,
    /// By what their cookies come to, each with the second in which it would be over by itself.
    ended: Mutex<HashMap<SecretHash, u64>>,
    told: watch::Sender<()>,
}

impl Default for EndedSessions {
    fn default() -> Self {
        let mut chance = [0; 32];
        let chance = rand::fill(&mut chance).ok().map(|()| chance);
        Self { chance, ended: Mutex::default(), told: watch::channel(()).0 }
    }
}

impl EndedSessions {
    pub(crate) fn chance(&self) -> Option<&[u8; 32]> {
        self.chance.as_ref()
    }

    /// Ends the session of a cookie that would hold until then.
    pub(crate) fn end(&self, cookie: &str, until: u64, now: u64) {
        let mut ended = locked(&self.ended);
        make_room(&mut ended, MOST, now, |until| *until);
        ended.insert(hashed(cookie), until);
    }

    pub(crate) fn has_ended(&self, cookie: &str) -> bool {
        locked(&self.ended).contains_key(&hashed(cookie))
    }

    /// Says that some session is over: whoever holds something open looks whether it is theirs.
    pub(crate) fn tell(&self) {
        self.told.send_replace(());
    }

    pub(crate) fn ends(&self) -> watch::Receiver<()> {
        self.told.subscribe()
    }
}
