//! The GitHub emulator and the application in this process: what `run` and `demo` have in common.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::live::{LiveOutput, line, told_here};
use super::{UsageError, asked_to_stop, cache_folder, sample};
use crate::app::{Application, ApplicationHandle, name_by_place, remove_all};
use crate::config::{
    AgentSettings, DataSettings, DefaultSettings, DeliveryMode, GithubSettings, Settings, Templates,
    TestRunSettings, sqlite_url,
};
use crate::emulator::{Emulator, EmulatorOptions, RepositoryRole, RepositorySource, WebPages, keys};
use crate::order::next::OrderProjection;
use crate::order::trace::PendingApproval;
use crate::order::{
    Exit, Journal, JournalEvent, OrderId, Pipeline, RepositoryName, RequestOrigin, Settlement, Surfaces,
    WriteLimits,
};

/// The App's id on the emulator; any number works.
const APP_ID: u64 = 1;

/// How long a label may take to lead to an order. Usually it takes moments.
const MOST_WAIT: Duration = Duration::from_secs(60);

/// How often to check an order without news of it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Exit code: a person must decide.
pub(super) const HANDED_OVER: u8 = 3;

/// The label that the demo's pages mention.
pub(super) const LABEL: &str = "journeyman";

/// Who labels and comments.
pub(super) const PERSON: &str = "you";

/// Options of a local stack. The defaults are no pages and no waiting.
#[derive(Default)]
pub(super) struct LocalOptions {
    /// Settings for agents, limits and the sandbox.
    pub(super) config: Option<PathBuf>,
    /// The agent for every role.
    pub(super) agent: Option<String>,
    pub(super) pipeline: Option<String>,
    /// Agents in addition to those of the settings and the scripted one.
    pub(super) agents: BTreeMap<String, AgentSettings>,
    /// The emulator's port; 0 for a free one.
    pub(super) port: u16,
    /// Whether the emulator shows pages. They need no password, so only the demo has them.
    pub(super) pages: WebPages,
    /// Pipelines in addition to the built-in ones.
    pub(super) pipelines: Vec<Pipeline>,
    /// Orders that run at the same time; overrides the settings.
    pub(super) parallel: Option<usize>,
    /// Agent runs allowed per order; overrides the settings.
    pub(super) runs: Option<u32>,
    /// Seconds to wait after a comment on a pull request for others that belong to it; 0 if there is nobody to wait
    /// for.
    pub(super) gather_seconds: u32,
    /// Where to keep data; `None` for a temporary folder.
    pub(super) keep: Option<PathBuf>,
    /// The local repository whose environment is kept for the next time; `None` keeps nothing.
    pub(super) environment_of: Option<PathBuf>,
}

/// The work waits for a person, but nobody is here to answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct PersonRequired(String);

/// Shown if a plan waits and nobody can approve it.
const PLAN_WAITS: &str = "the plan has to be approved by a person (`plan: approve` in the repository's .github/journeyman.yml), \
    and nobody can do that here: set `plan: auto`, or use `journeyman serve`";

/// Shown if a plan asks questions and nobody can answer.
fn questions_wait(journal: &Journal) -> String {
    let asked = journal.entries().iter().rev().find_map(|entry| match &entry.event {
        JournalEvent::Intended { r#move, .. } => r#move.questions().map(|asked| {
            let lines: Vec<String> = asked.iter().map(|question| line(question, 600)).collect();
            lines.join("\n- ")
        }),
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Observed { .. } => None,
    });
    format!(
        "the plan asks something before code is written, and nobody can answer here: write the answers into the issue, and \
         run it again:\n- {}",
        asked.unwrap_or_default()
    )
}

