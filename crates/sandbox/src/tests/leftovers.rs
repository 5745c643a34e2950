//! However a job ends, nothing of it remains.

use std::collections::BTreeSet;

use super::refused::process_inside;
use super::*;

/// The deadline that the issue sets.
const SOON: Duration = Duration::from_secs(5);

/// Ways for a job to end.
#[derive(Debug, Clone, Copy, PartialEq)]
enum JobEnding {
    ByItself,
    ByItsTime,
    ByALimit,
    Dropped,
    Killed,
}

/// Possible leftovers of a job, as the host sees them while it runs.
struct JobTraces {
    marker: String,
    groups: Vec<PathBuf>,
    network: String,
}

impl JobTraces {
    async fn of(marker: &str) -> Self {
        let inside = loop {
            if let Some(inside) = process_inside(marker) {
                break inside;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let own = fs::read_to_string(format!("/proc/{inside}/cgroup")).unwrap_or_default();
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory"];
        let groups = own
            .lines()
            .filter_map(|line| line.splitn(3, ':').nth(2))
            .filter(|path| path.contains("journeyman-"))
            .flat_map(|path| roots.iter().map(move |root| PathBuf::from(format!("{root}{path}"))))
            .filter(|path| path.exists())
            .collect();
        let network = fs::read_link(format!("/proc/{inside}/ns/net")).unwrap().display().to_string();
        Self { marker: marker.to_owned(), groups, network }
    }

    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> =
            command_lines().into_iter().filter(|line| line.contains(&self.marker)).collect();
        left.extend(self.groups.iter().filter(|path| path.exists()).map(|path| path.display().to_string()));
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        left.extend(
            processes
                .filter(|process| {
                    let network = fs::read_link(process.path().join("ns/net")).unwrap_or_default();
                    network.as_os_str() == self.network.as_str()
                })
                .map(|process| format!("{:?} in the job's network", process.path())),
        );
        left
    }
}

fn open_files() -> BTreeSet<String> {
    let files = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
    files.filter_map(|file| fs::read_link(file.path()).ok()).map(|to| to.display().to_string()).collect()
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

async fn run_to(place: &SandboxFixture, end: JobEnding) -> JobTraces {
    let marker = made_up("trace");
    let stay = match end {
        JobEnding::ByItself => "while [ ! -e go ]; do sleep 0.02; done",
        JobEnding::ByALimit => {
            "while [ ! -e go ]; do sleep 0.02; done; head -c 100000000 /dev/zero > f; sleep 60"
        }
        JobEnding::ByItsTime | JobEnding::Dropped | JobEnding::Killed => "sleep 60",
    };
    let script = format!(
        "trap '' TERM HUP; (setsid sh -c 'trap \"\" TERM; sleep 61; : {marker}' &) >/dev/null 2>&1; \
         mkfifo pipe; python3 -c 'import socket,time; s=socket.socket(socket.AF_UNIX); s.bind(\"sock\"); time.sleep(60)' & \
         {stay}; : {marker}"
    );
    let mut job = place.job(&["sh", "-c", &script]);
    job.network = SandboxNetwork::Gateway(place.sandbox.egress_socket(drop).unwrap());
    job.limits.disk = 50 << 20;
    if end == JobEnding::ByItsTime {
        job.timeout = Duration::from_millis(1_500);
    }
    let looked = std::cell::OnceCell::new();
    let mut sink = CollectedOutput::default();
    let running = place.sandbox.run(job, &mut sink);
    let look = async {
        assert!(looked.set(JobTraces::of(&marker).await).is_ok());
        fs::write(place.path("work/go"), "").unwrap();
        match end {
            JobEnding::ByItself | JobEnding::ByItsTime | JobEnding::ByALimit => std::future::pending().await,
            JobEnding::Dropped => {}
            JobEnding::Killed => {
                let monitor = process_inside(&marker).unwrap();
                let monitor = first_of(monitor);
                rustix::process::kill_process(monitor, rustix::process::Signal::KILL).unwrap();
                std::future::pending().await
            }
        }
    };
    tokio::select! {
        ended = running => {
            let ended = ended.unwrap();
            match end {
                JobEnding::ByItself => assert_eq!(ended.exit, Exit::Code(0), "{ended:?}"),
                JobEnding::ByItsTime => assert_eq!(ended.exit, Exit::TimedOut),
                JobEnding::ByALimit => assert!(ended.limit.is_some(), "{ended:?}"),
                JobEnding::Dropped | JobEnding::Killed => assert_ne!(ended.exit, Exit::Code(0)),
            }
        }
        () = look => assert_eq!(end, JobEnding::Dropped),
    }
    looked.into_inner().unwrap()
}

/// The first process of this process's PID namespace: its most distant ancestor inside.
fn first_of(process: u32) -> rustix::process::Pid {
    let space = |process: u32| fs::read_link(format!("/proc/{process}/ns/pid")).unwrap();
    let parent = |process: u32| -> u32 {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
        line.trim().parse().unwrap()
    };
    let mut first = process;
    while space(parent(first)) == space(process) {
        first = parent(first);
    }
    rustix::process::Pid::from_raw(first.try_into().unwrap()).unwrap()
}

#[tokio::test]
async fn however_a_job_ends_nothing_of_it_is_left() {
    if !is_again() {
        // In its own process, because open files are counted; also as a user who cannot create control groups.
        let this = "leftovers::however_a_job_ends_nothing_of_it_is_left";
        again(this, false, &[]);
        again(this, true, &[]);
        return;
    }
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        // A first run opens what stays open afterwards.
        run_to(&place, JobEnding::ByItself).await;
        for end in [
            JobEnding::ByItself,
            JobEnding::ByItsTime,
            JobEnding::ByALimit,
            JobEnding::Dropped,
            JobEnding::Killed,
        ] {
            let (files, mounted) = (open_files(), mounts());
            place.sh("rm -rf go pipe sock f").await;
            let traces = run_to(&place, end).await;
            let begun = Instant::now();
            loop {
                let mut left = traces.left();
                left.extend(open_files().difference(&files).cloned());
                if left.is_empty() {
                    break;
                }
                assert!(begun.elapsed() < SOON, "{end:?}: {left:?}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(mounts(), mounted, "{end:?}");
        }
    }
}

#[tokio::test]
async fn without_walls_a_control_group_ends_what_left_the_process_group() {
    let Some(groups) = CgroupParent::of_this_machine() else {
        eprintln!("skipped: no control group can be made here");
        return;
    };
    let place = SandboxFixture::with(IsolationMode::None, Some(groups)).await;
    let marker = made_up("daemon");
    let (ended, ..) =
        place.sh(&format!("setsid sh -c 'sleep 300; : {marker}' >/dev/null 2>&1 & sleep 0.2")).await;
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(!runs_somewhere(&marker));

    let mut sink = CollectedOutput::default();
    let job = place.job(&["sh", "-c", &format!("setsid sh -c 'sleep 300; : {marker}' & sleep 300")]);
    let running = place.sandbox.run(job, &mut sink);
    assert!(tokio::time::timeout(Duration::from_millis(500), running).await.is_err());
    let begun = Instant::now();
    while runs_somewhere(&marker) {
        assert!(begun.elapsed() < SOON, "after nobody waits for it");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
