//! Everything shown about an order's end: total functions of (settlement, verdict), all in this file.

use serde::{Deserialize, Serialize};

use super::conversation::CheckRunState;
use super::inconclusive::Inconclusive;
use super::settlement::Settlement;
use super::verdict::Verdict;
use super::words::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderLabel {
    Working,
    NeedsHuman,
    NeedsInfo,
    Done,
    None,
}

/// A receipt's result, in the words of in-toto's test results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AttestationResult {
    /// Every check passed on the commit.
    Passed,
    /// Nothing is known to be wrong, but not everything was verified.
    Warned,
    /// A check failed, or the work ended before every check reported.
    Failed,
}

words!(AttestationResult::word { Passed: "PASSED", Warned: "WARNED", Failed: "FAILED" });

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surfaces {
    /// The state in one word, for lists, the API, the receipt and evaluation records.
    pub outcome: &'static str,
    pub because: Option<String>,
    /// The receipt's verdict in words; `None` during the work, and without a commit.
    pub verdict: Option<&'static str>,
    pub verified: bool,
    pub headline: String,
    /// The heading of the pull request and of the check run's summary.
    pub heading: String,
    pub label: OrderLabel,
    /// The check run's state; `None` keeps the last one.
    pub check: Option<CheckRunState>,
    pub result: AttestationResult,
    /// The exit code of `run` and `demo --once`.
    pub exit_code: u8,
    /// Whether `/retry` can reopen it.
    pub can_be_retried: bool,
    /// Whether a person can accept it as it is, if there is a draft.
    pub can_be_approved: bool,
}

impl Surfaces {
    /// The surfaces of an order with this ending, if any, and this verdict on its commit.
    pub fn of(settled: Option<&Settlement>, verdict: &Verdict) -> Self {
        let verified = is_verified(settled, verdict);
        let (outcome, label, check, exit_code) = outcome(settled, verdict, verified);
        let (words, result, heading) = said_of(verdict, verified);
        let is_of_work = *verdict != Verdict::None;
        let is_accepted = matches!(verdict, Verdict::Verified(_) | Verdict::Approved { .. });
        let is_open = match settled {
            Some(Settlement::Finished { .. }) => !is_accepted,
            None
            | Some(Settlement::Merged { .. } | Settlement::Closed { .. } | Settlement::Refused { .. }) => {
                false
            }
            Some(_) => true,
        };
        Self {
            outcome,
            because: match settled {
                Some(Settlement::Finished { .. }) => verdict.sentence(),
                Some(_) | None => settled.and_then(Settlement::because).map(str::to_owned),
            },
            verdict: (settled.is_some() && is_of_work).then_some(words),
            verified,
            headline: headline(settled, verdict),
            heading,
            label,
            check,
            result,
            exit_code,
            can_be_retried: is_open,
            can_be_approved: is_open
                && is_of_work
                && matches!(settled, Some(Settlement::Finished { .. } | Settlement::Escalated { .. })),
        }
    }
}

impl Surfaces {
    /// The same about somebody else's pull request, which gets no label of ours and needs nobody's approval.
    pub(super) fn of_given_change(self, settled: Option<&Settlement>) -> Self {
        let headline = match settled {
            None => "Journeyman is verifying this".to_owned(),
            // The heading without its sign.
            Some(Settlement::Finished { .. } | Settlement::Escalated { .. }) => {
                self.heading.trim_start_matches(|c: char| !c.is_alphabetic()).to_owned()
            }
            Some(_) => self.headline,
        };
        Self { headline, label: OrderLabel::None, can_be_approved: false, ..self }
    }
}

/// Whether it ended in a way that keeps its verdict valid.
fn is_verified(settled: Option<&Settlement>, verdict: &Verdict) -> bool {
    let stands = matches!(
        settled,
        Some(Settlement::Finished { .. } | Settlement::Merged { .. } | Settlement::Closed { .. })
    );
    stands && matches!(verdict, Verdict::Verified(_))
}