/// What is shown about an order on a clone: nothing waits for its tests to run once the command has ended.
pub(super) fn surfaces(projection: &OrderProjection) -> Surfaces {
    let shown = projection.surfaces();
    let Some(Settlement::Unprepared { .. }) = projection.next.settled else { return shown };
    let Some(environment) = &projection.trace.environment else { return shown };
    let Some(problem) = &environment.problem else { return shown };
    let has_failed = environment.setup.as_ref().is_some_and(|setup| setup.exit != Exit::Code(0));
    let headline = match has_failed {
        true => "The tests' packages could not be installed",
        false => "The tests cannot run on the base",
    };
    Surfaces { headline: headline.to_owned(), because: Some(told_here(problem)), ..shown }
}

/// Whether a person can answer when an order asks for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HumanPresence {
    /// Somebody is watching the pages.
    Present,
    Absent,
}

/// The folder of a command that runs once; removed on drop.
struct TemporaryPlace(TempDir);

impl TemporaryPlace {
    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TemporaryPlace {
    fn drop(&mut self) {
        // A setup can leave folders that are not writable, which `TempDir` does not remove.
        if let Err(error) = remove_all(self.path()) {
            eprintln!("journeyman: {error}");
        }
    }
}

/// Environments kept for the next run on the same repository, so that nothing is installed twice. Locked against other
/// runs while this lives.
struct KeptEnvironments {
    folder: PathBuf,
    _lock: File,
}

impl KeptEnvironments {
    /// The folder for a repository, under `data` or the user's cache folder.
    fn take(data: Option<&Path>, repository: &Path) -> anyhow::Result<Self> {
        let below = data.map(Path::to_owned).or_else(cache_folder);
        let below = below.ok_or_else(|| anyhow::anyhow!("neither HOME nor XDG_CACHE_HOME names a folder"))?;
        Self::take_in(below.join("run").join(name_by_place(repository)?))
    }

