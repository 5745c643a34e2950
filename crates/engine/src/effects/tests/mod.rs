//! Single effects against the real thing: GitHub's emulator, git, bubblewrap, SQLite. The tests write the order's
//! journal, so that they can make moves that no pipeline names yet.

#![allow(clippy::wildcard_enum_match_arm, reason = "any other outcome than the one expected ends the test")]

mod artifacts;
mod away;
mod checks;
mod conversation;
mod elsewhere;
mod given;
mod live_journal;
mod pay;
mod preflight;
mod seats;
mod starts;
mod status;
mod tidy;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::Utc;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::sync::watch;
use uuid::Uuid;

use super::{Effect, EffectContext, EffectPerformer as _, RealEffects};
use crate::live_journal::JournalSnapshot;
use crate::{Clock, EngineParts, EngineSettings, Environments};
use journeyman_agent::{AgentSettings, Agents, RuntimeKind};
use journeyman_config::LimitSettings;
use journeyman_emulator::{Emulator, EmulatorOptions, RepositorySource, keys};
use journeyman_github::{AppCredentials, GitHub, WriteLimits};
use journeyman_order::moves::AgentTask;
use journeyman_order::{
    AgentRun, BranchName, EffectOutcome, InstallationId, IssueNumber, IssueText, Journal, JournalEvent, Move,
    MoveKey, OrderId, OrderInput, OrderLimits, Pipeline, RepositoryId, RepositoryName, Requester, Role,
    TestingSettings,
};
use journeyman_sandbox::{IsolationMode, Sandbox};
use journeyman_store::Store;
use journeyman_workspace::{OrderDirs, Workspaces};

const REPOSITORY: &str = "acme/sums";
const AGENT: &str = "scripted";
const PIPELINE: &str = "
name: small
version: 1
stages:
  - name: work
    agent: developer
    command: implement
    checks: [pushed_commit, tests]
";

/// One order, and everything its effects work with.
struct EffectsFixture {
    emulator: Emulator,
    parts: Arc<EngineParts>,
    order: OrderId,
    branch: BranchName,
    place: TempDir,
}

fn keys() -> &'static keys::AppKeys {
    static KEYS: OnceLock<keys::AppKeys> = OnceLock::new();
    KEYS.get_or_init(|| keys::generate().expect("a key pair"))
}

fn key(name: &str) -> MoveKey {
    MoveKey(name.to_owned())
}

/// How a fixture differs from the default.
struct FixtureOptions {
    /// `.github/journeyman.yml`.
    settings: &'static str,
    agents: Vec<AgentSettings>,
    /// What the order starts from.
    opened: fn(&mut OrderInput),
}

impl Default for FixtureOptions {
    fn default() -> Self {
        Self { settings: "test: grep -q 'a + b' sums.py\n", agents: Vec::new(), opened: |_| {} }
    }
}

impl EffectsFixture {
    async fn new() -> Self {
        Self::with(FixtureOptions::default()).await
    }

