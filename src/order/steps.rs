//! A journal as steps: what the API and the dashboard show of an order's work.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::agent_run::Usage;
use super::feedback::{Category, Feedback, Finding, Severity};
use super::ids::{CommitSha, TreeSha};
use super::journal::{Event, Journal};
use super::moves::{Move, MoveKey, Outcome, Retry};
use super::pipeline::Check;
use super::test_run::{TestRun, TestVerdict};

/// A piece of work: an agent's round with the checks after it, or an effect of a built-in worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The effect that it began with.
    pub key: MoveKey,
    /// The stage, or the operation.
    pub stage: String,
    /// What kind of work.
    pub kind: StepKind,
    /// The agent's name in the settings; none for what agents do not do.
    pub agent: Option<String>,
    /// Which run of the stage's worker, from 1; none outside rounds.
    pub round: Option<u32>,
    /// Whether it came to a good end; none while it is under way.
    pub success: Option<bool>,
    /// The clean text: never the stream; none when there was none.
    pub result: Option<String>,
    /// What judged it, in order.
    pub checks: Vec<CheckResult>,
    /// What went wrong with the work itself; what is wrong with its result is in the checks.
    pub error: Option<String>,
    /// The agent's session.
    pub session_id: Option<String>,
    /// When it was first intended.
    pub started_at: DateTime<Utc>,
    /// From then to what was last observed of it, its checks included; none before that.
    pub duration_seconds: Option<f64>,
    /// What the agent says it cost.
    pub usage: Usage,
    /// Names of artifacts, those of its checks included.
    pub artifacts: Vec<String>,
}

/// What kind of work a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// The base was fetched and the repository's settings were read.
    Prepare,
    /// An agent ran.
    Agent,
    /// Files were looked for.
    FindFiles,
    /// A commit was imported; only where no agent's round has it as a check.
    Import,
    /// The commit to publish was made; only where no agent's round has it.
    Commit,
    /// Tests were run; only where no agent's round has them as a check.
    Tests,
    /// The branch was pushed.
    Push,
    /// The pull request was opened.
    OpenPull,
    /// The pull request's text was brought up to date.
    FinishPull,
}

/// What one check said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Which.
    pub check: Check,
    /// What it said.
    pub feedback: Feedback,
    /// What it is based on; none when there was nothing to look at.
    pub evidence: Option<Evidence>,
}

/// What a check's feedback is based on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "evidence", rename_all = "snake_case")]
pub enum Evidence {
    /// The imported tree.
    Import {
        /// The commit that the agent pushed.
        pushed: CommitSha,
        /// Its tree.
        tree: TreeSha,
        /// The commit that was made of it, once it was.
        commit: Option<CommitSha>,
        /// Paths that differ from the base.
        changed: Vec<String>,
    },
    /// The run of the tests.
    Tests(Box<TestRun>),
}

/// The steps of an order, by when they were first intended. Authorizations and the status comment are no work,
/// and are in the journal only.
pub fn steps(journal: &Journal) -> Vec<Step> {
    let mut fold = Fold { journal, steps: Vec::new(), places: BTreeMap::new() };
    for entry in journal.entries() {
        match &entry.event {
            Event::Opened(_) | Event::Signaled { .. } => {}
            Event::Intended { key, r#move } => fold.intend(key, r#move, entry.at),
            Event::Observed { key, outcome } => fold.observe(key, outcome, entry.at),
        }
    }
    // Whatever was written after it: a step with a failed check has not come to a good end.
    for step in &mut fold.steps {
        if step.checks.iter().any(|check| !check.feedback.passed) {
            step.success = Some(false);
        }
    }
    fold.steps
}

struct Fold<'a> {
    journal: &'a Journal,
    steps: Vec<Step>,
    /// Where in `steps` an effect is told; several effects are told in one round.
    places: BTreeMap<&'a MoveKey, usize>,
}

