//! The pipeline as a graph: which stages run, which of them in parallel, and how the order ends when no stage can
//! continue.

use std::collections::BTreeSet;

use super::worker::{Variables, all_of};
use super::{Replay, ReplayResult, Suspension};
use crate::bounds::MOST_SIDE_BY_SIDE;
use crate::conversation::{CommentTarget, NoticeComment};
use crate::effect_name::ReservedWord;
use crate::ids::{CommitSha, PullNumber};
use crate::moves::{Move, MoveKey};
use crate::pipeline::{Stage, StageKind};
use crate::settings::VerificationRequirement;
use crate::settlement::Settlement;
use crate::trace::{Acceptance, CandidateWork, StageChecksOutcome, StageState};
use crate::verdict::Verdict;

/// The values of `{{stage.field}}`, by field name.
pub(crate) type StageFields = Vec<(String, String)>;

pub(crate) fn named<const N: usize>(fields: [(&str, String); N]) -> StageFields {
    fields.map(|(field, value)| (field.to_owned(), value)).to_vec()
}

pub(crate) struct StageResult {
    pub(crate) state: StageState,
    /// The last entry that this result rests on.
    pub(crate) position: u64,
    /// The last agent run among those entries.
    pub(crate) last_run: u64,
    pub(crate) fields: StageFields,
    /// The commit after this stage. `None` if the stage involves no commit.
    pub(crate) work: Option<CandidateWork>,
    /// Why the order can no longer succeed.
    pub(crate) because: Option<Settlement>,
}

impl StageResult {
    pub(crate) fn passed(fields: StageFields, work: Option<CandidateWork>) -> Self {
        Self { state: StageState::Passed, position: 0, last_run: 0, fields, work, because: None }
    }

    pub(crate) fn without_result(state: StageState) -> Self {
        Self { state, position: 0, last_run: 0, fields: Vec::new(), work: None, because: None }
    }

    pub(crate) fn failed(because: Settlement) -> Self {
        Self { because: Some(because), ..Self::without_result(StageState::Failed) }
    }
}

/// The newest work. A stage that only judged an earlier commit does not bring it back. One that began before a later
/// test run does not undo that run's result.
fn newest<'w>(works: impl Iterator<Item = &'w CandidateWork>) -> Option<CandidateWork> {
    let mut seen: Vec<&CommitSha> = Vec::new();
    let mut newest: Option<CandidateWork> = None;
    for work in works {
        newest = match newest {
            Some(known) if known.commit == work.commit => Some(with_last_run(&known, work)),
            Some(known) if seen.contains(&&work.commit) => Some(known),
            Some(_) | None => Some(work.clone()),
        };
        seen.push(&work.commit);
    }
    newest
}

/// The later of two works on one commit, with the result of its newest test run.
fn with_last_run(known: &CandidateWork, later: &CandidateWork) -> CandidateWork {
    if known.tested_at <= later.tested_at {
        return later.clone();
    }
    let has_failed = matches!(later.checks, StageChecksOutcome::Failed { .. });
    let checks = if has_failed { &later.checks } else { &known.checks };
    CandidateWork {
        tests: known.tests.clone(),
        tested_at: known.tested_at,
        checks: checks.clone(),
        accepted: later.accepted.as_ref().or(known.accepted.as_ref()).cloned(),
        ..later.clone()
    }
}

impl<'a> Replay<'a> {
    /// Runs every stage as far as the journal allows. Stages that need the work tree run in pipeline order, so the
    /// result does not depend on which is faster.
    pub(crate) fn stages(&mut self, ran: &mut ReplayResult) {
        let mut at_work = 0;
        let mut tree_is_taken = false;
        let pipeline = self.pipeline;
        for stage in &pipeline.stages {
            let waits = match self.readiness(stage) {
                None => true,
                Some(Err(concluded)) => {
                    if concluded.state == StageState::Skipped {
                        self.trace.begin(&stage.name);
                    }
                    self.conclude(&stage.name, concluded);
                    continue;
                }
                Some(Ok(())) => at_work == MOST_SIDE_BY_SIDE || (stage.writes_tree() && tree_is_taken),
            };
            if waits {
                tree_is_taken |= stage.writes_tree();
                continue;
            }
            self.trace.begin(&stage.name);
            let concluded = match self.stage(stage) {
                Ok(concluded) => concluded,
                Err(Suspension::Settled(settlement)) => StageResult::failed(settlement),
                Err(Suspension::OverBudget { because }) => {
                    let because = format!("stage {}: {because}", stage.name);
                    StageResult::failed(Settlement::Failed { because })
                }
                Err(suspension) => {
                    at_work += 1;
                    tree_is_taken |= stage.writes_tree();
                    ran.take(suspension);
                    continue;
                }
            };
            self.conclude(&stage.name, concluded);
        }
        if self.stage_results.len() == pipeline.stages.len() {
            self.end(ran);
        }
    }