    async fn with(wishes: FixtureOptions) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let options =
            EmulatorOptions::local(77, keys().public_pem.clone(), SecretString::from("a secret of tests"));
        let emulator = Emulator::start(options).await.expect("the emulator starts");
        let files = [
            ("sums.py", "def add(a, b):\n    return a - b\n"),
            ("run.sh", "#!/bin/sh\nexec python3 -m unittest\n"),
            ("README.md", "Sums\n"),
            (".github/journeyman.yml", wishes.settings),
        ];
        let files =
            files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into_iter().collect();
        emulator.create_repository(REPOSITORY, RepositorySource::Files(files)).await.expect("a repository");
        let issue = emulator.open_issue(REPOSITORY, "mona", "Mend the sum", "It is off.").await.expect("one");
        let parts = parts(&emulator, &place, wishes.agents).await;
        let order = OrderId(Uuid::now_v7());
        let mut opened = OrderInput {
            format: journeyman_order::journal::JOURNAL_FORMAT,
            order,
            repository: name(),
            repository_id: RepositoryId(emulator.repository_id(REPOSITORY).expect("it is there")),
            installation: Some(InstallationId(emulator.installation_id())),
            default_branch: "main".to_owned(),
            issue: IssueText {
                number: IssueNumber(issue),
                title: "Mend the sum".to_owned(),
                body: "It is off.".to_owned(),
                url: "https://example.org".to_owned(),
                labels: Vec::new(),
            },
            by: Requester::ApiToken,
            pipeline: parts.settings.pipeline.clone(),
            agent: AGENT.to_owned(),
            limits: parts.settings.limits.order,
            roles: parts.settings.roles.clone(),
            earlier: Vec::new(),
            request: Default::default(),
            comment: None,
            labeled_at: None,
            commented_at: None,
            change: None,
        };
        (wishes.opened)(&mut opened);
        parts.store.open_order(opened, Utc::now(), None).await.expect("an order");
        let branch = BranchName::for_issue(IssueNumber(issue), "mend the sum", 1);
        let world = Self { emulator, parts: Arc::new(parts), order, branch, place };
        let prepared = world.make("prepare", Move::Prepare).await;
        assert!(matches!(prepared, EffectOutcome::Prepared(_)), "{prepared:?}");
        world
    }

    fn places(&self) -> OrderDirs {
        self.parts.workspaces.order_dirs(self.order)
    }

    async fn journal(&self) -> Journal {
        self.parts.journals.journal(self.order).await.expect("a journal")
    }

    /// What an effect that begins now receives.
    async fn turns(&self) -> watch::Receiver<JournalSnapshot> {
        watch::Sender::new(JournalSnapshot::of(Arc::new(self.journal().await), Utc::now())).subscribe()
    }

    async fn context(&self, name: &str) -> EffectContext {
        let turns = self.turns().await;
        let JournalSnapshot { journal, projection } = turns.borrow().clone();
        let parts = Arc::clone(&self.parts);
        EffectContext { parts, order: self.order, key: key(name), attempt: 1, journal, projection, turns }
    }

    async fn write(&self, event: JournalEvent) {
        self.parts.store.append(self.order, event, Utc::now()).await.expect("it is written");
    }

    /// Records an effect's intent, performs it, and records its outcome.
    async fn make(&self, name: &str, r#move: Move) -> EffectOutcome {
        self.intend(name, &r#move).await;
        let outcome = self.attempt(name, r#move).await;
        self.write(JournalEvent::Observed { key: key(name), outcome: Box::new(outcome.clone()) }).await;
        outcome
    }

    async fn intend(&self, name: &str, r#move: &Move) {
        self.write(JournalEvent::Intended { key: key(name), r#move: Box::new(r#move.clone()) }).await;
    }

    /// Performs an effect without recording it, as if the process ended at that moment.
    async fn attempt(&self, name: &str, r#move: Move) -> EffectOutcome {
        let effect = Effect { key: key(name), attempt: 1, r#move };
        RealEffects.perform(Arc::clone(&self.parts), self.order, effect, self.turns().await).await
    }

    /// Runs the agent with this script.
    async fn agent(&self, name: &str, task: AgentTask, script: &str) -> AgentRun {
        std::fs::write(self.script(), script).expect("a script");
        match self.make(name, Move::RunAgent(task)).await {
            EffectOutcome::AgentRan(run) => *run,
            other => panic!("{other:?}"),
        }
    }

    fn script(&self) -> PathBuf {
        self.place.path().join("agent.sh")
    }

    fn task(&self) -> AgentTask {
        AgentTask {
            stage: "work".to_owned(),
            agent: AGENT.to_owned(),
            round: 1,
            command: "implement".to_owned(),
            branch: Some(self.branch.clone()),
            timeout_seconds: 60,
            ..AgentTask::default()
        }
    }

    /// Imports what is in the agent's origin, and makes a commit of it.
    async fn import(&self, name: &str) -> (journeyman_order::CommitSha, String, Vec<String>) {
        let base = self.journal().await.prepared().expect("prepared").base.clone();
        let import = Move::Import { branch: self.branch.clone(), base: base.clone() };
        let imported = self.make(&format!("{name}/import"), import).await;
        let EffectOutcome::Imported { tree, message, changed, .. } = imported else { panic!("{imported:?}") };
        let message = message.unwrap_or_else(|| "Without a message".to_owned());
        let commit =
            Move::Commit { tree, parent: base, merges: None, message, date: chrono::DateTime::UNIX_EPOCH };
        let committed = self.make(&format!("{name}/commit"), commit).await;
        let EffectOutcome::Committed { commit, patch } = committed else { panic!("{committed:?}") };
        (commit, patch, changed)
    }

    /// A file of one of our commits.
    fn file(&self, commit: &journeyman_order::CommitSha, path: &str) -> Option<String> {
        let file = self.parts.workspaces.file(&name(), commit, path).expect("it can be read");
        file.map(|bytes| String::from_utf8(bytes).expect("text"))
    }
}

fn name() -> RepositoryName {
    REPOSITORY.parse().expect("a name")
}

async fn parts(emulator: &Emulator, place: &TempDir, more: Vec<AgentSettings>) -> EngineParts {
    let store = format!("sqlite://{}", place.path().join("journeyman.db").display());
    let store = Store::open(&store).await.expect("a store");
    let script = place.path().join("agent.sh");
    let agent = AgentSettings {
        name: AGENT.to_owned(),
        runtime: RuntimeKind::Command,
        program: vec!["sh".to_owned(), script.display().to_string()],
        read: vec![script],
        ..AgentSettings::default()
    };
    let pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
    let testing = TestingSettings {
        test_time: Duration::from_secs(60),
        setup_time: Duration::from_secs(60),
        setup_network: vec!["*".to_owned()],
        ..TestingSettings::default()
    };
    let workspaces = Workspaces::new(&place.path().join("data")).expect("a data folder");
    let sandbox = Sandbox::new(IsolationMode::Bubblewrap, Vec::new()).await.expect("walls");
    let environments = Environments::new(sandbox.clone(), workspaces.clone(), testing.clone()).await.unwrap();
    EngineParts {
        notifier: None,
        traces: None,
        journals: Arc::new(store.clone()),
        store,
        github: GitHub::new(
            AppCredentials {
                api_url: emulator.api_url().parse().expect("an address"),
                app_id: 77,
                private_key_pem: keys().private_pem.clone(),
                outgoing: Default::default(),
            },
            WriteLimits::NONE,
        )
        .expect("our side of GitHub"),
        workspaces,
        agents: {
            let all = std::iter::once(agent).chain(more).map(|agent| (agent.name.clone(), agent));
            Arc::new(Agents::new(all.collect(), &Default::default()).expect("agents"))
        },
        sandbox,
        environments,
        clock: Clock::system(),
        settings: EngineSettings {
            public_url: None,
            drain_for: std::time::Duration::ZERO,
            reconcile_every: std::time::Duration::from_secs(300),
            asked_on: Default::default(),
            label: "journeyman".to_owned(),
            agent: AGENT.to_owned(),
            pipelines: BTreeMap::from([(pipeline.name.clone(), pipeline.clone())]),
            pipeline,
            roles: BTreeMap::from([(
                "developer".to_owned(),
                Role::parse("name: developer").expect("a role"),
            )]),
            commands: BTreeMap::new(),
            limits: LimitSettings {
                concurrent_orders: 1,
                order: OrderLimits { minutes: 60, usd: 5.0, ..OrderLimits::default() },
                per_day: Default::default(),
            },
            retention: Default::default(),
            testing,
            prices: journeyman_agent::Prices::default(),
            secrets: journeyman_workspace::SecretSet::default(),
            read_repository_settings: |yaml| {
                journeyman_config::repository_settings(yaml).map_err(|error| error.to_string())
            },
            variables: Default::default(),
        },
    }
}
