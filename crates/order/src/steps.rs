//! A journal as steps, for the API and the dashboard.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::agent_run::AgentUsage;
use super::artifact::{ArtifactRecord, ArtifactTestResult, CodeArtifact};
use super::checks::{CheckEvidence, CheckResult, of_import, of_review, of_tests};
use super::effect_name::EffectPart;
use super::ids::CommitSha;
use super::journal::{Journal, JournalEvent};
use super::moves::{EffectOutcome, Move, MoveKey, Retry};
use super::pipeline::{Check, Stage, StageOutput};

/// A unit of work: an agent's round with its checks, or an effect of a built-in worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The effect that started it.
    pub key: MoveKey,
    /// The stage or operation.
    pub stage: String,
    pub kind: StepKind,
    /// The agent's name in the settings; `None` for built-in work.
    pub agent: Option<String>,
    /// Which run of the stage's worker, from 1; `None` outside rounds.
    pub round: Option<u32>,
    /// Whether it succeeded; `None` while it runs.
    pub success: Option<bool>,
    /// The clean text, never the stream; `None` without a result.
    pub result: Option<String>,
    pub checks: Vec<CheckResult>,
    /// Why the work itself failed; objections to its result are in the checks.
    pub error: Option<String>,
    pub session_id: Option<String>,
    pub started_at: DateTime<Utc>,
    /// Until the last observation, checks included; `None` before any.
    pub duration_seconds: Option<f64>,
    pub usage: AgentUsage,
    /// Harmless oddities of the run, such as a template placeholder without an argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Names of artifacts, including those of its checks.
    pub artifacts: Vec<String>,
    /// The code artifact in its answer, with our test run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_artifact: Option<ArtifactRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    Prepare,
    Agent,
    /// A verifier judged an agent's round; its feedback is a check of that round.
    Review,
    /// An agent diagnosed a stage whose checks ran out.
    Diagnosis,
    FindFiles,
    /// An imported commit, if no agent's round has it as a check.
    Import,
    /// The commit to publish, if no agent's round has it.
    Commit,
    /// A test run, if no agent's round has it as a check.
    Tests,
    /// A code artifact was written, committed and pushed for the agent; part of its round.
    WriteArtifact,
    Archive,
    Push,
    OpenPull,
    FinishPull,
    Preflight,
    PrepareEnvironment,
    ReadPull,
    FetchChange,
    TakeIn,
    UpdateBranch,
}

/// The steps of an order, by first intent. Authorizations and the status comment are not work, so only the journal has
/// them.
pub fn steps(journal: &Journal) -> Vec<Step> {
    let mut fold = StepBuilder { journal, steps: Vec::new(), places: BTreeMap::new() };
    for entry in journal.entries() {
        match &entry.event {
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            JournalEvent::Intended { key, r#move } => fold.intend(key, r#move, entry.at),
            JournalEvent::Observed { key, outcome } => fold.observe(key, outcome, entry.at),
        }
    }
    // A step with a failed check has failed, whatever entries follow.
    for step in &mut fold.steps {
        if step.checks.iter().any(|check| !check.feedback.passed) {
            step.success = Some(false);
        }
    }
    fold.steps
}

struct StepBuilder<'a> {
    journal: &'a Journal,
    steps: Vec<Step>,
    /// The index in `steps` for each effect; the effects of a round share a step.
    places: BTreeMap<&'a MoveKey, usize>,
}

