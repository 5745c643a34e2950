//! GitHub, a repository with a bug, a scripted agent, and Journeyman as a child to be killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use chrono::Utc;
use journeyman::emulator::{Emulator, EmulatorOptions, RepositoryRole, RepositorySource};
use journeyman::order::next::OrderProjection;
use journeyman::order::{EffectOutcome, Journal, JournalEvent, projection};
use journeyman::store::{JournalStore, OrderFilter, Store};
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::child::{LISTENS, TASK, Task};
use super::moment::Moment;
use super::power::Disk;
use crate::world::setting::keys;

pub const REPOSITORY: &str = "octo/median";
pub const PERSON: &str = "mona";
/// The secret that signs deliveries.
pub const SECRET: &str = "a secret of the stories";
/// An order takes seconds, one that compiles half a minute. Slow machines need more.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// The median of a list of numbers, wrong for even lengths, with tests that print TAP.
const MEDIAN: &str = include_str!("../fixtures/kill/median.sh");
const TESTS: &str = include_str!("../fixtures/kill/test.sh");
const SCRIPT: &str = include_str!("../fixtures/kill/script.yaml");

/// The agent keeps a diary of its runs in its home; a run that is cut off has a start but no end there.
const AGENT: &str = r#"run="$JOURNEYMAN_STAGE/$JOURNEYMAN_ROUND"
case "$JOURNEYMAN_ROLE" in code_reviewer | tech_lead) run="$run/$JOURNEYMAN_ROLE" ;; esac
echo "begun $run" >> "$HOME/diary"
"$@"
code=$?
echo "ended $run" >> "$HOME/diary"
exit $code
"#;

/// How fast the agent is.
#[derive(Debug, Clone, Copy)]
pub enum Agent {
    /// Answers at once.
    Quick,
    /// Thinks this many milliseconds before its first fix.
    SlowAtItsFirstFix(u64),
}

impl Agent {
    fn paced(self, script: &str) -> String {
        match self {
            Self::Quick => script.to_owned(),
            Self::SlowAtItsFirstFix(milliseconds) => {
                script.replacen("\n  round: 1\n", &format!("\n  round: 1\n  think: {milliseconds}\n"), 1)
            }
        }
    }
}

/// A GitHub with one issue, and a folder for Journeyman.
pub struct World {
    pub emulator: Emulator,
    pub issue: u64,
    /// Tracks synced content; `None` without power cuts.
    pub disk: Option<Disk>,
    place: TempDir,
}

/// A running Journeyman.
pub struct Running {
    child: Child,
}

impl World {
    /// A repository with very fast tests; otherwise the order is the demo's.
    pub async fn new(agent: Agent) -> Self {
        let files = [
            ("median.sh", MEDIAN),
            ("test.sh", TESTS),
            (".github/journeyman.yml", "test: sh test.sh\nprove: bugs\nexamine: never\n"),
        ]
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        let title = "Take the mean of the middle two";
        let body = "`sh median.sh 1 2 3 5` prints 3. It should print 2.5.";
        Self::of(BTreeMap::from(files), title, body, &agent.paced(SCRIPT)).await
    }

    pub async fn of(files: BTreeMap<String, Vec<u8>>, title: &str, body: &str, script: &str) -> Self {
        let keys = keys();
        let options = EmulatorOptions::local(1, keys.public_pem.clone(), SecretString::from(SECRET));
        let emulator = Emulator::start(options).await.expect("the emulator starts");
        let source = RepositorySource::Files(files);
        emulator.create_repository(REPOSITORY, source).await.expect("a repository");
        emulator.add_user(PERSON);
        emulator.set_permission(REPOSITORY, PERSON, RepositoryRole::Write).expect("a permission");
        let issue = emulator.open_issue(REPOSITORY, PERSON, title, body).await.expect("an issue");
        let place = tempfile::Builder::new().prefix("journeyman-kill-").tempdir().expect("a folder");
        let world = Self { emulator, issue, disk: None, place };
        world.write_settings(script, keys.private_pem.expose_secret());
        world
    }

