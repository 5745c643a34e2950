//! What a worker pushed: imported, turned into the commit to publish, and tested.

use serde_json::Value;

use super::escalation::WorkerOutcome;
use super::judge::{RoundCheck, RoundEnd};
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::agent_run::AgentRun;
use crate::answer;
use crate::artifact::CodeArtifact;
use crate::bounds::{LONGEST_LINE, MOST_IN_A_SENTENCE};
use crate::change_kind::ChangeKind;
use crate::checks;
use crate::commit_message;
use crate::feedback::{Category, Feedback};
use crate::ids::{BranchName, CommitSha};
use crate::inconclusive::Inconclusive;
use crate::journal::JournalEvent;
use crate::journal_index::EntryKind;
use crate::moves::{EffectOutcome, Move};
use crate::pipeline::{Check, Stage, StageKind, StageOutput};
use crate::proof::Proof;
use crate::scrutiny::ProofTarget;
use crate::settings::ProofRequirement;
use crate::test_run::{TestRun, TestVerdict, UnrunProject};
use crate::trace::{CandidateWork, StageChecksOutcome};

/// A line of an answer that starts like this says why no test can show the change.
const NO_TEST: &str = "no test:";

/// Where a worker's commit starts, and its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitParents {
    /// The commit that its work tree started from, and that its change is compared with.
    pub(crate) start: CommitSha,
    /// The parent of the commit to publish.
    pub(crate) parent: CommitSha,
    /// The second parent of a merge.
    pub(crate) merges: Option<CommitSha>,
}

