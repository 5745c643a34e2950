//! Work that keeps a processor busy for long: beside the threads that answer, and little of it at once, so that the webhook
//! and everybody else's pages are answered meanwhile.
//!
//! May know: how many processors that takes. Must never know: what the work is.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::task::spawn_blocking;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::answer::{EarlyAnswer, broken, busy};

/// So much of one kind at once.
const AT_ONCE: usize = 2;
/// Whoever does not come to a turn in this time is asked to come again.
const PATIENCE: Duration = Duration::from_secs(10);

/// The turns that one kind of work takes.
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
