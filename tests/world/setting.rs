//! How a story starts: a repository, an issue, an agent's script, settings.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use journeyman::config::{
    AgentSettings, DataSettings, DefaultSettings, DeliveryMode, GithubSettings, LimitSettings, RuntimeKind,
    SandboxSettings, ServerSettings, Settings, StoreSettings,
};
use journeyman::emulator::{Emulator, EmulatorOptions, RepositoryRole, RepositorySource, keys};
use journeyman::order::{IsolationMode, JobLimits, OrderLimits, TestingSettings, WriteLimits};
use journeyman::store::Store;
use secrecy::{ExposeSecret as _, SecretString};

use super::{API_TOKEN, Bot, MAINTAINER, OUTSIDER, REPOSITORY, TRIAGER, WEBHOOK_SECRET, World, store_url};

const APP_ID: u64 = 77;
const AGENT: &str = "scripted";

/// The repository's own settings.
pub const SETTINGS: &str = "test: sh test.sh\n";

/// Two TAP tests: the first always passes, the second if `answer` is 42.
const TEST: &str = r#"echo 1..2
failed=0
check() { # number, name, expected, found
  if [ "$3" = "$4" ]; then echo "ok $1 - $2"; else
    echo "not ok $1 - $2"; echo "  # expected $3, found $4"; failed=1
  fi
}
check 1 "there is a question" yes "$([ -s question ] && echo yes)"
check 2 "the answer is right" 42 "$(cat answer)"
exit $failed
"#;

/// The stages around the work, as a capable agent does them. A story's own scenes take precedence.
pub const PLAN: &str = r#"
- stage: classify
  say: /feature
  usd: 0.01
- stage: branch
  say: right-answer
  usd: 0.01
- stage: plan
  usd: 0.02
  run: mkdir -p .journeyman/plans && echo '# Write 42 into answer' > .journeyman/plans/issue-1-answer.md
  say: .journeyman/plans/issue-1-answer.md
- stage: publish
  usd: 0.01
  say: |-
    Give the right answer

    The answer was off by one.
- stage: review
  role: code_reviewer
  usd: 0.01
  say: '{"passed": true, "score": 1, "summary": "Right, and tested.", "issues": []}'
- stage: implement
  role: tech_lead
  usd: 0.01
  say: '{"decision": "flag", "diagnosis": "A person has to look at it.", "guidance": ""}'
"#;

/// Right the first time.
pub const WELL: &str = r#"
- stage: implement
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' -m 'It was off by one.' && git push -q origin HEAD
  say: The answer is right now.
"#;

/// Right after this many milliseconds, so that the story can interfere.
pub fn slowly(think: u32) -> String {
    format!(
        "
- stage: implement
  think: {think}
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
"
    )
}

/// Pushes nothing until a person says how, then does it.
pub const STUBBORN: &str = "
- stage: implement
  round: 3
  run: |
    cat
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
- stage: implement
  say: Nothing to do.
";

/// Files by name.
pub fn files(list: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    list.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

pub fn write_script(place: &Path, scenes: &str) {
    std::fs::write(place.join("script.yaml"), format!("{scenes}\n{PLAN}"))
        .expect("the script can be written");
}

/// A story that has not started.
pub struct Story {
    scenes: String,
    files: BTreeMap<String, Vec<u8>>,
    title: String,
    body: String,
    change: Box<dyn FnOnce(&mut Settings) + Send>,
}

impl Story {
    /// With an agent that follows these scenes, then [`PLAN`].
    pub fn of(scenes: &str) -> Self {
        let files = files(&[
            ("question", "How many roads must a man walk down?\n"),
            ("answer", "41\n"),
            ("test.sh", TEST),
            (".github/journeyman.yml", SETTINGS),
        ]);
        Self {
            scenes: scenes.to_owned(),
            files,
            title: "The answer is wrong".to_owned(),
            body: "It says 41, and it should say 42.".to_owned(),
            change: Box::new(|_| ()),
        }
    }

    /// The repository's files.
    pub fn files(self) -> BTreeMap<String, Vec<u8>> {
        self.files
    }

    /// Adds a file to the repository.
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), text.as_bytes().to_vec());
        self
    }

    /// Removes a file.
    pub fn without(mut self, name: &str) -> Self {
        self.files.remove(name).expect("only what is there can be left out");
        self
    }

    /// Sets the issue.
    pub fn issue(mut self, title: &str, body: &str) -> Self {
        (self.title, self.body) = (title.to_owned(), body.to_owned());
        self
    }

    /// Changes the server's settings.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings) + Send + 'static) -> Self {
        self.change = Box::new(change);
        self
    }

    /// Sets everything up; no person has acted yet.
    pub async fn begin(mut self) -> World {
        // The examiner is off, except in stories about it.
        let own = self.files.entry(".github/journeyman.yml".to_owned()).or_default();
        if !String::from_utf8_lossy(own).contains("examine:") {
            own.extend_from_slice(b"\nexamine: never\n");
        }
        let place = tempfile::Builder::new().prefix("journeyman-story-").tempdir().expect("a folder");
        write_script(place.path(), &self.scenes);
        let keys = keys();
        let secret = SecretString::from(WEBHOOK_SECRET);
        let options = EmulatorOptions::local(APP_ID, keys.public_pem.clone(), secret.clone());
        let github = Emulator::start(options).await.expect("the emulator starts");
        github
            .create_repository(REPOSITORY, RepositorySource::Files(self.files))
            .await
            .expect("a repository");
        for (login, may) in [
            (MAINTAINER, RepositoryRole::Write),
            (TRIAGER, RepositoryRole::Triage),
            (OUTSIDER, RepositoryRole::Read),
        ] {
            github.set_permission(REPOSITORY, login, may).expect("the repository is there");
        }
        let issue =
            github.open_issue(REPOSITORY, MAINTAINER, &self.title, &self.body).await.expect("an issue");
        let mut settings = settings(place.path(), &github, secret);
        (self.change)(&mut settings);
        let bot = Bot::start(settings.clone(), &github).await;
        let store = Store::open(store_url(&settings)).await.expect("the store can be opened twice");
        World { github, issue, store, settings, place, bot: Some(bot) }
    }

    /// The same, and a maintainer adds the label at once.
    pub async fn labeled(self) -> World {
        let world = self.begin().await;
        world.label().await;
        world
    }
}