impl<'a> StepBuilder<'a> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what is only said, and what is only asked, is no step"
    )]
    fn intend(&mut self, key: &'a MoveKey, intended: &Move, at: DateTime<Utc>) {
        // A retry of the same effect is the same step.
        if self.places.contains_key(key) {
            return;
        }
        let (kind, is_of_round) = match intended {
            Move::Preflight => (StepKind::Preflight, false),
            Move::PrepareEnvironment => (StepKind::PrepareEnvironment, false),
            Move::ReadPull { .. } => (StepKind::ReadPull, false),
            Move::FetchChange { .. } => (StepKind::FetchChange, false),
            Move::TakeIn { .. } => (StepKind::TakeIn, false),
            Move::UpdateBranch { .. } => (StepKind::UpdateBranch, false),
            Move::WriteArtifact { .. } => (StepKind::WriteArtifact, true),
            Move::Archive { .. } => (StepKind::Archive, false),
            Move::Prepare => (StepKind::Prepare, false),
            Move::RunAgent(_) => match key.part() {
                EffectPart::Verifier => (StepKind::Review, false),
                EffectPart::Diagnosis => (StepKind::Diagnosis, false),
                EffectPart::Worker | EffectPart::Other(_) => (StepKind::Agent, false),
            },
            Move::FindFiles { .. } => (StepKind::FindFiles, false),
            Move::Import { .. } => (StepKind::Import, true),
            Move::Commit { .. } => (StepKind::Commit, true),
            Move::RunTests { .. } => (StepKind::Tests, true),
            Move::Push { .. } => (StepKind::Push, false),
            Move::OpenPull { .. } => (StepKind::OpenPull, false),
            Move::FinishPull { .. } => (StepKind::FinishPull, false),
            _ => return,
        };
        let (mut stage, mut round) = (key.stage().to_owned(), key.number().filter(|_| is_of_round));
        let worker = self
            .steps
            .iter()
            .rposition(|step| is_of_round && step.kind == StepKind::Agent && step.key.round() == key.round());
        let mut agent = None;
        if let Move::RunAgent(task) = intended {
            stage.clone_from(&task.stage);
            round = Some(task.round);
            agent = Some(task.agent.clone());
        }
        let place = worker.unwrap_or_else(|| {
            self.steps.push(Step {
                key: key.clone(),
                stage,
                kind,
                agent,
                round,
                success: None,
                result: None,
                checks: Vec::new(),
                error: None,
                session_id: None,
                started_at: at,
                duration_seconds: None,
                usage: AgentUsage::default(),
                warnings: Vec::new(),
                artifacts: Vec::new(),
                code_artifact: None,
            });
            self.steps.len() - 1
        });
        self.places.insert(key, place);
    }

    fn observe(&mut self, key: &MoveKey, outcome: &EffectOutcome, at: DateTime<Utc>) {
        let Some(step) = self.places.get(key).and_then(|place| self.steps.get_mut(*place)) else { return };
        let micros = at.signed_duration_since(step.started_at).num_microseconds().unwrap_or(i64::MAX);
        step.duration_seconds = Some((micros.max(0) as f64) / 1e6);
        step.error = None;
        let is_own = step.key == *key;
        match outcome {
            EffectOutcome::Authorized { .. }
            | EffectOutcome::StatusShown { .. }
            | EffectOutcome::ReviewShown
            | EffectOutcome::IssueRead { .. }
            | EffectOutcome::ArtifactWritten
            | EffectOutcome::Done => {}
            EffectOutcome::Preflighted { problems, .. } if problems.is_empty() => step.end_well(None),
            EffectOutcome::Preflighted { problems, .. } => step.fail(problems.join("\n")),
            EffectOutcome::EnvironmentPrepared(report) => match &report.problem {
                None => step.end_well(Some(report.source.clone())),
                Some(problem) => step.fail(problem.told()),
            },
            EffectOutcome::PullRead(reading) => step.end_well(Some(reading.head.to_string())),
            EffectOutcome::TakenIn { commit, .. } | EffectOutcome::BranchUpdated { commit, .. } => {
                step.end_well(Some(commit.to_string()));
            }
            EffectOutcome::Conflicted { paths, .. } => {
                step.result = Some(paths.join("\n"));
                step.success = Some(false);
            }
            EffectOutcome::BudgetSpent { because } => step.fail(because.clone()),
            EffectOutcome::Archived { artifacts } => {
                step.add_artifacts(artifacts);
                step.end_well(None);
            }
            EffectOutcome::Prepared(prepared) => step.end_well(Some(prepared.base.to_string())),
            EffectOutcome::AgentRan(run) => {
                step.result.clone_from(&run.result);
                step.session_id.clone_from(&run.session_id);
                step.usage = run.usage;
                step.warnings.clone_from(&run.warnings);
                step.add_artifacts(&run.artifacts);
                let stage = self.journal.pipeline().stage(&step.stage);
                let writes_files = step.kind == StepKind::Agent
                    && stage.is_some_and(|stage| stage.output == Some(StageOutput::CodeArtifact));
                if let (true, Some(Ok(artifact))) =
                    (writes_files, run.result.as_deref().map(CodeArtifact::parse))
                {
                    let attempt = self.journal.whole().intended(key).find_map(|(_, intended)| {
                        let Move::RunAgent(task) = intended else { return None };
                        task.rework.as_ref().map(|rework| rework.attempt)
                    });
                    step.code_artifact = Some(ArtifactRecord::of(&artifact, attempt.unwrap_or(1)));
                }
                step.error = run.failure.as_ref().map(|failure| failure.message.clone());
                let checks = if step.kind == StepKind::Agent { stage.map_or(0, checks_of) } else { 0 };
                // Later checks decide: an agent that ran out of turns may have done the work.
                step.success = (run.failure.is_some() || checks == 0).then_some(run.failure.is_none());
                if step.kind == StepKind::Review
                    && let Some(check) =
                        run.result.as_deref().and_then(|said| of_review(said, key.verifier_role()))
                {
                    self.judge_round(key, check);
                }
            }
            EffectOutcome::FilesFound { files, .. } => {
                step.result = (!files.is_empty()).then(|| files.join("\n"));
                step.success = Some(!files.is_empty());
            }
            EffectOutcome::Imported { .. }
            | EffectOutcome::NothingPushed { .. }
            | EffectOutcome::ImportRefused(_) => {
                for check in of_import(outcome) {
                    self.judge(key, check);
                }
            }
            EffectOutcome::Committed { commit, .. } if is_own => step.end_well(Some(commit.to_string())),
            EffectOutcome::Committed { commit, .. } => step.note_commit(commit),
            EffectOutcome::Tested(run) => {
                step.add_artifacts(&run.artifacts);
                if let Some(artifact) = &mut step.code_artifact {
                    artifact.test_result = Some(ArtifactTestResult::from(&**run));
                }
                self.judge(key, of_tests(run));
            }
            EffectOutcome::Pushed
            | EffectOutcome::PullFinished
            | EffectOutcome::UpToDate
            | EffectOutcome::ChangeFetched { .. } => step.end_well(None),
            EffectOutcome::BranchTaken { at } => {
                let head = at.as_ref().map_or_else(|| "gone".to_owned(), |at| format!("at {}", at.short()));
                step.fail(format!("the branch is {head}, and that is not ours to overwrite"));
            }
            EffectOutcome::PushDeclined { because } => step.fail(format!("the push was declined: {because}")),
            EffectOutcome::PullOpened { url, .. } => step.end_well(Some(url.clone())),
            EffectOutcome::Trouble(trouble) => {
                step.error = Some(trouble.message.clone());
                step.success = (trouble.retry == Retry::Never).then_some(false);
            }
        }
    }

    /// Adds a verifier's feedback to the round that it judged, or to its own step if no worker ran.
    fn judge_round(&mut self, key: &MoveKey, check: CheckResult) {
        let worker =
            self.steps.iter().find(|step| step.kind == StepKind::Agent && step.key.round() == key.round());
        match worker.map(|step| step.key.clone()) {
            Some(worker) => self.judge(&worker, check),
            None => self.judge(key, check),
        }
    }

    /// Adds a check's feedback, and sets the step's success once every check of the stage has reported.
    fn judge(&mut self, key: &MoveKey, check: CheckResult) {
        let Some(step) = self.places.get(key).and_then(|place| self.steps.get_mut(*place)) else { return };
        step.checks.retain(|before| (before.check, &before.by) != (check.check, &check.by));
        step.checks.push(check);
        let stage = self.journal.pipeline().stage(&step.stage);
        let expected = if step.kind == StepKind::Agent { stage.map_or(0, checks_of) } else { 1 };
        let all_passed = step.checks.iter().all(|check| check.feedback.passed);
        step.success = if all_passed { (step.checks.len() >= expected).then_some(true) } else { Some(false) };
    }
}

/// The number of checks that report on a passing round of this stage.
fn checks_of(stage: &Stage) -> usize {
    let mut checks: BTreeSet<Check> = stage.checks.iter().copied().collect();
    if checks.contains(&Check::PushedCommit) {
        checks.insert(Check::Policy);
    }
    let is_reviewed = checks.remove(&Check::Verifier) && stage.max_adversarial_rounds > 0;
    checks.len() + if is_reviewed { stage.verifier.roles().len() } else { 0 }
}

impl Step {
    fn end_well(&mut self, result: Option<String>) {
        self.result = result;
        self.success = Some(true);
    }

    fn fail(&mut self, error: String) {
        self.error = Some(error);
        self.success = Some(false);
    }

    fn add_artifacts(&mut self, names: &[String]) {
        for name in names {
            if !self.artifacts.contains(name) {
                self.artifacts.push(name.clone());
            }
        }
    }

    fn note_commit(&mut self, made: &CommitSha) {
        for check in &mut self.checks {
            if let Some(CheckEvidence::Import { commit, .. }) = &mut check.evidence {
                *commit = Some(made.clone());
            }
        }
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