impl Replay<'_> {
    /// Runs the checks `pushed_commit` and `policy`, and makes the commit to publish from what was pushed.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    pub(crate) fn judge_import(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        run: &AgentRun,
        onto: CommitParents,
    ) -> Result<CandidateWork, RoundEnd> {
        let Some(branch) = worker.task.branch.clone() else {
            return Err(Suspension::failed("there is no branch to work on").into());
        };
        let CommitParents { start, parent, merges } = onto;
        if self.output(worker.stage) == StageOutput::CodeArtifact {
            self.write_artifact(worker, round, run, &branch)?;
        }
        let key = worker.key(round, "import");
        let seen = self.observe(&key, Move::Import { branch: branch.clone(), base: start })?;
        let at = seen.at;
        let missing = |because: &str| Err(nothing_pushed(because, &branch));
        let (pushed, tree, message, changed) = match seen.outcome {
            EffectOutcome::Imported { pushed, tree, message, changed, warnings } => {
                for warning in warnings.iter().take(MOST_IN_A_SENTENCE) {
                    self.trace.note(warning.description.clone());
                }
                (pushed, tree, message, changed)
            }
            EffectOutcome::NothingPushed { because } => return missing(because),
            EffectOutcome::ImportRefused(feedback) => {
                return Err(RoundEnd::failed(RoundCheck::Policy, feedback.clone()));
            }
            _ => return Err(self.mismatch(&key).into()),
        };
        if self.imported.replace(pushed.clone()).as_ref() == Some(pushed) {
            // The round only had to add a test, so the same commit may stay.
            if let Some(unproven) = self.asked_for_proof.get(&worker.stage.name)
                && (&unproven.pushed, unproven.round + 1) == (pushed, round)
            {
                let checks = StageChecksOutcome::Lacking(Inconclusive::NotTested);
                return Ok(CandidateWork { round, checks, ..unproven.clone() });
            }
            let because =
                format!("the branch is still at {}, the commit that was there before", pushed.short());
            return missing(&because);
        }
        let message = match message {
            Some(message) => message.clone(),
            None => self.commit_message(worker, round, changed)?,
        };
        let key = worker.key(round, "commit");
        let seen =
            self.observe(&key, Move::Commit { tree: tree.clone(), parent, merges, message, date: at })?;
        let (commit, patch) = match seen.outcome {
            EffectOutcome::Committed { commit, patch } => (commit, patch),
            EffectOutcome::NothingPushed { because } => return missing(because),
            _ => return Err(self.mismatch(&key).into()),
        };
        self.in_round(worker, round, |seen| seen.commit = Some(commit.clone()));
        let made = (round, worker.key(round, "agent"));
        Ok(CandidateWork {
            pushed: pushed.clone(),
            agent: worker.task.agent.clone(),
            session: run.session_id.clone(),
            ..CandidateWork::untested(made, (commit, tree), changed, patch)
        })
    }

    /// Commits the artifact's files to the agent's origin, as if the agent had pushed them.
    fn write_artifact(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        run: &AgentRun,
        branch: &BranchName,
    ) -> Result<(), Suspension> {
        // The rules were checked with the worker's output. An artifact that does not parse never gets here.
        let Ok(artifact) = CodeArtifact::parse(run.result.as_deref().unwrap_or_default()) else {
            return Ok(());
        };
        let write = Move::WriteArtifact {
            answer: worker.key(round, "agent"),
            branch: branch.clone(),
            artifact: artifact.artifact_id,
        };
        self.observe(&worker.key(round, "write"), write).map(drop)
    }

    /// Runs the check `tests`, if the stage has it and they have not run on this commit.
    pub(crate) fn judge_tests(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        work: CandidateWork,
    ) -> Result<CandidateWork, RoundEnd> {
        let stage = worker.stage;
        if !stage.checks.contains(&Check::Tests) {
            return Ok(work);
        }
        let (at, mut tests) = match &work.tests {
            Some(tests) => (work.tested_at, tests.clone()),
            None => {
                let key = worker.key(round, "tests");
                let seen = self.observe(&key, Move::RunTests { commit: work.commit.clone() })?;
                let tests = match (seen.outcome, &worker.task.branch) {
                    (EffectOutcome::Tested(tests), _) => tests,
                    (EffectOutcome::NothingPushed { because }, Some(branch)) => {
                        return Err(nothing_pushed(because, branch));
                    }
                    _ => return Err(self.mismatch(&key).into()),
                };
                (seen.seq, (**tests).clone())
            }
        };
        let work = CandidateWork { tested_at: at, ..work };
        let judged = self.judge_statements(worker, round, work, &mut tests);
        if matches!(judged, Err(RoundEnd::Suspended(_))) {
            return judged;
        }
        self.in_round(worker, round, |seen| seen.tests = Some(tests.clone()));
        let mut work = judged?;
        // A proof that an earlier stage did without is not requested again.
        let was_taken = work.checks.is_unproven();
        self.tested(&mut work, &tests, at);
        if let StageChecksOutcome::Lacking(lacks @ Inconclusive::Unproven { because }) = &work.checks {
            let is_retried = self.signals.retried_after(self.position);
            // Nobody can be asked for a test of somebody else's change.
            if (was_taken && !is_retried) || stage.uses == StageKind::Verify {
                return Ok(work);
            }
            let no_test = self.said_of_no_test(stage, round);
            let was_asked = self.asked_for_proof.contains_key(&stage.name);
            if is_retried || (no_test.is_none() && !was_asked) {
                let feedback =
                    Feedback::failed(Category::TestFailure, lacks.sentence()).suggest(HOW_TO_PROVE);
                self.asked_for_proof.insert(stage.name.clone(), work.clone());
                let by = if is_retried { RoundCheck::Person } else { RoundCheck::Proof };
                return Err(RoundEnd::sent_back(by, work, feedback, None));
            }
            if let Some(words) = no_test {
                let because = format!("{because}; the agent says of a test: “{words}”");
                work.checks = StageChecksOutcome::Lacking(Inconclusive::Unproven { because });
            }
            return Ok(work);
        }
        if matches!(tests.verdict, TestVerdict::Passed | TestVerdict::NoTests) {
            let is_verified = tests.verdict == TestVerdict::Passed && tests.doubt.is_none();
            if is_verified || !self.signals.retried_after(self.position) {
                return Ok(work);
            }
            // No fault is known, but a person asked for another attempt.
            let nothing = format!("nothing could be verified: {}", unverified(&tests));
            let feedback = Feedback::failed(Category::TestFailure, nothing)
                .suggest("A person asked for another attempt; see what they advise.");
            return Err(RoundEnd::sent_back(RoundCheck::Person, work, feedback, None));
        }
        let feedback = checks::of_tests(&tests).feedback;
        let is_bent = tests.verdict == TestVerdict::Weakened;
        let by = if is_bent { RoundCheck::Tampering } else { RoundCheck::Tests };
        Err(RoundEnd::sent_back(by, work, feedback, Some(tests)))
    }

    /// Sets the result of a test run that was observed in entry `at`. An earlier reason for a missing proof is kept.
    pub(crate) fn tested(&mut self, work: &mut CandidateWork, tests: &TestRun, at: u64) {
        let checks = match tests.verdict {
            TestVerdict::Passed if tests.doubt.is_none() => match self.lacks_proof(tests) {
                Some(because) => StageChecksOutcome::Lacking(Inconclusive::Unproven { because }),
                None => StageChecksOutcome::Passed,
            },
            TestVerdict::Passed => {
                let because = unverified(tests);
                StageChecksOutcome::Lacking(match tests.unrun.iter().any(UnrunProject::is_grave) {
                    true => Inconclusive::ProjectNotTested { because },
                    false => Inconclusive::Doubted { because },
                })
            }
            TestVerdict::NoTests => {
                StageChecksOutcome::Lacking(Inconclusive::NoTests { because: unverified(tests) })
            }
            TestVerdict::Weakened
            | TestVerdict::Unmended
            | TestVerdict::Failed
            | TestVerdict::SetupFailed => {
                StageChecksOutcome::Failed { because: checks::of_tests(tests).feedback.summary }
            }
        };
        if !(checks.is_unproven() && work.checks.is_unproven()) {
            work.checks = checks;
        }
        work.tests = Some(tests.clone());
        work.tested_at = at;
    }

    /// The agent's reason why no test can show the change, if its answer has one.
    fn said_of_no_test(&mut self, stage: &Stage, round: u32) -> Option<String> {
        no_test_in(self.trace.round(&stage.name, round)?.result.as_deref()?)
    }

    /// Why the tests do not prove the change. `None` if they do, or if the settings require no proof.
    fn lacks_proof(&mut self, tests: &TestRun) -> Option<String> {
        let kind = self.change_kind();
        // Unproven work stays unproven until a test run shows otherwise, even if somebody else pushes to it.
        let known = self.trace.work.as_ref().and_then(|work| {
            let StageChecksOutcome::Lacking(Inconclusive::Unproven { because }) = &work.checks else {
                return None;
            };
            Some(because.clone())
        });
        let Some(scrutiny) = tests.scrutiny.as_ref() else { return known };
        // The baseline is a person's own commit, which may be the fix.
        let is_theirs = |outcome: &EffectOutcome| matches!(outcome, EffectOutcome::TakenIn { commit, .. } if *commit == scrutiny.baseline.commit);
        if known.is_none()
            && self.prefix.of_kind(EntryKind::TakeIn).any(
                |entry| matches!(&entry.event, JournalEvent::Observed { outcome, .. } if is_theirs(outcome)),
            )
        {
            return None;
        }
        if let Some(because) = scrutiny.too_few_mutants(self.settings.prove.caught) {
            return Some(because);
        }
        use ProofRequirement::{Always, Bugs, Changes, Never};
        let wanted = match (self.settings.prove.of, kind) {
            (Never, _) => return None,
            (Always | Changes | Bugs, ChangeKind::Bug) => ProofTarget::Fix,
            (Always, ChangeKind::Chore)
            | (Always | Changes, ChangeKind::Feature)
            | (Always | Changes | Bugs, ChangeKind::Unsaid) => ProofTarget::Addition,
            (Changes | Bugs, ChangeKind::Chore) | (Bugs, ChangeKind::Feature) => {
                if scrutiny.unproven(ProofTarget::Addition).is_some() {
                    let note =
                        "Nothing had to be proven by a test: `prove` does not ask for it for such an issue.";
                    self.trace.note(note.to_owned());
                }
                return None;
            }
        };
        // A change to text alone needs no proof, unless it must fix a bug.
        let is_of_words = !scrutiny.touches_code && matches!(scrutiny.proof, Some(Proof::NoTestsChanged));
        if is_of_words && wanted == ProofTarget::Addition {
            return None;
        }
        // Nobody writes a test for an update of dependencies. It only has to break nothing.
        let is_update = self.trace.is_given && scrutiny.only_dependencies;
        scrutiny.unproven(if is_update { ProofTarget::Dependencies } else { wanted })
    }

    /// Replaces an unusable commit message: asks the agent for another, or uses the issue's title.
    fn commit_message(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        changed: &[String],
    ) -> Result<String, Suspension> {
        let title = self.task.title.clone();
        let asked = worker.asks(
            "commit_message",
            format!("{}/{round}/message", worker.prefix),
            "create_commit",
            vec![title.clone(), changed.join("\n")],
        );
        let message = self.rounds(&asked, |_, _, run| {
            run.and_then(|run| run.result.as_deref()).and_then(commit_message::clean).ok_or_else(|| {
                RoundEnd::advised(
                    "the answer is no usable commit message",
                    "Answer with a subject of two words or more, at most 100 characters, and nothing else.",
                )
            })
        })?;
        Ok(match message {
            WorkerOutcome::Passed(message) => message,
            WorkerOutcome::Decided { .. } | WorkerOutcome::GivenUp { .. } => {
                self.trace.note("The commit message was made from the issue's title.".to_owned());
                let number = self.journal.opened().issue.number;
                commit_message::clean(&title).unwrap_or_else(|| format!("Change for issue {number}"))
            }
        })
    }
}