    /// The same, with syncs tracked.
    pub fn on_a_disk(self) -> Self {
        Self { disk: Some(Disk::new(self.place.path())), ..self }
    }

    fn write_settings(&self, script: &str, private_key: &str) {
        fs::write(self.path("script.yaml"), script).expect("a script");
        fs::write(self.path("agent.sh"), AGENT).expect("an agent");
        fs::write(self.path("app.pem"), private_key).expect("a key");
        fs::set_permissions(self.path("app.pem"), fs::Permissions::from_mode(0o600)).expect("its mode");
        let program = env!("CARGO_BIN_EXE_journeyman");
        let (script, agent, key) = (self.path("script.yaml"), self.path("agent.sh"), self.path("app.pem"));
        let (data, database) = (self.path("data"), self.path("journeyman.db"));
        let settings = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n\
             [github]\napi_url = {:?}\napp_id = 1\nprivate_key_path = {key:?}\nwebhook_secret = {SECRET:?}\n\
             [store]\nurl = \"sqlite://{}\"\n\
             [data]\ndir = {data:?}\n\
             [defaults]\nagent = \"scripted\"\n\
             [agents.scripted]\nruntime = \"command\"\nresumes = true\n\
             program = [\"sh\", {agent:?}, {program:?}, \"scripted-agent\", \"--script\", {script:?}]\n\
             read = [{program:?}, {script:?}, {agent:?}]\n",
            self.emulator.api_url(),
            database.display(),
        );
        fs::write(self.config(), settings).expect("settings");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn config(&self) -> PathBuf {
        self.path("journeyman.toml")
    }

