//! What everything in a life shares: the actors, and what is known outside the database.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::steps::Steps;
use journeyman_emulator::{DeliveryAttempt, Emulator};
use journeyman_order::DeliveryGuid;

pub(super) const REPOSITORY: &str = "octo/sum";
pub(super) const PERSON: &str = "mona";
pub(super) const REVIEWER: &str = "rita";

/// GitHub, and the faults.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) emulator: Arc<Emulator>,
    pub(super) steps: Arc<Steps>,
}

/// Which tests are red.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedTests {
    None,
    /// Those of the first round.
    First,
    /// All, until a person has given advice.
    UntilAdvice,
}

/// What is known outside the database.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Deliveries that were answered with 202.
    pub(super) acknowledged: BTreeSet<DeliveryGuid>,
    /// Deliveries that come after later ones.
    pub(super) late: Vec<(DateTime<Utc>, DeliveryAttempt)>,
    pub(super) guids: u64,
}

/// Acts of people on the emulator finish at once.
pub(super) fn at_once<T>(act: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(act).expect("it waits for nothing")
}
