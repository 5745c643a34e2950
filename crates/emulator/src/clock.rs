//! The emulated GitHub's time: the machine's, or ahead of it by what was set in the same thread.

use std::cell::Cell;

use chrono::{DateTime, TimeDelta, Utc};

thread_local! {
    static AHEAD: Cell<TimeDelta> = const { Cell::new(TimeDelta::zero()) };
}

pub(crate) fn now() -> DateTime<Utc> {
    Utc::now() + AHEAD.get()
}

/// Sets the time for everything in this thread.
pub fn set_time(now: DateTime<Utc>) {
    AHEAD.set(now - Utc::now());
}
