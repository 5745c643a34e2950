//! What happened to a case, read from its order's journal and never from what an agent says.

use serde::{Deserialize, Serialize};

use super::replay::{ReplayCase, ReplayVariant};
use crate::order::moves::DiagnosisDecision;
use crate::order::next::OrderProjection;
use crate::order::pipeline::{Check, Stage};
use crate::order::steps::{Step, StepKind, steps};
use crate::order::trace::RoundTrace;
use crate::order::{Category, EffectPart, Journal, Scrutiny, TestCounts};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CaseRecord {
    /// Its name in the suite.
    pub(super) case: String,
    pub(super) title: String,
    pub(super) order: String,
    /// What Journeyman said: `verified`, `escalated` …
    pub(super) outcome: String,
    /// Why, if it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) because: Option<String>,
    pub(super) hidden: HiddenVerdict,
    /// The end of the hidden tests' output, if they did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hidden_output: Option<String>,
    /// Journeyman said verified, but the hidden tests fail.
    pub(super) false_green: bool,
    /// The runs of the stage that the tests judge, in order.
    pub(super) attempts: Vec<Attempt>,
    /// The attempt whose work was verified or handed over, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) taken: Option<u32>,
    /// Dollars for the whole order, all stages included.
    pub(super) usd: f64,
    /// Seconds from opening the order to its end, waiting in the queue included.
    pub(super) seconds: f64,
    /// Tokens read and written.
    pub(super) tokens: [u64; 2],
    /// What a tech lead decided when rounds ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<DiagnosisDecision>,
    /// Dollars for the tech lead's diagnosis.
    pub(super) escalation_usd: f64,
    /// The real fix that was replayed, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replay: Option<ReplayRecord>,
}

impl CaseRecord {
    pub(super) fn is_verified(&self) -> bool {
        self.outcome == "verified"
    }

    /// What is wrong with the result, in words.
    pub(super) fn wrong(&self) -> String {
        let wrong = self.because.as_deref().or(self.hidden_output.as_deref());
        wrong.unwrap_or_default().chars().take(300).collect()
    }
}

/// A replayed real fix, and what was found besides the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReplayRecord {
    pub(super) repository: String,
    pub(super) language: String,
    pub(super) fix: String,
    pub(super) variant: ReplayVariant,
    /// Where the environment comes from; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) environment: Option<String>,
    /// Whether a test failed without the change.
    pub(super) proven: bool,
}

impl ReplayRecord {
    pub(super) fn of(case: &ReplayCase, projection: &OrderProjection) -> Self {
        let scrutiny =
            projection.trace.work.as_ref().and_then(|work| work.tests.as_ref()?.scrutiny.as_deref());
        Self {
            repository: case.fix.repository.to_string(),
            language: case.fix.language.clone(),
            fix: case.fix.fix.clone(),
            variant: case.variant,
            environment: projection.trace.environment.as_ref().map(|report| report.source.clone()),
            proven: scrutiny.is_some_and(Scrutiny::is_shown_by_test),
        }
    }
}

/// What the hidden tests said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HiddenVerdict {
    /// They passed on the resulting commit.
    Passed,
    Failed,
    /// There is no resulting commit, or nothing is hidden.
    NotRun,
}

impl HiddenVerdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotRun => "not run",
        }
    }
}

/// One run of the worker and its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempt {
    /// The worker's run, from 1.
    pub(super) round: u32,
    /// Its number among the attempts before a tech lead's guidance, or among those after it; from 1.
    pub(super) attempt: u32,
    pub(super) guided: bool,
    /// How it ended.
    pub(super) end: AttemptEnd,
    /// Categories of its problems, each once.
    pub(super) kinds: Vec<Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tests: Option<TestCounts>,
    /// Names of failing tests.
    pub(super) failing: Vec<String>,
    pub(super) usd: f64,
    /// Seconds, its checks included.
    pub(super) seconds: f64,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AttemptEnd {
    Passed,
    Failed,
    /// No check failed, but nothing was verified.
    Unverified,
    /// It was cut off before it was judged.
    Unfinished,
}

