//! A program started in the sandbox, compared with starting it directly and with the usual tools: until its first
//! output, and until all of it has ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use journeyman::sandbox::{IsolationMode, Job, JobLimits, JobUser, Sandbox, SandboxNetwork, Sink};
use tokio::io::AsyncReadExt as _;

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 60;
/// For programs that start containers.
const IMAGE: &str = "busybox";

/// The equivalent command by hand: separate namespaces, the system read-only.
const BY_HAND: [&str; 11] = [
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--proc", "/proc",
    "--dev", "/dev",
];
/// The program: it prints a word and ends.
const PROGRAM: [&str; 2] = ["/bin/echo", "word"];
/// Memory in bytes of a server that has run for a while.
const LARGE: usize = 1 << 30;

/// Times since a program was started.
#[derive(Debug, Clone, Copy)]
struct ProgramTimes {
    first_word: Duration,
    end: Duration,
}

pub async fn measure() {
    heading("sandbox: a program's first word, and its end");
    let folder = tempfile::tempdir().expect("a folder");
    let walls = Sandbox::new(IsolationMode::Bubblewrap, vec![]).await.expect("bubblewrap");
    let none = Sandbox::new(IsolationMode::None, vec![]).await.expect("no walls");
    let (mut least, mut by_hand) = (Vec::new(), Vec::new());
    let (mut unwalled, mut ours, mut sockets) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        least.push(command(&PROGRAM).await.expect("echo"));
        by_hand.push(command(&[&BY_HAND[..], &PROGRAM].concat()).await.expect("bubblewrap"));
        unwalled.push(timed(&none, folder.path(), SandboxNetwork::None).await);
        ours.push(timed(&walls, folder.path(), SandboxNetwork::None).await);
        let socket = walls.egress_socket(drop).expect("a door");
        sockets.push(timed(&walls, folder.path(), SandboxNetwork::Gateway(socket)).await);
    }
    let (mut large_by_hand, mut large) = (Vec::new(), Vec::new());
    let memory = vec![1_u8; LARGE];
    for _ in 0..TIMES {
        large_by_hand.push(command(&[&BY_HAND[..], &PROGRAM].concat()).await.expect("bubblewrap"));
        large.push(timed(&walls, folder.path(), SandboxNetwork::None).await);
    }
    drop(std::hint::black_box(memory));
    let least = told("bare fork and exec", least, None);
    let by_hand = told("bwrap by hand", by_hand, Some(("bare", least)));
    told("mode none: limits and a control group", unwalled, Some(("bare", least)));
    told("behind bubblewrap", ours, Some(("bwrap by hand", by_hand)));
    told("behind bubblewrap, with a door", sockets, Some(("bwrap by hand", by_hand)));
    let large_by_hand = told("a process of 1 GiB: bwrap by hand", large_by_hand, None);
    told("a process of 1 GiB: behind bubblewrap", large, Some(("that", large_by_hand)));
    for engine in ["podman", "docker"] {
        let run = [&[engine, "run", "--rm", "--pull=never", "--network=none", IMAGE][..], &PROGRAM].concat();
        match command(&run).await {
            Some(took) => drop(told(&format!("{engine} run"), vec![took], None)),
            None => println!("  {engine} run: not here, or it does not run, or has no image {IMAGE}"),
        }
    }
    println!("  {}", walls.describe_isolation());
}

/// Prints the median, the 99th percentile, and the ratio to the other.
fn told(what: &str, all: Vec<ProgramTimes>, beside: Option<(&str, ProgramTimes)>) -> ProgramTimes {
    let (first_word, slowest) = middle_and_tail(all.iter().map(|times| times.first_word).collect());
    let (end, _) = middle_and_tail(all.iter().map(|times| times.end).collect());
    let ratios = beside.map(|(name, other)| {
        format!("{} {name}, the end {}", ratio(first_word, other.first_word), ratio(end, other.end))
    });
    let milliseconds = |took: Duration| took.as_secs_f64() * 1_000.0;
    let note = format!(
        "slowest {:.1}, end {:.1}; {}",
        milliseconds(slowest),
        milliseconds(end),
        ratios.unwrap_or_default()
    );
    line(what, first_word, &note);
    ProgramTimes { first_word, end }
}

/// `None` if the program is missing or fails.
async fn command(words: &[&str]) -> Option<ProgramTimes> {
    let begun = Instant::now();
    let mut command = tokio::process::Command::new(words[0]);
    let mut running = command
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    running.stdout.as_mut()?.read_u8().await.ok()?;
    let first_word = begun.elapsed();
    running.wait().await.ok()?.success().then(|| ProgramTimes { first_word, end: begun.elapsed() })
}

/// When a program first printed something.
struct FirstWord {
    begun: Instant,
    after: Option<Duration>,
}

impl Sink for FirstWord {
    fn stdout(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.after.get_or_insert(self.begun.elapsed());
        }
    }

    fn stderr(&mut self, _: &[u8]) {}
}

async fn timed(sandbox: &Sandbox, folder: &Path, network: SandboxNetwork) -> ProgramTimes {
    let job = Job {
        program: PROGRAM.map(Into::into).to_vec(),
        directory: folder.join("home"),
        environment: BTreeMap::new(),
        stdin: vec![],
        home: folder.join("home"),
        mounts: vec![],
        layers: Vec::new(),
        search: Vec::new(),
        relocations: Vec::new(),
        user: JobUser::default(),
        root: None,
        joins: None,
        network,
        limits: JobLimits::small(),
        timeout: Duration::from_secs(20),
        most_output: 4_096,
    };
    let mut first = FirstWord { begun: Instant::now(), after: None };
    sandbox.run(job, &mut first).await.expect("a run");
    ProgramTimes { first_word: first.after.expect("a word"), end: first.begun.elapsed() }
}