impl<'a> Fold<'a> {
    fn intend(&mut self, key: &'a MoveKey, intended: &Move, at: DateTime<Utc>) {
        // The same effect tried again is the same step.
        if self.places.contains_key(key) {
            return;
        }
        let (kind, is_of_round) = match intended {
            Move::Authorize { .. } | Move::ShowStatus { .. } => return,
            Move::Prepare => (StepKind::Prepare, false),
            Move::RunAgent(_) => (StepKind::Agent, false),
            Move::FindFiles { .. } => (StepKind::FindFiles, false),
            Move::Import { .. } => (StepKind::Import, true),
            Move::Commit { .. } => (StepKind::Commit, true),
            Move::RunTests { .. } => (StepKind::Tests, true),
            Move::Push { .. } => (StepKind::Push, false),
            Move::OpenPull { .. } => (StepKind::OpenPull, false),
            Move::FinishPull { .. } => (StepKind::FinishPull, false),
        };
        let (mut stage, mut round) = stage_and_round(key);
        let worker = self.steps.iter().rposition(|step| {
            is_of_round && step.kind == StepKind::Agent && step.stage == stage && step.round == round
        });
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
                usage: Usage::default(),
                artifacts: Vec::new(),
            });
            self.steps.len() - 1
        });
        self.places.insert(key, place);
    }

    fn observe(&mut self, key: &MoveKey, outcome: &Outcome, at: DateTime<Utc>) {
        let Some(step) = self.places.get(key).and_then(|place| self.steps.get_mut(*place)) else { return };
        let micros = at.signed_duration_since(step.started_at).num_microseconds().unwrap_or(i64::MAX);
        step.duration_seconds = Some((micros.max(0) as f64) / 1e6);
        step.error = None;
        let is_own = step.key == *key;
        match outcome {
            Outcome::Authorized { .. } | Outcome::StatusShown => {}
            Outcome::Prepared { base, .. } => step.end_well(Some(base.to_string())),
            Outcome::AgentRan(run) => {
                step.result.clone_from(&run.result);
                step.session_id.clone_from(&run.session_id);
                step.usage = run.usage;
                step.add_artifacts(&run.artifacts);
                step.error = run.failure.as_ref().map(|failure| failure.message.clone());
                let checks = self.journal.pipeline().stage(&step.stage).map_or(0, |stage| stage.checks.len());
                // With checks to come they decide: an agent that ran out of turns may have done the work.
                step.success = (run.failure.is_some() || checks == 0).then_some(run.failure.is_none());
            }
            Outcome::FilesFound { files, .. } => {
                step.result = (!files.is_empty()).then(|| files.join("\n"));
                step.success = Some(!files.is_empty());
            }
            Outcome::Imported { .. } | Outcome::NothingPushed { .. } | Outcome::ImportRefused(_) => {
                if let Some(check) = import_check(outcome) {
                    self.judge(key, check);
                }
            }
            Outcome::Committed { commit } if is_own => step.end_well(Some(commit.to_string())),
            Outcome::Committed { commit } => step.note_commit(commit),
            Outcome::Tested(run) => {
                step.add_artifacts(&run.artifacts);
                let evidence = Some(Evidence::Tests(run.clone()));
                self.judge(key, CheckResult { check: Check::Tests, feedback: tests_feedback(run), evidence });
            }
            Outcome::Pushed | Outcome::PullFinished => step.end_well(None),
            Outcome::BranchTaken { at } => {
                let head = at.as_ref().map_or_else(|| "gone".to_owned(), |at| format!("at {}", at.short()));
                step.error = Some(format!("the branch is {head}, and that is not ours to overwrite"));
                step.success = Some(false);
            }
            Outcome::PullOpened { url, .. } => step.end_well(Some(url.clone())),
            Outcome::Trouble(trouble) => {
                step.error = Some(trouble.message.clone());
                step.success = match trouble.retry {
                    Retry::Never => Some(false),
                    Retry::Soon | Retry::After { .. } => None,
                };
            }
        }
    }

    /// Adds what a check said and draws the conclusion, once every check of the stage has spoken.
    fn judge(&mut self, key: &MoveKey, check: CheckResult) {
        let Some(step) = self.places.get(key).and_then(|place| self.steps.get_mut(*place)) else { return };
        step.checks.retain(|before| before.check != check.check);
        step.checks.push(check);
        let stage = self.journal.pipeline().stage(&step.stage);
        let expected = match step.kind {
            StepKind::Agent => stage.map_or(0, |stage| stage.checks.len()),
            StepKind::Prepare
            | StepKind::FindFiles
            | StepKind::Import
            | StepKind::Commit
            | StepKind::Tests
            | StepKind::Push
            | StepKind::OpenPull
            | StepKind::FinishPull => 1,
        };
        let all_passed = step.checks.iter().all(|check| check.feedback.passed);
        step.success = if all_passed { (step.checks.len() >= expected).then_some(true) } else { Some(false) };
    }
}

