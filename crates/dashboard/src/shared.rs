//! What requests share beside the store: turns at what costs much, places for pages that follow an order, and word of sessions
//! that are over.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::task::spawn_blocking;
use aws_lc_rs::rand;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use super::answer::{EarlyAnswer, broken, busy};

/// Pages that follow at once, of all orders.
const MOST_PAGES: usize = 200;

pub struct SharedWork {
    /// Reading what an agent said in a run.
    pub(crate) transcripts: HeavyWork,
    pub(crate) renderings: HeavyWork,
    places: Arc<Semaphore>,
    /// A secret of this server alone, which goes with it; none where the machine has no randomness.
    pub(crate) chance: Option<[u8; 32]>,
    /// Says that some session is over: whoever holds something open looks whether it is theirs.
    pub(crate) ended: watch::Sender<()>,
}

impl Default for SharedWork {
    fn default() -> Self {
        let mut chance = [0; 32];
        Self {
            transcripts: HeavyWork::default(),
            renderings: HeavyWork::default(),
            places: Arc::new(Semaphore::new(MOST_PAGES)),
            chance: rand::fill(&mut chance).ok().map(|()| chance),
            ended: watch::channel(()).0,
        }
    }
}

impl SharedWork {
    /// A place for a page that follows; none where all are taken.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }
}

/// So much of one kind at once.
const AT_ONCE: usize = 2;
/// Whoever does not come to a turn in this time is asked to come again.
const PATIENCE: Duration = Duration::from_secs(10);

/// The turns that one kind of work takes which keeps a processor busy for long: beside the threads that answer, and little of
/// it at once, so that the webhook and everybody else's pages are answered meanwhile.
pub(crate) struct HeavyWork {
    turns: Arc<Semaphore>,
}

pub(crate) struct WorkTurn {
    turn: Option<OwnedSemaphorePermit>,
}

impl Default for HeavyWork {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl HeavyWork {
    pub(crate) async fn wait(&self) -> WorkTurn {
        // None where nobody gives turns any more, which nobody stops.
        WorkTurn { turn: Arc::clone(&self.turns).acquire_owned().await.ok() }
    }

    pub(crate) async fn turn(&self) -> Result<WorkTurn, EarlyAnswer> {
        let text = "Many pages that take long are asked for at once. Reload this one in a moment.";
        timeout(PATIENCE, self.wait()).await.map_err(|_| busy(text).into())
    }
}

impl WorkTurn {
    /// Does it on a thread of its own. The turn ends with the work, also where nobody waits for it any more.
    pub(crate) async fn take<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EarlyAnswer> {
        let turn = self.turn;
        let done = spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "a page could not be made");
            broken("The page could not be made; see the server's log.").into()
        })
    }
}
