//! The comment of a round of review: who judged which commit, and what was found.

use super::LONGEST_BODY;
use super::markdown::markdown;
use super::status::quoted;
use super::table::{cell, table};
use super::text::{code_span, fit, plain, shorten};
use crate::order::moves::ReviewNote;
use crate::order::{Category, Feedback, Finding, Severity};

/// Findings that are shown.
const MOST_FINDINGS: usize = 25;

/// The comment's body. All that the verifier said is foreign.
pub fn review(note: &ReviewNote) -> String {
    let (mark, verdict) = match &note.feedback {
        Some(feedback) if feedback.passed => ("✅", "nothing stands against it"),
        Some(_) => ("🔁", "changes are asked for"),
        None => ("⚠️", "the review could not be made"),
    };
    let stage = plain(&shorten(&note.stage, 60));
    let mut parts = vec![format!("### {mark} {stage}, round {}: {verdict}", note.round)];
    let mut facts = vec![
        format!("by **{}**", plain(&shorten(&note.verifier, 60))),
        format!("on commit `{}`", note.commit.short()),
    ];
    match &note.feedback {
        Some(feedback) => {
            facts.push(format!("score {:.2}", score(feedback)));
            parts.push(facts.join(" · "));
            let summary = markdown(&feedback.summary, 4_000);
            if !summary.is_empty() {
                parts.push(quoted(&summary));
            }
            parts.extend(findings_table(&feedback.issues));
        }
        None => {
            parts.push(facts.join(" · "));
            parts.push(
                "The verifier gave no answer of the form that was asked for, so that nobody has judged this commit. \
                 That is never a pass."
                    .to_owned(),
            );
        }
    }
    fit(&parts.join("\n\n"), LONGEST_BODY)
}

fn score(feedback: &Feedback) -> f64 {
    if feedback.score.is_finite() { feedback.score.clamp(0.0, 1.0) } else { 0.0 }
}

fn findings_table(findings: &[Finding]) -> Option<String> {
    let rows: Vec<[String; 5]> = findings.iter().take(MOST_FINDINGS).map(row).collect();
    let mut text = table(["severity", "kind", "where", "what", "suggestion"], &rows)?;
    let more = findings.len().saturating_sub(MOST_FINDINGS);
    if more > 0 {
        text.push_str(&format!("\n\nAnd {more} more."));
    }
    Some(text)
}

fn row(finding: &Finding) -> [String; 5] {
    let place = finding.location.as_deref().map(|place| code_span(&shorten(place, 150)));
    let suggestion = finding.suggestion.as_deref().map(|text| plain(&shorten(text, 300)));
    [
        severity(finding.severity).to_owned(),
        category(finding.category).to_owned(),
        place.unwrap_or_default(),
        plain(&shorten(&finding.description, 400)),
        suggestion.unwrap_or_default(),
    ]
    .map(|text| cell(&text))
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "**critical**",
        Severity::Major => "major",
        Severity::Minor => "minor",
    }
}

fn category(category: Category) -> &'static str {
    match category {
        Category::LogicError => "logic error",
        Category::Security => "security",
        Category::Style => "style",
        Category::TestFailure => "test failure",
        Category::Architecture => "architecture",
        Category::MissingCommit => "missing commit",
        Category::Policy => "policy",
        Category::InvalidOutput => "invalid output",
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::columns;
    use super::*;
    use crate::order::PullNumber;

    fn finding(description: &str) -> Finding {
        Finding {
            severity: Severity::Major,
            category: Category::LogicError,
            description: description.to_owned(),
            location: Some("src/sum.py:3".to_owned()),
            suggestion: Some("Return `0`.".to_owned()),
        }
    }

    fn note(feedback: Option<Feedback>) -> ReviewNote {
        ReviewNote {
            pull: PullNumber(12),
            stage: "review".to_owned(),
            round: 2,
            verifier: "code_reviewer".to_owned(),
            commit: "a".repeat(40).parse().unwrap(),
            feedback,
        }
    }

    #[test]
    fn what_was_found_stands_in_a_table() {
        let mut other = finding("A name says nothing.");
        (other.severity, other.category) = (Severity::Critical, Category::Style);
        (other.location, other.suggestion) = (None, None);
        let feedback = Feedback {
            passed: false,
            score: 0.6,
            summary: "The empty list is **not** handled, see @team.".to_owned(),
            issues: vec![finding("`sum([])` fails for a | b"), other],
        };
        assert_eq!(
            review(&note(Some(feedback))),
            "### 🔁 review, round 2: changes are asked for\n\n\
             by **code\\_reviewer** · on commit `aaaaaaaaaa` · score 0.60\n\n\
             > The empty list is **not** handled, see `@team.`\n\n\
             | severity | kind | where | what | suggestion |\n\
             |---|---|---|---|---|\n\
             | major | logic error | `src/sum.py:3` | \\`sum(\\[\\])\\` fails for a \\| b | Return \\`0\\`. |\n\
             | **critical** | style |  | A name says nothing. |  |"
        );
    }

    #[test]
    fn a_pass_and_a_review_that_could_not_be_made_say_so() {
        assert_eq!(
            review(&note(Some(Feedback::passed("Sound.")))),
            "### ✅ review, round 2: nothing stands against it\n\n\
             by **code\\_reviewer** · on commit `aaaaaaaaaa` · score 1.00\n\n> Sound."
        );
        let text = review(&note(None));
        assert!(text.starts_with("### ⚠️ review, round 2: the review could not be made\n\n"), "{text}");
        assert!(text.ends_with("That is never a pass.") && !text.contains("score"), "{text}");
    }

    #[test]
    fn whatever_a_verifier_says_it_stays_in_its_cell_and_the_body_fits() {
        for hostile in [
            "a | b",
            "a \\| b",
            "x|`|`|",
            "`a\\\\|b`",
            "end\\",
            "@x|@y",
            "new\n| line | two |",
            "<!-- x --> |",
        ] {
            let mut all = finding(hostile);
            (all.location, all.suggestion) = (Some(hostile.to_owned()), Some(hostile.to_owned()));
            let feedback = Feedback { issues: vec![all], ..Feedback::failed(Category::Style, "no") };
            let text = review(&note(Some(feedback)));
            let row = text.lines().last().unwrap();
            assert_eq!(columns(row), 5, "{hostile:?}: {row}");
            assert!(!text.contains("<!--"), "{text}");
        }
        let long = "x @y fixes #3 `|".repeat(10_000);
        let mut all = finding(&long);
        (all.location, all.suggestion) = (Some(long.clone()), Some(long.clone()));
        let mut feedback = Feedback { issues: vec![all; 200], ..Feedback::failed(Category::Style, long) };
        feedback.score = f64::NAN;
        let text = review(&note(Some(feedback)));
        assert!(
            text.chars().count() <= LONGEST_BODY && text.ends_with("\n\nAnd 175 more."),
            "{}",
            text.len()
        );
        assert!(text.contains("score 0.00") && !text.contains(" fixes #3"));
    }
}