impl Step {
    fn end_well(&mut self, result: Option<String>) {
        self.result = result;
        self.success = Some(true);
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
            if let Some(Evidence::Import { commit, .. }) = &mut check.evidence {
                *commit = Some(made.clone());
            }
        }
    }
}

/// `implement/2/tests` as `implement` and 2; `prepare` as itself.
fn stage_and_round(key: &MoveKey) -> (String, Option<u32>) {
    let mut parts = key.0.split('/');
    let stage = parts.next().unwrap_or_default().to_owned();
    (stage, parts.next().and_then(|round| round.parse().ok()))
}

/// What the check `pushed_commit` says of an import; none of other outcomes.
pub fn import_feedback(outcome: &Outcome) -> Option<Feedback> {
    import_check(outcome).map(|check| check.feedback)
}

fn import_check(outcome: &Outcome) -> Option<CheckResult> {
    let (feedback, evidence) = match outcome {
        Outcome::Imported { pushed, tree, changed, .. } => {
            let files = if changed.len() == 1 { "file" } else { "files" };
            let summary = format!("commit {} was pushed; {} {files} changed", pushed.short(), changed.len());
            let evidence = Evidence::Import {
                pushed: pushed.clone(),
                tree: tree.clone(),
                commit: None,
                changed: changed.clone(),
            };
            (Feedback::passed(summary), Some(evidence))
        }
        Outcome::NothingPushed { because } => {
            (Feedback::failed(Category::MissingCommit, because.as_str()), None)
        }
        Outcome::ImportRefused(feedback) => (feedback.clone(), None),
        Outcome::Authorized { .. }
        | Outcome::Prepared { .. }
        | Outcome::AgentRan(_)
        | Outcome::FilesFound { .. }
        | Outcome::Committed { .. }
        | Outcome::Tested(_)
        | Outcome::Pushed
        | Outcome::BranchTaken { .. }
        | Outcome::PullOpened { .. }
        | Outcome::PullFinished
        | Outcome::StatusShown
        | Outcome::Trouble(_) => return None,
    };
    Some(CheckResult { check: Check::PushedCommit, feedback, evidence })
}

/// What the check `tests` says of a run. Without tests it passes, and says that nothing is verified.
pub fn tests_feedback(run: &TestRun) -> Feedback {
    let counted = run.counts.map(|counts| {
        format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped)
    });
    let ended = |command: &Option<super::test_run::CommandRun>| {
        command.as_ref().map_or_else(|| "was not run".to_owned(), |run| format!("ended with {}", run.exit))
    };
    match run.verdict {
        TestVerdict::Passed => Feedback::passed(counted.unwrap_or_else(|| "the tests passed".to_owned())),
        TestVerdict::NoTests => Feedback::passed("no tests were found or run: nothing is verified"),
        TestVerdict::SetupFailed => {
            let summary =
                format!("what the tests need could not be installed: the setup {}", ended(&run.setup));
            Feedback::failed(Category::TestFailure, summary)
        }
        TestVerdict::Failed => {
            let summary = match counted {
                Some(counted) => format!("{counted}; the test command {}", ended(&run.test)),
                None => format!("the test command {}", ended(&run.test)),
            };
            let mut feedback = Feedback::failed(Category::TestFailure, summary);
            if !run.failing.is_empty() {
                feedback.issues = run.failing.iter().map(|test| failing_test(test)).collect();
            }
            // How much is right already; a red run is never worth all of it.
            feedback.score = run
                .counts
                .filter(|counts| counts.ran() > 0)
                .map_or(0.0, |counts| (counts.passed as f64 / counts.ran() as f64).min(0.99));
            feedback
        }
    }
}

fn failing_test(name: &str) -> Finding {
    Finding {
        severity: Severity::Critical,
        category: Category::TestFailure,
        description: format!("the test {name} fails"),
        location: Some(name.to_owned()),
        suggestion: None,
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
