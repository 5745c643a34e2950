//! Why a commit is not verified although no check failed on it.

use super::length::some_of;

/// What is missing although no check failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inconclusive {
    /// No tests ran on the commit.
    NotTested,
    /// There are no tests, or the command ran none.
    NoTests { because: String },
    /// The tests pass, but the pass proves nothing.
    Doubted { because: String },
    /// The tests pass, but none belongs to a project that the change edits.
    ProjectNotTested { because: String },
    /// The tests pass, but do not show that the change does anything.
    Unproven { because: String },
    /// A judge of the pipeline has not judged this commit, perhaps only an earlier one.
    NotReviewed { by: String },
    /// The order ended before every check reported.
    NotJudged {
        /// How it ended, unless the pipeline ran to its end.
        ended: Option<String>,
        /// The stages that have not judged.
        stages: Vec<String>,
    },
    /// The base's version of some tests fails on the commit, and no reviewer confirms that the issue wants that.
    TestsChanged { tests: Vec<String> },
    /// The repository requires an examiner's statement to hold, and none did.
    NotExamined,
    /// The remote was not seen to have the commit.
    NotPublished,
}

impl Inconclusive {
    pub fn sentence(&self) -> String {
        match self {
            Self::NotTested => "no tests ran on this commit".to_owned(),
            Self::NoTests { because } | Self::Doubted { because } | Self::ProjectNotTested { because } => {
                because.clone()
            }
            Self::Unproven { because } => format!("passing, not proven: {because}"),
            Self::NotReviewed { by } => {
                format!("{by} has not reviewed this commit")
            }
            Self::NotJudged { ended, stages } => match ended {
                Some(ended) => ended.clone(),
                None => format!("these stages have not passed: {}", stages.join(", ")),
            },
            Self::TestsChanged { tests } => {
                format!(
                    "tests that the change edits or removes fail on the new code in their old form, and no reviewer says that the \
                     issue wants that: {}",
                    some_of(tests, tests.len() as u64)
                )
            }
            Self::NotExamined => {
                "no examiner's statement of the issue was seen to hold, and this repository requires one (`require: \
                 [examined]`)"
                    .to_owned()
            }
            Self::NotPublished => "the commit is not known to be on a branch of the repository".to_owned(),
        }
    }
}
