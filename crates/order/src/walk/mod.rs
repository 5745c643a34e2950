//! The walk over the journal: what was observed is gone past, and the first effect that was not is the next move.
//!
//! - `graph` goes over the stages, `stages` knows each kind, `rounds` is the one loop that all of them are.
//! - `worker` is who runs; `output`, `work` and `review` are the checks; `best` and `fingerprint` compare rounds.
//! - `escalation` is what happens when a check has run out; `publish` brings the work, or the best round, to GitHub.
//! - `heard` and `signals` are what people said; `budget` what may be spent; `variables` what stages tell one another.
//!
//! May know: the vocabulary beside it. Must never know: how a move is made, and what time it is but by being told.

pub(crate) mod best;
pub(crate) mod budget;
mod conversation;
pub(crate) mod escalation;
mod fingerprint;
mod graph;
pub(crate) mod heard;
mod judge;
mod output;
mod plan;
mod publish;
mod review;
mod rights;
pub(crate) mod rounds;
mod signals;
mod stages;
mod variables;
mod work;
mod worker;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::agent_run::{AgentFailure, AgentRun, FailureKind};
use super::effect_name::Reserved;

use self::graph::Concluded;
use self::heard::{Heard, Hearing};
use self::variables::Variables;
use self::worker::Worker;
use super::ids::{CommitSha, Person};
use super::journal::{Entry, Event, Journal};
use super::moves::{AgentTask, Move, MoveKey, Outcome, Retry, Trouble};
use super::pipeline::{Pipeline, RetryPolicy};
use super::settings::RepositorySettings;
use super::settlement::Settlement;
use super::signal::{Requester, SignalKind};
use super::trace::{Trace, Waiting, Work};

/// How often an effect is tried again before a person is asked to look.
const MOST_RETRIES: u32 = 5;
/// How many pauses that GitHub asks for are kept before they count as attempts.
const MOST_WAITS: u32 = 24;
/// The longest pause that a service may ask of us.
const LONGEST_PAUSE_SECONDS: u64 = 3_600;
/// Where the walk through a stage ends.
#[derive(Debug)]
pub(crate) enum Halt {
    /// At an effect that was not observed yet.
    Do(MoveKey, Box<Move>),
    /// At a pause.
    Wait(DateTime<Utc>),
    /// At an end that is not a good one.
    Settled(Settlement),
    /// Before a run of an agent that may not be paid for.
    OverBudget { because: String },
    /// Before a person's approval of the plan.
    PlanWaits,
}

/// How far the journal carries.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) moves: Vec<(MoveKey, Move)>,
    pub(crate) wake_at: Option<DateTime<Utc>>,
    pub(crate) settled: Option<Settlement>,
    /// Whether a draft is there that a person can accept as it is.
    pub(crate) approvable: bool,
    /// Whether a plan waits for a person's approval, and nothing else is to be done.
    pub(crate) plan_waits: bool,
    /// How many answers to people have begun.
    pub(crate) answers_begun: u32,
    /// Whether the last answer was given up, so that `/retry` is about its rounds.
    pub(crate) given_up: bool,
    /// Whether there is a pull request.
    pub(crate) has_pull: bool,
}

impl Ran {
    pub(crate) fn take(&mut self, halt: Halt) {
        match halt {
            Halt::Do(key, r#move) => self.moves.push((key, *r#move)),
            Halt::Wait(until) => self.wake_at = Some(self.wake_at.map_or(until, |known| known.min(until))),
            Halt::Settled(settlement) => self.settled = Some(settlement),
            Halt::OverBudget { because } => self.settled = Some(Settlement::Failed { because }),
            Halt::PlanWaits => self.plan_waits = true,
        }
    }
}

/// An observation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) seq: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) outcome: &'a Outcome,
}

