//! State that requests share besides the store: turns for expensive work, places for pages that follow an order, and a
//! notification of ended sessions.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::task::spawn_blocking;
use aws_lc_rs::rand;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use super::answer::{EarlyAnswer, broken, busy};

/// Pages that may follow at once, over all orders.
const MOST_PAGES: usize = 200;

pub struct SharedWork {
    /// For rendering the output of a run's agent.
    pub(crate) transcripts: HeavyWork,
    pub(crate) renderings: HeavyWork,
    places: Arc<Semaphore>,
    /// A random secret of this process; `None` without a source of randomness.
    pub(crate) chance: Option<[u8; 32]>,
    /// Notifies that some session ended: open streams check whether it is theirs.
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
    /// A place for a page that follows; `None` if all are taken.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }
}

/// Concurrent jobs of one kind.
const AT_ONCE: usize = 2;
/// A request that waits longer is asked to retry.
const PATIENCE: Duration = Duration::from_secs(10);

/// Turns for one kind of CPU-heavy work: it runs off the request threads and with limited concurrency, so that the
/// webhook and other pages are still answered.
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
        // `None` only if the semaphore were closed, which never happens.
        WorkTurn { turn: Arc::clone(&self.turns).acquire_owned().await.ok() }
    }

    pub(crate) async fn turn(&self) -> Result<WorkTurn, EarlyAnswer> {
        let text = "Many pages that take long are asked for at once. Reload this one in a moment.";
        timeout(PATIENCE, self.wait()).await.map_err(|_| busy(text).into())
    }
}

impl WorkTurn {
    /// Runs it on its own thread. The turn ends with the work, even if the caller is gone.
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
