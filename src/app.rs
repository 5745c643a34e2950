//! The composition root: takes settings, returns a running application. `serve`, `demo`, `run` and the tests all build
//! it here, with different settings.
//!
//! May know: everything but the command line and the emulator.
//! Must never know: who called it.

mod backup;
mod dashboard;
mod database;
mod doctor;
mod environment;
mod eval_sandbox;
mod git;
mod readiness;
mod registration;
mod registries;
mod reverify;
mod signer;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use secrecy::ExposeSecret as _;
use tokio::sync::broadcast;
use tokio::task::spawn_blocking;

use crate::agent::{self, Agents, RuntimeKind};
use crate::attest::{SigningKey, SigningKeyOrigin};
use crate::config::{self, EffectiveSetting, Settings, Templates, repository_settings};
use crate::dashboard::DashboardState;
use crate::engine::testing::CommitTester;
use crate::engine::{Clock, Engine, EngineParts, EngineSettings, Environments, SETTINGS_FILE};
use crate::github::{AppCredentials, GitHub};
use crate::http::{self, BodyLimits, HttpState, WorkOrders};
use crate::notify::Notifier;
use crate::order::OrderRequest;
use crate::order::next::OrderProjection;
use crate::order::order_api::{OpenOrderResult, OrderRequestError};
use crate::order::{
    CommitSha, CommitSigning, DeliveryGuid, IssueNumber, Journal, JournalEntry, OrderId, OutgoingNetwork,
    RepositoryName, RepositorySettings, Requester, SlashCommand, TestingSettings, projection,
};
use crate::sandbox::{IsolationMode, Sandbox};
use crate::store::{DeliveryConclusion, FileLock, JournalStore, OrderFilter, Store, StoreError};
use crate::telemetry::SpanExporter;
use crate::workspace::{CommitSigner, SecretSet, Workspaces};

pub use crate::agent::built_in_names as built_in_commands;
pub use crate::workspace::{bounded_tree, open_clone, remove_all};
pub use backup::{BackupReport, back_up, restore};
pub use doctor::{DoctorScope, examine};
pub use environment::{LocalEnvironment, name_by_place, plain_name};
pub use eval_sandbox::EvalSandbox;
use readiness::ready;
pub use registries::complete_registries;
pub use reverify::{RepeatedTests, reverify};
pub use signer::ReceiptSigner;

use registration::AppProblem;

/// Timeout for each of server, engine and store to stop.
const TIME_TO_END: Duration = Duration::from_secs(3);
/// Keeps the whole shutdown, the timeouts above included, within twenty seconds of SIGTERM.
const TIME_TO_SYNC: Duration = Duration::from_secs(5);

/// Subfolder of the data folder for large artifacts when the store is PostgreSQL.
const ARTIFACTS: &str = "artifacts";
/// The lock file in the data folder.
const DATA_LOCK: &str = "lock";

pub struct Application {
    address: SocketAddr,
    handle: ApplicationHandle,
    listener: TcpListener,
    state: HttpState,
    dashboard: DashboardState,
    github: GitHub,
    app_problem: AppProblem,
    /// Holds the lock on the data folder.
    _data: FileLock,
}

/// How long to retry binding the address: child processes of a killed server may still hold it for a moment.
const WAITS_FOR_ADDRESS: Duration = Duration::from_secs(5);

async fn take_address(listen: SocketAddr) -> std::io::Result<TcpListener> {
    let begun = Instant::now();
    loop {
        match TcpListener::bind(listen) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && begun.elapsed() < WAITS_FOR_ADDRESS => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            bound => return bound,
        }
    }
}

/// Turns the store into the journal store. Tests wrap it in a watcher.
pub type JournalStoreFactory = Box<dyn FnOnce(Store) -> Arc<dyn JournalStore> + Send>;

impl Application {
    /// Wires everything together and binds the address; nothing runs yet.
    ///
    /// # Errors
    /// If a setting is wrong or something is missing on this machine, with what to do about it.
    pub async fn build(settings: Settings) -> anyhow::Result<Self> {
        Self::build_with(settings, Box::new(|store| Arc::new(store))).await
    }

