//! A program started behind the walls, beside the same program started bare.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use journeyman::sandbox::{Collected, Job, Limits, Mode, Network, Sandbox};

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 60;

pub async fn measure() {
    heading("sandbox: the program `true`, from start to end");
    let folder = tempfile::tempdir().expect("a folder");
    let walls = Sandbox::new(Mode::Bubblewrap, vec![]).await.expect("bubblewrap");
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let begun = Instant::now();
        let status = tokio::process::Command::new("true").status().await.expect("true");
        least.push(begun.elapsed());
        assert!(status.success());

        let job = Job {
            program: vec!["true".into()],
            directory: folder.path().join("home"),
            environment: BTreeMap::new(),
            stdin: vec![],
            home: folder.path().join("home"),
            mounts: vec![],
            network: Network::None,
            limits: Limits::default(),
            timeout: Duration::from_secs(20),
            most_output: 4_096,
        };
        let begun = Instant::now();
        walls.run(job, &mut Collected::default()).await.expect("a run");
        ours.push(begun.elapsed());
    }
    let ((ours, tail), (least, _)) = (middle_and_tail(ours), middle_and_tail(least));
    line("bare", least, "");
    line("behind bubblewrap", ours, &format!("{} bare", ratio(ours, least)));
    line("  the slowest in a hundred", tail, "");
}