/// The App's keys, created once for all tests: each is its own process, and a pair takes a tenth of a second.
pub fn keys() -> &'static keys::AppKeys {
    static KEYS: OnceLock<keys::AppKeys> = OnceLock::new();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("app-keys.pem");
    KEYS.get_or_init(|| kept_keys(&file).unwrap_or_else(|| keep_keys(&file)))
}

fn kept_keys(file: &Path) -> Option<keys::AppKeys> {
    let both = std::fs::read_to_string(file).ok()?;
    let (private, public) = both.split_at(both.find("-----BEGIN PUBLIC KEY")?);
    Some(keys::AppKeys { private_pem: SecretString::from(private), public_pem: public.to_owned() })
}

/// Writes one file atomically, so that tests that start at the same time never read a mix of two keys.
fn keep_keys(file: &Path) -> keys::AppKeys {
    let keys = keys::generate().expect("a key pair");
    let folder = file.parent().expect("a folder");
    let mut both = tempfile::NamedTempFile::new_in(folder).expect("cargo made the folder");
    write!(both, "{}{}", keys.private_pem.expose_secret(), keys.public_pem).expect("it can be written");
    both.persist(file).expect("it can be renamed");
    keys
}

fn settings(place: &Path, github: &Emulator, secret: SecretString) -> Settings {
    let program = env!("CARGO_BIN_EXE_journeyman");
    let script = place.join("script.yaml");
    let words = [program, "scripted-agent", "--script", script.to_str().expect("a path in UTF-8")];
    let agent = AgentSettings {
        name: AGENT.to_owned(),
        runtime: RuntimeKind::Command,
        program: words.map(str::to_owned).to_vec(),
        read: vec![program.into(), script.clone()],
        resumes: true,
        ..AgentSettings::default()
    };
    Settings {
        signing: None,
        asked_on: Default::default(),
        server: ServerSettings {
            listen: std::net::SocketAddr::from(([127, 0, 0, 1], 0)),
            drain: Duration::ZERO,
            public_url: None,
            api_token: Some(SecretString::from(API_TOKEN)),
        },
        github: GithubSettings {
            api_url: github.api_url().parse().expect("an address"),
            app_id: APP_ID,
            private_key: keys().private_pem.clone(),
            deliveries: DeliveryMode::Webhook,
            webhook_secrets: vec![secret],
            writes: WriteLimits::NONE,
            client: None,
        },
        store: StoreSettings {
            url: SecretString::from(format!("sqlite://{}", place.join("journeyman.db").display())),
        },
        data: DataSettings { dir: place.join("data"), cache_dir: place.join("data") },
        notifications: None,
        telemetry: None,
        retention: Default::default(),
        defaults: DefaultSettings {
            label: "journeyman".to_owned(),
            agent: AGENT.to_owned(),
            pipeline: "issue-to-pr".to_owned(),
        },
        limits: LimitSettings {
            concurrent_orders: 4,
            order: OrderLimits { minutes: 10, usd: 5.0, runs: 60, ..OrderLimits::default() },
            per_day: Default::default(),
        },
        testing: TestingSettings {
            test_time: Duration::from_secs(60),
            setup_time: Duration::from_secs(60),
            // Mutants are off, except in stories about them.
            mutant_time: Duration::ZERO,
            setup_network: vec!["*".to_owned()],
            ..TestingSettings::default()
        },
        templates: Default::default(),
        sandbox: SandboxSettings {
            mode: IsolationMode::Bubblewrap,
            read: Vec::new(),
            limits: JobLimits::default(),
            host_registries: false,
        },
        agents: BTreeMap::from([(AGENT.to_owned(), agent)]),
        pipelines: BTreeMap::new(),
        prices: BTreeMap::new(),
        variables: std::env::vars().map(|(name, value)| (name, SecretString::from(value))).collect(),
    }
}
