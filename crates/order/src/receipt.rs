//! The published verdict: what was verified, on which commit, with what result and cost. Each line names its evidence,
//! and states what was not verified as plainly.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::agent_run::AgentUsage;
use super::effect_name::{EffectScope, ReservedWord};
use super::feedback::Feedback;
use super::findings::FindingKind as Fact;
use super::findings::{FindingBearing, FindingLine, VerdictFinding, findings, gap, of, of_review};
use super::ids::{BranchName, CommitSha, IssueNumber, OrderId, PullNumber, RepositoryName, TreeSha};
use super::journal::{Journal, JournalEvent};
use super::moves::{EffectOutcome, MoveKey};
use super::network::NetworkRefusal;
use super::next::OrderProjection;
use super::replay::signal_log::SignalAnswer;
use super::settings::AcceptedRun;
use super::surfaces::AttestationResult;
use super::test_run::TestCounts;
use super::trace::CiTrace;
use super::verdict::{Verdict, VerifiedCaveats};
use crate::bounds::{LONGEST_TEXT, MOST_LISTED};
use crate::length::shorten;

pub use super::test_run::TestEvidence;

/// What was verified. Made from the journal alone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Receipt {
    /// The form of this record.
    pub version: u32,
    pub order: OrderId,
    pub repository: RepositoryName,
    pub issue: IssueNumber,
    /// The pipeline and its version.
    pub pipeline: String,
    /// The agent that was chosen for this order, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The branch that was chosen for this order, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// How the order stands: `working`, or how it ended.
    pub outcome: &'static str,
    /// Why, when it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Whether every check passed on `commit`.
    pub verified: bool,
    /// The same in words: `verified`, `unverified`, `passing, not proven`, `not verified`, `approved by a person, not
    /// verified`; none while
    /// it is at work, and where there is no commit.
    pub verdict: Option<&'static str>,
    /// What the signed statement of it comes to.
    #[serde(skip)]
    pub result: AttestationResult,
    /// Who accepted it as it is, where a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    pub branch: Option<BranchName>,
    pub pull_request: Option<PullNumber>,
    /// The commit that the work starts from.
    pub base: Option<CommitSha>,
    /// The commit that was tested and published.
    pub commit: Option<CommitSha>,
    pub tree: Option<TreeSha>,
    /// Whether the remote was asked and has `commit` on `branch`.
    pub on_remote: bool,
    /// The run of the tests on `commit`.
    pub tests: Option<TestEvidence>,
    /// What people read about `commit`: five lines, then their details.
    pub findings: Vec<VerdictFinding>,
    /// What the verifier said of `commit`; none where none was asked.
    pub review: Option<Feedback>,
    /// Every round of every stage whose work was checked.
    pub rounds: Vec<ReceiptRound>,
    /// Tokens and dollars, as the agents say.
    pub usage: AgentUsage,
    /// Seconds from the opening to what ended the work.
    pub seconds: i64,
    /// What agents were kept from on the network, as the door saw it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<ReceiptRefusal>,
    /// Credentials that an agent's program had to hold itself, inside its sandbox; all others stayed outside.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub held: BTreeSet<String>,
    /// What went another way than asked.
    pub notes: Vec<String>,
}

/// Something that an agent was kept from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReceiptRefusal {
    pub run: MoveKey,
    #[serde(flatten)]
    pub refused: NetworkRefusal,
}