/// Reads the record of an order. The runner adds the hidden tests' verdict.
pub(super) fn read(case: &str, journal: &Journal, projection: &OrderProjection) -> CaseRecord {
    let opened = journal.opened();
    let trace = &projection.trace;
    let steps = steps(journal);
    let stage = work_stage(journal);
    let last = journal.entries().last().map_or(journal.opened_at(), |entry| entry.at);
    let settled = projection.next.settled.as_ref();
    let shown = projection.surfaces();
    // A tech lead's diagnosis is no attempt.
    let escalations = steps.iter().filter(|step| step.kind == StepKind::Diagnosis);
    let rounds = stage.and_then(|stage| trace.stages.iter().rfind(|seen| seen.name == stage.name));
    let rounds = rounds.map_or(&[][..], |seen| &seen.rounds);
    CaseRecord {
        case: case.to_owned(),
        title: opened.issue.title.clone(),
        order: opened.order.to_string(),
        outcome: settled.map_or("unfinished", |_| shown.outcome).to_owned(),
        because: shown.because,
        hidden: HiddenVerdict::NotRun,
        hidden_output: None,
        false_green: false,
        attempts: stage.map_or_else(Vec::new, |stage| attempts(stage, rounds, &steps)),
        taken: trace.work.as_ref().map(|work| work.round),
        usd: trace.usage.usd,
        seconds: (last - journal.opened_at()).as_seconds_f64().max(0.0),
        tokens: [trace.usage.input_tokens, trace.usage.output_tokens],
        advice: rounds.iter().find_map(advice),
        escalation_usd: escalations.fold(0.0, |sum, step| sum + step.usage.usd),
        replay: None,
    }
}

/// The stage whose attempts count: the one that the tests judge.
fn work_stage(journal: &Journal) -> Option<&Stage> {
    let with =
        |check: Check| journal.pipeline().stages.iter().find(move |stage| stage.checks.contains(&check));
    with(Check::Tests).or_else(|| with(Check::PushedCommit))
}

/// What a tech lead decided after this round.
fn advice(round: &RoundTrace) -> Option<DiagnosisDecision> {
    round.diagnosis.as_ref().map(|diagnosis| diagnosis.decision)
}

fn attempts(stage: &Stage, rounds: &[RoundTrace], steps: &[Step]) -> Vec<Attempt> {
    let has_tests = stage.checks.contains(&Check::Tests);
    let mut attempts = Vec::new();
    // The round after which guidance was given.
    let mut advised: Option<u32> = None;
    let is_worker = |step: &&Step| {
        step.kind == StepKind::Agent && step.stage == stage.name && step.key.part() == EffectPart::Worker
    };
    for round in rounds {
        let step = steps.iter().filter(is_worker).find(|step| step.round == Some(round.round));
        let mut kinds = Vec::new();
        for finding in round.feedback.iter().flat_map(|feedback| &feedback.issues) {
            if !kinds.contains(&finding.category) {
                kinds.push(finding.category);
            }
        }
        attempts.push(Attempt {
            round: round.round,
            attempt: round.round.saturating_sub(advised.unwrap_or(0)),
            guided: advised.is_some(),
            end: end(round, has_tests),
            kinds,
            tests: round.tests.as_ref().and_then(|tests| tests.counts),
            failing: round.tests.as_ref().map(|tests| tests.failing.clone()).unwrap_or_default(),
            usd: step.map_or(0.0, |step| step.usage.usd),
            seconds: step.and_then(|step| step.duration_seconds).unwrap_or_default(),
        });
        if advice(round) == Some(DiagnosisDecision::Guide) {
            advised = Some(round.round);
        }
    }
    attempts
}

fn end(round: &RoundTrace, has_tests: bool) -> AttemptEnd {
    match (&round.feedback, &round.tests) {
        (Some(_), _) => AttemptEnd::Failed,
        (None, Some(tests)) if tests.verdict.is_pass() && tests.doubt.is_none() => AttemptEnd::Passed,
        (None, Some(_)) => AttemptEnd::Unverified,
        (None, None) if !has_tests && round.commit.is_some() => AttemptEnd::Unverified,
        (None, None) => AttemptEnd::Unfinished,
    }
}