    fn conclude(&mut self, name: &'a str, concluded: StageResult) {
        self.trace.conclude(name, concluded.state);
        self.trace.requires_examination = self.settings.require.contains(&VerificationRequirement::Examined);
        let position = concluded.position.max(self.position);
        let last_run = self.last_run;
        self.stage_results.insert(name, StageResult { position, last_run, ..concluded });
        self.trace.kind = Some(self.change_kind());
        let stages = self.pipeline.stages.iter();
        let works = stages.filter_map(|stage| self.stage_results.get(stage.name.as_str())?.work.as_ref());
        self.trace.work = newest(works);
    }

    /// Whether a stage is ready; also moves the replay to where its dependencies ended. `None` while one of them runs.
    /// The error is the result of a stage that will not run.
    fn readiness(&mut self, stage: &Stage) -> Option<Result<(), StageResult>> {
        (self.position, self.last_run) = (1, 1);
        for name in &stage.depends_on {
            let before = self.stage_results.get(name.as_str())?;
            self.position = self.position.max(before.position);
            self.last_run = self.last_run.max(before.last_run);
            if !matches!(before.state, StageState::Passed | StageState::Approved | StageState::Skipped) {
                return Some(Err(StageResult::without_result(StageState::NotReached)));
            }
        }
        let Some(condition) = &stage.when else { return Some(Ok(())) };
        let visible = self.visible_to(stage);
        Some(match condition.holds(|text| self.fill(stage, text, &visible)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(StageResult::without_result(StageState::Skipped)),
            Err(settlement) => Err(StageResult::failed(settlement)),
        })
    }

    /// No stage can continue: hands over the best round if one escalated, and settles the order.
    fn end(&mut self, ran: &mut ReplayResult) {
        let escalated = self.pipeline.stages.iter().find_map(|stage| {
            let concluded = self.stage_results.get(stage.name.as_str())?;
            let work = concluded.work.clone()?;
            (concluded.state == StageState::Escalated).then_some(work)
        });
        let handed = match escalated {
            Some(work) => {
                // A parallel stage may have pushed since, so the handover comes after all stages.
                self.position = self.last_end();
                self.trace.work = Some(work.clone());
                self.hand_over(&work)
            }
            // If a stage failed, an acceptance of earlier work must not publish that work.
            None if self.stage_results.values().any(|known| known.state == StageState::Failed) => {
                self.keep_best()
            }
            None => self.accept_by_itself().and_then(|()| self.replace_attempt()),
        };
        if let Err(suspension) = handed {
            return ran.take(suspension);
        }
        let pull = self.trace.pull.as_ref().map(|pull| pull.number);
        let first = self.pipeline.stages.iter().find_map(|stage| {
            self.stage_results.get(stage.name.as_str()).and_then(|concluded| concluded.because.clone())
        });
        let settled = match first {
            Some(Settlement::Escalated { because, .. }) => Settlement::Escalated { pull, because },
            Some(settlement) => settlement,
            None => self.settled_as(pull),
        };
        if let Settlement::Finished { pull: None } = settled
            && let Err(suspension) = self.post_results()
        {
            return ran.take(suspension);
        }
        let can_be_accepted = if let Settlement::Finished { .. } = settled {
            self.verdict(Some(&settled)).objection().is_some()
        } else {
            matches!(settled, Settlement::Escalated { .. })
                && self.stage_results.values().any(|known| known.state == StageState::Escalated)
        };
        // Who may merge somebody else's pull request needs no word of ours.
        ran.approvable = pull.is_some() && can_be_accepted && !self.trace.is_given;
        ran.settled = Some(settled);
    }

    /// The last entry that any stage's result rests on.
    pub(crate) fn last_end(&self) -> u64 {
        self.stage_results.values().map(|concluded| concluded.position).max().unwrap_or_default()
    }

    /// Pushes the best round of a stage that failed without asking anybody, since it was paid for.
    fn keep_best(&mut self) -> Result<(), Suspension> {
        let best = self.stage_results.values().find_map(|concluded| {
            let is_given_up = matches!(concluded.because, Some(Settlement::Failed { .. }));
            concluded.work.clone().filter(|work| is_given_up && work.accepted.is_none())
        });
        let Some(work) = best.filter(|_| !self.adopts()) else { return Ok(()) };
        self.position = self.last_end();
        self.trace.work = Some(work.clone());
        let pushed = self.push(&work);
        self.or_note(pushed, |why| format!("The best attempt could not be pushed: {why}."))
    }

    /// For steps that nothing depends on: a failure is noted and the work continues.
    pub(crate) fn or_note<T>(
        &mut self,
        done: Result<T, Suspension>,
        note: impl FnOnce(&str) -> String,
    ) -> Result<(), Suspension> {
        match done {
            Err(Suspension::Settled(settled)) => {
                self.trace.note(note(settled.because().unwrap_or_default()));
                Ok(())
            }
            done => done.map(drop),
        }
    }

