//! The order that is killed.

use super::world::{Agent, World};

/// Which world a story is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Tested in no time; with a round of tests and a round of review that are lost.
    Median,
}

impl Sample {
    pub async fn world(self) -> World {
        match self {
            Self::Median => World::new(Agent::Quick).await,
        }
    }
}
