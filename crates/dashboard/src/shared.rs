//! What requests share beside the store: turns at what costs much, whoever watches an order,
//! and which sessions are over.

use super::ended_sessions::EndedSessions;
use super::heavy::HeavyWork;
use super::watchers::OrderWatchers;

/// Of one server; nothing when it starts.
#[derive(Default)]
pub struct SharedWork {
    /// Reading what an agent said in a run.
    pub(crate) transcripts: HeavyWork,
    /// Reading a journal and making its page.
    pub(crate) renderings: HeavyWork,
    pub(crate) watchers: OrderWatchers,
    pub(crate) sessions: EndedSessions,
}
