//! The comment on a review round: who judged which commit, and the findings.

use super::ROOM;
use super::markdown::quoted_within;
use super::pages::RepositoryLinks;
use super::table::table;
use super::text::{brief, severity};
use journeyman_order::length::fit;
use journeyman_order::moves::ReviewNote;
use journeyman_order::{CommitSha, EffectOutcome, Feedback, Finding, Journal, JournalEvent, Move};

const MOST_FINDINGS: usize = 25;

/// The comment's body. All words of agents are foreign text.
pub fn review(journal: &Journal, note: &ReviewNote) -> String {
    let pages = pages_of(journal, &note.commit);
    let (mark, verdict) = match &note.feedback {
        Some(feedback) if feedback.passed => ("✅", "passed"),
        Some(_) => ("🔁", "changes requested"),
        None => ("⚠️", "the review could not be completed"),
    };
    let stage = brief(&note.stage, 60);
    let mut parts = vec![format!("### {mark} {stage}, round {}: {verdict}", note.round)];
    let mut facts = vec![
        format!("by **{}**", brief(&note.verifier, 60)),
        format!("on commit {}", pages.commit(&note.commit)),
    ];
    match &note.feedback {
        Some(feedback) => {
            facts.push(format!("score {:.2}", score(feedback)));
            parts.push(facts.join(" · "));
            parts.extend(quoted_within(&feedback.summary, 4_000));
            parts.extend(findings(note, &feedback.issues, &pages));
        }
        None => {
            parts.push(facts.join(" · "));
            parts.push(
                "The verifier gave no answer in the required format, so this commit has not been reviewed. \
                 That is never a pass."
                    .to_owned(),
            );
        }
    }
    fit(&parts.join("\n\n"), ROOM)
}

/// Links to a commit only if it was pushed: one reviewed before the pull request opened may not be on GitHub.
fn pages_of(journal: &Journal, commit: &CommitSha) -> RepositoryLinks {
    let is_pushed = journal.entries().iter().any(|entry| match &entry.event {
        JournalEvent::Intended { r#move, .. } => {
            matches!(&**r#move, Move::Push { commit: pushed, .. } if pushed == commit)
        }
        JournalEvent::Observed { outcome, .. } => {
            matches!(&**outcome, EffectOutcome::TakenIn { commit: taken, .. } if taken == commit)
        }
        JournalEvent::Opened(opened) => opened.change.as_ref().is_some_and(|change| change.head == *commit),
        JournalEvent::Signaled { .. } => false,
    });
    if is_pushed { RepositoryLinks::of(journal) } else { RepositoryLinks::default() }
}

fn score(feedback: &Feedback) -> f64 {
    if feedback.score.is_finite() { feedback.score.clamp(0.0, 1.0) } else { 0.0 }
}

fn findings(note: &ReviewNote, issues: &[Finding], pages: &RepositoryLinks) -> Option<String> {
    let heading = ["severity", "kind", "where", "what", "suggestion"];
    table(heading, (issues, MOST_FINDINGS), |finding| {
        let place = finding.location.as_deref().map(|place| pages.location(&note.commit, place));
        let suggestion = finding.suggestion.as_deref().map(|text| brief(text, 300));
        [
            severity(finding.severity).to_owned(),
            finding.category.as_str().replace('_', " "),
            place.unwrap_or_default(),
            brief(&finding.description, 400),
            suggestion.unwrap_or_default(),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::columns;
    use crate::tests::journal;
    use journeyman_order::length::LONGEST_BODY;
    use journeyman_order::{Category, MoveKey, PullNumber, Severity};

    fn facts(score: &str) -> String {
        let link = format!("[`aaaaaaaaaa`](https://github.com/o/r/commit/{})", "a".repeat(40));
        format!("by **code\\_reviewer** · on commit {link} · score {score}")
    }

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

    fn said(note: &ReviewNote) -> String {
        let push = Move::Push {
            branch: "journeyman/issue-7-sum".parse().unwrap(),
            commit: note.commit.clone(),
            lease: None,
        };
        let key = MoveKey("publish/aaaaaaaaaa/push-1".to_owned());
        let pushed = JournalEvent::Intended { key, r#move: Box::new(push) };
        review(&journal(vec![(1, pushed)]), note)
    }

    #[test]
    fn a_commit_that_was_never_pushed_is_named_without_a_link() {
        let feedback =
            Feedback { issues: vec![finding("It is empty.")], ..Feedback::failed(Category::Style, "no") };
        let text = review(&journal(Vec::new()), &note(Some(feedback)));
        assert!(text.contains("on commit `aaaaaaaaaa`") && !text.contains("github.com"), "{text}");
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
            changed_tests: Vec::new(),
        };
        assert_eq!(
            said(&note(Some(feedback))),
            format!(
                "### 🔁 review, round 2: changes requested\n\n{}\n\n\
                 > The empty list is **not** handled, see `@team.`\n\n\
                 | severity | kind | where | what | suggestion |\n\
                 |---|---|---|---|---|\n\
                 | major | logic error | [`src/sum.py:3`](https://github.com/o/r/blob/{}/src/sum.py#L3) \
                 | \\`sum(\\[\\])\\` fails for a \\| b | Return \\`0\\`. |\n\
                 | **critical** | style |  | A name says nothing. |  |",
                facts("0.60"),
                "a".repeat(40)
            )
        );
    }

    #[test]
    fn a_pass_and_a_review_that_could_not_be_made_say_so() {
        assert_eq!(
            said(&note(Some(Feedback::passed("Sound.")))),
            format!("### ✅ review, round 2: passed\n\n{}\n\n> Sound.", facts("1.00"))
        );
        let text = said(&note(None));
        assert!(text.starts_with("### ⚠️ review, round 2: the review could not be completed\n\n"), "{text}");
        assert!(text.ends_with("That is never a pass.") && !text.contains("score"), "{text}");
    }

    #[test]
    fn whatever_a_verifier_says_it_stays_in_its_cell_and_the_body_fits() {
        for hostile in [
            "a | b", "a \\| b", "x|`|`|", "`a\\\\|b`", "end\\", "@x|@y", "new\n| line | two |",
            "<!-- x --> |",
        ] {
            let mut all = finding(hostile);
            (all.location, all.suggestion) = (Some(hostile.to_owned()), Some(hostile.to_owned()));
            let feedback = Feedback { issues: vec![all], ..Feedback::failed(Category::Style, "no") };
            let text = said(&note(Some(feedback)));
            let row = text.lines().last().unwrap();
            assert_eq!(columns(row), 5, "{hostile:?}: {row}");
            assert!(!text.contains("<!--"), "{text}");
        }
        let long = "x @y fixes #3 `|".repeat(10_000);
        let mut all = finding(&long);
        (all.location, all.suggestion) = (Some(long.clone()), Some(long.clone()));
        let mut feedback = Feedback { issues: vec![all; 200], ..Feedback::failed(Category::Style, long) };
        feedback.score = f64::NAN;
        let text = said(&note(Some(feedback)));
        assert!(
            text.chars().count() <= LONGEST_BODY && text.ends_with("\n\nAnd 175 more."),
            "{}",
            text.len()
        );
        assert!(text.contains("score 0.00") && !text.contains(" fixes #3"));
    }
}
