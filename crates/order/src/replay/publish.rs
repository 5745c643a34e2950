//! The stages around the work: the branch name, the push, the pull request, the end of its draft. Also hands over the
//! best round when the work was given up.

use super::escalation::WorkerOutcome;
use super::graph::{StageResult, named};
use super::judge::{RoundCheck, RoundEnd};
use super::{Replay, Suspension};
use crate::effect_name::{EffectScope, ReservedWord};
use crate::feedback::{Category, Feedback};
use crate::ids::{BranchName, CommitSha};
use crate::journal::JournalEvent;
use crate::journal_index::{EntryKind, JournalPrefix};
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::pipeline::{Check, Stage, StageKind};
use crate::pull_template;
use crate::settlement::Settlement;
use crate::task::TaskComments;
use crate::title::TitleStyle;
use crate::trace::{CandidateWork, PullTrace, StageState};
use crate::verdict::Verdict;

/// How many branch names are tried if the wanted one exists.
const MOST_NAMES: u32 = 20;

#[derive(Debug, Clone)]
pub(crate) struct LastPush {
    seq: u64,
    branch: BranchName,
    pub(crate) commit: CommitSha,
    /// Whether it answers people, after the pipeline ended.
    is_answer: bool,
    /// Why the remote declined it. `None` if it did not.
    pub(super) declined: Option<String>,
}