    /// Like [`Application::build`], with another journal store.
    ///
    /// # Errors
    /// As [`Application::build`].
    pub async fn build_with(mut settings: Settings, journals: JournalStoreFactory) -> anyhow::Result<Self> {
        git::version().await?;
        for note in complete_registries(&settings.sandbox, &mut settings.testing)? {
            tracing::info!(from = note.about, "a registry for setups: {}", note.text);
        }
        let listen = settings.server.listen;
        let listener = take_address(listen).await.with_context(|| {
            format!("cannot listen on server.listen = {listen}; is another Journeyman running?")
        })?;
        // Pure computation, so it runs while the next steps wait for the disk and for other processes.
        let (ours, folder) = (settings.templates.clone(), settings.data.dir.clone());
        let templates = spawn_blocking(move || Templates::load(ours.as_deref()));
        let workspaces = spawn_blocking(move || Workspaces::new(&folder));
        let holder = holder();
        let data = lock_folder(&settings.data.dir, &holder).await?;
        let store = database::open(&settings).await?;
        store.take(&holder).await?;
        let sandbox = open_sandbox(&settings.sandbox).await?;
        tracing::info!("sandbox: {}", sandbox.describe_isolation());
        let outgoing = settings.testing.outgoing.clone();
        crate::outgoing::check(&outgoing)?;
        let workspaces = workspaces
            .await?
            .with_context(|| format!("data.dir = {:?}", settings.data.dir))?
            .caching_in(&settings.data.cache_dir)
            .with_context(|| format!("the folder {:?}", settings.data.cache_dir))?
            .reached_by(outgoing.clone())
            .signed_by(commit_signer(settings.signing.clone()).await?);
        let used = workspaces.clone();
        spawn_blocking(move || used.begin_use())
            .await?
            .with_context(|| format!("data.dir = {:?}", settings.data.dir))?;
        let eval_sandbox = EvalSandbox { sandbox: sandbox.clone(), workspaces: workspaces.clone() };
        let public = workspaces.signer().map(CommitSigner::public).unwrap_or_default();
        let rules = rules(&settings, templates.await??, public)?;
        let environments =
            Environments::new(sandbox.clone(), workspaces.clone(), rules.testing.clone()).await;
        let environments = environments.map_err(|trouble| anyhow::anyhow!(trouble.message))?;
        let github = github(&settings.github, outgoing.clone())?;
        let app_problem = AppProblem::default();
        let notifier =
            settings.notifications.clone().map(|told| Notifier::new(told, &outgoing)).transpose()?;
        let traces = settings.telemetry.clone().map(|sent| SpanExporter::new(sent, &outgoing)).transpose()?;
        let parts = EngineParts {
            journals: journals(store.clone()),
            store: store.clone(),
            github: github.clone(),
            workspaces,
            agents: Arc::new(Agents::new(settings.agents.clone(), &outgoing)?),
            sandbox,
            environments,
            settings: rules,
            notifier,
            traces,
            clock: Clock::system(),
        };
        let engine = Engine::new(parts);
        let state = HttpState {
            store: store.clone(),
            webhook_secrets: settings.github.webhook_secrets.clone(),
            api_token: settings.server.api_token.clone(),
            orders: Arc::new(EngineOrders(engine.clone())),
            signer: Arc::new(signer(&settings, eval_sandbox.clone())?),
            ready: ready(&engine, &settings, app_problem.clone()),
            limits: BodyLimits::default(),
            schemas: config::json_schemas().into(),
        };
        let door = dashboard::door(&settings)?;
        let dashboard = dashboard::dashboard(&engine, &state, &settings, listener.local_addr()?, door);
        Ok(Self {
            address: listener.local_addr()?,
            handle: ApplicationHandle { engine, store, eval_sandbox },
            listener,
            state,
            dashboard,
            github,
            app_problem,
            _data: data,
        })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Polls GitHub for whether it knows the App. `GET /ready` reports what is wrong.
    pub fn watch_app(&self) {
        tokio::spawn(self.app_problem.clone().watch(self.github.clone()));
    }

    /// Passes these settings to the dashboard.
    pub fn show_settings(&mut self, settings: Vec<EffectiveSetting>) {
        self.dashboard.settings = Arc::new(settings);
    }

    /// A handle to control it while it runs.
    pub fn handle(&self) -> ApplicationHandle {
        self.handle.clone()
    }

    /// Runs until [`ApplicationHandle::stop`] or until the server fails. Active orders stay resumable.
    ///
    /// # Errors
    /// If the server fails.
    pub async fn run(self) -> anyhow::Result<()> {
        let ApplicationHandle { engine, store, eval_sandbox } = self.handle;
        let pages = self.dashboard;
        let (server, serving) = http::start(self.listener, self.state, move |config| {
            crate::dashboard::configure(&pages, config)
        })?;
        let [works, keeps_house, exports] = [engine.clone(), engine.clone(), engine.clone()];
        let working = tokio::spawn(async move { works.run().await });
        let housekeeping = tokio::spawn(async move { keeps_house.housekeep_forever().await });
        let tracing = tokio::spawn(async move { exports.export_traces_forever().await });
        tokio::pin!(working);
        let serving = tokio::spawn(serving);
        tokio::pin!(serving);
        let served = tokio::select! {
            stopped = &mut working => {
                let _ = tokio::time::timeout(TIME_TO_END, server.stop(true)).await;
                match stopped {
                    Ok(under_way) => {
                        tracing::info!(under_way, "the engine has stopped");
                        Ok(())
                    }
                    Err(error) => Err(anyhow::anyhow!("the engine failed with an internal error: {error}")),
                }
            }
            served = &mut serving => {
                engine.stop();
                let _ = tokio::time::timeout(TIME_TO_END, working).await;
                served.context("the server's task failed")?.context("the server failed")
            }
            // Without the store, further work could not be recorded.
            by = store.lost() => {
                engine.stop();
                let _ = tokio::time::timeout(TIME_TO_END, working).await;
                let _ = tokio::time::timeout(TIME_TO_END, server.stop(true)).await;
                Err(anyhow::anyhow!("another server has taken the database (store.url): {by}"))
            }
        };
        housekeeping.abort();
        tracing.abort();
        engine.ended();
        if served.is_ok() {
            let _ = tokio::time::timeout(TIME_TO_END, engine.export_traces_once()).await;
        }
        let _ = tokio::time::timeout(TIME_TO_END, store.close()).await;
        let leave = spawn_blocking(move || eval_sandbox.workspaces.end_use());
        match tokio::time::timeout(TIME_TO_SYNC, leave).await {
            Ok(Ok(Err(error))) => tracing::warn!("the data folder could not be left in peace: {error}"),
            Err(_) => tracing::warn!(
                "the disk takes too long: if this machine is started again before the server is, work trees, agents' homes \
                 and environments are made again"
            ),
            Ok(Ok(Ok(())) | Err(_)) => {}
        }
        served
    }
}

/// Controls and watches a running application.
#[derive(Clone)]
pub struct ApplicationHandle {
    engine: Engine,
    store: Store,
    eval_sandbox: EvalSandbox,
}

impl ApplicationHandle {
    /// Stops once active work has ended or the settings' drain timeout is over.
    pub fn drain(&self) {
        self.engine.drain();
    }

