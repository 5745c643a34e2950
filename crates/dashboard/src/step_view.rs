//! One step of the work as shown: who, how long, how much, what judged it, what it changed.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::diff::DiffView;
use super::receipt_view::findings_html;
use super::text::{MomentView, beginning, count, dollars, duration, line, visible};
use journeyman_order::bounds::MOST_IN_A_SENTENCE;
use journeyman_order::checks::CheckResult;
use journeyman_order::moves::{AgentTask, EffectOutcome, Move};
use journeyman_order::pipeline::Check;
use journeyman_order::steps::{Step, StepKind, steps};
use journeyman_order::{Journal, JournalEvent, MoveKey, TestRun};
use journeyman_render::{FindingsText, of_tests};

const LONGEST_RESULT: usize = 8_000;

pub(crate) struct StepView {
    pub(crate) number: usize,
    pub(crate) class: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) name: String,
    pub(crate) facts: Vec<String>,
    pub(crate) started: MomentView,
    pub(crate) error: Option<String>,
    pub(crate) troubles: Vec<String>,
    pub(crate) result: Option<FoldedText>,
    pub(crate) checks: Vec<CheckView>,
    pub(crate) diff: Option<DiffView>,
    pub(crate) tests: Option<TestsView>,
    pub(crate) told: Option<TaskView>,
    /// Its run, if there is a transcript.
    pub(crate) run: Option<String>,
    pub(crate) artifacts: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// A text, and whether it is long enough to be folded.
pub(crate) struct FoldedText {
    pub(crate) text: String,
    pub(crate) left_out: usize,
    pub(crate) is_long: bool,
}

pub(crate) struct CheckView {
    pub(crate) class: &'static str,
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) findings: Vec<String>,
}

pub(crate) struct TestsView {
    pub(crate) counts: String,
    /// HTML.
    pub(crate) findings: FindingsText,
    pub(crate) tail: Option<String>,
}

pub(crate) struct TaskView {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) attempt: Option<String>,
    pub(crate) guidance: Option<String>,
    pub(crate) wrong: Vec<String>,
}

/// The parts of a journal that describe steps.
#[derive(Default)]
struct StepMaterial<'j> {
    tasks: BTreeMap<&'j MoveKey, &'j AgentTask>,
    /// By the key that the effects of a round share.
    patches: BTreeMap<&'j str, &'j str>,
    tests: BTreeMap<&'j str, &'j TestRun>,
    troubles: BTreeMap<&'j MoveKey, Vec<(DateTime<Utc>, &'j str)>>,
}

impl<'j> StepMaterial<'j> {
    fn of(journal: &'j Journal) -> Self {
        let mut found = Self::default();
        for entry in journal.entries() {
            match &entry.event {
                JournalEvent::Intended { key, r#move } => {
                    if let Move::RunAgent(task) = &**r#move {
                        found.tasks.insert(key, task);
                    }
                }
                JournalEvent::Observed { key, outcome } => found.observe(key, outcome, entry.at),
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            }
        }
        found
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is told with a step")]
    fn observe(&mut self, key: &'j MoveKey, outcome: &'j EffectOutcome, at: DateTime<Utc>) {
        match outcome {
            EffectOutcome::Committed { patch, .. } => {
                self.patches.insert(key.round(), patch);
            }
            EffectOutcome::TakenIn { patch, .. }
            | EffectOutcome::ChangeFetched { patch, .. }
            | EffectOutcome::BranchUpdated { patch, .. } => {
                self.patches.insert(&key.0, patch);
            }
            EffectOutcome::Tested(run) => {
                self.tests.insert(key.round(), run);
            }
            EffectOutcome::Trouble(trouble) => {
                self.troubles.entry(key).or_default().push((at, &trouble.message));
            }
            _ => {}
        }
    }
}

/// All steps in order. Once the order has ended, an unfinished step counts as stopped.
pub(crate) fn step_views(journal: &Journal, is_active: bool) -> Vec<StepView> {
    let material = StepMaterial::of(journal);
    let all = steps(journal);
    let view = |(place, step)| step_view((place + 1, is_active), step, journal, &material);
    all.iter().enumerate().map(view).collect()
}

