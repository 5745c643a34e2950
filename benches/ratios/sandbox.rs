//! A program started behind the walls, beside the same program started bare, and by the tools that a person would use.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use journeyman::sandbox::{CollectedOutput, IsolationMode, Job, JobLimits, Sandbox, SandboxNetwork};

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 60;
/// For programs that start containers.
const IMAGE: &str = "busybox";

/// What a person types who wants the same: namespaces of its own, the system read-only.
const BY_HAND: [&str; 12] = [
    "bwrap",
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "true",
];
/// Bytes of memory of a server that has worked for a while.
const LARGE: usize = 1 << 30;

pub async fn measure() {
    heading("sandbox: the program `true`, from start to end");
    let folder = tempfile::tempdir().expect("a folder");
    let walls = Sandbox::new(IsolationMode::Bubblewrap, vec![]).await.expect("bubblewrap");
    let none = Sandbox::new(IsolationMode::None, vec![]).await.expect("no walls");
    let (mut least, mut by_hand) = (Vec::new(), Vec::new());
    let (mut unwalled, mut ours, mut doors) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        least.push(command(&["true"]).await.expect("true"));
        by_hand.push(command(&BY_HAND).await.expect("bubblewrap"));
        unwalled.push(timed(&none, folder.path(), SandboxNetwork::None).await);
        ours.push(timed(&walls, folder.path(), SandboxNetwork::None).await);
        let door = walls.egress_socket(drop).expect("a door");
        doors.push(timed(&walls, folder.path(), SandboxNetwork::Gateway(door)).await);
    }
    let (mut large_by_hand, mut large) = (Vec::new(), Vec::new());
    let memory = vec![1_u8; LARGE];
    for _ in 0..TIMES {
        large_by_hand.push(command(&BY_HAND).await.expect("bubblewrap"));
        large.push(timed(&walls, folder.path(), SandboxNetwork::None).await);
    }
    drop(std::hint::black_box(memory));
    let (least, _) = middle_and_tail(least);
    line("bare fork and exec", least, "");
    let (by_hand, _) = middle_and_tail(by_hand);
    line("bwrap by hand", by_hand, "");
    let (unwalled, _) = middle_and_tail(unwalled);
    line("mode none: limits and a control group", unwalled, &format!("{} bare", ratio(unwalled, least)));
    let (ours, tail) = middle_and_tail(ours);
    line("behind bubblewrap", ours, &format!("{} bwrap by hand", ratio(ours, by_hand)));
    line("  the slowest in a hundred", tail, "");
    let (doors, _) = middle_and_tail(doors);
    line("behind bubblewrap, with a door", doors, &format!("{} bwrap by hand", ratio(doors, by_hand)));
    let ((large_by_hand, _), (large, _)) = (middle_and_tail(large_by_hand), middle_and_tail(large));
    line("a process of 1 GiB: bwrap by hand", large_by_hand, "");
    line("a process of 1 GiB: behind bubblewrap", large, &format!("{} that", ratio(large, large_by_hand)));
    for engine in ["podman", "docker"] {
        let run = [engine, "run", "--rm", "--pull=never", "--network=none", IMAGE, "true"];
        match command(&run).await {
            Some(took) => line(&format!("{engine} run"), took, ""),
            None => println!("  {engine} run: not here, or it does not run, or has no image {IMAGE}"),
        }
    }
    println!("  {}", walls.describe_isolation());
}

/// None where there is no such program, or it fails.
async fn command(words: &[&str]) -> Option<Duration> {
    let begun = Instant::now();
    let mut command = tokio::process::Command::new(words[0]);
    let ended = command.args(&words[1..]).output().await.ok()?;
    ended.status.success().then(|| begun.elapsed())
}

async fn timed(sandbox: &Sandbox, folder: &Path, network: SandboxNetwork) -> Duration {
    let job = Job {
        program: vec!["true".into()],
        directory: folder.join("home"),
        environment: BTreeMap::new(),
        stdin: vec![],
        home: folder.join("home"),
        mounts: vec![],
        layers: Vec::new(),
        search: Vec::new(),
        relocation: None,
        root: None,
        joins: None,
        network,
        limits: JobLimits::small(),
        timeout: Duration::from_secs(20),
        most_output: 4_096,
    };
    let begun = Instant::now();
    sandbox.run(job, &mut CollectedOutput::default()).await.expect("a run");
    begun.elapsed()
}
