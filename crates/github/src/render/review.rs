//! The comment of a round of review: who judged which commit, what was found, and what became of it.

use super::ROOM;
use super::pages::RepositoryLinks;
use super::status::quoted_within;
use super::table::{cell, table};
use super::text::{fit, plain, shorten};
use journeyman_order::moves::ReviewNote;
use journeyman_order::{CommitSha, Feedback, Finding, Severity};

/// Findings that are shown.
const MOST_FINDINGS: usize = 25;

/// What the comment of a round of review says.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewCommentView<'a> {
    pub note: &'a ReviewNote,
    /// What became of each finding, in the same order; what is missing is not known yet.
    pub follow_ups: Vec<FindingFollowUp>,
    /// What the agent says that was sent back with them. Foreign.
    pub answer: Option<String>,
    pub pages: RepositoryLinks,
}

/// What became of a finding, as far as it was looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingFollowUp {
    /// Nobody has looked since.
    Unknown,
    /// The next review, of this commit, did not raise it again.
    NotRaisedAgain(CommitSha),
    /// The next review, of this commit, did.
    RaisedAgain(CommitSha),
}

/// The comment's body. All that the verifier said is foreign.
pub fn review(view: &ReviewCommentView<'_>) -> String {
    let note = view.note;
    let (mark, verdict) = match &note.feedback {
        Some(feedback) if feedback.passed => ("✅", "nothing stands against it"),
        Some(_) => ("🔁", "changes are asked for"),
        None => ("⚠️", "the review could not be made"),
    };
    let stage = plain(&shorten(&note.stage, 60));
    let mut parts = vec![format!("### {mark} {stage}, round {}: {verdict}", note.round)];
    let mut facts = vec![
        format!("by **{}**", plain(&shorten(&note.verifier, 60))),
        format!("on commit {}", view.pages.commit(&note.commit)),
    ];
    match &note.feedback {
        Some(feedback) => {
            facts.push(format!("score {:.2}", score(feedback)));
            parts.push(facts.join(" · "));
            parts.extend(quoted_within(&feedback.summary, 4_000));
            parts.extend(findings(view, &feedback.issues));
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
    if let Some(answer) = view.answer.as_deref().and_then(|answer| quoted_within(answer, 3_000)) {
        parts.push(format!("**What was done, in the agent's words**\n\n{answer}"));
    }
    fit(&parts.join("\n\n"), ROOM)
}

fn score(feedback: &Feedback) -> f64 {
    if feedback.score.is_finite() { feedback.score.clamp(0.0, 1.0) } else { 0.0 }
}

fn findings(view: &ReviewCommentView<'_>, issues: &[Finding]) -> Option<String> {
    let fates =
        view.follow_ups.iter().map(|fate| fate_cell(fate, &view.pages)).chain(std::iter::repeat(None));
    let told: Vec<(&Finding, Option<String>)> = issues.iter().zip(fates).take(MOST_FINDINGS).collect();
    let row = |finding: &Finding| {
        let place = finding.location.as_deref().map(|place| view.pages.location(&view.note.commit, place));
        let suggestion = finding.suggestion.as_deref().map(|text| plain(&shorten(text, 300)));
        [
            severity(finding.severity).to_owned(),
            finding.category.as_str().replace('_', " "),
            place.unwrap_or_default(),
            plain(&shorten(&finding.description, 400)),
            suggestion.unwrap_or_default(),
        ]
        .map(|text| cell(&text))
    };
    let heading = ["severity", "kind", "where", "what", "suggestion"];
    // Nothing has become of any of them before somebody looks again: then there is no column of empty cells.
    let mut text = if told.iter().all(|(_, fate)| fate.is_none()) {
        let rows: Vec<[String; 5]> = told.iter().map(|(finding, _)| row(finding)).collect();
        table(heading, &rows)
    } else {
        let [severity, kind, place, what, suggestion] = heading;
        let rows: Vec<[String; 6]> = told
            .into_iter()
            .map(|(finding, fate)| {
                let [severity, kind, place, what, suggestion] = row(finding);
                [severity, kind, place, what, suggestion, fate.unwrap_or_default()]
            })
            .collect();
        table([severity, kind, place, what, suggestion, "since then"], &rows)
    }?;
    let more = issues.len().saturating_sub(MOST_FINDINGS);
    if more > 0 {
        text.push_str(&format!("\n\nAnd {more} more."));
    }
    Some(text)
}

fn fate_cell(fate: &FindingFollowUp, pages: &RepositoryLinks) -> Option<String> {
    match fate {
        FindingFollowUp::Unknown => None,
        FindingFollowUp::NotRaisedAgain(commit) => {
            Some(format!("not raised again on {}", pages.commit(commit)))
        }
        FindingFollowUp::RaisedAgain(commit) => Some(format!("still there on {}", pages.commit(commit))),
    }
}

/// How much a finding weighs, in a word; what cannot be used stands out.
pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "**critical**",
        Severity::Major | Severity::Minor => severity.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST_BODY;
    use super::super::table::columns;
    use super::*;
    use journeyman_order::Category;
    use journeyman_order::{IssueNumber, PullNumber};

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
        review(&ReviewCommentView {
            note,
            follow_ups: Vec::new(),
            answer: None,
            pages: RepositoryLinks::default(),
        })
    }

    #[test]
    fn what_became_of_a_finding_stands_beside_it_and_places_are_linked() {
        let feedback = Feedback {
            issues: vec![finding("one"), finding("two"), finding("three")],
            ..Feedback::failed(Category::Style, "No.")
        };
        let note = note(Some(feedback));
        let next: CommitSha = "b".repeat(40).parse().unwrap();
        let text = review(&ReviewCommentView {
            note: &note,
            follow_ups: vec![
                FindingFollowUp::NotRaisedAgain(next.clone()),
                FindingFollowUp::RaisedAgain(next),
            ],
            answer: Some("Mended one.\n\nFixes #3, @team".to_owned()),
            pages: RepositoryLinks::by_issue("https://github.com/o/r/issues/7", IssueNumber(7)),
        });
        let (then, now) = ("a".repeat(40), "b".repeat(40));
        let row = |what: &str, fate: &str| {
            format!(
                "| major | logic error | [`src/sum.py:3`](https://github.com/o/r/blob/{then}/src/sum.py#L3) | {what} \
                 | Return \\`0\\`. | {fate} |\n"
            )
        };
        let link = format!("[`bbbbbbbbbb`](https://github.com/o/r/commit/{now})");
        assert!(
            text.ends_with(&format!(
                "| severity | kind | where | what | suggestion | since then |\n|---|---|---|---|---|---|\n{}{}{}\n\
                 **What was done, in the agent's words**\n\n> Mended one.\n>\n> Fixes `#3,` `@team`",
                row("one", &format!("not raised again on {link}")),
                row("two", &format!("still there on {link}")),
                row("three", "")
            )),
            "{text}"
        );
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
            said(&note(Some(feedback))),
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
            said(&note(Some(Feedback::passed("Sound.")))),
            "### ✅ review, round 2: nothing stands against it\n\n\
             by **code\\_reviewer** · on commit `aaaaaaaaaa` · score 1.00\n\n> Sound."
        );
        let text = said(&note(None));
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
