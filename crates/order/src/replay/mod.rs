//! Replays the journal: observed effects are passed over, and the first unobserved one is the next move.
//!
//! - `graph` walks the stages, `stages` knows each kind, `rounds` is the one loop that every stage runs.
//! - `worker` is who runs, and what stages pass on; `output`, `work` and `review` are the checks.
//! - `best` and `fingerprint` compare rounds.
//! - `escalation` handles a check that ran out; `publish` brings the work, or the best round, to GitHub.
//! - `signal_log` and `signal_reader` hold what people said, `sender_permission` whether they may.
//! - `budget` limits the cost.
//!
//! May know: the vocabulary beside it. Must never know: how a move is executed, or the time unless it is passed in.

pub(crate) mod best;
pub(crate) mod budget;
mod conversation;
pub(crate) mod escalation;
mod examine;
mod fingerprint;
mod graph;
mod judge;
mod output;
mod plan;
mod publish;
mod review;
pub(crate) mod rounds;
mod sender_permission;
pub(crate) mod signal_log;
mod signal_reader;
mod stages;
mod text_updates;
mod verify;
mod work;
mod worker;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::agent_run::{AgentFailure, AgentFailureKind, AgentRun};
use super::backoff::Backoff;
use super::effect_name::ReservedWord;

use self::graph::StageResult;
use self::publish::LastPush;
use self::signal_log::{SignalLog, SignalLogView};
use self::worker::{Variables, Worker};
use super::ids::{CommitSha, Person};
use super::journal::{Journal, JournalEvent, task_after};
use super::journal_index::{EntryKind, JournalPrefix, Observation};
use super::moves::{AgentTask, EffectError, EffectOutcome, Move, MoveKey, Retry};
use super::order_request::OrderRequest;
use super::pipeline::{Pipeline, RetryPolicy};
use super::settings::RepositorySettings;
use super::settlement::Settlement;
use super::signal::{Requester, SignalKind, SlashCommand};
use super::task::TaskText;
use super::trace::{CandidateWork, EffectBackoff, OrderTrace, RoundTrace};

/// How many pauses that GitHub asks for are free before they count as attempts.
const MOST_WAITS: u32 = 24;
#[derive(Debug)]
pub(crate) enum Suspension {
    /// An effect has not been observed yet.
    PendingMove(MoveKey, Box<Move>),
    Timer(DateTime<Utc>),
    /// Several of the two above, in parallel.
    SideBySide(Vec<Suspension>),
    /// The order ended without success.
    Settled(Settlement),
    /// The next agent run is over budget.
    OverBudget {
        because: String,
    },
    /// A person must approve or answer first.
    PlanReview,
}

impl From<Settlement> for Suspension {
    fn from(settlement: Settlement) -> Self {
        Self::Settled(settlement)
    }
}

impl Suspension {
    pub(crate) fn failed(because: impl Into<String>) -> Self {
        Self::Settled(Settlement::Failed { because: because.into() })
    }
}

#[derive(Debug, Default)]
pub(crate) struct ReplayResult {
    pub(crate) moves: Vec<(MoveKey, Move)>,
    pub(crate) wake_at: Option<DateTime<Utc>>,
    pub(crate) settled: Option<Settlement>,
    /// Whether a person can accept the draft as it is.
    pub(crate) approvable: bool,
    /// Whether a stage waits for a person's approval or answers.
    pub(crate) plan_waits: bool,
    pub(crate) answers_begun: u32,
    /// Whether the last answer was given up; `/retry` then resumes its rounds.
    pub(crate) given_up: bool,
    /// Whether requests from people are waiting for others to be answered with them.
    pub(crate) gathers: bool,
}

