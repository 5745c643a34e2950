//! The feedback of every check, which the worker gets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::words;

/// The answer of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Feedback {
    /// Whether the worker's result may go on.
    pub passed: bool,
    /// From 0 (worthless) to 1 (nothing to say).
    pub score: f64,
    /// One or two sentences.
    pub summary: String,
    /// What is wrong, the weightiest first.
    pub issues: Vec<Finding>,
    /// What a reviewer says of the tests that it was asked about by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_tests: Vec<ChangedTestReview>,
}

/// What a reviewer says of a test of the base that fails on the new code, and that the change edits or removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedTestReview {
    /// As it was named in the question.
    pub test: String,
    /// Whether the issue wants the new code to fail this test as the base has it.
    pub wanted: bool,
    pub why: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// Of what kind it is.
    pub category: Category,
    /// What is wrong, for the worker and for people.
    pub description: String,
    /// File and line, a test's name, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What would mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The result cannot be used.
    Critical,
    /// It has to be mended before it can be merged.
    Major,
    /// It would be nicer otherwise.
    Minor,
}

/// Of what kind a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The code does the wrong thing.
    LogicError,
    /// The code opens a hole.
    Security,
    Style,
    TestFailure,
    /// It stands in the wrong place.
    Architecture,
    MissingCommit,
    /// The change touches what it must not.
    Policy,
    /// The answer is not of the form that was asked for.
    InvalidOutput,
}

words!(Severity::as_str { Critical: "critical", Major: "major", Minor: "minor" });

words!(Category::as_str {
    LogicError: "logic_error",
    Security: "security",
    Style: "style",
    TestFailure: "test_failure",
    Architecture: "architecture",
    MissingCommit: "missing_commit",
    Policy: "policy",
    InvalidOutput: "invalid_output"
});

impl Finding {
    /// A finding without a location or suggestion.
    pub(crate) fn critical(category: Category, description: String) -> Self {
        Self { severity: Severity::Critical, category, description, location: None, suggestion: None }
    }
}

impl Feedback {
    pub fn passed(summary: impl Into<String>) -> Self {
        Self {
            passed: true,
            score: 1.0,
            summary: summary.into(),
            issues: Vec::new(),
            changed_tests: Vec::new(),
        }
    }

    /// Failed feedback with one critical finding; its description is the summary.
    pub fn failed(category: Category, summary: impl Into<String>) -> Self {
        let summary = summary.into();
        let issues = vec![Finding::critical(category, summary.clone())];
        Self { passed: false, score: 0.0, summary, issues, changed_tests: Vec::new() }
    }

    /// Adds a suggestion to the first finding.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        if let Some(first) = self.issues.first_mut() {
            first.suggestion = Some(suggestion.into());
        }
        self
    }
}