/// One round, in a line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReceiptRound {
    pub stage: String,
    /// From 1.
    pub round: u32,
    /// The commit made of what was pushed; none when nothing was.
    pub commit: Option<CommitSha>,
    pub counts: Option<TestCounts>,
    /// Whether its checks passed.
    pub passed: bool,
    /// From 0 to 1, where a verifier gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What the failing check said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What was odd about the agent's run and did no harm.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Receipt {
    /// The receipt of an order in its current state.
    pub fn of(journal: &Journal, projection: &OrderProjection) -> Self {
        let opened = journal.opened();
        let trace = &projection.trace;
        let work = trace.work.as_ref();
        let on_remote = work.is_some_and(|work| trace.pushed.as_ref() == Some(&work.commit));
        let shown = projection.surfaces();
        let approved_by =
            if let Verdict::Approved { by, .. } = &projection.verdict { Some(by.clone()) } else { None };
        Self {
            version: 1,
            order: opened.order,
            repository: opened.repository.clone(),
            issue: opened.issue.number,
            pipeline: format!("{} v{}", journal.pipeline().name, journal.pipeline().version),
            agent: trace.request.agent().map(str::to_owned),
            base_branch: trace.request.base().map(str::to_owned),
            outcome: shown.outcome,
            because: shown.because,
            verified: shown.verified,
            verdict: shown.verdict,
            result: shown.result,
            approved_by,
            // The order's own name for somebody's branch is on no server.
            branch: trace.branch.clone().filter(|_| opened.adopted_branch().is_none()),
            pull_request: trace.pull.as_ref().map(|pull| pull.number),
            base: trace.base.clone(),
            commit: work.map(|work| work.commit.clone()),
            tree: work.map(|work| work.tree.clone()),
            on_remote,
            tests: work.and_then(|work| work.tests.as_ref()).map(TestEvidence::of),
            findings: findings_of(journal, projection),
            review: work.and_then(|work| work.review.clone()),
            rounds: round_lines(projection),
            usage: trace.usage,
            seconds: (said_at(journal, projection) - journal.opened_at()).num_seconds(),
            refused: refused(journal),
            held: held(journal),
            notes: trace.notes.clone(),
        }
    }
}

/// The findings about the work of an order; empty while there is none.
pub fn findings_of(journal: &Journal, projection: &OrderProjection) -> Vec<VerdictFinding> {
    let trace = &projection.trace;
    let Some(work) = &trace.work else { return Vec::new() };
    let mut beside = of_review(work.review.as_ref());
    beside.extend(work.review.as_ref().and_then(|_| not_shown(&work.patch)));
    if let Some(tests) = work.tests.as_ref().filter(|tests| tests.is_accepted_red()) {
        let failing = match tests.counts.map(|counts| counts.failed) {
            Some(0) => "No test fails, but the command does, as on the base commit.".to_owned(),
            Some(failed) => format!("All failing tests ({failed}) fail on the base commit as well."),
            None => "All failing tests fail on the base commit as well.".to_owned(),
        };
        let accepted = of(FindingLine::WhatRan, Fact::RedAccepted).text(failing).bears(FindingBearing::Open);
        let accept = journal.prepared().map(|prepared| prepared.settings.accept);
        beside.push(match accept == Some(AcceptedRun::NoNewFailures) {
            true => accepted.text(" This repository accepts that: ").code("by", "accept: no_new_failures"),
            false => accepted.text(
                " Neither issue nor statement is about a failing test, and all that the examiner says of the change holds.",
            ),
        });
    }
    if let Verdict::Verified(VerifiedCaveats { not_examined: true, .. }) = &projection.verdict {
        let said =
            "The issue, sentence by sentence: no statement of somebody who never saw the change holds.";
        beside.push(gap(Fact::NotExamined, "the issue, sentence by sentence").text(said));
    }
    match trace.ci.as_ref().filter(|checks| checks.commit == work.commit).and_then(github_checks) {
        Some(checks) => beside.push(checks),
        // A repository outside GitHub has no checks there.
        None if journal.opened().issue.url.starts_with("http") => {
            let said = "The repository's own checks on GitHub: none had reported when this was written.";
            beside.push(gap(Fact::NoGithubChecks, "the repository's own checks on GitHub").text(said));
        }
        None => {}
    }
    let notes = trace.environment.iter().flat_map(|report| &report.notes);
    beside.extend(
        notes.map(|note| gap(Fact::EnvironmentNote, "notes on the environment").foreign("note", note)),
    );
    findings(work.tests.as_ref().map(TestEvidence::of).as_ref(), beside)
}

/// What a reviewer was not shown of a large change. The patch has a line in brackets for each omission.
fn not_shown(patch: &str) -> Option<VerdictFinding> {
    let omission = |line: &str| Some(line.strip_prefix('[')?.strip_suffix(']')?.to_owned());
    // The last one tells of the most.
    let omitted: Vec<String> = patch.lines().rev().filter_map(omission).collect();
    let said = gap(Fact::ReviewedInPart, "parts of a change that is larger than a reviewer is shown")
        .text("The review of all of the change, which is larger than Journeyman shows a reviewer: ")
        .foreign("left_out", &shorten(&omitted.join("; "), LONGEST_TEXT));
    (!omitted.is_empty()).then(|| said.bears(FindingBearing::Open))
}