    fn take_in(folder: PathBuf) -> anyhow::Result<Self> {
        let failed = |error: std::io::Error| anyhow::anyhow!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = File::create(folder.join("in-use")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: lock }),
            Err(TryLockError::WouldBlock) => anyhow::bail!("another run is at work on this repository"),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// A running emulator and a running application.
pub(super) struct LocalStack {
    pub(super) emulator: Emulator,
    pub(super) handle: ApplicationHandle,
    pub(super) address: std::net::SocketAddr,
    /// Opens the dashboard and the API; `None` if nobody is to use them.
    pub(super) api_token: Option<SecretString>,
    label: String,
    /// Where the settings keep data; `None` if they do not say.
    pub(super) data: Option<PathBuf>,
    pub(super) agent: String,
    /// Whether that agent resumes its sessions.
    pub(super) resumes: bool,
    pub(super) pipeline: String,
    running: JoinHandle<anyhow::Result<()>>,
    /// A person pressed Ctrl-C, or the service manager asked to end.
    asked: CancellationToken,
    /// Deleted with its contents on drop.
    _place: Option<TemporaryPlace>,
    /// Left for the next run on drop.
    _kept: Option<KeptEnvironments>,
}

impl LocalStack {
    pub(super) async fn start(wishes: LocalOptions) -> anyhow::Result<Self> {
        let (folder, place) = match wishes.keep {
            Some(folder) => (folder, None),
            None => {
                let made = tempfile::Builder::new().prefix("journeyman-").tempdir();
                let place = TemporaryPlace(made.map_err(|error| {
                    let folder = std::env::temp_dir();
                    anyhow::anyhow!(
                        "no temporary folder can be made in {} (TMPDIR): {error}",
                        folder.display()
                    )
                })?);
                (place.path().to_owned(), Some(place))
            }
        };
        let keys = keys::generate()?;
        let secret = SecretString::from(uuid::Uuid::new_v4().to_string());
        let mut options = EmulatorOptions::local(APP_ID, keys.public_pem.clone(), secret.clone());
        options.listen.set_port(wishes.port);
        options.pages = wishes.pages;
        options.within = place.as_ref().map(|place| place.path().to_owned());
        let emulator = Emulator::start(options).await?;
        let github = GithubSettings {
            api_url: emulator.api_url().parse()?,
            app_id: APP_ID,
            private_key: keys.private_pem,
            deliveries: DeliveryMode::Webhook,
            webhook_secrets: vec![secret],
            writes: WriteLimits::NONE,
            client: None,
        };
        let mut settings = Settings::load_beside(github, wishes.config.as_deref(), std::env::vars())?;
        let given = TestRunSettings::load(wishes.config.as_deref(), std::env::vars())?.data;
        // A relative path is not from the settings' file. It would start at the current folder, maybe a clone.
        let data = given.filter(|dir| wishes.config.is_some() && dir.is_absolute());
        // A short-lived server sends no notifications or traces, and nobody signs in.
        (settings.notifications, settings.telemetry) = (None, None);
        (settings.server.api_token, settings.server.public_url) = (None, None);
        settings.agents.extend(wishes.agents);
        // A person's own [agents.scripted] takes precedence.
        let scripted = sample::own_agent(sample::AGENT, &["scripted-agent"])?;
        settings.agents.entry(sample::AGENT.to_owned()).or_insert(scripted);
        settings.server.listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let kept = wishes.environment_of.and_then(|repository| {
            let taken = KeptEnvironments::take(data.as_deref(), &repository);
            taken
                .inspect_err(|error| eprintln!("  … this run keeps no environment for the next: {error}"))
                .ok()
        });
        let dir = folder.join("data");
        let cache_dir = kept.as_ref().map_or_else(|| dir.clone(), |kept| kept.folder.clone());
        settings.data = DataSettings { dir, cache_dir };
        settings.store.url = SecretString::from(sqlite_url(&folder.join("journeyman.db")));
        settings.limits.order.gather_seconds = wishes.gather_seconds;
        // A demo must be quick, so it skips mutants.
        if wishes.pages == WebPages::Shown {
            settings.testing.mutant_time = Duration::ZERO;
            settings.signing = None;
            LABEL.clone_into(&mut settings.defaults.label);
            let token = uuid::Uuid::new_v4().simple().to_string();
            settings.server.api_token = Some(token.into());
        } else {
            settings.asked_on = RequestOrigin::CommandLine;
        }
        if let Some(runs) = wishes.runs {
            settings.limits.order.runs = runs;
        }
        if let Some(parallel) = wishes.parallel {
            settings.limits.concurrent_orders = parallel;
        }
        settings.pipelines =
            wishes.pipelines.into_iter().map(|pipeline| (pipeline.name.clone(), pipeline)).collect();
        if let Some(agent) = wishes.agent {
            if !settings.agents.contains_key(&agent) {
                let known: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
                let problem = format!(
                    "--agent {agent}: no such agent; known are {}. Others are added as [agents.NAME] in journeyman.toml",
                    known.join(", ")
                );
                return Err(UsageError(problem).into());
            }
            settings.defaults.agent = agent;
        }
        if let Some(pipeline) = wishes.pipeline {
            if !settings.pipelines.contains_key(&pipeline) {
                let known = Templates::load(settings.templates.as_deref())?;
                known
                    .pipeline(&pipeline)
                    .map_err(|error| UsageError(format!("--pipeline {pipeline}: {error}")))?;
            }
            settings.defaults.pipeline = pipeline;
        }
        let DefaultSettings { label, agent, pipeline } = settings.defaults.clone();
        let api_token = settings.server.api_token.clone();
        let resumes = settings.agents.get(&agent).is_some_and(|agent| agent.resumes);
        let application = Application::build(settings).await?;
        let address = application.address();
        emulator.set_webhook_url(&format!("http://{address}/webhook"));
        let handle = application.handle();
        let running = tokio::spawn(application.run());
        let asked = asked_to_stop()?;
        Ok(Self {
            emulator,
            handle,
            address,
            api_token,
            data,
            label,
            agent,
            resumes,
            pipeline,
            running,
            asked,
            _place: place,
            _kept: kept,
        })
    }

    /// Creates a repository with one labeled issue.
    pub(super) async fn start_order(
        &self,
        repository: &str,
        source: RepositorySource,
        title: &str,
        body: &str,
    ) -> anyhow::Result<u64> {
        self.put_repository(repository, source).await?;
        self.put_issue(repository, title, body, None).await
    }

