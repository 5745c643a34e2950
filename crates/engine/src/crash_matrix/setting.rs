//! What all of a life share: who is there, and what is known beside the database.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::steps::Steps;
use journeyman_emulator::{DeliveryAttempt, Emulator};
use journeyman_order::DeliveryGuid;

pub(super) const REPOSITORY: &str = "octo/sum";
pub(super) const PERSON: &str = "mona";
pub(super) const REVIEWER: &str = "rita";

/// GitHub, and what strikes.
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
    /// All, until a person has said something.
    UntilAdvice,
}

/// What is known beside the database.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Deliveries that were answered with 202.
    pub(super) acknowledged: BTreeSet<DeliveryGuid>,
    /// Later than those after them.
    pub(super) late: Vec<(DateTime<Utc>, DeliveryAttempt)>,
    pub(super) guids: u64,
}

/// What people do on the emulator is done at once.
pub(super) fn at_once<T>(act: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(act).expect("it waits for nothing")
}
