//! The whole application with GitHub's emulator, and an agent that only prints its start time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Utc};
use journeyman::app::{Application, ApplicationHandle};
use journeyman::config::{AgentSettings, DeliveryMode, GithubSettings, RuntimeKind, Settings};
use journeyman::emulator::{
    DeliveryResult as Sent, Emulator, EmulatorOptions, RepositoryRole, RepositorySource, keys,
};
use journeyman::order::{EffectOutcome, Journal, JournalEvent, Move, WriteLimits};
use journeyman::sandbox::IsolationMode;
use secrecy::SecretString;

const REPOSITORY: &str = "acme/sums";
const PERSON: &str = "alice";
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Running {
    github: Emulator,
    handle: ApplicationHandle,
    serving: tokio::task::JoinHandle<()>,
}

/// Time until the agent's program started.
pub struct AgentStart {
    pub since_answer: Duration,
    /// Since the intent of the agent's run: creating its workspace and its sandbox.
    pub since_task: Duration,
    /// The moves between the answer and the agent, each with its duration.
    pub moves: Vec<(String, Duration)>,
}

impl AgentStart {
    /// Some of them overlap.
    pub fn steps(&self) -> impl Iterator<Item = (&str, Duration)> {
        let moves = self.moves.iter().map(|(name, took)| (name.as_str(), *took));
        moves.chain([("the agent's workspace and sandbox", self.since_task)])
    }
}

impl Running {
    pub async fn start(folder: &Path, files: &BTreeMap<String, Vec<u8>>, mode: IsolationMode) -> Self {
        let keys = keys::generate().expect("keys");
        let secret = SecretString::from("a secret for this measurement");
        let options = EmulatorOptions::local(1, keys.public_pem.clone(), secret.clone());
        let github = Emulator::start(options).await.expect("GitHub, emulated");
        github
            .create_repository(REPOSITORY, RepositorySource::Files(files.clone()))
            .await
            .expect("a repository");
        github.add_user(PERSON);
        github.set_permission(REPOSITORY, PERSON, RepositoryRole::Write).expect("permission");
        let settings = GithubSettings {
            api_url: github.api_url().parse().expect("an address"),
            app_id: 1,
            private_key: keys.private_pem,
            deliveries: DeliveryMode::Webhook,
            webhook_secrets: vec![secret],
            writes: WriteLimits::NONE,
            client: None,
        };
        let mut settings = Settings::load_beside(settings, None, std::iter::empty()).expect("settings");
        settings.server.listen = ([127, 0, 0, 1], 0).into();
        settings.data.dir = folder.join("data");
        settings.store.url = SecretString::from(format!("sqlite://{}/bench.db", folder.display()));
        settings.sandbox.mode = mode;
        let clock = AgentSettings {
            name: "clock".to_owned(),
            runtime: RuntimeKind::Command,
            program: ["sh", "-c", "date +%s%N"].map(str::to_owned).into(),
            ..AgentSettings::default()
        };
        settings.agents.insert("clock".to_owned(), clock);
        settings.defaults.agent = "clock".to_owned();
        let application = Application::build(settings).await.expect("the application");
        github.set_webhook_url(&format!("http://{}/webhook", application.address()));
        let handle = application.handle();
        let serving = tokio::spawn(async move { application.run().await.expect("it runs") });
        Self { github, handle, serving }
    }

    pub async fn stop(self) {
        self.handle.stop();
        let _ = self.serving.await;
    }

    /// Runs one order, from its label until it settles.
    pub async fn order(&self) -> AgentStart {
        let Self { github, handle, .. } = self;
        let issue = github.open_issue(REPOSITORY, PERSON, "The sum is wrong", "").await.expect("an issue");
        let repository = REPOSITORY.parse().expect("a name");
        let latest = async || {
            let orders = handle.orders_of(&repository, 1).await.expect("the store");
            orders.first().map(|(_, order)| *order)
        };
        let before = latest().await;
        let sent = github.deliveries().len();
        github.label(REPOSITORY, issue, "journeyman", PERSON).await.expect("the label");
        let labeled = |github: &Emulator| {
            let deliveries = github.deliveries();
            deliveries
                .iter()
                .skip(sent)
                .any(|one| one.action.as_deref() == Some("labeled") && one.outcome == Sent::Answered(202))
                .then(SystemTime::now)
        };
        let answered = github.wait_for("202", PATIENCE, labeled).await.expect("a 202");
        let answered = answered.duration_since(UNIX_EPOCH).expect("a time after 1970");
        loop {
            if let Some(order) = latest().await.filter(|order| Some(*order) != before)
                && let (journal, projection) = handle.look(order).await.expect("the journal")
                && projection.next.settled.is_some()
            {
                // The clock is no valid class, so the order ends before the next one starts.
                return began(&journal, answered).expect("the agent ran");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn began(journal: &Journal, answered: Duration) -> Option<AgentStart> {
    let (mut intended, mut moves) = (BTreeMap::new(), Vec::new());
    for entry in journal.entries() {
        match &entry.event {
            JournalEvent::Intended { key, r#move } => {
                intended.insert(key.clone(), (since_1970(entry.at), matches!(**r#move, Move::RunAgent(_))));
            }
            JournalEvent::Observed { key, outcome } => {
                let (begun, is_agent) = *intended.get(key)?;
                if let (true, EffectOutcome::AgentRan(run)) = (is_agent, &**outcome) {
                    let started = run.result.as_deref()?.trim().parse().ok().map(Duration::from_nanos)?;
                    return Some(AgentStart {
                        since_answer: started.saturating_sub(answered),
                        since_task: started.saturating_sub(begun),
                        moves,
                    });
                }
                moves.push((key.to_string(), since_1970(entry.at).saturating_sub(begun)));
            }
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    None
}

fn since_1970(at: DateTime<Utc>) -> Duration {
    Duration::from_micros(at.timestamp_micros().unsigned_abs())
}

/// Bytes that do not compress.
pub fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}
