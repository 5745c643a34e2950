//! Wakes orders, asks for their next moves, executes them and records what happened.
//!
//! May know: every adapter and `order`. It is the only place where adapters meet, and the only one that knows what
//! carries an order: our own journal, in one process.
//! Must never know: HTTP routes, the command line, the emulator.
//!
//! The rule of the house: the intent is written before an effect, the observation after it. Whatever is lost in between
//! is repeated, and every effect is built so that this is harmless.

// To prove that an effect is `Send`, the compiler follows its futures deeper than its default limit.
#![recursion_limit = "256"]

mod after_merge;
mod command;
mod continued_pulls;
#[cfg(test)]
mod crash_matrix;
#[cfg(test)]
mod deliveries_tests;
mod driver;
mod effect_error;
mod effects;
mod egress;
mod environment;
mod environment_survey;
mod host_tools;
mod housekeeping;
mod intake;
mod intake_rules;
mod issue_history;
mod job;
mod live_journal;
mod merge_groups;
mod missed_events;
mod notifications;
mod order_api;
mod order_counting;
mod place;
mod progress;
mod reconcile;
mod retry_clock;
mod run_stream;
mod store_patience;
mod supervisor;
pub mod testing;
mod traces;
mod unreadable;
mod verifications;
mod waiting;
mod whereabouts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use url::Url;

use journeyman_agent::{Agents, Prices};
use journeyman_config::{EnvironmentVariables, LimitSettings, RetentionSettings};
use journeyman_github::GitHub;
use journeyman_notify::Notifier;
use journeyman_order::{
    JournalEntry, OrderId, Pipeline, RepositorySettings, RequestOrigin, Role, TestingSettings,
};
use journeyman_sandbox::Sandbox;
use journeyman_store::{JournalStore, Store};
use journeyman_telemetry::SpanExporter;
use journeyman_workspace::{SecretSet, Workspaces, write_whole};

pub use effects::missing_for_agent;
pub use environment::{EnvironmentProgress, Environments};
pub use environment_survey::{EnvironmentSurvey, judged_by};
pub use journeyman_image::{PullProgress, PullStep, missing_image_programs};
pub use run_stream::RunStream;

#[derive(Clone)]
pub struct EngineParts {
    pub store: Store,
    /// Where journals are written: the store itself, unless an observer wraps it.
    pub journals: Arc<dyn JournalStore>,
    pub github: GitHub,
    pub workspaces: Workspaces,
    pub agents: Arc<Agents>,
    pub sandbox: Sandbox,
    pub environments: Environments,
    pub settings: EngineSettings,
    pub notifier: Option<Notifier>,
    pub traces: Option<SpanExporter>,
    pub clock: Clock,
}

/// Tells the time. Pauses use Tokio's clock, and a clock that is not the machine's must move with it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl Clock {
    pub fn system() -> Self {
        Self::of(Utc::now)
    }

    pub fn of(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }
}

#[derive(Debug, Clone)]
pub struct EngineSettings {
    pub public_url: Option<Url>,
    /// How long work in progress may continue after [`Engine::drain`].
    pub drain_for: Duration,
    pub reconcile_every: Duration,
    pub asked_on: RequestOrigin,
    pub label: String,
    /// The agent for roles to which the repository assigns none.
    pub agent: String,
    pub pipeline: Pipeline,
    pub roles: BTreeMap<String, Role>,
    pub pipelines: BTreeMap<String, Pipeline>,
    /// The server's own command templates, by name; they override the built-in ones.
    pub commands: BTreeMap<String, String>,
    pub limits: LimitSettings,
    pub retention: RetentionSettings,
    pub testing: TestingSettings,
    pub prices: Prices,
    /// Our secrets, which nothing published may contain.
    pub secrets: SecretSet,
    pub read_repository_settings: fn(&[u8]) -> Result<RepositorySettings, String>,
    pub variables: EnvironmentVariables,
}

impl EngineSettings {
    pub(crate) fn lookup(&self) -> impl Fn(&str) -> Option<String> + '_ {
        |name| self.variables.value(name)
    }
}

/// Where a repository keeps its settings, on its default branch.
pub const SETTINGS_FILE: &str = ".github/journeyman.yml";

/// The running engine's handle. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<EngineParts>,
    effects: Arc<dyn effects::EffectPerformer>,
    arrived: Arc<Notify>,
    order_requested: Arc<Notify>,
    signaled: Arc<Mutex<BTreeSet<OrderId>>>,
    written: broadcast::Sender<(OrderId, JournalEntry)>,
    cache: Arc<intake::IntakeCache>,
    /// Set once missed deliveries from before the start are taken in, or cannot be for now.
    caught_up: Arc<AtomicBool>,
    /// When a server last shut down cleanly. Effects that ran then were not interrupted by a crash.
    ended_at: Option<DateTime<Utc>>,
    /// Effects that two crashes interrupted run one at a time, so that a third crash identifies its cause.
    alone: Arc<Semaphore>,
    drain: CancellationToken,
    stop: CancellationToken,
}

impl Engine {
    pub fn new(parts: EngineParts) -> Self {
        let (written, _) = broadcast::channel(1024);
        order_counting::expect_runs(&parts.agents, &parts.settings.roles);
        let ended_at = std::fs::read_to_string(parts.workspaces.ended_at());
        let ended_at = ended_at.ok().and_then(|text| text.trim().parse().ok());
        Self {
            parts: Arc::new(parts),
            effects: Arc::new(effects::RealEffects),
            arrived: Arc::new(Notify::new()),
            order_requested: Arc::new(Notify::new()),
            signaled: Arc::default(),
            written,
            cache: Arc::default(),
            caught_up: Arc::default(),
            ended_at,
            alone: Arc::new(Semaphore::new(1)),
            drain: CancellationToken::new(),
            stop: CancellationToken::new(),
        }
    }

    #[cfg(test)]
    fn performing(self, effects: Arc<dyn effects::EffectPerformer>) -> Self {
        Self { effects, ..self }
    }

    /// Records a clean shutdown, so that effects still running are not blamed for a crash.
    pub fn ended(&self) {
        let now = self.parts.clock.now().to_rfc3339();
        if let Err(error) = write_whole(&self.parts.workspaces.ended_at(), now.as_bytes()) {
            tracing::warn!("the end of the server cannot be written down: {error}");
        }
    }

    pub fn delivery_arrived(&self) {
        self.arrived.notify_one();
    }

    pub fn watch(&self) -> broadcast::Receiver<(OrderId, JournalEntry)> {
        self.written.subscribe()
    }

    /// What runs now for an order, such as a run of its tests, and since when.
    pub fn progress(&self, order: OrderId) -> Option<(String, DateTime<Utc>)> {
        self.parts.environments.board.now(order)
    }

    pub fn is_stopping(&self) -> bool {
        self.drain.is_cancelled() || self.stop.is_cancelled()
    }

    /// Starts nothing new. Running effects get the settings' time to finish.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Asks [`Engine::run`] to end at once. Work in progress stays resumable.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}