pub(crate) struct Walk<'a> {
    pub(crate) journal: &'a Journal,
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) heard: Hearing<'a>,
    pub(crate) trace: Trace,
    /// What can be named everywhere.
    pub(crate) variables: Variables,
    pub(crate) settings: RepositorySettings,
    pub(crate) base: Option<CommitSha>,
    /// The stages that came to an end.
    pub(crate) concluded: BTreeMap<&'a str, Concluded>,
    /// What the walk goes over; what came later is not known to it.
    pub(crate) entries: &'a [Entry],
    /// The last entry that what is looked at now rests on. A word of a person's that came after it is about it.
    pub(crate) position: u64,
    /// The last worker's run that what is looked at now rests on: advice that came after it was not told yet. Judges
    /// are told none.
    pub(crate) last_run: u64,
    pub(crate) now: DateTime<Utc>,
    /// The commit that was pushed last by an agent, whichever stage it worked for.
    pub(crate) imported: Option<CommitSha>,
    /// The stages whose worker was asked for a test that proves its change, and that change. Nobody is asked twice.
    pub(crate) asked_for_proof: BTreeMap<String, Work>,
    observed: BTreeMap<&'a MoveKey, Vec<Seen<'a>>>,
}

impl<'a> Walk<'a> {
    /// Walks over the first `length` entries.
    pub(crate) fn new(
        pipeline: &'a Pipeline,
        journal: &'a Journal,
        length: usize,
        heard: &'a Heard,
        now: DateTime<Utc>,
    ) -> Self {
        let entries = &journal.entries()[..length.min(journal.entries().len())];
        let opened = journal.opened();
        let issue = &opened.issue;
        let variables = Variables::from([
            ("issue.number".to_owned(), issue.number.to_string()),
            ("issue.title".to_owned(), issue.title.clone()),
            ("issue.body".to_owned(), issue.body.clone()),
            ("issue.url".to_owned(), issue.url.clone()),
            ("order.id".to_owned(), opened.order.to_string()),
            ("repository.name".to_owned(), opened.repository.to_string()),
        ]);
        let trace = Trace { usage: budget::usage_after(entries, 0, None), ..Trace::default() };
        Self {
            journal,
            pipeline,
            heard: Hearing { heard, segment: 0 },
            trace,
            variables,
            settings: RepositorySettings::default(),
            base: None,
            concluded: BTreeMap::new(),
            entries,
            position: 1,
            last_run: 1,
            now,
            imported: None,
            asked_for_proof: BTreeMap::new(),
            observed: observations(entries),
        }
    }

    /// Goes as far as the journal carries.
    pub(crate) fn run(&mut self) -> Ran {
        let mut ran = match self.begin() {
            Ok(()) => self.stages(),
            Err(halt) => {
                let mut ran = Ran::default();
                ran.take(halt);
                ran
            }
        };
        ran.has_pull = self.trace.pull.is_some();
        if ran.settled.is_some() {
            self.converse(&mut ran);
        }
        ran
    }

    fn begin(&mut self) -> Result<(), Halt> {
        if let Requester::Person(person) = &self.journal.opened().by {
            self.authorize(person)?;
        }
        let seen = self.observe(&MoveKey::only(Reserved::Prepare), |_| Move::Prepare)?;
        if let Outcome::Prepared { base, settings, .. } = seen.outcome {
            self.base = Some(base.clone());
            self.trace.base = Some(base.clone());
            self.settings = (**settings).clone();
        }
        self.preflight()
    }

    /// Whatever would stop the work after it was paid for, said at once and before.
    fn preflight(&mut self) -> Result<(), Halt> {
        for again in 1_u32.. {
            let key = MoveKey::beside(Reserved::Preflight, again);
            let seen = self.observe(&key, |_| Move::Preflight)?;
            let Outcome::Preflighted { problems, warnings } = seen.outcome else {
                return Err(self.mismatch(&key));
            };
            for warning in warnings {
                self.trace.note(warning.clone());
            }
            if problems.is_empty() {
                break;
            }
            if !self.heard.has_retry_after(self.position) {
                self.trace.problems.clone_from(problems);
                let because = match &problems[..] {
                    [only] => only.clone(),
                    several => format!("{} things stand in the way", several.len()),
                };
                return Err(Halt::Settled(Settlement::Failed { because }));
            }
        }
        Ok(())
    }

