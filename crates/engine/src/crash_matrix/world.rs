//! One GitHub with a repository, and one folder with a database: what survives a dead process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chrono::Utc;
use secrecy::SecretString;
use tempfile::TempDir;

use super::Case;
use super::database::LifeDatabase;
use super::people::People;
use super::setting::{PERSON, REPOSITORY, REVIEWER, RedTests, Scene, at_once};
use super::steps::{Busy, DirectConnection, NamedEntries, Steps, WatchedStore};
use super::workplace::{AgentDiary, Workplace};
use crate::{Clock, Engine, EngineParts, EngineSettings, Environments};
use journeyman_agent::Agents;
use journeyman_config::LimitSettings;
use journeyman_emulator::{Emulator, EmulatorOptions, RepositoryRole, RepositorySource, keys};
use journeyman_github::{AppCredentials, GitHub, GitHubConnection, WriteLimits};
use journeyman_order::{Backoff, OrderLimits, Pipeline, Role, TestingSettings};
use journeyman_sandbox::{IsolationMode, Sandbox};
use journeyman_store::Store;
use journeyman_workspace::Workspaces;

/// Nothing listens there: it is only a name.
const API: &str = "http://127.0.0.1:9/api/v3";

const PIPELINE: &str = r"
name: issue-to-pr
version: 1
stages:
  - { name: classify, agent: developer, command: classify_issue, arguments: ['{{issue.title}}'], output: { one_of: [/feature, /bug, /chore] } }
  - { name: branch, uses: branch, agent: developer, command: generate_branch, depends_on: [classify] }
  - { name: plan, agent: developer, command: '{{classify.result}}', output: { file: '.journeyman/plans/*.md' }, depends_on: [branch] }
  - { name: implement, agent: developer, command: implement, arguments: ['{{plan.content}}'], checks: [pushed_commit, policy, tests], escalate_on_exhaust: human_approval, depends_on: [plan] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
";

pub(super) struct World {
    pub(super) emulator: Arc<Emulator>,
    pub(super) steps: Arc<Steps>,
    pub(super) diary: Arc<Mutex<AgentDiary>>,
    pub(super) people: Mutex<People>,
    git: PathBuf,
    red: RedTests,
    pub(super) database: LifeDatabase,
    workspaces: Workspaces,
    _place: TempDir,
}

/// What every engine has and no order here needs.
struct IdleParts {
    workspaces: Workspaces,
    agents: Arc<Agents>,
    sandbox: Sandbox,
    environments: Environments,
    testing: TestingSettings,
    database: PathBuf,
    keys: keys::AppKeys,
    _place: TempDir,
}

fn idle_parts() -> &'static IdleParts {
    static PARTS: OnceLock<IdleParts> = OnceLock::new();
    PARTS.get_or_init(|| {
        let place = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let testing = TestingSettings::default();
            let workspaces = Workspaces::new(&place.path().join("data")).expect("a data folder");
            let sandbox = Sandbox::new(IsolationMode::None, Vec::new()).await.expect("none");
            let environments = Environments::new(sandbox.clone(), workspaces.clone(), testing.clone());
            // Made once: each life begins with a copy.
            let database = place.path().join("empty.db");
            let store = Store::open(&format!("sqlite://{}", database.display())).await.expect("a database");
            store.close().await;
            IdleParts {
                environments: environments.await.unwrap_or_else(|error| panic!("{error:?}")),
                agents: Arc::new(Agents::new(BTreeMap::new(), &Default::default()).expect("no agents")),
                workspaces,
                sandbox,
                testing,
                database,
                keys: keys::generate().expect("a key pair"),
                _place: place,
            }
        })
    })
}

impl World {
    pub(super) fn new(case: &Case) -> Self {
        let idle = idle_parts();
        let place = tempfile::tempdir().expect("a folder");
        let options = EmulatorOptions {
            listen: ([127, 0, 0, 1], 9).into(),
            within: Some(place.path().to_owned()),
            ..EmulatorOptions::local(1, idle.keys.public_pem.clone(), SecretString::from("a secret"))
        };
        let begins = Utc::now();
        journeyman_emulator::set_time(begins);
        let emulator = Arc::new(Emulator::in_process(options).expect("the emulator"));
        let files = BTreeMap::from([("README.md".to_owned(), b"Sums\n".to_vec())]);
        at_once(emulator.create_repository(REPOSITORY, RepositorySource::Files(files)))
            .expect("a repository");
        for person in [PERSON, REVIEWER] {
            emulator.add_user(person);
            emulator.set_permission(REPOSITORY, person, RepositoryRole::Write).expect("a permission");
        }
        let (people, red) = People::of(case.seed);
        Self {
            git: emulator.git_dir(REPOSITORY).expect("its folder"),
            emulator,
            steps: Arc::new(Steps::new(case.fates.clone(), begins)),
            diary: Arc::default(),
            people: Mutex::new(people),
            red,
            database: LifeDatabase::new(&case.on, place.path(), &idle.database),
            workspaces: Workspaces::new(&place.path().join("data")).expect("a data folder"),
            _place: place,
        }
    }