    /// An order without a pull request posts its results on the issue.
    fn post_results(&mut self) -> Result<(), Suspension> {
        // One comment for each time that a person resumed the order.
        let times = self.signals.log.commands.len();
        let key = MoveKey::beside(ReservedWord::Say, format_args!("results-{times}"));
        let on = CommentTarget::Issue(self.journal.opened().issue.number);
        let posted = self.observe(&key, Move::Say { on, saying: NoticeComment::Results });
        self.or_note(posted, |why| format!("The results could not be posted on the issue: {why}."))
    }

    /// A pipeline that publishes nothing pushes only what it hands over. If a later attempt succeeds, it must replace
    /// that push.
    fn replace_attempt(&mut self) -> Result<(), Suspension> {
        let publishes = self.pipeline.stages.iter().any(|stage| stage.uses == StageKind::Publish);
        match self.trace.work.clone() {
            Some(work) if !publishes && !self.pushes.is_empty() => self.push(&work).map(drop),
            Some(_) | None => Ok(()),
        }
    }

    /// The verdict on the work if the order ended like this.
    pub(crate) fn verdict(&self, settled: Option<&Settlement>) -> Verdict {
        Verdict::of(self.pipeline, &self.trace, settled)
    }

    /// How the order ends with the current work. Rejected work goes to a person.
    pub(crate) fn settled_as(&self, pull: Option<PullNumber>) -> Settlement {
        let finished = Settlement::Finished { pull };
        if let Verdict::Rejected { why } = self.verdict(Some(&finished)) {
            return Settlement::Escalated { pull, because: why };
        }
        finished
    }

    /// Records that a person accepted the work as it is. Everything after that rests on it.
    pub(crate) fn accept(&mut self, work: &mut CandidateWork, by: String, because: String) {
        let failed = matches!(work.checks, StageChecksOutcome::Failed { .. });
        let accepted = Acceptance { by, because, failed };
        self.trace.accepted.push(accepted.clone());
        work.accepted = Some(accepted);
    }

    /// The stages that a stage depends on, directly or indirectly, in pipeline order.
    pub(crate) fn before(&self, stage: &Stage) -> Vec<&'a Stage> {
        let mut wanted: BTreeSet<&str> = stage.depends_on.iter().map(String::as_str).collect();
        let pipeline = self.pipeline;
        let mut found: Vec<&'a Stage> = Vec::new();
        for known in pipeline.stages.iter().rev() {
            if wanted.contains(known.name.as_str()) {
                wanted.extend(known.depends_on.iter().map(String::as_str));
                found.push(known);
            }
        }
        found.reverse();
        found
    }

    /// The variables of a stage: the issue, the order, and the results of earlier stages. They are empty if no worker
    /// answered, because a stage was skipped, only judged, or was given up.
    pub(crate) fn visible_to(&self, stage: &Stage) -> Variables {
        let mut visible = self.variables.clone();
        for known in self.before(stage) {
            let concluded = self.stage_results.get(known.name.as_str());
            for (field, value) in concluded.iter().flat_map(|concluded| &concluded.fields) {
                visible.insert(format!("{}.{field}", known.name), value.clone());
            }
            // Optional fields that the answer omits are empty.
            let role = known.agent.as_deref().and_then(|role| self.journal.role(role));
            for field in known.fields(role) {
                visible.entry(format!("{}.{field}", known.name)).or_default();
            }
            let mut fields = concluded.iter().flat_map(|concluded| &concluded.fields);
            if !fields.any(|(field, _)| field == "result") {
                visible.insert(all_of(&known.name), String::new());
            }
        }
        visible
    }

    /// The pull request, if an earlier stage opened it. A parallel stage's would appear sooner or later, depending on
    /// speed.
    pub(crate) fn pull_before(&self, stage: &Stage) -> Option<PullNumber> {
        let is_before = self.before(stage).iter().any(|known| known.uses == StageKind::Publish);
        self.trace.pull.as_ref().filter(|_| is_before).map(|pull| pull.number)
    }

    pub(crate) fn work_before(&self, stage: &Stage) -> Option<CandidateWork> {
        let before = self.before(stage);
        newest(before.iter().filter_map(|known| self.stage_results.get(known.name.as_str())?.work.as_ref()))
    }

    /// The same, for a stage that cannot run without it.
    pub(crate) fn work_needed(&self, stage: &Stage, lack: &str) -> Result<CandidateWork, Suspension> {
        let lacking = || Suspension::failed(format!("stage {}: {lack}", stage.name));
        self.work_before(stage).ok_or_else(lacking)
    }

    /// The commit that a read-only stage sees: the work before it, or the base.
    pub(crate) fn head_for(&self, stage: &Stage) -> Option<CommitSha> {
        self.work_before(stage).map(|work| work.commit).or_else(|| self.base.clone())
    }
}
