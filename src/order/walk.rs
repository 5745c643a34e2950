//! The walk over the journal: what was observed is gone past, and the first effect that was not is the next move.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::agent_run::{AgentFailure, AgentRun, FailureKind, Usage};
use super::heard::Heard;
use super::ids::{CommitSha, Person};
use super::journal::{Entry, Event, Journal, Requester};
use super::moves::{AgentTask, Move, MoveKey, Outcome, Retry, Trouble};
use super::pipeline::Pipeline;
use super::settings::{OrderLimits, RepositorySettings};
use super::settlement::Settlement;
use super::signal::SignalKind;
use super::trace::{Trace, Waiting};
use super::variables::Variables;

/// How often an effect is tried before a person is asked to look.
const MOST_ATTEMPTS: u32 = 6;
/// The longest pause that a service may ask of us.
const LONGEST_PAUSE_SECONDS: u64 = 3_600;
/// No agent is started for less time than this.
const SHORTEST_RUN_SECONDS: i64 = 30;

/// Where a walk ends.
#[derive(Debug)]
pub(super) enum Halt {
    /// At an effect that was not observed yet.
    Do(MoveKey, Box<Move>),
    /// At a pause.
    Wait(DateTime<Utc>),
    /// At the end.
    Settled(Settlement),
    /// Before a run of an agent that the order may not pay for.
    OverBudget { because: String },
}

/// An observation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) seq: u64,
    pub(super) at: DateTime<Utc>,
    pub(super) outcome: &'a Outcome,
}

pub(super) struct Walk<'a> {
    pub(super) journal: &'a Journal,
    pub(super) pipeline: &'a Pipeline,
    pub(super) heard: &'a Heard,
    pub(super) trace: Trace,
    pub(super) variables: Variables,
    pub(super) settings: RepositorySettings,
    pub(super) base: Option<CommitSha>,
    /// What the walk goes over; what came later is not known to it.
    pub(super) entries: &'a [Entry],
    now: DateTime<Utc>,
    observed: BTreeMap<&'a MoveKey, Vec<Seen<'a>>>,
    last_seen: u64,
}

impl<'a> Walk<'a> {
    /// Walks over the first `length` entries.
    pub(super) fn new(
        pipeline: &'a Pipeline,
        journal: &'a Journal,
        length: usize,
        heard: &'a Heard,
        now: DateTime<Utc>,
    ) -> Self {
        let entries = &journal.entries()[..length.min(journal.entries().len())];
        let issue = &journal.opened().issue;
        let variables = Variables::from([
            ("issue.number".to_owned(), issue.number.to_string()),
            ("issue.title".to_owned(), issue.title.clone()),
            ("issue.body".to_owned(), issue.body.clone()),
            ("issue.url".to_owned(), issue.url.clone()),
            ("order.id".to_owned(), journal.opened().order.to_string()),
        ]);
        let trace = Trace { usage: usage_after(entries, 0), ..Trace::default() };
        Self {
            journal,
            pipeline,
            heard,
            trace,
            variables,
            settings: RepositorySettings::default(),
            base: None,
            entries,
            now,
            observed: observations(entries),
            last_seen: 1,
        }
    }

    /// Goes as far as the journal carries.
    pub(super) fn run(&mut self) -> Halt {
        match self.begin().and_then(|()| self.stages()) {
            Ok(settlement) => Halt::Settled(settlement),
            Err(Halt::OverBudget { because }) => Halt::Settled(Settlement::Failed { because }),
            Err(halt) => halt,
        }
    }

    fn begin(&mut self) -> Result<(), Halt> {
        if let Requester::Person(person) = &self.journal.opened().by {
            self.authorize(person)?;
        }
        let seen = self.observe(&MoveKey("prepare".to_owned()), |_| Move::Prepare)?;
        if let Outcome::Prepared { base, settings, .. } = seen.outcome {
            self.base = Some(base.clone());
            self.trace.base = Some(base.clone());
            self.settings = (**settings).clone();
        }
        Ok(())
    }