    /// Creates a repository where our person has all rights.
    pub(super) async fn put_repository(
        &self,
        repository: &str,
        source: RepositorySource,
    ) -> anyhow::Result<()> {
        if let RepositorySource::Path(clone) = &source {
            let (of, clone): (RepositoryName, _) = (repository.parse()?, clone.clone());
            let sandbox = self.handle.eval_sandbox();
            sandbox.with_workspaces(move |known| Ok(known.import_beside(&of, &clone)?)).await?;
        }
        self.emulator.create_repository(repository, source).await?;
        self.emulator.add_user(PERSON);
        self.emulator.set_permission(repository, PERSON, RepositoryRole::Admin)?;
        Ok(())
    }

    /// Opens an issue with the label. With `agent`, the label names that agent, overriding roles and pipelines.
    pub(super) async fn put_issue(
        &self,
        repository: &str,
        title: &str,
        body: &str,
        agent: Option<&str>,
    ) -> anyhow::Result<u64> {
        let issue = self.emulator.open_issue(repository, PERSON, title, body).await?;
        let agent = agent.map(|agent| format!(":agent={agent}")).unwrap_or_default();
        self.emulator.label(repository, issue, &format!("{}{agent}", self.label), PERSON).await?;
        Ok(issue)
    }

    /// Whether Journeyman has stopped unexpectedly.
    pub(super) fn has_ended(&self) -> bool {
        self.running.is_finished()
    }

    /// Waits until a person asks to stop.
    pub(super) async fn asked_to_stop(&self) {
        self.asked.cancelled().await;
    }

    /// Takes the labeled issue and shows the work on it; `None` if stopped.
    pub(super) async fn work(
        &self,
        (repository, issue): (&str, u64),
        live: &mut LiveOutput,
        people: HumanPresence,
    ) -> anyhow::Result<Option<(OrderId, Surfaces)>> {
        let Some(order) = self.order(&repository.parse()?, issue).await? else { return Ok(None) };
        Ok(self.watch(order, live, people).await?.map(|shown| (order, shown)))
    }

    /// The order of an issue, once the delivery has arrived; `None` if stopped.
    pub(super) async fn order(
        &self,
        repository: &RepositoryName,
        issue: u64,
    ) -> anyhow::Result<Option<OrderId>> {
        match tokio::time::timeout(MOST_WAIT, self.opened(repository, issue)).await {
            Ok(opened) => opened,
            Err(_) => Err(anyhow::anyhow!(self.why_unopened(repository, issue).await?)),
        }
    }

    /// Why the label of an issue or pull request led to no order.
    async fn why_unopened(&self, repository: &RepositoryName, issue: u64) -> anyhow::Result<String> {
        let is_its = |payload: &str| {
            let payload: Value = serde_json::from_str(payload).unwrap_or_default();
            let is_there = payload["repository"]["full_name"] == repository.as_str();
            is_there && ["issue", "pull_request"].iter().any(|of| payload[*of]["number"] == issue)
        };
        let sent = self.emulator.deliveries();
        let mut labeled = sent.iter().filter(|one| one.action.as_deref() == Some("labeled"));
        let because = match labeled.rfind(|one| is_its(&one.payload)) {
            Some(one) => self.handle.ignored_because(&one.guid.parse()?).await?,
            None => None,
        };
        let because = because.unwrap_or_else(|| "its label was not taken in".to_owned());
        Ok(format!("no work was begun on #{issue}: {because}"))
    }

    async fn opened(&self, repository: &RepositoryName, issue: u64) -> anyhow::Result<Option<OrderId>> {
        loop {
            // Issues that are open at the same time are among the latest.
            let latest = self.handle.orders_of(repository, 300).await?;
            if let Some((_, order)) = latest.into_iter().find(|(known, _)| known.0 == issue) {
                return Ok(Some(order));
            }
            anyhow::ensure!(!self.has_ended(), "Journeyman stopped before it took the issue");
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
                () = self.asked_to_stop() => return Ok(None),
            }
        }
    }