    /// Stops at once. Active orders stay resumable.
    pub fn stop(&self) {
        self.engine.stop();
    }

    /// Receives every journal entry written from now on.
    pub fn watch(&self) -> broadcast::Receiver<(OrderId, JournalEntry)> {
        self.engine.watch()
    }

    /// What runs now for an order, and since when.
    pub fn progress(&self, order: OrderId) -> Option<(String, chrono::DateTime<chrono::Utc>)> {
        self.engine.progress(order)
    }

    /// The latest orders of a repository, by issue.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn orders_of(
        &self,
        repository: &RepositoryName,
        most: u32,
    ) -> anyhow::Result<Vec<(IssueNumber, OrderId)>> {
        let filter =
            OrderFilter { repository: Some(repository.clone()), limit: most, ..OrderFilter::default() };
        Ok(self.store.orders(&filter).await?.iter().map(|row| (row.issue, row.id)).collect())
    }

    /// Why a delivery led to no order; `None` if it did, or is yet to be taken in.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn ignored_because(&self, delivery: &DeliveryGuid) -> anyhow::Result<Option<String>> {
        match self.store.conclusion(delivery).await {
            Ok(Some(DeliveryConclusion::Ignored { because } | DeliveryConclusion::Refused { because })) => {
                Ok(Some(because))
            }
            Ok(_) | Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A signer with a key other than the server's.
    pub fn signer(&self, key: SigningKey) -> ReceiptSigner {
        ReceiptSigner::new(key, None, self.eval_sandbox.clone())
    }

    /// The sandbox for judging finished work from outside.
    pub fn eval_sandbox(&self) -> &EvalSandbox {
        &self.eval_sandbox
    }

    /// An order's journal and its current projection.
    ///
    /// # Errors
    /// If there is no such order, or the store cannot be read.
    pub async fn look(&self, order: OrderId) -> anyhow::Result<(Journal, OrderProjection)> {
        let journal = self.store.journal(order).await?;
        let projection = projection(journal.pipeline(), &journal, chrono::Utc::now());
        Ok((journal, projection))
    }
}

/// Creates the commit signer and tries its key.
async fn commit_signer(signing: Option<CommitSigning>) -> anyhow::Result<Option<CommitSigner>> {
    let Some(signing) = signing else { return Ok(None) };
    let signer = spawn_blocking(move || CommitSigner::new(signing)).await??;
    tracing::info!(key = signer.fingerprint(), "commits are signed");
    Ok(Some(signer))
}

/// Identifies this server in the error that a second server on the same data gets.
fn holder() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let since = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    format!("process {} on {}, since {since}", std::process::id(), host.trim())
}

