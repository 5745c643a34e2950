//! The mechanical checks: the feedback of an import and of a test run, with its evidence.

use serde::{Deserialize, Serialize};

use super::comparison::{Comparison, ComparisonVerdict};
use super::feedback::{Category, Feedback, Finding};
use super::ids::{CommitSha, TreeSha};
use super::moves::EffectOutcome;
use super::pipeline::Check;
use super::test_run::{CommandRun, Exit, TestRun, TestVerdict};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    pub check: Check,
    /// The role, if several judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub feedback: Feedback,
    /// The evidence; `None` if there was nothing to check.
    pub evidence: Option<CheckEvidence>,
}

/// The evidence for a check's feedback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "evidence", rename_all = "snake_case")]
pub enum CheckEvidence {
    Import {
        /// The agent's own commit.
        pushed: CommitSha,
        tree: TreeSha,
        /// The commit made from it, once it exists.
        commit: Option<CommitSha>,
        /// Paths that differ from the base.
        changed: Vec<String>,
    },
    Tests(Box<TestRun>),
}

/// The results of the checks `pushed_commit` and `policy` for an import; empty for other outcomes.
#[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
pub fn of_import(outcome: &EffectOutcome) -> Vec<CheckResult> {
    let result = |check, feedback, evidence| CheckResult { check, by: None, feedback, evidence };
    match outcome {
        EffectOutcome::Imported { pushed, tree, changed, .. } => {
            let files = if changed.len() == 1 { "file" } else { "files" };
            // The agent's own commit is not published, so its id would only mislead.
            let summary = format!("a commit was pushed; {} {files} changed", changed.len());
            let evidence = CheckEvidence::Import {
                pushed: pushed.clone(),
                tree: tree.clone(),
                commit: None,
                changed: changed.clone(),
            };
            vec![
                result(Check::PushedCommit, Feedback::passed(summary), Some(evidence)),
                result(Check::Policy, Feedback::passed("nothing in it is refused"), None),
            ]
        }
        EffectOutcome::NothingPushed { because } => {
            vec![result(
                Check::PushedCommit,
                Feedback::failed(Category::MissingCommit, because.as_str()),
                None,
            )]
        }
        EffectOutcome::ImportRefused(feedback) => vec![
            result(Check::PushedCommit, Feedback::passed("a commit was pushed"), None),
            result(Check::Policy, feedback.clone(), None),
        ],
        _ => Vec::new(),
    }
}

/// The check `verifier` for an agent's answer; `None` if the answer is invalid. `by` is the role, if several are asked.
pub fn of_review(answer: &str, by: Option<&str>) -> Option<CheckResult> {
    let feedback = super::judge_answer::feedback(answer, &[]).ok()?;
    Some(CheckResult { check: Check::Verifier, by: by.map(str::to_owned), feedback, evidence: None })
}

pub fn of_tests(run: &TestRun) -> CheckResult {
    let evidence = Some(CheckEvidence::Tests(Box::new(run.clone())));
    CheckResult { check: Check::Tests, by: None, feedback: tests_feedback(run), evidence }
}

/// Without tests the check passes, and says that nothing is verified.
fn tests_feedback(run: &TestRun) -> Feedback {
    let counted = run.counts.map(|counts| counts.to_string());
    let ended = |command: &Option<CommandRun>| match command {
        None => "was not run".to_owned(),
        Some(CommandRun { exit: Exit::TimedOut, duration_seconds, .. }) => {
            format!("did not end within {duration_seconds:.0} s, and was stopped")
        }
        Some(run) => format!("ended with {}", run.exit),
    };
    match run.verdict {
        TestVerdict::Passed => Feedback::passed(counted.unwrap_or_else(|| "the tests passed".to_owned())),
        TestVerdict::Weakened | TestVerdict::Unmended => weakened(run),
        TestVerdict::NoTests => Feedback::passed("no tests were found or run: nothing is verified"),
        TestVerdict::SetupFailed => {
            let summary =
                format!("what the tests need could not be installed: the setup {}", ended(&run.setup));
            Feedback::failed(Category::TestFailure, summary)
        }
        TestVerdict::Failed => {
            let counted = counted.map(|counted| format!("{counted}; ")).unwrap_or_default();
            let mut summary = format!("{counted}the test command {}", ended(&run.test));
            let is_red_anyhow =
                run.scrutiny.as_ref().is_some_and(|seen| seen.judged == ComparisonVerdict::PassedBesideRed);
            let base = run.scrutiny.as_ref().and_then(|seen| seen.baseline.test.as_ref());
            let ends_alike = run.counts.is_none()
                && base.is_some_and(|base| run.test.as_ref().is_some_and(|test| test.exit == base.exit));
            summary.push_str(match (is_red_anyhow, ends_alike) {
                (true, _) => "; what fails here fails on the base commit as well",
                (false, true) => ", as on the base commit, and names no test",
                (false, false) => "",
            });
            // Tests that passed in this run, but not in others of the same commit.
            let mut at_times = run.scrutiny.iter().flat_map(|seen| {
                let Comparison { newly_broken, already_red, new_failing, .. } = &seen.comparison;
                [newly_broken, already_red, new_failing].into_iter().flat_map(|list| &list.names)
            });
            if let Some(first) = at_times.next().filter(|_| run.failing.is_empty()) {
                summary.push_str(&format!("; {first} fails at times with the change"));
            }
            let mut feedback = Feedback::failed(Category::TestFailure, summary);
            if !run.failing.is_empty() {
                feedback.issues = run.failing.iter().map(|test| failing_test(test, run)).collect();
            }
            feedback.issues.extend(objections(run));
            if run.test.as_ref().is_some_and(|test| test.exit == Exit::TimedOut) {
                feedback = feedback.suggest(HUNG);
            }
            // The share of passing tests; a red run never gets the full score.
            feedback.score = run
                .counts
                .filter(|counts| counts.ran() > 0)
                .map_or(0.0, |counts| (counts.passed as f64 / counts.ran() as f64).min(0.99));
            feedback
        }
    }
}

fn weakened(run: &TestRun) -> Feedback {
    let issues = objections(run);
    let what = match &issues[..] {
        [one] => one.description.clone(),
        many => format!(
            "{} things were found, the first: {}",
            many.len(),
            many.first().map_or("", |one| &one.description)
        ),
    };
    let summary = if run.verdict == TestVerdict::Unmended {
        format!("the tests pass, and {what}")
    } else {
        format!("the tests pass, and do not show that the change is right: {what}")
    };
    Feedback { issues, ..Feedback::failed(Category::TestFailure, summary) }
}

const HUNG: &str = "Look for an infinite loop, and for code or a test that waits: for input, which nobody gives, for a lock, for \
    another process, or for the network, which is not there.";

fn objections(run: &TestRun) -> Vec<Finding> {
    let found = run.scrutiny.as_ref().map(|scrutiny| scrutiny.objections());
    let (mut all, of_examples) = found.unwrap_or_default();
    all.extend(of_examples);
    all
}

fn failing_test(name: &str, run: &TestRun) -> Finding {
    let comparison = run.scrutiny.as_ref().map(|scrutiny| &scrutiny.comparison);
    let is_red_anyhow =
        comparison.is_some_and(|comparison| comparison.already_red.names.iter().any(|red| red == name));
    let description = match is_red_anyhow {
        true => format!("the test {name} fails, as it does on the base commit"),
        false => format!("the test {name} fails"),
    };
    Finding { location: Some(name.to_owned()), ..Finding::critical(Category::TestFailure, description) }
}