    pub(super) fn scene(&self) -> Scene {
        Scene { emulator: Arc::clone(&self.emulator), steps: Arc::clone(&self.steps) }
    }

    /// For an observer from outside.
    pub(super) async fn reading(&self) -> Store {
        self.steps.begin();
        self.store().await
    }

    /// Opens the database for a process.
    pub(super) async fn store(&self) -> Store {
        let busy = Busy::new();
        let watcher = Arc::new(WatchedStore(Arc::clone(&self.steps)));
        let store = Store::open_watched(self.database.url(), watcher).await.expect("the database opens");
        drop(busy);
        store
    }

    /// The engine of a process.
    pub(super) fn engine(&self, store: &Store) -> Engine {
        let connection =
            DirectConnection { steps: Arc::clone(&self.steps), emulator: Arc::clone(&self.emulator) };
        let limits = WriteLimits { interval: Duration::from_millis(100), ..WriteLimits::NONE };
        let steps = Arc::clone(&self.steps);
        let github = github_over(Arc::new(connection), limits, Backoff::REQUEST);
        let parts = EngineParts {
            journals: Arc::new(NamedEntries(Arc::clone(&self.steps), store.clone())),
            workspaces: self.workspaces.clone(),
            ..engine_parts(store, github, Clock::of(move || steps.now()))
        };
        let workplace = Workplace {
            steps: Arc::clone(&self.steps),
            emulator: Arc::clone(&self.emulator),
            git: self.git.clone(),
            diary: Arc::clone(&self.diary),
            red: self.red,
        };
        Engine::new(parts).performing(Arc::new(workplace))
    }
}

/// Our side of a GitHub without a network.
pub(crate) fn github_over(
    connection: Arc<dyn GitHubConnection>,
    limits: WriteLimits,
    backoff: Backoff,
) -> GitHub {
    let credentials = AppCredentials {
        api_url: API.parse().expect("an address"),
        app_id: 1,
        private_key_pem: SecretString::from("none is needed"),
        outgoing: Default::default(),
    };
    GitHub::over(connection, credentials, limits, backoff).expect("GitHub")
}

/// The parts of an engine that starts no program.
pub(crate) fn engine_parts(store: &Store, github: GitHub, clock: Clock) -> EngineParts {
    let idle = idle_parts();
    EngineParts {
        notifier: None,
        traces: None,
        journals: Arc::new(store.clone()),
        store: store.clone(),
        github,
        workspaces: idle.workspaces.clone(),
        agents: Arc::clone(&idle.agents),
        sandbox: idle.sandbox.clone(),
        environments: idle.environments.clone(),
        settings: settings(idle.testing.clone()),
        clock,
    }
}

fn settings(testing: TestingSettings) -> EngineSettings {
    static PIPELINES: OnceLock<Pipeline> = OnceLock::new();
    let pipeline = PIPELINES.get_or_init(|| Pipeline::parse(PIPELINE).expect("a pipeline")).clone();
    EngineSettings {
        public_url: None,
        drain_for: Duration::from_secs(30),
        reconcile_every: Duration::from_secs(300),
        asked_on: Default::default(),
        retention: Default::default(),
        label: "journeyman".to_owned(),
        agent: "scripted".to_owned(),
        pipelines: BTreeMap::from([(pipeline.name.clone(), pipeline.clone())]),
        pipeline,
        roles: BTreeMap::from([("developer".to_owned(), Role::parse("name: developer").expect("a role"))]),
        commands: BTreeMap::new(),
        limits: LimitSettings {
            concurrent_orders: 2,
            order: OrderLimits { minutes: 240, usd: 50.0, ..OrderLimits::default() },
            per_day: Default::default(),
        },
        testing,
        prices: journeyman_agent::Prices::default(),
        secrets: journeyman_workspace::SecretSet::default(),
        read_repository_settings: |yaml| {
            journeyman_config::repository_settings(yaml).map_err(|error| error.to_string())
        },
        variables: Default::default(),
    }
}
