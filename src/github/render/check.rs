//! The check run's output: what is said of a commit, and open findings on their lines.

use super::markdown::markdown;
use super::status::quoted;
use super::text::{fit, plain, shorten, visible};
use crate::order::conversation::CheckState;
use crate::order::{CommitSha, Finding, Severity};

/// GitHub takes no longer summary of a check run: 65,535 characters.
const LONGEST_SUMMARY: usize = 65_535;
const LONGEST_TITLE: usize = 100;
/// Of an annotation; GitHub takes 64 KB of a message.
const LONGEST_MESSAGE: usize = 4_000;

/// What the check run on a commit says.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckView {
    /// The commit.
    pub head: CommitSha,
    /// How the check run stands.
    pub state: CheckState,
    /// Where the order stands, in a few words.
    pub headline: String,
    /// Why, where there is something to say. Foreign.
    pub explanation: Option<String>,
    /// Findings that are open on this commit. Foreign.
    pub findings: Vec<Finding>,
    /// Paths that the change touches: only there are annotations shown.
    pub changed: Vec<String>,
}

/// The check run's output, as GitHub's API has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckText {
    /// `output.title`, plain text, at most 100 characters.
    pub title: String,
    /// `output.summary`, Markdown, at most 65,535 characters.
    pub summary: String,
    /// `output.annotations`, the weightiest first.
    pub annotations: Vec<Annotation>,
}

/// What is said of a line. Plain text: GitHub does not read Markdown there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file, one that the change touches.
    pub path: String,
    /// The line, from 1: `start_line` and `end_line`.
    pub line: u64,
    /// How much it weighs.
    pub level: AnnotationLevel,
    /// In a few words.
    pub title: String,
    /// In full.
    pub message: String,
}

/// `annotation_level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnnotationLevel {
    /// `failure`
    Failure,
    /// `warning`
    Warning,
    /// `notice`
    Notice,
}

impl AnnotationLevel {
    /// GitHub's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// The check run's output.
pub fn check(view: &CheckView) -> CheckText {
    let mut annotations: Vec<Annotation> =
        view.findings.iter().filter_map(|finding| annotation(finding, &view.changed)).collect();
    annotations.sort_by_key(|annotation| annotation.level);
    let mut parts = vec![format!("### {}", plain(&shorten(&view.headline, 200)))];
    if let Some(explanation) = view.explanation.as_deref().filter(|text| !text.trim().is_empty()) {
        parts.push(quoted(&markdown(explanation, 8_000)));
    }
    if !view.findings.is_empty() {
        let lines: Vec<String> = view.findings.iter().take(30).map(told).collect();
        parts.push(format!("**What is open**\n\n{}", lines.join("\n")));
    }
    CheckText {
        title: shorten(&visible(&view.headline).replace('\n', " "), LONGEST_TITLE),
        summary: fit(&parts.join("\n\n"), LONGEST_SUMMARY),
        annotations,
    }
}

fn told(finding: &Finding) -> String {
    let place = finding.location.as_deref().map(|place| format!("{}: ", plain(&shorten(place, 150))));
    format!("- {}{}", place.unwrap_or_default(), plain(&shorten(&finding.description, 300)))
}

/// A finding on a line of the change. What is said of no line, or of another file, is in the summary only.
fn annotation(finding: &Finding, changed: &[String]) -> Option<Annotation> {
    let (path, line) = finding.location.as_deref()?.rsplit_once(':')?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    let path = changed.iter().find(|known| *known == path)?;
    let (level, title) = match finding.severity {
        Severity::Critical => (AnnotationLevel::Failure, "critical"),
        Severity::Major => (AnnotationLevel::Warning, "major"),
        Severity::Minor => (AnnotationLevel::Notice, "minor"),
    };
    let message = shorten(visible(&finding.description).trim(), LONGEST_MESSAGE);
    let message = if message.is_empty() { title.to_owned() } else { message };
    Some(Annotation { path: path.clone(), line, level, title: title.to_owned(), message })
}