    /// Waits until `is_enough`, and returns the order's journal and projection; `None` if stopped.
    pub(super) async fn until(
        &self,
        order: OrderId,
        mut is_enough: impl FnMut(&Journal, &OrderProjection) -> bool,
    ) -> anyhow::Result<Option<(Journal, OrderProjection)>> {
        let mut news = self.handle.watch();
        loop {
            let (journal, projection) = self.handle.look(order).await?;
            if is_enough(&journal, &projection) {
                return Ok(Some((journal, projection)));
            }
            anyhow::ensure!(!self.has_ended(), "Journeyman has ended");
            let again = tokio::time::sleep(LOOK_AGAIN);
            tokio::pin!(again);
            loop {
                tokio::select! {
                    heard = news.recv() => match heard {
                        Ok((known, _)) if known != order => {}
                        Ok(_) | Err(_) => break,
                    },
                    () = &mut again => break,
                    () = self.asked_to_stop() => return Ok(None),
                }
            }
        }
    }

    /// Shows the work until the order has ended or a person stops it. `None` if stopped. What `live` has already shown
    /// is not shown again.
    pub(super) async fn watch(
        &self,
        order: OrderId,
        live: &mut LiveOutput,
        people: HumanPresence,
    ) -> anyhow::Result<Option<Surfaces>> {
        live.begin_again();
        let seen = self.until(order, |journal, projection| {
            journal.entries().iter().for_each(|entry| live.show(entry));
            live.running(self.handle.progress(order));
            let asks_nobody = projection.trace.asks.is_some() && people == HumanPresence::Absent;
            projection.next.moves.is_empty() && (projection.next.settled.is_some() || asks_nobody)
        });
        let seen = seen.await;
        live.end();
        let Some((journal, projection)) = seen? else { return Ok(None) };
        match projection.trace.asks.filter(|_| projection.next.settled.is_none()) {
            Some(PendingApproval::Plan) => Err(PersonRequired(PLAN_WAITS.to_owned()).into()),
            Some(PendingApproval::Answers) => Err(PersonRequired(questions_wait(&journal)).into()),
            None => Ok(Some(projection.surfaces())),
        }
    }

    /// Stops cleanly after a failure before returning it.
    pub(super) async fn give_up<T>(self, error: anyhow::Error) -> anyhow::Result<T> {
        if let Err(other) = self.stop().await {
            tracing::warn!("not stopped in order: {other:#}");
        }
        Err(error)
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.handle.stop();
        self.running.await??;
        self.emulator.stop().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_label_that_leads_to_no_order_is_given_up_with_the_reason() {
        let local = LocalStack::start(LocalOptions::default()).await.unwrap();
        let files = BTreeMap::from([("sum.sh".to_owned(), b"echo 1\n".to_vec())]);
        local.put_repository("local/sum", RepositorySource::Files(files)).await.unwrap();
        let issue = local.emulator.open_issue("local/sum", PERSON, "It is wrong", "").await.unwrap();
        local.emulator.label("local/sum", issue, "bug", PERSON).await.unwrap();
        let repository = "local/sum".parse().unwrap();
        let begun = std::time::Instant::now();
        loop {
            let says = local.why_unopened(&repository, issue).await.unwrap();
            if says == "no work was begun on #1: another label than the one that starts work" {
                break;
            }
            assert!(begun.elapsed() < MOST_WAIT, "{says}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        local.stop().await.unwrap();
    }

    #[test]
    fn one_run_at_a_time_has_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("sum-1");
        let first = KeptEnvironments::take_in(folder.clone()).unwrap();
        let busy = KeptEnvironments::take_in(folder.clone()).err().unwrap();
        assert_eq!(busy.to_string(), "another run is at work on this repository");
        drop(first);
        assert!(KeptEnvironments::take_in(folder).is_ok());
    }
}