impl ReplayResult {
    pub(crate) fn take(&mut self, suspension: Suspension) {
        match suspension {
            Suspension::PendingMove(key, r#move) => self.moves.push((key, *r#move)),
            Suspension::Timer(until) => {
                self.wake_at = Some(self.wake_at.map_or(until, |known| known.min(until)))
            }
            Suspension::SideBySide(suspensions) => {
                suspensions.into_iter().for_each(|suspension| self.take(suspension))
            }
            Suspension::Settled(settlement) => self.settled = Some(settlement),
            Suspension::OverBudget { because } => self.settled = Some(Settlement::Failed { because }),
            Suspension::PlanReview => self.plan_waits = true,
        }
    }
}

pub(crate) struct Replay<'a> {
    pub(crate) journal: &'a Journal,
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) signals: SignalLogView<'a>,
    pub(crate) trace: OrderTrace,
    pub(crate) task: TaskText,
    /// The variables that every stage may use.
    pub(crate) variables: Variables,
    pub(crate) settings: RepositorySettings,
    pub(crate) base: Option<CommitSha>,
    /// The results of stages that ended.
    pub(crate) stage_results: BTreeMap<&'a str, StageResult>,
    /// The part of the journal that is replayed. Later entries are unknown to it.
    pub(crate) prefix: JournalPrefix<'a>,
    /// The last entry that the current step rests on. A person's command after it applies to this step.
    pub(crate) position: u64,
    /// The last worker run that the current step rests on. Workers have not seen advice given after it; judges never
    /// see any.
    pub(crate) last_run: u64,
    pub(crate) now: DateTime<Utc>,
    /// The commit that an agent pushed last, in whichever stage.
    pub(crate) imported: Option<CommitSha>,
    /// Stages whose worker was asked for a test that proves its change, with that change. Only `/retry` asks again.
    pub(crate) asked_for_proof: BTreeMap<String, CandidateWork>,
    pub(crate) pushes: Vec<LastPush>,
    pub(crate) declined_pushes: Vec<LastPush>,
}

impl<'a> Replay<'a> {
    pub(crate) fn is_of_form_3(&self) -> bool {
        self.journal.opened().is_of_form_3()
    }

    pub(crate) fn new(
        pipeline: &'a Pipeline,
        journal: &'a Journal,
        length: usize,
        signals: &'a SignalLog,
        now: DateTime<Utc>,
    ) -> Self {
        let (opened, prefix) = (journal.opened(), journal.first(length));
        let (issue, task) = (&opened.issue, task_after(opened, prefix));
        let variables = Variables::from([
            ("issue.number".to_owned(), issue.number.to_string()),
            ("issue.title".to_owned(), task.title.clone()),
            ("issue.body".to_owned(), task.body.clone()),
            ("issue.url".to_owned(), issue.url.clone()),
            ("issue.json".to_owned(), issue.json(&task.title, &task.body)),
            ("order.id".to_owned(), opened.order.to_string()),
            ("repository.name".to_owned(), opened.repository.to_string()),
        ]);
        let (pushes, declined_pushes): (Vec<LastPush>, Vec<LastPush>) =
            publish::pushes(prefix).into_iter().partition(|push| push.declined.is_none());
        let usage = budget::usage_after(prefix, 0);
        let trace = OrderTrace { usage, has_pushed: !pushes.is_empty(), ..OrderTrace::default() };
        Self {
            journal,
            pipeline,
            signals: SignalLogView { log: signals, segment: 0 },
            trace,
            task,
            variables,
            settings: RepositorySettings::default(),
            base: None,
            stage_results: BTreeMap::new(),
            prefix,
            position: 1,
            last_run: 1,
            now,
            imported: None,
            asked_for_proof: BTreeMap::new(),
            pushes,
            declined_pushes,
        }
    }

    pub(crate) fn run(&mut self) -> ReplayResult {
        let mut ran = ReplayResult::default();
        match self.begin() {
            Ok(()) => self.stages(&mut ran),
            Err(suspension) => ran.take(suspension),
        }
        if ran.settled.is_some() {
            self.converse(&mut ran);
        }
        ran
    }

    fn begin(&mut self) -> Result<(), Suspension> {
        match &self.journal.opened().by {
            Requester::Person(person) => self.authorize(person)?,
            Requester::ApiToken | Requester::Repository => {
                self.trace.request = self.journal.opened().request.clone();
            }
        }
        self.tell_what_was_before();
        self.point_at_given_change();
        if let Some(because) = self.trace.request.unknown() {
            return Err(Suspension::failed(because));
        }
        for again in 1_u32.. {
            self.prepare(again)?;
            let mut ended = self.preflight(again)?;
            if ended.is_none() {
                ended = self.environment(again)?;
            }
            let Some(ended) = ended else { break };
            // The fix may be on the default branch, so a `/retry` checks everything again.
            if !self.signals.has_retry_after(self.position) {
                return Err(Suspension::Settled(ended));
            }
            self.trace.problems.clear();
        }
        self.fetch_start()
    }

