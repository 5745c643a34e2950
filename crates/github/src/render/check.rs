//! The check run's output: the receipt beside the commit, and open findings on their lines.

use super::pages::{FileLocation, RepositoryLinks};
use super::receipt::{ReceiptView, details, doubts, evidence, gaps};
use super::text::{fit, plain, shorten, visible};
use journeyman_order::conversation::CheckRunState;
use journeyman_order::{CommitSha, Finding, Severity};

/// GitHub takes no longer summary of a check run: 65,535 characters.
const LONGEST_SUMMARY: usize = 65_535;
const LONGEST_TITLE: usize = 100;
/// Of an annotation; GitHub takes 64 KB of a message and 255 characters of a title.
const LONGEST_MESSAGE: usize = 4_000;
const LONGEST_ANNOTATION_TITLE: usize = 120;

/// What the check run on a commit says.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckView {
    pub head: CommitSha,
    /// How the check run stands.
    pub state: CheckRunState,
    /// Where the order stands, in a few words. Can hold a login.
    pub headline: String,
    /// Why, where there is something to say. Foreign.
    pub explanation: Option<String>,
    /// How this commit was verified; none while nothing is known of it.
    pub receipt: Option<ReceiptView>,
    /// Findings that are open on this commit. Foreign.
    pub findings: Vec<Finding>,
    /// Paths that the change touches: only there are annotations shown.
    pub changed: Vec<String>,
    pub pages: RepositoryLinks,
}

/// The check run's output, as GitHub's API has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRunOutput {
    /// `output.title`, plain text, at most 100 characters.
    pub title: String,
    /// `output.summary`, Markdown, at most 65,535 characters.
    pub summary: String,
    /// `output.annotations`, the weightiest first. GitHub takes fifty a request; all together are no more than there
    /// are findings.
    pub annotations: Vec<CheckAnnotation>,
}

/// What is said of a line. Plain text: GitHub does not read Markdown there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckAnnotation {
    /// The file, one that the change touches.
    pub path: String,
    /// The line, from 1: `start_line` and `end_line`.
    pub line: u64,
    /// How much it weighs.
    pub level: AnnotationLevel,
    /// In a few words.
    pub title: String,
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
pub fn check(view: &CheckView) -> CheckRunOutput {
    let mut annotations: Vec<CheckAnnotation> =
        view.findings.iter().filter_map(|finding| annotation(finding, &view.changed)).collect();
    annotations.sort_by_key(|annotation| annotation.level);
    CheckRunOutput {
        title: shorten(&bare(&title(view)), LONGEST_TITLE),
        summary: fit(&summary(view), LONGEST_SUMMARY),
        annotations,
    }
}

/// In progress it is where the order stands; after that, what became of it and on what grounds.
fn title(view: &CheckView) -> String {
    let counts = view.receipt.as_ref().and_then(|receipt| receipt.counts);
    let tests = counts.map(|counts| format!("{} of {} tests pass", counts.passed, counts.ran()));
    match (view.state, tests) {
        (CheckRunState::InProgress | CheckRunState::Cancelled, _) | (_, None) => view.headline.clone(),
        (CheckRunState::Success | CheckRunState::Neutral | CheckRunState::Failure, Some(tests)) => {
            let open = view.findings.len();
            let findings = match open {
                0 => String::new(),
                1 => ", 1 finding is open".to_owned(),
                _ => format!(", {open} findings are open"),
            };
            let verdict = view.receipt.as_ref().map_or("", |receipt| receipt.heading);
            // The sign before it is GitHub's to show.
            let verdict = verdict.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
            let scrutiny = view.receipt.as_ref().and_then(|receipt| receipt.scrutiny.as_ref());
            let changed = match scrutiny.map_or(0, |scrutiny| scrutiny.changed_tests.len()) {
                0 => String::new(),
                count => format!("; {}", super::scrutiny::count_of_changed(count)),
            };
            format!("{verdict}{changed}: {tests}{findings}")
        }
    }
}

fn summary(view: &CheckView) -> String {
    let mut parts = Vec::new();
    let explanation = view.explanation.as_deref().filter(|text| !text.trim().is_empty());
    match &view.receipt {
        Some(receipt) => {
            parts.push(format!("### {}\n\n{}", receipt.heading, evidence(receipt, &view.pages)));
            parts.extend(explanation.map(|text| plain(&shorten(text, 2_000))));
            parts.extend(doubts(receipt, &view.pages));
            parts.push(gaps(receipt));
            parts.push(details(receipt));
        }
        None => {
            parts.push(format!("### {}", plain(&shorten(&view.headline, 200))));
            parts.extend(explanation.map(|text| plain(&shorten(text, 2_000))));
            parts.push(format!("Nothing is known yet of commit {}.", view.pages.commit(&view.head)));
        }
    }
    parts.join("\n\n")
}

