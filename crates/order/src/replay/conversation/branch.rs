//! What moved under the work: commits of people on the branch, and the branch that the pull request goes to.

use chrono::{DateTime, Utc};

use super::{ConversationState, answer_key};
use crate::checks;
use crate::conversation::BranchUpdateMethod;
use crate::feedback::Feedback;
use crate::ids::{CommitSha, TreeSha};
use crate::inconclusive::Inconclusive;
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::replay::publish::declined;
use crate::replay::{Replay, Suspension};
use crate::test_run::TestVerdict;
use crate::trace::{CandidateWork, OpenFindings, StageChecksOutcome};

/// What became of the base branch's news.
pub(super) enum BaseUpdateOutcome {
    /// Nothing had to be done.
    AsItWas,
    /// It is in the branch, and the checks passed on that.
    BroughtIn,
    /// It is in a commit that is not pushed: the tests fail on it, or the server does not take it.
    Red {
        work: Box<CandidateWork>,
        because: String,
    },
    /// The two contradict one another. `marked` holds both between markers; what comes of it has both parents.
    Conflict {
        marked: CommitSha,
        base: CommitSha,
        paths: Vec<String>,
    },
    Overtaken,
}

/// What became of a push.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BranchPushOutcome {
    Yes,
    /// Somebody else pushed. Theirs is not overwritten.
    Overtaken,
    /// The server does not take the commit.
    Declined(Feedback),
}

impl Replay<'_> {
    /// Whether a commit was published by us.
    pub(super) fn pushed_by_us(&self, commit: &CommitSha) -> bool {
        self.pushes.iter().any(|push| push.commit == *commit)
    }

    /// What somebody pushed is the work from now on: what is said of it rests on our own run of the tests.
    pub(super) fn take_in(&mut self, answer: u32, head: &CommitSha) -> Result<(), Suspension> {
        let branch = self.branch_or_default();
        let key = answer_key(answer, "take-in");
        let seen = self.observe(&key, Move::TakeIn { branch, head: head.clone() })?;
        let EffectOutcome::TakenIn { commit, tree, changed, patch } = seen.outcome else {
            return Err(self.mismatch(&key));
        };
        let work = self.another(&answer_key(answer, "taken-in/tests"), (commit, tree), changed, patch)?;
        self.trace.note(format!("A person pushed commit {}; the work continues from it.", commit.short()));
        self.work_is(work);
        Ok(())
    }

    /// The work as it is on a commit that no worker of ours made, tested where the pipeline runs tests at all.
    fn another(
        &mut self,
        key: &MoveKey,
        (commit, tree): (&CommitSha, &TreeSha),
        changed: &[String],
        patch: &str,
    ) -> Result<CandidateWork, Suspension> {
        let Some(before) = self.trace.work.clone() else {
            return Err(Suspension::failed("there is no work"));
        };
        let mut work = CandidateWork {
            commit: commit.clone(),
            tree: tree.clone(),
            changed: changed.to_vec(),
            patch: patch.to_owned(),
            tests: None,
            tested_at: 0,
            review: None,
            open: OpenFindings::default(),
            checks: StageChecksOutcome::Lacking(Inconclusive::NotTested),
            ..before
        };
        if self.runs_tests() {
            let seen = self.observe(key, Move::RunTests { commit: commit.clone() })?;
            let EffectOutcome::Tested(tests) = seen.outcome else { return Err(self.mismatch(key)) };
            self.tested(&mut work, tests, seen.seq);
        }
        Ok(work)
    }

    /// The base branch is brought in as the repository wishes; the tests run on what comes of it before it is pushed.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    pub(super) fn bring_in_base(
        &mut self,
        answer: u32,
        talk: &ConversationState,
    ) -> Result<BaseUpdateOutcome, Suspension> {
        let (Some(how), Some(head)) = (self.settings.when_base_moves.update(), self.trace.pushed.clone())
        else {
            return Ok(BaseUpdateOutcome::AsItWas);
        };
        // What people committed is not rewritten.
        let how = if talk.has_theirs { BranchUpdateMethod::Merge } else { how };
        let date = self.date_of(answer);
        let key = answer_key(answer, "update");
        let seen = self.observe(&key, Move::UpdateBranch { head: head.clone(), how, date })?;
        let work = match seen.outcome {
            EffectOutcome::BranchUpdated { commit, tree, changed, patch, .. } => {
                self.another(&answer_key(answer, "updated/tests"), (commit, tree), changed, patch)?
            }
            EffectOutcome::Conflicted { base, marked, paths } => {
                return Ok(BaseUpdateOutcome::Conflict {
                    marked: marked.clone(),
                    base: base.clone(),
                    paths: paths.clone(),
                });
            }
            EffectOutcome::UpToDate => return Ok(BaseUpdateOutcome::AsItWas),
            _ => return Err(self.mismatch(&key)),
        };
        let red = work.tests.as_ref().filter(|tests| {
            matches!(tests.verdict, TestVerdict::Weakened | TestVerdict::Failed | TestVerdict::SetupFailed)
        });
        if let Some(tests) = red {
            let because = checks::of_tests(tests).feedback.summary;
            return Ok(BaseUpdateOutcome::Red { work: Box::new(work), because });
        }
        match self.push_over(answer, &work, &head)? {
            BranchPushOutcome::Yes => {
                self.trace.note("The base branch had moved; the branch was updated from it.".to_owned());
                self.work_is(work);
                Ok(BaseUpdateOutcome::BroughtIn)
            }
            BranchPushOutcome::Overtaken => Ok(BaseUpdateOutcome::Overtaken),
            BranchPushOutcome::Declined(declined) => {
                Ok(BaseUpdateOutcome::Red { work: Box::new(work), because: declined.summary })
            }
        }
    }

    /// When an answer began: its commits bear this date, whenever they are made.
    pub(super) fn date_of(&self, answer: u32) -> DateTime<Utc> {
        self.prefix.begun_at(&answer_key(answer, "read")).unwrap_or(self.journal.opened_at())
    }

    /// Pushes with a lease on the head that the work began from.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    pub(super) fn push_over(
        &mut self,
        answer: u32,
        work: &CandidateWork,
        head: &CommitSha,
    ) -> Result<BranchPushOutcome, Suspension> {
        let branch = self.branch_or_default();
        let key = answer_key(answer, format_args!("push/{}", work.commit.short()));
        let push = Move::Push { branch, commit: work.commit.clone(), lease: Some(head.clone()) };
        let seen = self.observe(&key, push)?;
        match seen.outcome {
            EffectOutcome::Pushed => {
                self.trace.pushed = Some(work.commit.clone());
                Ok(BranchPushOutcome::Yes)
            }
            EffectOutcome::BranchTaken { .. } => Ok(BranchPushOutcome::Overtaken),
            EffectOutcome::PushDeclined { because } => Ok(BranchPushOutcome::Declined(declined(because))),
            _ => Err(self.mismatch(&key)),
        }
    }
}