/// The word, label, check run and exit code of an order in this state. Only a verified commit gets exit code 0; a merge
/// without one gets 4.
fn outcome(
    settled: Option<&Settlement>,
    verdict: &Verdict,
    verified: bool,
) -> (&'static str, OrderLabel, Option<CheckRunState>, u8) {
    use OrderLabel::{Done, NeedsHuman, None as Unlabelled, Working};
    let (neutral, failure) = (Some(CheckRunState::Neutral), Some(CheckRunState::Failure));
    let Some(settled) = settled else { return ("working", Working, Some(CheckRunState::InProgress), 1) };
    match settled {
        Settlement::Finished { .. } => match verdict {
            Verdict::Verified(_) => ("verified", Done, Some(CheckRunState::Success), 0),
            Verdict::Approved { .. } => ("approved", Done, neutral, 4),
            Verdict::Inconclusive { why: Inconclusive::Unproven { .. } } => {
                ("unproven", NeedsHuman, neutral, 4)
            }
            Verdict::None => ("unverified", Done, neutral, 4),
            Verdict::Inconclusive { .. } | Verdict::Pending { .. } => ("unverified", NeedsHuman, neutral, 4),
            // The replay already escalates rejected work; repeated here so that both agree.
            Verdict::Rejected { .. } => ("escalated", NeedsHuman, failure, 3),
        },
        Settlement::Escalated { .. } => ("escalated", NeedsHuman, failure, 3),
        Settlement::Blocked { .. } => ("blocked", NeedsHuman, failure, 1),
        Settlement::Failed { .. } => ("failed", NeedsHuman, failure, 1),
        Settlement::Unprepared { .. } => ("unprepared", NeedsHuman, failure, 1),
        Settlement::Cancelled { .. } => ("cancelled", Unlabelled, Some(CheckRunState::Cancelled), 1),
        Settlement::Merged { .. } => ("merged", Unlabelled, None, if verified { 0 } else { 4 }),
        Settlement::Closed { .. } => ("closed", Unlabelled, None, 1),
        Settlement::Refused { .. } => ("refused", Unlabelled, None, 1),
    }
}

/// The fixed words for a commit, the result in its signed statement, and the verdict as a short heading with a leading
/// sign.
fn said_of(verdict: &Verdict, verified: bool) -> (&'static str, AttestationResult, String) {
    use AttestationResult::{Failed, Passed, Warned};
    use Inconclusive::{NotJudged, ProjectNotTested, TestsChanged, Unproven};
    let (words, result, heading) = match verdict {
        Verdict::Verified(caveats) => {
            let heading = format!("✅ Verified{}", caveats.words());
            return if verified { ("verified", Passed, heading) } else { ("not verified", Failed, heading) };
        }
        Verdict::Approved { failed, .. } => (
            "approved by a person, not verified",
            if *failed { Failed } else { Warned },
            "⚠️ Approved by a person, not verified",
        ),
        Verdict::Pending { .. } => ("not verified", Failed, "⏳ Not verified yet"),
        Verdict::Rejected { .. } | Verdict::None => ("not verified", Failed, "❌ Not verified"),
        Verdict::Inconclusive { why: NotJudged { ended: Some(_), .. } } => {
            ("not verified", Failed, "❌ Not verified: the order ended early")
        }
        Verdict::Inconclusive { why: NotJudged { ended: None, .. } } => {
            ("not verified", Failed, "❌ Not verified")
        }
        Verdict::Inconclusive { why: TestsChanged { .. } } => ("not verified", Warned, "❌ Not verified"),
        Verdict::Inconclusive { why: Unproven { .. } } => {
            ("passing, not proven", Warned, "⚠️ Passing, not proven")
        }
        Verdict::Inconclusive { why: ProjectNotTested { .. } } => {
            ("unverified", Warned, "⚠️ Unverified: no test of a project that the change edits ran")
        }
        Verdict::Inconclusive { .. } => ("unverified", Warned, "⚠️ Unverified"),
    };
    (words, result, heading.to_owned())
}

fn headline(settled: Option<&Settlement>, verdict: &Verdict) -> String {
    let Some(settled) = settled else { return "Journeyman is working on this".to_owned() };
    match settled {
        Settlement::Finished { pull } => match verdict {
            Verdict::Verified(caveats) if pull.is_some() => {
                format!("Verified{}: the pull request is ready for review", caveats.words())
            }
            Verdict::Verified(caveats) => format!("Verified{}, nothing published", caveats.words()),
            Verdict::None => "Done, nothing published".to_owned(),
            Verdict::Approved { by, .. } => format!("Approved by {by}, not verified"),
            Verdict::Inconclusive { why: Inconclusive::Unproven { .. } } => "Passing, not proven".to_owned(),
            Verdict::Inconclusive { why: Inconclusive::TestsChanged { .. } } => {
                "Done, but not verified".to_owned()
            }
            Verdict::Inconclusive { why: Inconclusive::ProjectNotTested { .. } } => {
                "Done, but unverified: no test of a project that the change edits ran".to_owned()
            }
            Verdict::Inconclusive { .. } | Verdict::Pending { .. } => "Done, but unverified".to_owned(),
            Verdict::Rejected { .. } => "Needs a person: the best attempt is not verified".to_owned(),
        },
        Settlement::Escalated { .. } => "Needs a person: the best attempt is not verified".to_owned(),
        Settlement::Blocked { .. } => "Blocked: there is no usable attempt".to_owned(),
        Settlement::Failed { .. } => "Failed: something has to be fixed first".to_owned(),
        Settlement::Unprepared { .. } => "Waiting for the repository: its tests cannot run here".to_owned(),
        Settlement::Cancelled { .. } => "Cancelled".to_owned(),
        Settlement::Merged { by, .. } => format!("Merged by {by}"),
        Settlement::Closed { by, .. } => format!("The pull request was closed by {by}"),
        Settlement::Refused { .. } => "Refused".to_owned(),
    }
}

#[cfg(test)]
mod tests;
