//! From the 202 of a delivery to the agent's first breath in its sandbox: authorization asked of GitHub, base
//! fetched, workspace made. The agent prints the time at which it was started.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use journeyman::app::{Application, ApplicationHandle};
use journeyman::config::{AgentSettings, DeliveryMode, GithubSettings, RuntimeKind, Settings};
use journeyman::emulator::{
    DeliveryResult as Sent, Emulator, EmulatorOptions, RepositoryRole, RepositorySource, keys,
};
use journeyman::order::{EffectOutcome, Journal, JournalEvent, WriteLimits};
use secrecy::SecretString;

use super::{heading, line, middle_and_tail, ratio};

const REPOSITORY: &str = "acme/sums";
const PERSON: &str = "alice";
const PATIENCE: Duration = Duration::from_secs(60);
const WARM: usize = 8;

pub async fn measure() {
    let small = (0..500)
        .map(|n| (format!("src/{}/{n}.txt", n % 20), format!("{n}\n").repeat(200).into_bytes()))
        .collect();
    measure_of("500 files", small).await;
    // What does not compress is copied byte by byte, wherever it is copied.
    let large = (0..3_000_u32).map(|n| (format!("src/{}/{n}.bin", n % 60), noise(n, 20_000))).collect();
    measure_of("3,000 files and 60 MB", large).await;
}

/// Bytes that no compression makes fewer.
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}

async fn measure_of(size: &str, files: BTreeMap<String, Vec<u8>>) {
    heading(&format!("from 202 to the agent's start, on a repository of {size}"));
    let folder = tempfile::tempdir().expect("a folder");
    let keys = keys::generate().expect("keys");
    let secret = SecretString::from("a secret for this measurement");
    let options = EmulatorOptions::local(1, keys.public_pem.clone(), secret.clone());
    let github = Emulator::start(options).await.expect("GitHub, emulated");
    github.create_repository(REPOSITORY, RepositorySource::Files(files.clone())).await.expect("a repository");
    github.add_user(PERSON);
    github.set_permission(REPOSITORY, PERSON, RepositoryRole::Write).expect("permission");

    let settings = GithubSettings {
        api_url: github.api_url().parse().expect("an address"),
        app_id: 1,
        private_key: keys.private_pem,
        deliveries: DeliveryMode::Webhook,
        webhook_secrets: vec![secret],
        writes: WriteLimits::NONE,
    };
    let mut settings = Settings::load_beside(settings, None, std::iter::empty()).expect("settings");
    settings.server.listen = ([127, 0, 0, 1], 0).into();
    settings.data.dir = folder.path().join("data");
    settings.store.url = SecretString::from(format!("sqlite://{}/bench.db", folder.path().display()));
    let clock = AgentSettings {
        name: "clock".to_owned(),
        runtime: RuntimeKind::Command,
        model: None,
        program: ["sh", "-c", "date +%s%N"].map(str::to_owned).into(),
        env: vec![],
        read: vec![],
        network: vec![],
    };
    settings.agents.insert("clock".to_owned(), clock);
    settings.defaults.agent = "clock".to_owned();
    let application = Application::build(settings).await.expect("the application");
    github.set_webhook_url(&format!("http://{}/webhook", application.address()));
    let handle = application.handle();
    let running = tokio::spawn(application.run());

    let mut all = Vec::new();
    for _ in 0..=WARM {
        all.push(one(&github, &handle).await);
    }
    handle.stop();
    let _ = running.await;
    let cold = all.remove(0);
    let (middle, slowest) = middle_and_tail(all);
    let (clone, worktree) = by_hand(folder.path(), &files);
    line("by hand: git clone of a local repository", clone, "");
    line("by hand: git worktree add", worktree, "");
    line("cold: the repository is cloned", cold, &format!("{} git clone", ratio(cold, clone)));
    let note = format!("{} git worktree add", ratio(middle, worktree));
    line(&format!("warm: the middle of {WARM}"), middle, &note);
    line("  the slowest", slowest, "");
}

/// What a person does who begins to work on the same files: clones them, and later has another work tree made.
fn by_hand(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> (Duration, Duration) {
    for (name, content) in files {
        let path = folder.join("theirs").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
    let git = |arguments: &[&str]| {
        let begun = Instant::now();
        let ran = Command::new("git").args(arguments).current_dir(folder).output().expect("git");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        begun.elapsed()
    };
    git(&["init", "-q", "theirs"]);
    git(&["-C", "theirs", "add", "."]);
    git(&["-C", "theirs", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-qm", "Files"]);
    let clone = git(&["clone", "-q", "--no-hardlinks", "theirs", "by-hand"]);
    let trees = (0..WARM).map(|number| {
        let place = format!("../tree-{number}");
        git(&["-C", "by-hand", "worktree", "add", "-q", "--detach", &place])
    });
    (clone, middle_and_tail(trees.collect()).0)
}

async fn one(github: &Emulator, handle: &ApplicationHandle) -> Duration {
    let issue = github.open_issue(REPOSITORY, PERSON, "The sum is wrong", "").await.expect("an issue");
    let before = handle.latest_order().await.expect("the store");
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
        let order = handle.latest_order().await.expect("the store");
        if let Some(order) = order.filter(|order| Some(*order) != before)
            && let (journal, survey) = handle.look(order).await.expect("the journal")
            && survey.next.settled.is_some()
        {
            // The clock gives no class, so the order ends by itself before the next one begins.
            return began(&journal).expect("the agent ran").saturating_sub(answered);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn began(journal: &Journal) -> Option<Duration> {
    journal.entries().iter().find_map(|entry| {
        let JournalEvent::Observed { outcome, .. } = &entry.event else { return None };
        let EffectOutcome::AgentRan(run) = &**outcome else { return None };
        run.result.as_deref()?.trim().parse().ok().map(Duration::from_nanos)
    })
}