fn step_view(
    (number, is_active): (usize, bool),
    step: &Step,
    journal: &Journal,
    material: &StepMaterial<'_>,
) -> StepView {
    let is_running = step.success.is_none() && is_active;
    let (class, mark) = match step.success {
        None if is_active => ("working", "…"),
        None => ("quiet", "■"),
        Some(true) => ("good", "✓"),
        Some(false) => ("bad", "✗"),
    };
    // A round includes what it pushed and the tests of that.
    let kinds_of_rounds = [StepKind::Import, StepKind::Commit, StepKind::Tests, StepKind::WriteArtifact];
    let is_whole_round = kinds_of_rounds.contains(&step.kind)
        || (step.kind == StepKind::Agent && step.key.0.ends_with("/agent"));
    let of_round = Some(step.key.round()).filter(|_| is_whole_round);
    let patch = of_round.and_then(|round| material.patches.get(round));
    let patch = patch.or_else(|| material.patches.get(step.key.0.as_str()));
    let tests = of_round.and_then(|round| material.tests.get(round));
    let troubles = material.troubles.get(&step.key).map(Vec::as_slice).unwrap_or_default();
    let task = material.tasks.get(&step.key);
    let has_stream = step.artifacts.iter().any(|name| *name == format!("{}.jsonl", step.key.file_name()));
    let is_under_way = journal.is_under_way(&step.key);
    StepView {
        number,
        class,
        mark,
        name: name(step),
        facts: facts(step, is_running),
        started: MomentView::of(step.started_at),
        error: step.error.as_deref().map(|error| beginning(error, 2_000).0),
        troubles: troubles
            .iter()
            .rev()
            .take(MOST_IN_A_SENTENCE)
            .map(|(at, message)| format!("{} UTC: {}", at.format("%H:%M:%S"), line(message, 300)))
            .collect(),
        result: step.result.as_deref().and_then(folded),
        checks: step.checks.iter().map(check_view).collect(),
        diff: patch.and_then(|patch| DiffView::of(patch)),
        tests: tests.map(|tests| tests_view(tests)),
        told: task.map(|task| task_view(task)),
        run: (task.is_some() && (has_stream || is_under_way)).then(|| step.key.file_name()),
        artifacts: step.artifacts.clone(),
        warnings: step.warnings.iter().map(|warning| line(warning, 300)).collect(),
    }
}

fn name(step: &Step) -> String {
    let what = match step.kind {
        StepKind::Prepare => "Fetch the repository",
        StepKind::Agent => {
            let stage = line(&step.stage, 60);
            return step.round.map_or(stage.clone(), |round| format!("{stage}, round {round}"));
        }
        StepKind::Review => "Review",
        StepKind::Diagnosis => "Diagnosis",
        StepKind::FindFiles => "Look for files",
        StepKind::Import => "Take the commit out",
        StepKind::Commit => "Make the commit",
        StepKind::Tests => "Run the tests",
        StepKind::WriteArtifact => "Write the files",
        StepKind::Archive => "Archive",
        StepKind::Push => "Push",
        StepKind::OpenPull => "Open the pull request",
        StepKind::FinishPull => "Finish the pull request",
        StepKind::Preflight => "Look for what stands in the way",
        StepKind::PrepareEnvironment => "Prepare the environment",
        StepKind::ReadPull => "Read the pull request",
        StepKind::FetchChange => "Fetch the pull request",
        StepKind::TakeIn => "Take in what was pushed",
        StepKind::UpdateBranch => "Bring the base in",
    };
    match (step.kind, step.key.verifier_role()) {
        (StepKind::Review, Some(role)) => format!("{what} by {}", line(role, 60)),
        _ => what.to_owned(),
    }
}

fn facts(step: &Step, is_running: bool) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(step.agent.as_deref().map(|agent| line(agent, 60)));
    facts.extend(step.duration_seconds.filter(|_| !is_running).map(duration));
    if step.usage.usd > 0.0 {
        facts.push(dollars(step.usage.usd));
    }
    let tokens = step.usage.input_tokens.saturating_add(step.usage.output_tokens);
    if tokens > 0 {
        facts.push(count(tokens, "token"));
    }
    facts
}

fn folded(text: &str) -> Option<FoldedText> {
    let (text, left_out) = beginning(text.trim(), LONGEST_RESULT);
    let is_long = text.lines().count() > 6 || text.chars().count() > 600;
    (!text.is_empty()).then_some(FoldedText { text, left_out, is_long })
}

fn check_view(check: &CheckResult) -> CheckView {
    let what = match check.check {
        Check::PushedCommit => "pushed commit",
        Check::Policy => "policy",
        Check::Tests => "tests",
        Check::Verifier => "reviewer",
    };
    let findings = check.feedback.issues.iter().map(|finding| {
        let place =
            finding.location.as_deref().map(|place| format!("{}: ", line(place, 150))).unwrap_or_default();
        format!("{} · {place}{}", finding.severity.as_str(), line(&finding.description, 600))
    });
    CheckView {
        class: if check.feedback.passed { "good" } else { "bad" },
        name: check.by.as_deref().map_or(what.to_owned(), |by| line(by, 60)),
        summary: line(&check.feedback.summary, 600),
        findings: if check.feedback.passed { Vec::new() } else { findings.take(20).collect() },
    }
}

fn tests_view(run: &TestRun) -> TestsView {
    let tail = visible(run.tail.trim());
    TestsView {
        counts: run.counts.map_or("not counted".to_owned(), |counts| counts.to_string()),
        findings: findings_html(&of_tests(run)),
        tail: (!tail.is_empty()).then_some(tail),
    }
}

fn task_view(task: &AgentTask) -> TaskView {
    let rework = task.rework.as_ref();
    let wrong = rework.map(|rework| rework.feedback.iter().map(|feedback| line(&feedback.summary, 400)));
    TaskView {
        command: line(&task.command, 80),
        arguments: task.arguments.iter().map(|argument| beginning(argument, 4_000).0).collect(),
        attempt: rework
            .filter(|rework| rework.of > 0)
            .map(|rework| format!("{} of {}", rework.attempt, rework.of)),
        guidance: rework.and_then(|rework| rework.guidance.as_deref()).map(|text| beginning(text, 4_000).0),
        wrong: wrong.into_iter().flatten().take(10).collect(),
    }
}
