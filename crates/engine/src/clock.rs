//! What time it is, for everything that is written down or waited for.

use std::sync::Arc;

use chrono::{DateTime, Utc};

/// Tells the time. Pauses are Tokio's; a clock that is not the machine's has to go with them.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl Clock {
    pub fn system() -> Self {
        Self::of(Utc::now)
    }

    pub fn of(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }
}