/// A finding on a line of the change. What is said of no line, or of another file, is in the summary only.
fn annotation(finding: &Finding, changed: &[String]) -> Option<CheckAnnotation> {
    let FileLocation { path, line } = FileLocation::of(finding.location.as_deref()?)?;
    let path = changed.iter().find(|known| *known == path)?;
    let description = bare_lines(&finding.description);
    let message = match finding.suggestion.as_deref().map(bare_lines).filter(|text| !text.is_empty()) {
        Some(suggestion) => format!("{description}\n\nSuggestion: {suggestion}"),
        None => description.clone(),
    };
    Some(CheckAnnotation {
        path: path.clone(),
        line,
        level: match finding.severity {
            Severity::Critical => AnnotationLevel::Failure,
            Severity::Major => AnnotationLevel::Warning,
            Severity::Minor => AnnotationLevel::Notice,
        },
        title: shorten(
            &format!("{}: {}", finding.severity.as_str(), bare(&description)),
            LONGEST_ANNOTATION_TITLE,
        ),
        message: shorten(&message, LONGEST_MESSAGE),
    })
}

/// On one line, of what can be seen.
fn bare(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What can be seen of it. A message must not be empty.
fn bare_lines(text: &str) -> String {
    visible(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::bodies::receipt;
    use super::super::receipt::ReceiptReview;
    use super::*;
    use journeyman_order::Verdict;
    use journeyman_order::{Category, IssueNumber};

    fn finding(severity: Severity, place: &str) -> Finding {
        Finding {
            severity,
            category: Category::LogicError,
            description: "`sum([])` is\u{200b} wrong\nsays @team".to_owned(),
            location: Some(place.to_owned()),
            suggestion: Some("Return 0.".to_owned()),
        }
    }

    fn view() -> CheckView {
        let findings =
            vec![finding(Severity::Minor, "src/sum.py:3"), finding(Severity::Critical, "src/sum.py:9:1")];
        let mut receipt = receipt();
        receipt.review = Some(ReceiptReview { summary: "Sound.".to_owned(), open: findings.clone() });
        CheckView {
            head: receipt.commit.clone(),
            state: CheckRunState::Success,
            headline: "Verified: the pull request is ready for review".to_owned(),
            explanation: None,
            receipt: Some(receipt),
            findings,
            changed: vec!["src/sum.py".to_owned()],
            pages: RepositoryLinks::by_issue("https://github.com/o/r/issues/7", IssueNumber(7)),
        }
    }

    #[test]
    fn the_receipt_stands_beside_the_commit_and_findings_on_their_lines() {
        let mut view = view();
        view.findings.push(finding(Severity::Major, "docs/other.md:1"));
        view.findings.push(finding(Severity::Major, "tests of sums"));
        let text = check(&view);
        assert_eq!(text.title, "Verified: 24 of 24 tests pass, 4 findings are open");
        assert!(
            text.summary.starts_with("### ✅ Verified\n\n- `pytest -q`: exit code 0, 24 passed"),
            "{text:?}"
        );
        assert!(text.summary.contains("**What was not verified**") && text.summary.ends_with("</details>"));
        let places: Vec<(&str, u64, &str)> =
            text.annotations.iter().map(|one| (one.path.as_str(), one.line, one.level.word())).collect();
        assert_eq!(places, [("src/sum.py", 9, "failure"), ("src/sum.py", 3, "notice")]);
        assert_eq!(text.annotations[0].title, "critical: `sum([])` is wrong says @team");
        assert_eq!(text.annotations[0].message, "`sum([])` is wrong\nsays @team\n\nSuggestion: Return 0.");
    }

    #[test]
    fn while_nothing_is_known_of_the_commit_nothing_is_said_of_it() {
        let mut view = view();
        (view.receipt, view.state) = (None, CheckRunState::InProgress);
        view.headline = format!("At work for @mona{}", " on it".repeat(40));
        view.findings.clear();
        let text = check(&view);
        assert!(text.title.chars().count() <= LONGEST_TITLE && text.title.ends_with('…'), "{}", text.title);
        assert!(text.summary.starts_with("### At work for `@mona` on it") && !text.summary.contains("✅"));
        assert!(
            text.summary.contains("Nothing is known yet of commit [`aaaaaaaaaa`]")
                && text.annotations.is_empty()
        );
    }

    #[test]
    fn whatever_is_found_it_fits() {
        let long = "x @y fixes #3 `|\n".repeat(500);
        let mut view = view();
        let mut all = finding(Severity::Major, "src/sum.py:1");
        (all.description, all.suggestion) = (long.clone(), Some(long.clone()));
        view.findings = vec![all; 200];
        view.findings[0].description = "x @y fixes #3 `|\n".repeat(5_000);
        view.explanation = Some(long.clone());
        if let Some(receipt) = &mut view.receipt {
            receipt.says(Verdict::Rejected { why: long.clone() });
            receipt.review = Some(ReceiptReview { summary: long, open: view.findings.clone() });
        }
        let text = check(&view);
        assert!(
            text.summary.chars().count() <= LONGEST_SUMMARY && text.title.chars().count() <= LONGEST_TITLE
        );
        assert!(text.summary.ends_with("</details>"));
        assert_eq!(text.annotations.len(), 200);
        assert!(text.annotations.iter().all(|one| one.message.chars().count() <= LONGEST_MESSAGE));
        assert!(!text.summary.contains(" fixes #3"));
    }
}
