//! Calls like those that the tests of a change make, and what both codes answer to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewer calls than this show nothing about the others.
const ENOUGH_CALLS: u32 = 8;

/// Calls of changed functions as the change's tests make them, with one argument varied. They decide nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourTally {
    /// How many got one answer from each code. Calls that the issue shows do not count.
    pub tried: u32,
    /// How many of them got the same answer from both.
    pub alike: u32,
    /// The first of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<NeighbourRun>,
    /// Whether a call that a test makes answers differently than before.
    pub tested_differs: bool,
}

/// A call that answers differently than before. An error begins with `! `.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourRun {
    pub call: String,
    pub before: String,
    pub after: String,
}

impl NeighbourTally {
    /// Whether the change looks as if it knew the inputs of its tests.
    pub fn is_of_tested_inputs_alone(&self) -> bool {
        self.tested_differs && self.alike == self.tried && self.tried >= ENOUGH_CALLS
    }
}
