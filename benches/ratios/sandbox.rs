//! A program started behind the walls, beside the same program started bare.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use journeyman::sandbox::{CollectedOutput, IsolationMode, Job, JobLimits, Sandbox, SandboxNetwork};

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 60;

pub async fn measure() {
    heading("sandbox: the program `true`, from start to end");
    let folder = tempfile::tempdir().expect("a folder");
    let walls = Sandbox::new(IsolationMode::Bubblewrap, vec![]).await.expect("bubblewrap");
    let none = Sandbox::new(IsolationMode::None, vec![]).await.expect("no walls");
    let (mut least, mut unwalled, mut ours, mut doors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let begun = Instant::now();
        let status = tokio::process::Command::new("true").status().await.expect("true");
        least.push(begun.elapsed());
        assert!(status.success());

        unwalled.push(timed(&none, folder.path(), SandboxNetwork::None).await);
        ours.push(timed(&walls, folder.path(), SandboxNetwork::None).await);
        let door = walls.egress_socket(drop).expect("a door");
        doors.push(timed(&walls, folder.path(), SandboxNetwork::Gateway(door)).await);
    }
    let (least, _) = middle_and_tail(least);
    line("bare fork and exec", least, "");
    let (unwalled, _) = middle_and_tail(unwalled);
    line("mode none: limits and a control group", unwalled, &format!("{} bare", ratio(unwalled, least)));
    let (ours, tail) = middle_and_tail(ours);
    line("behind bubblewrap", ours, &format!("{} bare", ratio(ours, least)));
    line("  the slowest in a hundred", tail, "");
    let (doors, _) = middle_and_tail(doors);
    line("behind bubblewrap, with a door", doors, &format!("{} bare", ratio(doors, least)));
    println!("  {}", walls.describe_isolation());
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