/// Locks the data folder: only one server may use it.
async fn lock_folder(folder: &Path, holder: &str) -> anyhow::Result<FileLock> {
    let lock = async {
        std::fs::create_dir_all(folder)?;
        anyhow::Ok(FileLock::take(folder.join(DATA_LOCK), holder, "the data folder").await?)
    };
    lock.await.with_context(|| format!("data.dir = {folder:?}"))
}

async fn open_sandbox(settings: &config::SandboxSettings) -> anyhow::Result<Sandbox> {
    if settings.mode == IsolationMode::None {
        tracing::warn!("sandbox.mode = \"none\": agents and tests run without a sandbox, as configured");
    }
    Ok(Sandbox::new(settings.mode, settings.read.clone()).await?.limited_to(settings.limits))
}

/// Tests local commits the way an order would.
async fn commit_tester(
    rules: &config::TestRunSettings,
    mut testing: TestingSettings,
    workspaces: Workspaces,
) -> anyhow::Result<CommitTester> {
    complete_registries(&rules.sandbox, &mut testing)?;
    let made = CommitTester::new(open_sandbox(&rules.sandbox).await?, workspaces, testing).await;
    made.map_err(|trouble| anyhow::anyhow!(trouble.message))
}

/// The repository's own settings on a commit that is already in the workspaces.
fn settings_on(
    workspaces: &Workspaces,
    repository: &RepositoryName,
    commit: &CommitSha,
) -> anyhow::Result<RepositorySettings> {
    match workspaces.file(repository, commit, SETTINGS_FILE)? {
        Some(yaml) => Ok(repository_settings(&yaml)?),
        None => Ok(RepositorySettings::default()),
    }
}

fn signer(settings: &Settings, sandbox: EvalSandbox) -> anyhow::Result<ReceiptSigner> {
    let (key, origin) =
        SigningKey::open_or_make(&settings.data.dir).context("the key that receipts are signed with")?;
    let id = key.public().id();
    match origin {
        SigningKeyOrigin::Made => tracing::info!(key = %id, "a key was made that receipts are signed with"),
        SigningKeyOrigin::Found => tracing::debug!(key = %id, "receipts are signed"),
    }
    Ok(ReceiptSigner::new(key, settings.server.public_url.as_ref().map(ToString::to_string), sandbox))
}

fn github(settings: &config::GithubSettings, outgoing: OutgoingNetwork) -> anyhow::Result<GitHub> {
    let credentials = AppCredentials {
        api_url: settings.api_url.clone(),
        app_id: settings.app_id,
        private_key_pem: settings.private_key.clone(),
        outgoing,
    };
    Ok(GitHub::new(credentials, settings.writes)?)
}