impl<'a> Replay<'a> {
    /// The agent suggests the branch name, which is made safe. The issue's title is the fallback.
    pub(crate) fn branch_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let mut worker = self.worker(stage, &stage.name)?;
        // A name needs only the issue.
        worker.task.comments = TaskComments::default();
        worker.task.attachments = Vec::new();
        let answered = self.rounds(&worker, |replay, _, run| {
            let line = run.and_then(|run| run.result.as_deref()).unwrap_or_default().trim();
            let words = line.split_whitespace().count();
            if words == 1 && line.len() <= 120 && line.chars().any(|c| c.is_ascii_alphanumeric()) {
                return Ok(replay.new_branch(line));
            }
            Err(RoundEnd::advised(
                "the answer is no name for a branch",
                "Answer with three to six lower-case words joined by hyphens and nothing else.",
            ))
        })?;
        let branch = match answered {
            WorkerOutcome::Passed(branch) => branch,
            WorkerOutcome::Decided { .. } | WorkerOutcome::GivenUp { .. } => {
                self.trace
                    .note("The branch was named after the issue's title: no answer was a name.".to_owned());
                self.new_branch(&self.journal.opened().issue.title)
            }
        };
        let name = branch.to_string();
        self.trace.branch = Some(branch);
        Ok(StageResult::passed(named([("name", name.clone()), ("result", name)]), None))
    }

    /// A branch name that no earlier pull request of the issue had, whether its branch still exists or not.
    pub(crate) fn new_branch(&self, wish: &str) -> BranchName {
        let opened = self.journal.opened();
        let name = |again| BranchName::for_issue(opened.issue.number, wish, again);
        let is_new = |name: &BranchName| opened.earlier.iter().all(|earlier| earlier.branch != *name);
        (1..=MOST_NAMES).map(name).find(is_new).unwrap_or_else(|| name(1))
    }

    pub(crate) fn publish_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let work = self.work_needed(stage, "there is no commit to publish")?;
        let (branch, work) = match self.try_push(&work, None)? {
            Ok(branch) => (branch, work),
            Err(declined) => match self.declined_rounds(stage, work, declined)? {
                Ok(taken) => taken,
                Err(ended) => return Ok(*ended),
            },
        };
        let (number, url) = self.publish(&work, branch)?;
        Ok(StageResult::passed(named([("url", url), ("number", number)]), Some(work)))
    }

    fn publish(&mut self, work: &CandidateWork, branch: BranchName) -> Result<(String, String), Suspension> {
        // Somebody's own pull request is there, with their words.
        if let (Some(pull), true) = (&self.trace.pull, self.adopts()) {
            return Ok((pull.number.to_string(), pull.url.clone()));
        }
        let (title, summary) = self.pull_text(work)?;
        let key = MoveKey::within(self.publisher_name(), "pull");
        let open = Move::OpenPull { branch, title: title.clone(), summary: summary.clone() };
        let seen = self.observe(&key, open)?;
        let EffectOutcome::PullOpened { number, url } = seen.outcome else { return Err(self.mismatch(&key)) };
        self.trace.pull = Some(PullTrace { number: *number, url: url.clone(), summary, title, ready: false });
        Ok((number.to_string(), url.clone()))
    }

    /// Whether the commits go to somebody's own branch and pull request.
    pub(crate) fn adopts(&self) -> bool {
        self.journal.opened().adopted_branch().is_some()
    }

    /// The stage that opens the pull request, if the pipeline has one.
    fn publisher(&self) -> Option<&'a Stage> {
        self.pipeline.stages.iter().find(|stage| stage.uses == StageKind::Publish)
    }

    /// The name for its effects, also if there is none and a draft is handed over.
    fn publisher_name(&self) -> &'a str {
        self.publisher().map_or("publish", |stage| stage.name.as_str())
    }

    /// Pushes the commit and returns its branch. If it is declined, no worker is left to fix it, so a person decides.
    pub(crate) fn push(&mut self, work: &CandidateWork) -> Result<BranchName, Suspension> {
        self.try_push(work, None)?.map_err(|declined| {
            let pull = self.trace.pull.as_ref().map(|pull| pull.number);
            Suspension::Settled(Settlement::Escalated { pull, because: declined.summary })
        })
    }

    /// Pushes the commit and returns its branch, or why the server declined it. It replaces our earlier commit under a
    /// lease. `again` is the round that retries the same commit.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    pub(crate) fn try_push(
        &mut self,
        work: &CandidateWork,
        again: Option<u32>,
    ) -> Result<Result<BranchName, Feedback>, Suspension> {
        let tried = again.map(|round| format!("-round-{round}")).unwrap_or_default();
        let wished = self.branch_or_default();
        let name = self.publisher_name();
        let issue = self.journal.opened().issue.number;
        // Answers to people come after everything replayed here. They change none of it and must not be overwritten.
        let pushes: Vec<LastPush> = self.pushes.iter().filter(|push| !push.is_answer).cloned().collect();
        let done = |push: &&LastPush| push.commit == work.commit && push.seq > self.position;
        let is_there = |push: &&LastPush| push.commit == work.commit;
        // The remote has it: pushed after this point of the replay, or earlier with no other push since.
        let last = || pushes.last().filter(is_there);
        let taken = pushes.iter().find(done).or_else(last);
        // A decline counts only if it came before the push was accepted.
        let refused = self.declined_pushes.iter().filter(|push| !push.is_answer).find(done);
        let refused = refused.filter(|refused| taken.is_none_or(|push| refused.seq < push.seq));
        if let Some(LastPush { seq, declined: Some(because), .. }) = refused {
            self.position = *seq;
            return Ok(Err(declined(because)));
        }
        if let Some(push) = taken {
            self.position = self.position.max(push.seq);
            self.trace.branch = Some(push.branch.clone());
            self.trace.pushed = Some(work.commit.clone());
            return Ok(Ok(push.branch.clone()));
        }
        // Commits on somebody's own branch go on top of its head.
        let head = self.journal.opened().continued().filter(|_| self.adopts());
        let head = head.map(|change| (wished.clone(), change.head.clone()));
        let before = pushes.last().map(|push| (push.branch.clone(), push.commit.clone())).or(head);
        let slug = wished.as_str().trim_start_matches("journeyman/");
        for again in 1..=MOST_NAMES {
            let (branch, how) = match &before {
                Some((branch, commit)) => (branch.clone(), format!("over-{}", commit.short())),
                None if again == 1 => (wished.clone(), "push".to_owned()),
                None => (BranchName::for_issue(issue, slug, again), "push".to_owned()),
            };
            let lease = before.as_ref().map(|(_, commit)| commit.clone());
            let key = MoveKey::within(name, format_args!("{}/{how}-{again}{tried}", work.commit.short()));
            let push = Move::Push { branch: branch.clone(), commit: work.commit.clone(), lease };
            match self.observe(&key, push)?.outcome {
                EffectOutcome::Pushed => {
                    self.trace.branch = Some(branch.clone());
                    self.trace.pushed = Some(work.commit.clone());
                    return Ok(Ok(branch));
                }
                EffectOutcome::PushDeclined { because } => return Ok(Err(declined(because))),
                // A person may have freed the name before `/retry`.
                EffectOutcome::BranchTaken { .. } if self.signals.has_retry_after(self.position) => {}
                EffectOutcome::BranchTaken { at } if before.is_some() => {
                    let at = at.as_ref().map_or("gone", CommitSha::short);
                    let because = match self.journal.opened().adopted_branch() {
                        None => format!(
                            "{branch} was changed by somebody else (it is {at}); Journeyman does not overwrite that"
                        ),
                        Some(theirs) => format!(
                            "{theirs} was changed meanwhile (it is {at}), so nothing was pushed; /journeyman fix begins \
                             from there"
                        ),
                    };
                    let pull = match self.seen(&MoveKey::within(name, "pull")) {
                        Some(EffectOutcome::PullOpened { number, .. }) => Some(*number),
                        Some(_) | None => self.trace.pull.as_ref().map(|pull| pull.number),
                    };
                    return Err(Suspension::Settled(Settlement::Escalated { pull, because }));
                }
                EffectOutcome::BranchTaken { .. } => {}
                _ => return Err(self.mismatch(&key)),
            }
        }
        let because =
            format!("{MOST_NAMES} branches of the name {wished} exist; delete those that are done with");
        Err(Suspension::failed(because))
    }

    /// The issue's class, empty if no stage gives one, and whether that role also makes the change.
    pub(crate) fn class(&self) -> (&str, bool) {
        let classified = self.stage_results.iter().find_map(|(stage, concluded)| {
            let mut results = concluded.fields.iter().filter(|(field, _)| field == "result");
            // A template may be in a folder: `/agent-work-orders/bug`.
            let class = results.find_map(|(_, value)| value.get(value.rfind('/')?..));
            class
                .filter(|class| matches!(*class, "/feature" | "/bug" | "/chore"))
                .map(|class| (*stage, class))
        });
        let Some((stage, class)) = classified else { return ("", false) };
        let role = self.pipeline.stage(stage).and_then(|stage| stage.agent.as_deref());
        let mut makers =
            self.pipeline.stages.iter().filter(|stage| stage.checks.contains(&Check::PushedCommit));
        (class, role.is_some_and(|role| makers.any(|stage| stage.agent.as_deref() == Some(role))))
    }

    /// The agent's title and text, or the issue's title if the agent offers none.
    fn pull_text(&mut self, work: &CandidateWork) -> Result<(String, String), Suspension> {
        let title = self.task.title.trim();
        let title: String = title.chars().take(200).collect();
        let title = if title.is_empty() { "Change for an issue without a title".to_owned() } else { title };
        let subjects = self.journal.prepared().map_or(&[][..], |prepared| &prepared.subjects);
        let habit = TitleStyle::of(subjects);
        let title = habit.typed(&title, self.class().0);
        let Some(stage) = self.publisher().filter(|stage| stage.agent.is_some()) else {
            return Ok((title, String::new()));
        };
        let mut worker = self.worker(stage, &format!("{}/{}/text", stage.name, work.commit.short()))?;
        let template = self.journal.prepared().and_then(|prepared| prepared.template.as_deref());
        if let Some(template) = template {
            worker.task.inputs.insert("pull request template to fill in".to_owned(), template.to_owned());
        }
        let written = self.rounds(&worker, |_, round, run| {
            let text = run.and_then(|run| run.result.as_deref()).unwrap_or_default().trim();
            let (title, summary) = text.split_once('\n').unwrap_or((text, ""));
            let title = title.trim().trim_start_matches(['#', '*', ' ']).trim_end_matches(['*', ' ']);
            // The template's comments are instructions for its author.
            let summary =
                template.map_or_else(|| summary.to_owned(), |_| pull_template::without_comments(summary));
            let summary = summary.trim();
            let is_text = (5..=200).contains(&title.chars().count()) && !summary.is_empty();
            match habit.fits(title) {
                _ if !is_text => Err(RoundEnd::advised(
                    "the answer is no title and text of a pull request",
                    "Answer with the title on the first line, an empty line, then the text.",
                )),
                // Worth one retry.
                Err(expected) if round == 1 => Err(RoundEnd::advised(
                    format!("the title is not written as titles are here: {expected}"),
                    "Change the title.",
                )),
                Ok(()) | Err(_) => Ok((title.to_owned(), summary.to_owned())),
            }
        })?;
        Ok(match written {
            WorkerOutcome::Passed(text) => text,
            WorkerOutcome::Decided { .. } => (title, String::new()),
            WorkerOutcome::GivenUp { because, .. } => {
                self.trace.note(format!("The pull request was named after the issue: {because}."));
                (title, String::new())
            }
        })
    }

    /// Updates the text. Work that is verified, or accepted by a person, leaves its draft.
    pub(crate) fn ready_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let mut work = self.work_needed(stage, "there is no pull request")?;
        let verdict = self.finish(&stage.name, &work)?;
        let mut ready = verdict.leaves_draft();
        if let (Verdict::Inconclusive { why }, Some(by)) =
            (verdict, self.signals.approved_after(self.position).map(str::to_owned))
        {
            self.accept(&mut work, by, why.sentence());
            // Rendering the pull request's text reads the trace.
            self.trace.work = Some(work.clone());
            ready = self.finish(&stage.name, &work)?.leaves_draft();
        }
        // A handed-over draft is finished but not ready.
        let state = if ready { StageState::Passed } else { StageState::Failed };
        Ok(StageResult { state, ..StageResult::passed(Vec::new(), Some(work)) })
    }

    /// Finishes the pull request by the verdict on this work.
    fn finish(&mut self, stage: &str, work: &CandidateWork) -> Result<Verdict, Suspension> {
        let Some(pull) = self.trace.pull.clone() else {
            return Err(Suspension::failed(format!("stage {stage}: there is no pull request")));
        };
        let verdict = Verdict::of_work(self.pipeline, &self.trace, work, None);
        let ready = verdict.leaves_draft();
        let kind = match verdict {
            Verdict::Verified(_) | Verdict::Inconclusive { .. } | Verdict::Pending { .. } | Verdict::None => {
                "finish"
            }
            Verdict::Rejected { .. } => "hand-over",
            Verdict::Approved { .. } => "approved",
        };
        let key = MoveKey::within(stage, format_args!("{}/{kind}", work.commit.short()));
        if !self.adopts() {
            self.observe(&key, pull.finish(ready))?;
        }
        self.trace.pull = Some(PullTrace { ready, ..pull });
        Ok(verdict)
    }

    /// Work that a person accepted leaves its draft, even if no stage of the pipeline does that.
    pub(crate) fn accept_by_itself(&mut self) -> Result<(), Suspension> {
        if self.pipeline.stages.iter().any(|stage| stage.uses == StageKind::Ready) {
            return Ok(());
        }
        let Some(mut work) = self.trace.work.clone() else { return Ok(()) };
        let by = self.signals.approved_after(self.last_end()).map(str::to_owned);
        match (self.verdict(Some(&Settlement::Finished { pull: None })), by) {
            (Verdict::Approved { .. }, _) => {}
            (Verdict::Inconclusive { why }, Some(by)) => self.accept(&mut work, by, why.sentence()),
            _ => return Ok(()),
        }
        // From here on, everything reports it as approved.
        self.trace.work = Some(work.clone());
        if self.trace.pull.is_none() {
            // The draft was handed over before it was accepted. The same effects find it again.
            let branch = self.push(&work)?;
            self.publish(&work, branch)?;
        }
        self.finish("ready", &work).map(|_| ())
    }

    /// Hands the best round to a person: on the branch, in a pull request that stays a draft. Somebody's own branch
    /// gets nothing that failed.
    pub(crate) fn hand_over(&mut self, work: &CandidateWork) -> Result<(), Suspension> {
        let publisher = self.publisher_name();
        let handed = if self.adopts() {
            Ok(())
        } else if self.trace.pull.is_some() {
            self.push(work).map(|_| ())
        } else {
            self.trace.begin(publisher);
            let published = self.push(work).and_then(|branch| self.publish(work, branch));
            published.map(|_| self.trace.conclude(publisher, StageState::Passed))
        };
        let ready = self.pipeline.stages.iter().find(|stage| stage.uses == StageKind::Ready);
        let ready = ready.map_or("ready", |stage| stage.name.as_str());
        let handed = handed.and_then(|()| {
            self.trace.begin(ready);
            self.finish(ready, work).map(|_| ())
        });
        self.trace.conclude(ready, StageState::Failed);
        handed
    }
}

