//! Red, then green: whether the tests of a change fail without it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the change's tests say of the old code. The change's tests were laid over it and run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "proof")]
pub enum Proof {
    /// Tests of the change fail on the old code and pass on the new.
    Proven {
        /// How closely that was seen.
        #[serde(default)]
        by: ProofGrade,
        /// Which, by name; at most 200. By file: the paths of the change's tests.
        red: Vec<String>,
    },
    /// They cannot be loaded on the old code, since they name what the change adds, and pass on the new. That shows that
    /// something was added, and not that something was wrong before.
    NamesWhatIsNew {
        /// What could not be loaded, or which tests fail for a name that is not there.
        tests: Vec<String>,
    },
    /// All of them pass on the old code as well, or fail on the new.
    NotProven { because: String },
    /// The run on the old code says nothing: it did not end, or nothing is known of what it ran.
    CannotTell { because: String },
    /// The change adds and edits no test.
    NoTestsChanged,
}

/// How closely it was seen that tests of the change fail on the old code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProofGrade {
    /// New tests, by name.
    #[default]
    Test,
    /// A test of the base that now has more cases: as the base has it, it passes on the new code as well.
    Case,
    /// The change's files of tests as a whole, by how the command ended.
    File,
}