/// Our own secrets by their everyday names, except the public half of the signing key.
fn known(settings: &Settings, public: &str) -> SecretSet {
    let mut secrets = vec![("the App's private key".to_owned(), settings.github.private_key.clone())];
    let webhook = settings.github.webhook_secrets.iter().cloned();
    secrets.extend(webhook.map(|secret| ("the webhook's secret".to_owned(), secret)));
    secrets
        .extend(settings.server.api_token.iter().map(|token| ("the API's token".to_owned(), token.clone())));
    let client = settings.github.client.iter().map(|client| client.secret.clone());
    secrets.extend(client.map(|secret| ("the App's client secret".to_owned(), secret)));
    let headers = settings.telemetry.iter().flat_map(|telemetry| &telemetry.headers);
    secrets
        .extend(headers.map(|(name, value)| (format!("the trace collector's header {name}"), value.clone())));
    let signing = settings.signing.iter().map(|signing| signing.key.clone());
    secrets.extend(signing.map(|key| ("the key that commits are signed with".to_owned(), key)));
    for registry in &settings.testing.registries {
        let secret = registry.credential.secret().cloned();
        secrets.extend(
            secret.map(|secret| (format!("the credential of the registry {}", registry.name), secret)),
        );
    }
    let proxy = settings.testing.outgoing.proxy.as_ref();
    let password = proxy.and_then(|proxy| proxy.credential.secret().cloned());
    secrets.extend(password.map(|password| ("the proxy's password".to_owned(), password)));
    for agent in settings.agents.values() {
        let (names, is_key) = match &agent.runtime {
            RuntimeKind::Api(api) => (api.key_env.iter().cloned().collect(), true),
            RuntimeKind::Claude | RuntimeKind::Command => (agent.variables(), false),
        };
        for name in names {
            let value = settings.variables.get(&name);
            let value =
                value.filter(|value| is_key || agent::AgentSettings::is_secret(&name, value.expose_secret()));
            secrets.extend(value.map(|value| (name, value.clone())));
        }
    }
    SecretSet::beside(secrets, public)
}

fn rules(settings: &Settings, mut templates: Templates, public: &str) -> anyhow::Result<EngineSettings> {
    templates.pipelines.extend(settings.pipelines.clone());
    // An agent that is named like a role plays that role.
    for (name, role) in &mut templates.roles {
        if settings.agents.contains_key(name) {
            role.runtime = Some(name.clone());
        }
    }
    let wanted = &settings.defaults.pipeline;
    let pipeline = templates.pipeline(wanted).with_context(|| format!("defaults.pipeline = {wanted:?}"))?;
    Ok(EngineSettings {
        public_url: settings.server.public_url.clone(),
        drain_for: settings.server.drain,
        reconcile_every: settings.github.deliveries.every(),
        asked_on: settings.asked_on,
        label: settings.defaults.label.clone(),
        agent: settings.defaults.agent.clone(),
        pipeline,
        roles: templates.roles,
        pipelines: templates.pipelines,
        commands: templates.commands,
        limits: settings.limits,
        retention: settings.retention,
        testing: settings.testing.clone(),
        prices: agent::Prices::new(settings.prices.clone()),
        secrets: known(settings, public),
        read_repository_settings: |yaml| repository_settings(yaml).map_err(|error| error.to_string()),
        variables: settings.variables.clone(),
    })
}

/// Gives the HTTP routes access to the engine.
struct EngineOrders(Engine);

#[async_trait]
impl WorkOrders for EngineOrders {
    fn delivery_arrived(&self) {
        self.0.delivery_arrived();
    }

    async fn open(
        &self,
        repository: RepositoryName,
        issue: IssueNumber,
        request: OrderRequest,
    ) -> Result<OpenOrderResult, OrderRequestError> {
        self.0.open(repository, issue, request).await
    }

    async fn command(
        &self,
        order: OrderId,
        by: Requester,
        command: SlashCommand,
    ) -> Result<u64, OrderRequestError> {
        self.0.command(order, by, command).await
    }
}
