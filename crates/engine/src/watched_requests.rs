//! Requests that may end the server: a page that does so each time would end it for ever, since a browser asks for it again.
//!
//! May know: addresses. Must never know: what is answered there.

use super::Engine;
use super::quarantine::{Admission, CrashGuard, CrashSuspect};

/// As long as it is there, somebody is being answered.
#[derive(Debug)]
pub struct WatchedRequest(CrashGuard);

impl WatchedRequest {
    /// It was answered well. What was not, since nobody waits any more or is let in, forgives nothing.
    pub fn answered(self) {
        self.0.ended();
    }
}

impl Engine {
    /// Says that somebody asks for this, a path with its query.
    ///
    /// # Errors
    /// Why they are not answered now, in a sentence or two.
    pub fn begin_request(&self, asked: &str) -> Result<WatchedRequest, String> {
        match self.quarantine.begin(&CrashSuspect::page(asked)) {
            Admission::Granted(guard) => Ok(WatchedRequest(guard)),
            Admission::NotYet => {
                Err("The server ended without a word more than once, and does alone first what it was \
                                      doing then. Ask again in a minute; that takes ten at most."
                    .to_owned())
            }
            Admission::Refused(record) => {
                tracing::error!(asked, "is not answered for a day: {record}");
                Err(format!(
                    "This is not answered for a day, so that it ends nothing else: {record}. The server's log says what \
                     else was under way."
                ))
            }
        }
    }
}