    /// Starts Journeyman, registers it with GitHub, and makes it die at this moment.
    pub async fn start(&self, kill: Option<Moment>) -> Running {
        let task = Task { config: self.config(), kill };
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "kill::child::child", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env(TASK, serde_json::to_string(&task).expect("a task"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.log()).kill_on_drop(true);
        if let Some(disk) = &self.disk {
            disk.watch(&mut command);
        }
        let mut child = command.spawn().expect("this program starts again");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let address = tokio::time::timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await.expect("it speaks UTF-8") {
                if let Some(address) = line.strip_prefix(LISTENS) {
                    return address.to_owned();
                }
            }
            panic!("Journeyman does not start: {}", self.said());
        });
        let address = address.await.expect("it starts in time");
        // Drain its output so that it never blocks.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.emulator.set_webhook_url(&format!("http://{address}/webhook"));
        Running { child }
    }

    /// The log of all processes in this world.
    pub fn log(&self) -> fs::File {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log"));
        log.expect("a log")
    }

    /// The end of the log.
    pub fn said(&self) -> String {
        let said = fs::read_to_string(self.path("log")).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    pub async fn label(&self) {
        let labeled = self.emulator.label(REPOSITORY, self.issue, "journeyman", PERSON).await;
        labeled.expect("the label is put on");
    }

    pub async fn store(&self) -> Store {
        let url = format!("sqlite://{}", self.path("journeyman.db").display());
        Store::open(&url).await.expect("the database opens")
    }

    /// The journals of all orders, read while nothing writes to the database.
    pub async fn journals(&self) -> Vec<(Journal, OrderProjection)> {
        let store = self.store().await;
        let journals = Self::journals_of(&store).await;
        store.close().await;
        journals
    }

    pub async fn journals_of(store: &Store) -> Vec<(Journal, OrderProjection)> {
        let mut journals = Vec::new();
        for row in store.orders(&OrderFilter { limit: 10, ..OrderFilter::default() }).await.expect("orders") {
            let journal = JournalStore::journal(store, row.id).await.expect("a journal");
            let projection = projection(journal.pipeline(), &journal, Utc::now());
            journals.push((journal, projection));
        }
        journals
    }

    /// Artifacts that the journal names but the store lacks.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other outcome has artifacts")]
    pub async fn missing_artifacts(&self, journal: &Journal) -> Vec<String> {
        let store = self.store().await;
        let there = store.artifacts(journal.opened().order).await.expect("artifacts");
        store.close().await;
        let named = journal.entries().iter().flat_map(|entry| match &entry.event {
            JournalEvent::Observed { outcome, .. } => match &**outcome {
                EffectOutcome::AgentRan(run) => run.artifacts.clone(),
                EffectOutcome::Tested(run) => run.artifacts.clone(),
                _ => Vec::new(),
            },
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Intended { .. } => {
                Vec::new()
            }
        });
        named.filter(|name| there.iter().all(|one| one.name != *name)).collect()
    }

    /// How often each run started and ended, from the agent's own diary.
    pub fn runs(&self) -> Runs {
        let mut runs = Runs::default();
        // Reviewers have a home of their own.
        let reviews = self.orders().into_iter().flat_map(|order| folders(&order.join("seats")));
        for place in self.orders().into_iter().chain(reviews) {
            let diary = fs::read_to_string(place.join("home.upper/diary")).unwrap_or_default();
            for line in diary.lines() {
                let (what, run) = line.split_once(' ').expect("a diary of two words a line");
                let counts = if what == "begun" { &mut runs.begun } else { &mut runs.ended };
                *counts.entry(run.to_owned()).or_default() += 1;
            }
        }
        runs
    }

    /// Waits until a run of the agent has started.
    pub async fn until_begun(&self, run: &str) {
        let begun = Instant::now();
        while !self.runs().begun.contains_key(run) {
            assert!(begun.elapsed() < PATIENCE, "{run} does not begin: {}", self.said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Effects whose result is on disk: they are paid for and must not be paid for again.
    pub fn remembered(&self) -> BTreeSet<String> {
        let folders = self.orders().into_iter().flat_map(|order| folders(&order.join("runs")));
        let remembered = folders.filter(|folder| folder.join("outcome.json").exists());
        remembered.filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned())).collect()
    }

    /// The folders of all orders.
    pub fn orders(&self) -> Vec<PathBuf> {
        folders(&self.path("data/orders"))
    }

    /// Processes that have something of this world mounted, so that are left in a sandbox.
    pub fn sandboxed(&self) -> Vec<String> {
        self.processes("mountinfo").iter().map(|process| command_line(process)).collect()
    }

    /// Processes that have this world's path in one of their files under `/proc`.
    fn processes(&self, file: &str) -> Vec<PathBuf> {
        let place = self.place.path().to_string_lossy().into_owned();
        let mut processes = folders(Path::new("/proc"));
        processes.retain(|process| {
            fs::read(process.join(file)).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&place))
        });
        processes
    }

    /// Waits until no process is in a sandbox or about to enter one; returns those left after the timeout.
    ///
    /// A kill while bubblewrap is setting up can leave a process that waits forever to be let in. It has nothing from
    /// the sandbox and never runs anything, so it is reported and killed here.
    pub async fn sandboxes_end(&self, most: Duration) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let (inside, before) = (self.sandboxed(), self.processes("cmdline"));
            if inside.is_empty() && before.is_empty() || begun.elapsed() > most {
                for process in before {
                    println!("never let into its sandbox: {:.60}", command_line(&process));
                    let id = process.file_name().and_then(|id| id.to_str()?.parse().ok());
                    let id = id.and_then(rustix::process::Pid::from_raw).expect("a process");
                    let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
                }
                return inside;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn command_line(process: &Path) -> String {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    format!("{}: {}", process.display(), String::from_utf8_lossy(&line).replace('\0', " "))
}

/// The agent's own record of its runs, by stage and round, and by role for others than the worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    pub begun: BTreeMap<String, u32>,
    pub ended: BTreeMap<String, u32>,
}

fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

impl Running {
    /// `kill -9`.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// Waits until it has died or ended; returns the signal or exit code.
    pub async fn ended(&mut self) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        let Ok(status) = tokio::time::timeout(PATIENCE, self.child.wait()).await else {
            return Ended::Never;
        };
        let status = status.expect("a child can be waited for");
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Code(code),
            (None, Some(9)) => Ended::Killed,
            (None, _) => panic!("ended by another signal: {status}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Killed,
    Never,
}
