//! What keeps a commit from being verified where no check failed on it.

use super::length::some_of;

/// What is missing where no check failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inconclusive {
    /// No tests ran on the commit.
    NotTested,
    /// There are no tests, or the command ran none.
    NoTests { because: String },
    /// They pass, and the pass says nothing.
    Doubted { because: String },
    /// They pass, and none of them is of a project that the change edits.
    ProjectNotTested { because: String },
    /// They pass, and do not show that the change does anything.
    Unproven { because: String },
    /// A judge of the pipeline has not spoken on this commit, be it that it judged an earlier one.
    NotReviewed { by: String },
    /// The order ended before all had spoken.
    NotJudged {
        /// How it ended, where that is not the end of the pipeline.
        ended: Option<String>,
        /// The stages that have not judged.
        stages: Vec<String>,
    },
    /// Tests of the base fail on it as the base has them, and no reviewer says that the issue wants that.
    TestsChanged { tests: Vec<String> },
    /// No examiner's statement of the issue was seen to hold, and the repository requires one.
    NotExamined,
    /// The remote was not seen to have it.
    NotPublished,
}

impl Inconclusive {
    /// In a sentence.
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