    /// Whoever put the label on may ask for work, or somebody who put it on after them: an outsider's label takes
    /// nobody's place.
    fn authorize(&mut self, opener: &'a Person) -> Result<(), Halt> {
        let others = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Signaled { signal, .. } => match &signal.kind {
                SignalKind::Labeled { .. } => match &signal.by {
                    Requester::Person(person) => Some((entry.seq, person)),
                    Requester::ApiToken => None,
                },
                SignalKind::Unlabeled { .. }
                | SignalKind::Commanded { .. }
                | SignalKind::IssueClosed
                | SignalKind::PullClosed { .. } => None,
            },
            Event::Opened(_) | Event::Intended { .. } | Event::Observed { .. } => None,
        });
        let mut refused: Vec<&Person> = Vec::new();
        for (seq, person) in std::iter::once((1, opener)).chain(others) {
            if refused.iter().any(|known| known.id == person.id) {
                continue;
            }
            let key = MoveKey(format!("authorize/{seq}"));
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

    /// The number of the last entry that the walk rests on.
    pub(super) fn last_seen(&self) -> u64 {
        self.last_seen
    }

    /// What was observed of an effect. Not yet: a halt that names it, with whether the session to resume was
    /// unknown before. In trouble: a pause, or the end when it was tried often enough.
    pub(super) fn observe(
        &mut self,
        key: &MoveKey,
        make: impl FnOnce(SessionKnown) -> Move,
    ) -> Result<Seen<'a>, Halt> {
        let mut attempts = 0;
        let mut session = SessionKnown::Yes;
        let mut due: Option<(DateTime<Utc>, &str)> = None;
        for seen in self.observed.get(key).into_iter().flatten().copied() {
            let Some(hitch) = hitch(seen.outcome) else {
                self.last_seen = self.last_seen.max(seen.seq);
                return Ok(seen);
            };
            attempts += 1;
            let pause = match hitch.retry {
                Ask::WithoutSession => {
                    session = SessionKnown::No;
                    TimeDelta::zero()
                }
                Ask::Again(Retry::Soon) => TimeDelta::seconds(1 << (2 * attempts.min(5) - 2)),
                Ask::Again(Retry::After { seconds }) => {
                    TimeDelta::seconds(seconds.min(LONGEST_PAUSE_SECONDS) as i64)
                }
                Ask::Again(Retry::Never) => TimeDelta::MAX,
            };
            if attempts >= MOST_ATTEMPTS || pause == TimeDelta::MAX {
                if self.heard.retry_after(seen.seq).is_none() {
                    let because = hitch.message.to_owned();
                    return Err(Halt::Settled(Settlement::Failed { because }));
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

    /// Where an agent was last sent to work on anything but this.
    pub(super) fn last_run_but(&self, key: &MoveKey) -> u64 {
        let runs = |entry: &&Entry| match &entry.event {
            Event::Intended { key: known, r#move } => known != key && matches!(**r#move, Move::RunAgent(_)),
            Event::Opened(_) | Event::Signaled { .. } | Event::Observed { .. } => false,
        };
        self.entries.iter().rfind(runs).map_or(0, |entry| entry.seq)
    }

    /// What was observed of an effect that the walk has gone past.
    pub(super) fn seen(&self, key: &MoveKey) -> Option<&'a Outcome> {
        self.observed.get(key).and_then(|seen| seen.last()).map(|seen| seen.outcome)
    }

    /// What was observed of an agent's run. A new run is named only when the order can pay for it.
    pub(super) fn run_agent(&mut self, key: &MoveKey, mut task: AgentTask) -> Result<&'a AgentRun, Halt> {
        let remaining = self.remaining();
        task.timeout_seconds = remaining.as_ref().map_or(0, |time| time.num_seconds().max(0).unsigned_abs());
        let seen = self.observe(key, |session| {
            if session == SessionKnown::No {
                task.session = None;
            }
            Move::RunAgent(task)
        });
        match seen {
            Ok(Seen { outcome: Outcome::AgentRan(run), .. }) => Ok(run),
            Ok(_) => Err(self.mismatch(key)),
            Err(Halt::Do(key, task)) => match remaining {
                Ok(_) => Err(Halt::Do(key, task)),
                Err(because) => Err(Halt::OverBudget { because }),
            },
            Err(halt) => Err(halt),
        }
    }

    /// A journal that holds another kind of outcome than its move's was not written by us.
    pub(super) fn mismatch(&self, key: &MoveKey) -> Halt {
        let because = format!("the journal holds an outcome of another kind for {key}");
        Halt::Settled(Settlement::Failed { because })
    }

    fn limits(&self) -> OrderLimits {
        let server = self.journal.opened().limits;
        let own = self.settings.budget.unwrap_or_default();
        OrderLimits {
            minutes: own.minutes.map_or(server.minutes, |minutes| minutes.min(server.minutes)),
            usd: own.usd.map_or(server.usd, |usd| usd.min(server.usd)),
        }
    }

    /// The limits that hold, for the status.
    pub(super) fn usd_limit(&self) -> f64 {
        self.limits().usd
    }

    /// The time that is left, or which limit is reached. It runs from the first agent's run after the opening or the
    /// last `/retry`: waiting for a place is not work.
    fn remaining(&self) -> Result<TimeDelta, String> {
        let limits = self.limits();
        let seq = self.heard.last_retry().unwrap_or(0);
        let spent = usage_after(self.entries, seq).usd;
        if spent >= limits.usd {
            return Err(format!("the budget of ${:.2} is spent (${spent:.2})", limits.usd));
        }
        let minutes = i64::try_from(limits.minutes).unwrap_or(i64::MAX).min(60 * 24 * 365);
        let worked = first_run_after(self.entries, seq).map_or(TimeDelta::zero(), |since| self.now - since);
        let left = TimeDelta::minutes(minutes) - worked;
        if left < TimeDelta::seconds(SHORTEST_RUN_SECONDS.min(minutes * 60)) {
            return Err(format!("the {} minutes for this order are over", limits.minutes));
        }
        Ok(left)
    }
}

/// Whether the runtime knows the session that it is to resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKnown {
    Yes,
    No,
}

struct Hitch<'a> {
    message: &'a str,
    retry: Ask,
}

