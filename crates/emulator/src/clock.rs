//! What time it is on the emulated GitHub: the machine's, or as far ahead of it as whoever runs in the same thread says.

use std::cell::Cell;

use chrono::{DateTime, TimeDelta, Utc};

thread_local! {
    static AHEAD: Cell<TimeDelta> = const { Cell::new(TimeDelta::zero()) };
}

pub(crate) fn now() -> DateTime<Utc> {
    Utc::now() + AHEAD.get()
}

/// From now on it is this time, for whatever is done in this thread.
pub fn set_time(now: DateTime<Utc>) {
    AHEAD.set(now - Utc::now());
}
