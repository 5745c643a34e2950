//! The check run's output: the receipt on the commit, and open findings on their lines.

use super::headline;
use super::pages::{FileLocation, RepositoryLinks};
use super::receipt::ReceiptSource;
use super::text::{brief, passing, visible};
use journeyman_order::bounds::{LONGEST_NAME, LONGEST_TEXT};
use journeyman_order::conversation::{AnnotationLevel, CheckAnnotation, CheckRunOutput, CheckRunState};
use journeyman_order::findings::existing_tests_changed;
use journeyman_order::length::{fit, shorten};
use journeyman_order::next::OrderProjection;
use journeyman_order::{CommitSha, Finding, Journal, Severity};

/// GitHub's limit for a check run's summary.
const LONGEST_SUMMARY: usize = 65_535;

/// The output of the check run on a commit. There is nothing to show for a commit other than the one that is or will be
/// published.
pub fn check(
    journal: &Journal,
    projection: &OrderProjection,
    head: &CommitSha,
    state: CheckRunState,
) -> CheckRunOutput {
    if state == CheckRunState::Superseded {
        return superseded(journal, projection);
    }
    let work = projection.trace.work.as_ref().filter(|work| work.commit == *head);
    let receipt = work.and_then(|_| ReceiptSource::of(journal, projection));
    let findings: &[Finding] =
        work.and_then(|work| work.review.as_ref()).map_or(&[], |review| &review.issues);
    let changed = work.map_or(&[][..], |work| &work.changed);
    let mut annotations: Vec<CheckAnnotation> =
        findings.iter().filter_map(|finding| annotation(finding, changed)).collect();
    annotations.sort_by_key(|annotation| annotation.level);
    let title = title(projection, state, receipt.as_ref(), findings.len());
    CheckRunOutput {
        title: shorten(&bare(&title), LONGEST_NAME),
        summary: fit(&summary(journal, projection, head, receipt.as_ref()), LONGEST_SUMMARY),
        annotations,
    }
}

fn superseded(journal: &Journal, projection: &OrderProjection) -> CheckRunOutput {
    let by = projection.trace.pushed.as_ref().map(|head| RepositoryLinks::of(journal).commit(head));
    let by = by.map_or_else(|| "a newer commit".to_owned(), |commit| format!("commit {commit}"));
    CheckRunOutput {
        title: "Superseded by a newer commit".to_owned(),
        summary: format!(
            "The branch is at {by} now. Its check run says what was verified. This commit was not verified."
        ),
        annotations: Vec::new(),
    }
}

/// While in progress, where the order stands; afterwards the outcome and its grounds.
fn title(
    projection: &OrderProjection,
    state: CheckRunState,
    receipt: Option<&ReceiptSource<'_>>,
    open: usize,
) -> String {
    let is_over = matches!(state, CheckRunState::Success | CheckRunState::Neutral | CheckRunState::Failure);
    let told = receipt.filter(|_| is_over).and_then(|receipt| Some((receipt, receipt.counts()?)));
    let Some((receipt, counts)) = told else { return headline(projection) };
    let findings = match open {
        0 => String::new(),
        1 => ", 1 finding is open".to_owned(),
        _ => format!(", {open} findings are open"),
    };
    // GitHub shows its own sign before the title.
    let heading = projection.surfaces().heading;
    let verdict = heading.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let changed = match receipt.scrutiny().map_or(&[][..], |scrutiny| scrutiny.changed_tests.as_slice()) {
        [] => String::new(),
        tests => format!("; {}", existing_tests_changed(tests)),
    };
    format!("{verdict}{changed}: {}{findings}", passing(counts))
}

fn summary(
    journal: &Journal,
    projection: &OrderProjection,
    head: &CommitSha,
    receipt: Option<&ReceiptSource<'_>>,
) -> String {
    let because = projection.surfaces().because.filter(|text| !text.trim().is_empty());
    let because = because.map(|text| brief(&text, 2_000));
    let mut parts = Vec::new();
    match receipt {
        Some(receipt) => {
            let evidence = receipt.evidence();
            // Skipped if the verdict already quotes it.
            let because = because.filter(|text| !evidence.contains(text.as_str()));
            parts.push(evidence);
            parts.extend(because);
            parts.extend(receipt.packages());
            parts.push(receipt.details(None));
        }
        None => {
            parts.push(format!("### {}", brief(&headline(projection), 200)));
            parts.extend(because);
            let commit = RepositoryLinks::of(journal).commit(head);
            parts.push(format!("There are no results for commit {commit} yet."));
        }
    }
    parts.join("\n\n")
}

/// A finding on a line of the change. Findings without a line, or on other files, are in the summary only.
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
        title: shorten(&format!("{}: {}", finding.severity.as_str(), bare(&description)), LONGEST_NAME),
        message: shorten(&message, LONGEST_TEXT),
    })
}