fn nothing_pushed(because: &str, branch: &BranchName) -> RoundEnd {
    let feedback = Feedback::failed(Category::MissingCommit, format!("nothing was pushed: {because}"))
        .suggest(format!("Commit the change and run `git push origin HEAD:{branch}`."));
    RoundEnd::failed(RoundCheck::PushedCommit, feedback)
}

/// Why a run that did not fail verifies nothing.
fn unverified(tests: &TestRun) -> String {
    match (&tests.doubt, &tests.test) {
        (Some(doubt), _) => doubt.clone(),
        (None, Some(run)) => format!("`{}` ran no test", run.command),
        (None, None) => "the repository has no tests that Journeyman can find".to_owned(),
    }
}

/// Tells the agent what to do if no test shows its change.
const HOW_TO_PROVE: &str = "Add a test that fails on the code as it was and passes with the change. Where no test can show it, push \
    nothing more and answer with a line that begins with `No test:` and says why.";

/// The text after `No test:` in a line of an answer, or in a text field of a JSON answer.
fn no_test_in(said: &str) -> Option<String> {
    let in_json = || answer::object(said).ok().and_then(|object| no_test_in_value(&object));
    no_test_in_text(said).or_else(in_json)
}

fn no_test_in_text(said: &str) -> Option<String> {
    let line = said.lines().find_map(|line| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "*_->#".contains(c));
        let (head, rest) = line.split_at_checked(NO_TEST.len())?;
        head.eq_ignore_ascii_case(NO_TEST).then(|| rest.trim_matches(['*', '_', ' ']))
    })?;
    Some(line.chars().take(LONGEST_LINE).collect()).filter(|words: &String| !words.is_empty())
}

fn no_test_in_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => no_test_in_text(text),
        Value::Array(values) => values.iter().find_map(no_test_in_value),
        Value::Object(fields) => {
            // File contents are not the agent's own words.
            let mut said = fields.iter().filter(|(key, value)| *key == "text" || !value.is_string());
            said.find_map(|(_, value)| no_test_in_value(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::no_test_in;

    #[test]
    fn an_answer_says_why_there_is_no_test() {
        let json = r#"Here:
```json
{"answers": [{"point": "1", "done": true, "text": "Longer now.\n\nNo test: it needs a slow disk."}]}
```"#;
        for (said, why) in [
            ("Longer now.\n**No test:** a slow disk", Some("a slow disk")),
            ("no test: a slow disk", Some("a slow disk")),
            ("No test:", None),
            ("There is no test: none", None),
            ("Ö", None),
            (json, Some("it needs a slow disk.")),
        ] {
            assert_eq!(no_test_in(said).as_deref(), why, "{said}");
        }
    }
}
