//! The gate for all writes to GitHub: one queue per installation.
//!
//! May know: when writes were sent and answered, what GitHub allows, the clock.
//! Must never know: what a write says, tokens, HTTP.
//!
//! Important writes overtake all others; within a priority it is first come, first served. Less important writes may
//! use at most three quarters of a limit, so that status edits cannot use up the hour in which a pull request is due. A
//! queue has no task: the first in it watches the clock, and a dropped future gives up its place.
//!
//! We do not use `governor` or similar: they smooth (500 an hour lets nearly 1,000 through in the worst hour), and have
//! neither priorities nor a way to pause all writes.

mod pace;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::error::{GitHubError, Result};
use journeyman_metrics::metrics;
use journeyman_order::{InstallationId, WriteLimits};

pub(super) use queue::WritePermit;
use queue::WriteQueue;

/// Longer waits are logged.
const NOTABLE: Duration = Duration::from_secs(2);

/// Order of precedence; the smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WritePriority {
    /// People or the work wait for it: pull requests, answers.
    Important,
    /// May come a little later: labels, cleanup.
    Ordinary,
    /// A status edit, superseded by the next one.
    Status,
}

/// The queues of all installations.
#[derive(Debug)]
pub(super) struct WriteGate {
    limits: WriteLimits,
    queues: Mutex<HashMap<InstallationId, Arc<WriteQueue>>>,
}

impl WriteGate {
    pub(super) fn new(limits: WriteLimits) -> Self {
        Self { limits, queues: Mutex::default() }
    }

    /// Waits until a write may be sent. `request` names it in the log. Dropping the future frees its place.
    ///
    /// # Errors
    /// [`super::ErrorKind::Unavailable`] with a time if the turn does not come within two minutes.
    pub(super) async fn pass(
        &self,
        installation: InstallationId,
        priority: WritePriority,
        request: &str,
    ) -> Result<WritePermit> {
        let asked = Instant::now();
        let passed = self.queue(installation).pass(priority).await;
        let waited = asked.elapsed();
        metrics().github_write_waited(passed.is_ok(), waited);
        if waited > NOTABLE {
            let (passed, waited_ms) = (passed.is_ok(), waited.as_millis());
            tracing::info!(%installation, ?priority, request, waited_ms, passed, "a write waited for its turn");
        }
        passed.map_err(|wait| {
            // Rounds up: waiting too long is better than too short.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            GitHubError::limited(
                Duration::from_secs(seconds),
                format!(
                    "as much was written for installation {installation} as GitHub allows; the next write is due \
                     in {seconds} seconds"
                ),
            )
        })
    }

    /// Whether a read may be sent: reads have no queue, but respect GitHub's pause.
    ///
    /// # Errors
    /// [`super::ErrorKind::Unavailable`] with the rest of that pause.
    pub(super) fn check_read(&self, installation: InstallationId) -> Result<()> {
        let Some(wait) = self.queue(installation).held_for() else { return Ok(()) };
        // A margin: waiting too long is better than too short.
        let wait = wait + Duration::from_millis(20);
        let seconds = wait.as_secs_f64();
        Err(GitHubError::limited(
            wait,
            format!("GitHub asked for a pause; {seconds:.0} seconds of it are left"),
        ))
    }

    /// GitHub asks for a pause: nothing is sent for this installation until it is over.
    pub(super) fn hold(&self, installation: InstallationId, wait: Duration) {
        tracing::warn!(%installation, seconds = wait.as_secs(), "GitHub limits us; requests are held back");
        metrics().github_paused(wait);
        self.queue(installation).hold(wait);
    }

    fn queue(&self, installation: InstallationId) -> Arc<WriteQueue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(queues.entry(installation).or_insert_with(|| Arc::new(WriteQueue::new(self.limits))))
    }
}