    /// Notes what became of the issue's earlier pull request.
    fn tell_what_was_before(&mut self) {
        let Some(before) = self.journal.opened().earlier.first() else { return };
        let pull = before.pull;
        let how = match (before.open, before.merged) {
            (true, _) => "is open, and the record of its order cannot be read",
            (false, true) => "was merged",
            (false, false) => "was closed without being merged",
        };
        self.trace.note(format!("Pull request #{pull} {how}: this order starts over, on a new branch."));
    }

    /// Reads the base branch and the repository's settings.
    fn prepare(&mut self, again: u32) -> Result<(), Suspension> {
        let key = match again {
            1 => MoveKey::only(ReservedWord::Prepare),
            again => MoveKey::beside(ReservedWord::Prepare, again),
        };
        let seen = self.observe(&key, Move::Prepare)?;
        if let EffectOutcome::Prepared(prepared) = seen.outcome {
            self.base = Some(prepared.base.clone());
            self.trace.base.clone_from(&self.base);
            self.settings = prepared.settings.clone();
        }
        Ok(())
    }

    /// Observes a step before the work. `None` if an older version began the work without this step; it is not caught
    /// up.
    fn step(
        &mut self,
        word: ReservedWord,
        again: u32,
        r#move: Move,
    ) -> Result<Option<&'a EffectOutcome>, Suspension> {
        let step = MoveKey::beside(word, again);
        let mut begun = self.prefix.entries().iter().filter_map(|entry| {
            let JournalEvent::Intended { key, r#move } = &entry.event else { return None };
            (*key == step || matches!(**r#move, Move::RunAgent(_))).then_some(key)
        });
        if begun.next().is_some_and(|key| *key != step) {
            return Ok(None);
        }
        self.observe(&step, r#move).map(|seen| Some(seen.outcome))
    }

    /// Finds what would stop the work later, before any agent is paid. Returns how the order ends in that case.
    fn preflight(&mut self, again: u32) -> Result<Option<Settlement>, Suspension> {
        let seen = self.step(ReservedWord::Preflight, again, Move::Preflight)?;
        let Some(EffectOutcome::Preflighted { problems, warnings }) = seen else { return Ok(None) };
        for warning in warnings {
            self.trace.note(warning.clone());
        }
        self.trace.problems.clone_from(problems);
        Ok((!problems.is_empty()).then(|| Settlement::Failed { because: problems.join("; ") }))
    }

    /// Prepares the environment. If the tests cannot run, no agent's work can be verified, so the order ends.
    fn environment(&mut self, again: u32) -> Result<Option<Settlement>, Suspension> {
        if !self.runs_tests() {
            return Ok(None);
        }
        let seen = self.step(ReservedWord::Environment, again, Move::PrepareEnvironment)?;
        let Some(EffectOutcome::EnvironmentPrepared(report)) = seen else { return Ok(None) };
        self.trace.environment = Some((**report).clone());
        for note in &report.notes {
            self.trace.note(note.clone());
        }
        Ok(report.problem.as_ref().map(|problem| {
            let because = problem.told();
            self.trace.problems = vec![because.clone()];
            Settlement::Unprepared { because }
        }))
    }

    /// Checks the requester's right, then that of later requesters: an outsider's label must not block theirs.
    fn authorize(&mut self, opener: &'a Person) -> Result<(), Suspension> {
        let others = self.prefix.of_kind(EntryKind::Signal).filter_map(|entry| {
            let JournalEvent::Signaled { signal, .. } = &entry.event else { return None };
            let Requester::Person(person) = &signal.by else { return None };
            let request = if let SignalKind::Labeled { label, .. } = &signal.kind {
                OrderRequest::of_label(label).map(|(_, request)| request)
            } else if let SignalKind::Commanded { command: SlashCommand::Start { request }, .. } =
                &signal.kind
            {
                Some(request.clone())
            } else {
                return None;
            };
            Some((entry.seq, person, request))
        });
        let mut refused: Vec<&Person> = Vec::new();
        let opened = std::iter::once((1, opener, Some(self.journal.opened().request.clone())));
        for (seq, person, request) in opened.chain(others) {
            if refused.iter().any(|known| known.id == person.id) {
                continue;
            }
            let key = MoveKey::beside(ReservedWord::Authorize, seq);
            let seen = self.observe(&key, Move::Authorize { person: person.clone() })?;
            if matches!(seen.outcome, EffectOutcome::Authorized { allowed: true }) {
                self.trace.authorized_by = Some(person.clone());
                // An outsider's options must not carry over to the next requester.
                self.trace.request = request.unwrap_or_default();
                return Ok(());
            }
            refused.push(person);
        }
        let because = format!("{} has no write access to the repository", opener.login);
        Err(Suspension::Settled(Settlement::Refused { because }))
    }

    /// Returns what was observed of an effect. Otherwise suspends: with the move if it is unobserved, with a pause
    /// after a failure, with the end if retries ran out.
    pub(crate) fn observe(&mut self, key: &MoveKey, r#move: Move) -> Result<Observation<'a>, Suspension> {
        self.observe_with_retries(key, (Backoff::EFFECT, RetryPolicy::InfrastructureOnly), r#move)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only a spent budget keeps the work")]
    /// The same, with a stage's own retries.
    fn observe_with_retries(
        &mut self,
        key: &MoveKey,
        (backoff, policy): (Backoff, RetryPolicy),
        mut r#move: Move,
    ) -> Result<Observation<'a>, Suspension> {
        let (mut attempts, mut waits, mut outages): (u32, u32, u32) = (0, 0, 0);
        let mut is_session_known = true;
        let mut due: Option<(DateTime<Utc>, &str)> = None;
        for seen in self.prefix.observed(key) {
            let Some((message, retry)) = failed_attempt(seen.outcome, policy) else {
                self.position = self.position.max(seen.seq);
                return Ok(seen);
            };
            let is_outage = retry == Some(Retry::Outage);
            outages = if is_outage { outages + 1 } else { 0 };
            // A wait that GitHub asks for is no failure of the effect: an hourly quota refills.
            let is_asked_for = matches!(
                seen.outcome,
                EffectOutcome::Trouble(EffectError { retry: Retry::After { .. }, .. })
            );
            if is_asked_for && waits < MOST_WAITS {
                waits += 1;
            } else if !is_outage {
                attempts += 1;
            }
            is_session_known &= retry.is_some();
            let asked = match retry {
                None => Some(Duration::ZERO),
                Some(Retry::Soon) if policy == RetryPolicy::Blind => Some(Duration::ZERO),
                Some(Retry::Soon | Retry::Outage | Retry::Never) => None,
                Some(Retry::After { seconds }) => Some(Duration::from_secs(seconds)),
            };
            let pause = if is_outage {
                Backoff::OUTAGE.pause(outages, None)
            } else {
                backoff.pause(attempts, asked).filter(|_| retry != Some(Retry::Never))
            };
            let Some(pause) = pause else {
                // Once retries run out, a run that ended on its own counts as a round like any other.
                if let EffectOutcome::AgentRan(run) = seen.outcome
                    && let Some(AgentFailure { kind: AgentFailureKind::Ended, .. }) = &run.failure
                {
                    self.position = self.position.max(seen.seq);
                    return Ok(seen);
                }
                if !self.signals.has_retry_after(seen.seq) {
                    let because = message.to_owned();
                    self.position = self.position.max(seen.seq);
                    return Err(match seen.outcome {
                        EffectOutcome::BudgetSpent { .. } => Suspension::OverBudget { because },
                        _ => Suspension::failed(because),
                    });
                }
                (attempts, due, outages) = (0, None, 0);
                continue;
            };
            due = Some((seen.at + pause, message));
        }
        if let Some((until, message)) = due.filter(|(until, _)| self.now < *until) {
            self.trace.waiting = Some(EffectBackoff { message: message.to_owned(), until });
            return Err(Suspension::Timer(until));
        }
        if let Move::RunAgent(task) = &mut r#move
            && !is_session_known
        {
            task.session = None;
        }
        Err(Suspension::PendingMove(key.clone(), Box::new(r#move)))
    }

    /// The entry where an effect was first intended.
    pub(crate) fn begun(&self, key: &MoveKey) -> Option<u64> {
        self.prefix.intended(key).next().map(|(seq, _)| seq)
    }

    /// The last outcome of an effect that the replay has passed.
    pub(crate) fn seen(&self, key: &MoveKey) -> Option<&'a EffectOutcome> {
        self.prefix.observed(key).next_back().map(|seen| seen.outcome)
    }

    /// An agent's run and its entry. A new run is proposed only if the budget allows it.
    pub(crate) fn run_agent(
        &mut self,
        key: &MoveKey,
        task: AgentTask,
        worker: &Worker<'_>,
    ) -> Result<(&'a AgentRun, u64), Suspension> {
        let backoff = Backoff { retries: Some(worker.stage.retry_count), ..Backoff::EFFECT };
        let patience = (backoff, worker.stage.retry_policy);
        match self.observe_with_retries(key, patience, Move::RunAgent(task)) {
            Ok(Observation { outcome: EffectOutcome::AgentRan(run), seq, .. }) => Ok((run, seq)),
            Ok(_) => Err(self.mismatch(key)),
            Err(Suspension::PendingMove(key, r#move)) => Err(self.in_time(worker, key, r#move)),
            Err(suspension) => Err(suspension),
        }
    }

    /// Checks the order's limits only for a run that is about to start, because this reads the whole journal.
    fn in_time(&self, worker: &Worker<'_>, key: MoveKey, mut r#move: Box<Move>) -> Suspension {
        let left = match self.remaining(worker, &key) {
            Ok(time) => time.num_seconds().max(0).unsigned_abs(),
            // A run under way has its own timeout. Stopping it would pay for it without counting it.
            Err(_) if self.prefix.is_under_way(&key) => 0,
            Err(because) => return Suspension::OverBudget { because },
        };
        if let Move::RunAgent(task) = &mut *r#move {
            task.timeout_seconds = worker.stage.timeout.map_or(left, |limit| left.min(limit.0));
        }
        Suspension::PendingMove(key, r#move)
    }

    /// Records the outcome of a worker's round in the trace.
    pub(crate) fn in_round(&mut self, worker: &Worker<'_>, round: u32, write: impl FnOnce(&mut RoundTrace)) {
        if let Some(seen) = self.trace.round(&worker.task.stage, round) {
            write(seen);
        }
    }

    /// An outcome of the wrong kind means that Journeyman did not write this journal.
    pub(crate) fn mismatch(&self, key: &MoveKey) -> Suspension {
        Suspension::failed(format!("the journal holds an outcome of another kind for {key}"))
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is what was to be observed")]
/// Why an attempt failed, and when to retry: the effect failed, or the runtime could not run. A retry of `None` means
/// at once, without the session that the runtime does not know.
fn failed_attempt(outcome: &EffectOutcome, policy: RetryPolicy) -> Option<(&str, Option<Retry>)> {
    match outcome {
        EffectOutcome::Trouble(EffectError { message, retry }) => Some((message.as_str(), Some(*retry))),
        EffectOutcome::BudgetSpent { because } => Some((because.as_str(), Some(Retry::Never))),
        EffectOutcome::AgentRan(run) => {
            let AgentFailure { kind, message, retry_after_seconds } = run.failure.as_ref()?;
            let retry = match kind {
                AgentFailureKind::Unavailable => {
                    Some(retry_after_seconds.map_or(Retry::Soon, |seconds| Retry::After { seconds }))
                }
                AgentFailureKind::Misconfigured => Some(Retry::Never),
                AgentFailureKind::UnknownSession => None,
                AgentFailureKind::Ended
                    if run.result.is_none() && policy != RetryPolicy::InfrastructureOnly =>
                {
                    Some(Retry::Soon)
                }
                AgentFailureKind::LimitReached | AgentFailureKind::Ended => return None,
            };
            Some((message.as_str(), retry))
        }
        _ => None,
    }
}