/// `None` until one reports.
fn github_checks(checks: &CiTrace) -> Option<VerdictFinding> {
    let mut said = of(FindingLine::WhatRan, Fact::GithubChecks).value("passed", checks.passed);
    said = said.text(format!("The repository's own checks on GitHub: {} passed", checks.passed));
    let mut reported = checks.passed > 0;
    for (key, what, names) in [
        ("failing", "failed", &checks.failing),
        ("failing_on_base", "failed here and on the base", &checks.failing_on_base),
        ("pending", "pending", &checks.pending),
    ] {
        if !names.is_empty() {
            reported = true;
            said = said.text(format!("; {what}: ")).names(key, names);
        }
    }
    reported.then(|| said.bears_if(!checks.failing.is_empty(), FindingBearing::Against))
}

/// A receipt's timestamp: after the work has ended, that of the entry that ended it. Later entries that only add notes
/// or change nothing do not make a new receipt.
pub fn said_at(journal: &Journal, projection: &OrderProjection) -> DateTime<Utc> {
    let has_ended = projection.next.settled.is_some();
    let is_taken = |seq: u64| {
        projection.answers.iter().any(|told| told.signal == seq && told.answer == SignalAnswer::Taken)
    };
    let counts = |event: &JournalEvent, seq: u64| match event {
        JournalEvent::Opened(_) => true,
        JournalEvent::Signaled { .. } => is_taken(seq),
        JournalEvent::Intended { .. } => false,
        JournalEvent::Observed { key, outcome } => match key.scope() {
            EffectScope::Stage(_) => true,
            // A mere read changes nothing.
            EffectScope::Beside(ReservedWord::Answer) => !matches!(**outcome, EffectOutcome::PullRead(_)),
            EffectScope::Beside(word) => matches!(
                word,
                ReservedWord::CommitMessage
                    | ReservedWord::Environment
                    | ReservedWord::IssueText
                    | ReservedWord::Preflight
                    | ReservedWord::Prepare
            ),
        },
    };
    let last = journal.entries().iter().rev().find(|entry| !has_ended || counts(&entry.event, entry.seq));
    last.map_or(journal.opened_at(), |entry| entry.at)
}

/// Network access that agents were refused, up to a limit.
pub fn refused(journal: &Journal) -> Vec<ReceiptRefusal> {
    let each = journal.whole().runs().filter_map(|(_, run, ran)| Some((run, ran.network.as_ref()?)));
    each.flat_map(|(run, record)| {
        record.refused.iter().map(|refused| ReceiptRefusal { run: run.clone(), refused: refused.clone() })
    })
    .take(MOST_LISTED)
    .collect()
}

/// Variables whose credentials agents' programs had to hold themselves.
pub fn held(journal: &Journal) -> BTreeSet<String> {
    journal.whole().runs().flat_map(|(_, _, run)| run.held.iter().cloned()).collect()
}

fn round_lines(projection: &OrderProjection) -> Vec<ReceiptRound> {
    let mut lines = Vec::new();
    for stage in &projection.trace.stages {
        for round in &stage.rounds {
            let checked = round.commit.is_some() || round.tests.is_some() || round.review.is_some();
            if !checked && round.feedback.is_none() && round.warnings.is_empty() {
                continue;
            }
            lines.push(ReceiptRound {
                stage: stage.name.clone(),
                round: round.round,
                commit: round.commit.clone(),
                counts: round.tests.as_ref().and_then(|tests| tests.counts),
                passed: round.feedback.is_none(),
                score: round.review.as_ref().map(|review| review.score),
                because: round.feedback.as_ref().map(|feedback| feedback.summary.clone()),
                warnings: round.warnings.clone(),
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_larger_than_a_reviewer_is_shown_names_what_was_left_out() {
        let small = "diff --git a/t b/t\n@@ -1,2 +1,2 @@\n-[old]\n+[new]\n [same]\n";
        assert_eq!(not_shown(small), None);
        let large = format!(
            "{small}[changed, not compared: data.json has 20000000 bytes]\n\
             [cut at 60000 characters; left out: the rest of a.py and 4998 files: b.py, c.py …]\n"
        );
        let said = not_shown(&large).unwrap();
        assert_eq!(
            said.sentence.to_string(),
            "The review of all of the change, which is larger than Journeyman shows a reviewer: cut at 60000 characters; \
             left out: the rest of a.py and 4998 files: b.py, c.py …; changed, not compared: data.json has 20000000 bytes"
        );
        assert_eq!(said.gap.as_deref(), Some("parts of a change that is larger than a reviewer is shown"));
    }
}