    /// Whoever put the label on may ask for work, or somebody who put it on after them: an outsider's label takes
    /// nobody's place.
    fn authorize(&mut self, opener: &'a Person) -> Result<(), Halt> {
        let others = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Signaled { signal, .. } => match (&signal.kind, &signal.by) {
                (SignalKind::Labeled { .. }, Requester::Person(person)) => Some((entry.seq, person)),
                (_, Requester::Person(_) | Requester::ApiToken) => None,
            },
            Event::Opened(_) | Event::Intended { .. } | Event::Observed { .. } => None,
        });
        let mut refused: Vec<&Person> = Vec::new();
        for (seq, person) in std::iter::once((1, opener)).chain(others) {
            if refused.iter().any(|known| known.id == person.id) {
                continue;
            }
            let key = MoveKey::beside(Reserved::Authorize, seq);
            let seen = self.observe(&key, |_| Move::Authorize { person: person.clone() })?;
            if matches!(seen.outcome, Outcome::Authorized { allowed: true }) {
                self.trace.sponsor = Some(person.clone());
                return Ok(());
            }
            refused.push(person);
        }
        let because = format!("{} has no write access to the repository", opener.login);
        Err(Halt::Settled(Settlement::Refused { because }))
    }

    /// What was observed of an effect. Not yet: a halt that names it, with whether the session to resume was
    /// unknown before. In trouble: a pause, or the end when it was tried often enough.
    pub(crate) fn observe(
        &mut self,
        key: &MoveKey,
        make: impl FnOnce(SessionKnown) -> Move,
    ) -> Result<Seen<'a>, Halt> {
        self.observe_patiently(key, Patience::default(), make)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only a spent budget keeps the work")]
    /// The same, tried again as often and as patiently as a stage asks for.
    pub(crate) fn observe_patiently(
        &mut self,
        key: &MoveKey,
        patience: Patience,
        make: impl FnOnce(SessionKnown) -> Move,
    ) -> Result<Seen<'a>, Halt> {
        let (mut attempts, mut waits): (u32, u32) = (0, 0);
        let mut session = SessionKnown::Yes;
        let mut due: Option<(DateTime<Utc>, &str)> = None;
        for seen in self.observed.get(key).into_iter().flatten().copied() {
            let Some(hitch) = hitch(seen.outcome, patience.policy) else {
                self.position = self.position.max(seen.seq);
                return Ok(seen);
            };
            // A wait that GitHub asks for is none of the effect's failures: a full hour is simply over some time.
            let is_asked_for =
                matches!(seen.outcome, Outcome::Trouble(Trouble { retry: Retry::After { .. }, .. }));
            if is_asked_for && waits < MOST_WAITS {
                waits += 1;
            } else {
                attempts += 1;
            }
            let pause = match hitch.retry {
                Ask::WithoutSession => {
                    session = SessionKnown::No;
                    TimeDelta::zero()
                }
                Ask::Again(Retry::Never) => TimeDelta::MAX,
                Ask::Again(Retry::Soon) if patience.policy == RetryPolicy::Blind => TimeDelta::zero(),
                Ask::Again(Retry::Soon) => TimeDelta::seconds(1 << (2 * attempts.min(5) - 2)),
                Ask::Again(Retry::After { seconds }) => {
                    TimeDelta::seconds(seconds.min(LONGEST_PAUSE_SECONDS) as i64)
                }
            };
            if attempts > patience.retries || pause == TimeDelta::MAX {
                // A run that ended by itself is a round like any other, once it was tried often enough.
                if hitch.is_a_result {
                    self.position = self.position.max(seen.seq);
                    return Ok(seen);
                }
                if !self.heard.has_retry_after(seen.seq) {
                    let because = hitch.message.to_owned();
                    self.position = self.position.max(seen.seq);
                    return Err(match seen.outcome {
                        Outcome::BudgetSpent { .. } => Halt::OverBudget { because },
                        _ => Halt::Settled(Settlement::Failed { because }),
                    });
                }
                (attempts, due) = (0, None);
            } else {
                due = Some((seen.at + pause, hitch.message));
            }
        }
        if let Some((until, message)) = due.filter(|(until, _)| self.now < *until) {
            self.trace.waiting = Some(Waiting { message: message.to_owned(), until });
            return Err(Halt::Wait(until));
        }
        Err(Halt::Do(key.clone(), Box::new(make(session))))
    }

    /// Whether the last that was written of an effect is that it is to be made.
    fn is_under_way(&self, key: &MoveKey) -> bool {
        let last = self.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Intended { key: known, .. } if known == key => Some(true),
            Event::Observed { key: known, .. } if known == key => Some(false),
            Event::Opened(_) | Event::Signaled { .. } | Event::Intended { .. } | Event::Observed { .. } => {
                None
            }
        });
        last.unwrap_or(false)
    }

    /// What was observed of an effect that the walk has gone past.
    pub(crate) fn seen(&self, key: &MoveKey) -> Option<&'a Outcome> {
        self.observed.get(key).and_then(|seen| seen.last()).map(|seen| seen.outcome)
    }

    /// What was observed of an agent's run, and in which entry. A new run is named only when it can be paid for.
    pub(crate) fn run_agent(
        &mut self,
        key: &MoveKey,
        mut task: AgentTask,
        worker: &Worker,
    ) -> Result<(&'a AgentRun, u64), Halt> {
        let remaining = self.remaining(worker, key);
        task.timeout_seconds = remaining.as_ref().map_or(0, |time| time.num_seconds().max(0).unsigned_abs());
        if let Some(limit) = worker.timeout {
            task.timeout_seconds = task.timeout_seconds.min(limit.0);
        }
        let patience = Patience { retries: worker.retry_count, policy: worker.retry_policy };
        let seen = self.observe_patiently(key, patience, |session| {
            if session == SessionKnown::No {
                task.session = None;
            }
            Move::RunAgent(task)
        });
        match seen {
            Ok(Seen { outcome: Outcome::AgentRan(run), seq, .. }) => Ok((run, seq)),
            Ok(_) => Err(self.mismatch(key)),
            // One that is under way has its own time limit; cut off, it would be paid for and not counted.
            Err(Halt::Do(key, task)) => match remaining {
                Err(because) if !self.is_under_way(&key) => Err(Halt::OverBudget { because }),
                Ok(_) | Err(_) => Err(Halt::Do(key, task)),
            },
            Err(halt) => Err(halt),
        }
    }

    /// A journal that holds another kind of outcome than its move's was not written by us.
    pub(crate) fn mismatch(&self, key: &MoveKey) -> Halt {
        let because = format!("the journal holds an outcome of another kind for {key}");
        Halt::Settled(Settlement::Failed { because })
    }
}

