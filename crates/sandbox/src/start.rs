//! What every program that makes walls is watched for: what it says when it cannot start a job, and that nothing is left
//! of a job that ended.
//!
//! May know: processes. Must never know: which program it is.

use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Sink;

/// A start takes a tenth of a second; this is for a machine that crawls. What makes the walls and says nothing is not
/// waited for any longer.
pub(super) const STARTED_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 15 } else { 60 });
/// After the end of its first process the kernel clears a PID namespace at once; this is for a machine that crawls.
const CLEARED_AFTER: Duration = Duration::from_secs(10);
/// The end of what a failed start printed that goes into the error.
const SAID: usize = 2_000;

/// Hands output on and remembers the end of what was said on standard error, for a sandbox that never started.
pub(super) struct StderrTee<'a> {
    sink: &'a mut dyn Sink,
    last: Vec<u8>,
}

impl<'a> StderrTee<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, last: Vec::new() }
    }

    pub(super) fn said(&self) -> String {
        String::from_utf8_lossy(&self.last).trim().to_owned()
    }
}

impl Sink for StderrTee<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.sink.stdout(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.sink.stderr(bytes);
        let start = bytes.len().saturating_sub(SAID);
        self.last.extend_from_slice(bytes.get(start..).unwrap_or_default());
        let old = self.last.len().saturating_sub(SAID);
        self.last.drain(..old);
    }
}

/// Waits until the namespace is empty. Its first process counts as ended only when all others in it have.
#[allow(unsafe_code)]
pub(super) async fn cleared(first: Pid) {
    let Ok(descriptor) = pidfd_open(first, PidfdFlags::NONBLOCK) else { return };
    // It is readable when the process has ended.
    // SAFETY: it owns the descriptor, which stays the same and open as long as it lives.
    let ended = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    let Ok(ended) = ended else { return };
    drop(tokio::time::timeout(CLEARED_AFTER, ended.readable()).await);
}
