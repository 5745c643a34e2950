//! Sessions of the API's token that were ended before their time. The cookie says until when it holds, and nobody can take
//! that back: so it is noted here that it does not. What is noted is gone with the server, and with it the chance that
//! every cookie of it is signed with.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;
use tokio::sync::watch;

/// Beyond it those that would be over first are forgotten, which are of somebody who signs in and out all day.
const MOST: usize = 16_384;

/// Sessions that are over, and who wants to hear of it.
pub(crate) struct EndedSessions {
    /// Of this server alone; none where the machine has no randomness, and then nobody signs in.
    chance: Option<[u8; 32]>,
    /// By what their cookies come to, each with the second in which it would be over by itself.
    ended: Mutex<HashMap<[u8; 32], u64>>,
    told: watch::Sender<()>,
}

impl Default for EndedSessions {
    fn default() -> Self {
        let mut chance = [0; 32];
        let chance = rand::fill(&mut chance).ok().map(|()| chance);
        Self { chance, ended: Mutex::default(), told: watch::channel(()).0 }
    }
}

fn hashed(cookie: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, cookie.as_bytes()).as_ref());
    hash
}

impl EndedSessions {
    pub(crate) fn chance(&self) -> Option<&[u8; 32]> {
        self.chance.as_ref()
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<[u8; 32], u64>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session of a cookie that would hold until then.
    pub(crate) fn end(&self, cookie: &str, until: u64, now: u64) {
        let mut ended = self.locked();
        ended.retain(|_, until| *until > now);
        while ended.len() >= MOST {
            let Some(first) = ended.iter().min_by_key(|(_, until)| **until).map(|(hash, _)| *hash) else {
                break;
            };
            ended.remove(&first);
        }
        ended.insert(hashed(cookie), until);
    }

    pub(crate) fn has_ended(&self, cookie: &str) -> bool {
        self.locked().contains_key(&hashed(cookie))
    }

    /// Says that some session is over: whoever holds something open looks whether it is theirs.
    pub(crate) fn tell(&self) {
        self.told.send_replace(());
    }

    pub(crate) fn ends(&self) -> watch::Receiver<()> {
        self.told.subscribe()
    }
}
