//! What requests share beside the store: turns at what costs much.

use super::heavy::HeavyWork;

/// Of one server; nothing when it starts.
#[derive(Default)]
pub struct SharedWork {
    /// Reading what an agent said in a run.
    pub(crate) transcripts: HeavyWork,
}
