//! What requests share beside the store: turns at what costs much, places for pages that follow an order, and word of sessions
//! that are over.

use super::ended_sessions::EndedSessions;
use super::events::FollowerPlaces;
use super::heavy::HeavyWork;

#[derive(Default)]
pub struct SharedWork {
    /// Reading what an agent said in a run.
    pub(crate) transcripts: HeavyWork,
    pub(crate) renderings: HeavyWork,
    pub(crate) places: FollowerPlaces,
    pub(crate) sessions: EndedSessions,
}