enum Ask {
    Again(Retry),
    WithoutSession,
}

/// Why an observation is none: the effect could not be made, or a runtime was not able to run at all.
fn hitch(outcome: &Outcome) -> Option<Hitch<'_>> {
    match outcome {
        Outcome::Trouble(Trouble { message, retry }) => Some(Hitch { message, retry: Ask::Again(*retry) }),
        Outcome::AgentRan(run) => match &run.failure {
            Some(AgentFailure { kind, message }) => match kind {
                FailureKind::Unavailable => Some(Hitch { message, retry: Ask::Again(Retry::Soon) }),
                FailureKind::Misconfigured => Some(Hitch { message, retry: Ask::Again(Retry::Never) }),
                FailureKind::UnknownSession => Some(Hitch { message, retry: Ask::WithoutSession }),
                FailureKind::LimitReached | FailureKind::Ended => None,
            },
            None => None,
        },
        Outcome::Authorized { .. }
        | Outcome::Prepared { .. }
        | Outcome::FilesFound { .. }
        | Outcome::Imported { .. }
        | Outcome::NothingPushed { .. }
        | Outcome::ImportRefused(_)
        | Outcome::Committed { .. }
        | Outcome::Tested(_)
        | Outcome::Pushed
        | Outcome::BranchTaken { .. }
        | Outcome::PullOpened { .. }
        | Outcome::PullFinished
        | Outcome::ArtifactWritten
        | Outcome::Archived { .. }
        | Outcome::ReviewShown
        | Outcome::StatusShown => None,
    }
}

pub(super) fn observations(entries: &[Entry]) -> BTreeMap<&MoveKey, Vec<Seen<'_>>> {
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

/// When the first agent was started, by the entries after this one.
fn first_run_after(entries: &[Entry], seq: u64) -> Option<DateTime<Utc>> {
    let runs = |event: &Event| matches!(event, Event::Intended { r#move, .. } if matches!(**r#move, Move::RunAgent(_)));
    entries.iter().find(|entry| entry.seq > seq && runs(&entry.event)).map(|entry| entry.at)
}

/// What the agents cost, by the entries after this one.
fn usage_after(entries: &[Entry], seq: u64) -> Usage {
    let mut sum = Usage::default();
    for entry in entries.iter().filter(|entry| entry.seq > seq) {
        if let Event::Observed { outcome, .. } = &entry.event
            && let Outcome::AgentRan(run) = &**outcome
        {
            sum = sum + run.usage;
        }
    }
    sum
}
