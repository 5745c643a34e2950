//! What moved under the work: people's commits on the branch, and the base branch.

use chrono::{DateTime, Utc};

use super::{ConversationState, answer_key};
use crate::checks;
use crate::conversation::BranchUpdateMethod;
use crate::feedback::Feedback;
use crate::ids::{CommitSha, TreeSha};
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::replay::publish::declined;
use crate::replay::{Replay, Suspension};
use crate::test_run::TestVerdict;
use crate::trace::CandidateWork;

/// How the base branch was brought in.
pub(super) enum BaseUpdateOutcome {
    /// There was nothing to do.
    AsItWas,
    /// The branch includes the new base and is pushed.
    BroughtIn,
    /// The result is not pushed: its tests fail, or the server declined it.
    Red {
        work: Box<CandidateWork>,
        because: String,
    },
    /// The two conflict. `marked` holds both sides between markers; the resolving commit gets both parents.
    Conflict {
        marked: CommitSha,
        base: CommitSha,
        paths: Vec<String>,
    },
    Overtaken,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum BranchPushOutcome {
    Yes,
    /// Somebody else pushed first. Their commit is not overwritten.
    Overtaken,
    /// The server declined the commit.
    Declined(Feedback),
}

impl Replay<'_> {
    /// Whether Journeyman published this commit.
    pub(super) fn pushed_by_us(&self, commit: &CommitSha) -> bool {
        self.pushes.iter().any(|push| push.commit == *commit)
    }

    /// Continues from a commit that a person pushed. Our own test run decides what is said about it.
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

    /// The work on a commit that no worker made, tested if the pipeline runs tests at all.
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
            pushed: before.pushed,
            agent: before.agent,
            session: before.session,
            accepted: before.accepted,
            ..CandidateWork::untested((before.round, before.answer), (commit, tree), changed, patch)
        };
        if self.runs_tests() {
            let seen = self.observe(key, Move::RunTests { commit: commit.clone() })?;
            let EffectOutcome::Tested(tests) = seen.outcome else { return Err(self.mismatch(key)) };
            self.tested(&mut work, tests, seen.seq);
        }
        Ok(work)
    }

    /// Brings in the base branch as the repository configures it. The tests run on the result before it is pushed.
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
        // People's commits are not rewritten.
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

    /// When an answer began. Its commits bear this date, so a retry creates the same ones.
    pub(super) fn date_of(&self, answer: u32) -> DateTime<Utc> {
        self.prefix.begun_at(&answer_key(answer, "read")).unwrap_or(self.journal.opened_at())
    }

    /// Pushes with a lease on the head that the work started from.
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