/// Feedback for the author of a commit that the server declined.
pub(super) fn declined(because: &str) -> Feedback {
    Feedback::failed(Category::Policy, format!("the push was declined: {because}"))
        .suggest("Change what the rule is about, be it files or the message of your commit, and push again.")
}

/// A round whose commit the server declined.
pub(super) fn push_declined(work: CandidateWork, feedback: Feedback) -> RoundEnd {
    RoundEnd::sent_back(RoundCheck::Push, work, feedback, None)
}

/// Every push that the remote accepted or declined, in order.
pub(super) fn pushes(prefix: JournalPrefix<'_>) -> Vec<LastPush> {
    let seen = prefix.of_kind(EntryKind::Push).filter_map(|entry| {
        let JournalEvent::Observed { key, outcome } = &entry.event else { return None };
        let mut declined = None;
        if let EffectOutcome::PushDeclined { because } = &**outcome {
            declined = Some(because.clone());
        }
        let intended = prefix.before(entry.seq).intended(key);
        let (branch, commit) = intended.rev().find_map(|(_, intended)| {
            let Move::Push { branch, commit, .. } = intended else { return None };
            Some((branch.clone(), commit.clone()))
        })?;
        let is_answer = key.scope() == EffectScope::Beside(ReservedWord::Answer);
        Some(LastPush { seq: entry.seq, branch, commit, is_answer, declined })
    });
    seen.collect()
}
