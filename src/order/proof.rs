//! Red, then green: whether the tests of a change fail without it.

use serde::{Deserialize, Serialize};

/// What the change's tests say of the old code. The new tests were laid over it and run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "proof")]
pub enum Proof {
    /// At least one test that was added or edited fails on the old code and passes on the new.
    Proven {
        /// Which, by name; at most 200.
        red: Vec<String>,
    },
    /// All of them pass on the old code as well, or fail on the new.
    NotProven {
        /// In a sentence.
        because: String,
    },
    /// The run on the old code says nothing: its tests did not compile, are not named, or did not run.
    CannotTell {
        /// In a sentence.
        because: String,
    },
    /// The change adds and edits no test.
    NoTestsChanged,
}