/// The visible text on one line.
fn bare(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The visible text. A message must not be empty.
fn bare_lines(text: &str) -> String {
    visible(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{finding, journal, projection, published, tested};
    use journeyman_order::conversation::CheckRunState;
    use journeyman_order::trace::StageState;
    use journeyman_order::verdict::VerifiedCaveats;
    use journeyman_order::{Feedback, PullNumber, Settlement, Verdict};

    fn at(severity: Severity, place: &str) -> Finding {
        let suggestion = Some("Return 0.".to_owned());
        Finding { severity, suggestion, ..finding("`sum([])` is\u{200b} wrong\nsays @team", place) }
    }

    fn reviewed(issues: Vec<Finding>) -> OrderProjection {
        let mut trace = published(StageState::Passed);
        let work = trace.work.as_mut().unwrap();
        work.tests = Some(tested());
        work.changed = vec!["src/sum.py".to_owned()];
        work.review = Some(Feedback { issues, ..Feedback::passed("Sound.") });
        OrderProjection { verdict: Verdict::Verified(VerifiedCaveats::default()), ..projection(trace, None) }
    }

    fn said(projection: &OrderProjection, state: CheckRunState) -> CheckRunOutput {
        let head = "a".repeat(40).parse().unwrap();
        check(&journal(Vec::new()), projection, &head, state)
    }

    #[test]
    fn the_receipt_stands_beside_the_commit_and_findings_on_their_lines() {
        let projection = reviewed(vec![
            at(Severity::Minor, "src/sum.py:3"),
            at(Severity::Critical, "src/sum.py:9:1"),
            at(Severity::Major, "docs/other.md:1"),
            at(Severity::Major, "tests of sums"),
        ]);
        let text = said(&projection, CheckRunState::Success);
        assert_eq!(text.title, "Verified: 24 of 24 tests pass, 4 findings are open");
        assert!(
            text.summary
                .starts_with("### ✅ Verified\n\n- **What ran:** `pytest -q`, exit code 0: 24 passed"),
            "{text:?}"
        );
        assert!(text.summary.contains("**What was not verified**") && text.summary.ends_with("</details>"));
        let places: Vec<(&str, u64, AnnotationLevel)> =
            text.annotations.iter().map(|one| (one.path.as_str(), one.line, one.level)).collect();
        assert_eq!(
            places,
            [("src/sum.py", 9, AnnotationLevel::Failure), ("src/sum.py", 3, AnnotationLevel::Notice)]
        );
        assert_eq!(text.annotations[0].title, "critical: `sum([])` is wrong says @team");
        assert_eq!(text.annotations[0].message, "`sum([])` is wrong\nsays @team\n\nSuggestion: Return 0.");
    }

    #[test]
    fn while_nothing_is_known_of_the_commit_nothing_is_said_of_it() {
        let mut projection = reviewed(Vec::new());
        projection.trace.work = None;
        let by = format!("@mona{}", " on it".repeat(40));
        projection.next.settled = Some(Settlement::Merged { pull: PullNumber(12), by });
        let text = said(&projection, CheckRunState::InProgress);
        assert!(text.title.chars().count() <= LONGEST_NAME && text.title.ends_with('…'), "{}", text.title);
        assert!(text.summary.starts_with("### Merged by `@mona` on it") && !text.summary.contains("✅"));
        assert!(
            text.summary.contains("There are no results for commit [`aaaaaaaaaa`]")
                && text.annotations.is_empty()
        );
    }

    #[test]
    fn why_a_commit_is_not_verified_is_said_once() {
        let mut projection = reviewed(Vec::new());
        let because = "The empty list is not handled. (tried 3 times)".to_owned();
        projection.next.settled = Some(Settlement::Escalated { pull: None, because: because.clone() });
        for verdict in
            [Verdict::Rejected { why: because.clone() }, Verdict::Verified(VerifiedCaveats::default())]
        {
            projection.verdict = verdict;
            let text = said(&projection, CheckRunState::Failure).summary;
            assert_eq!(text.matches("The empty list").count(), 1, "{text}");
        }
    }

    #[test]
    fn a_commit_that_was_replaced_says_so_and_leads_to_the_one_that_replaced_it() {
        let mut projection = reviewed(vec![at(Severity::Critical, "src/sum.py:9")]);
        projection.trace.pushed = Some("b".repeat(40).parse().unwrap());
        let text = said(&projection, CheckRunState::Superseded);
        assert_eq!(text.title, "Superseded by a newer commit");
        assert!(text.summary.contains("at commit [`bbbbbbbbbb`]") && text.annotations.is_empty(), "{text:?}");
    }

    #[test]
    fn whatever_is_found_it_fits() {
        let long = "x @y fixes #3 `|\n".repeat(500);
        let mut all = at(Severity::Major, "src/sum.py:1");
        (all.description, all.suggestion) = (long.clone(), Some(long.clone()));
        let mut issues = vec![all; 200];
        issues[0].description = "x @y fixes #3 `|\n".repeat(5_000);
        let mut projection = reviewed(issues);
        projection.next.settled = Some(Settlement::Escalated { pull: None, because: long.clone() });
        projection.verdict = Verdict::Rejected { why: long };
        let text = said(&projection, CheckRunState::Failure);
        assert!(
            text.summary.chars().count() <= LONGEST_SUMMARY && text.title.chars().count() <= LONGEST_NAME
        );
        assert!(text.summary.ends_with("</details>"));
        assert_eq!(text.annotations.len(), 200);
        assert!(text.annotations.iter().all(|one| one.message.chars().count() <= LONGEST_TEXT));
        assert!(!text.summary.contains(" fixes #3"));
    }
}