/// How often and after what an effect is tried again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    retries: u32,
    policy: RetryPolicy,
}

impl Default for Patience {
    fn default() -> Self {
        Self { retries: MOST_RETRIES, policy: RetryPolicy::InfrastructureOnly }
    }
}

/// Whether the runtime knows the session that it is to resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionKnown {
    Yes,
    No,
}

struct Hitch<'a> {
    message: &'a str,
    retry: Ask,
    /// Whether it counts as a run when it is tried no more.
    is_a_result: bool,
}

enum Ask {
    Again(Retry),
    WithoutSession,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is what was to be observed")]
/// Why an observation is none: the effect could not be made, or a runtime was not able to run at all.
fn hitch(outcome: &Outcome, policy: RetryPolicy) -> Option<Hitch<'_>> {
    let around = |message, retry| Some(Hitch { message, retry, is_a_result: false });
    match outcome {
        Outcome::Trouble(Trouble { message, retry }) => around(message.as_str(), Ask::Again(*retry)),
        Outcome::BudgetSpent { because } => around(because.as_str(), Ask::Again(Retry::Never)),
        Outcome::AgentRan(run) => match &run.failure {
            Some(AgentFailure { kind, message, retry_after_seconds }) => match kind {
                FailureKind::Unavailable => {
                    let told = retry_after_seconds.map(|seconds| Retry::After { seconds });
                    around(message.as_str(), Ask::Again(told.unwrap_or(Retry::Soon)))
                }
                FailureKind::Misconfigured => around(message.as_str(), Ask::Again(Retry::Never)),
                FailureKind::UnknownSession => around(message.as_str(), Ask::WithoutSession),
                FailureKind::Ended if run.result.is_none() && policy != RetryPolicy::InfrastructureOnly => {
                    Some(Hitch { message, retry: Ask::Again(Retry::Soon), is_a_result: true })
                }
                FailureKind::LimitReached | FailureKind::Ended => None,
            },
            None => None,
        },
        _ => None,
    }
}

pub(crate) fn observations(entries: &[Entry]) -> BTreeMap<&MoveKey, Vec<Seen<'_>>> {
    let mut observed: BTreeMap<&MoveKey, Vec<Seen<'_>>> = BTreeMap::new();
    for entry in entries {
        match &entry.event {
            Event::Observed { key, outcome } => {
                observed.entry(key).or_default().push(Seen { seq: entry.seq, at: entry.at, outcome });
            }
            Event::Opened(_) | Event::Signaled { .. } | Event::Intended { .. } => {}
        }
    }
    observed
}
