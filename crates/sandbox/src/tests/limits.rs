//! Jobs that use too much. Each stops on its own later, so that a missing limit only fails a test.

use super::*;

const MIB: u64 = 1 << 20;

/// Forks up to 300 sleeping children and prints a letter for each.
const BOMB: &str = "
import os, time
for _ in range(300):
    try:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        os.write(1, b'x')
    except OSError:
        pass
time.sleep(20)";

/// Uses real memory in steps, up to 1 GiB.
const HUNGER: &str = "
held = []
for _ in range(64):
    held.append(b'x' * (16 << 20))
print('full', flush=True)
import time
time.sleep(20)";

fn limited(place: &SandboxFixture, program: &[&str], change: impl FnOnce(&mut JobLimits)) -> Job {
    let mut job = place.job(program);
    change(&mut job.limits);
    job
}

async fn a_fork_bomb(place: &SandboxFixture, most: u32) -> (JobResult, usize) {
    let job = limited(place, &["python3", "-c", BOMB], |limits| limits.processes = most);
    let (ended, out, _) = place.run(job).await;
    (ended, out.len())
}

async fn a_memory_bomb(place: &SandboxFixture) -> (JobResult, String) {
    let job = limited(place, &["python3", "-c", HUNGER], |limits| limits.memory = 256 * MIB);
    let (ended, out, _) = place.run(job).await;
    (ended, out)
}

#[tokio::test]
async fn a_fork_bomb_is_bounded_and_told() {
    for mode in every_mode() {
        let Some(groups) = CgroupParent::of_this_machine() else {
            eprintln!("skipped: no control group can be made here");
            return;
        };
        let place = SandboxFixture::with(mode, Some(groups)).await;
        let (ended, born) = a_fork_bomb(&place, 60).await;
        assert_eq!(ended.limit, Some(ExceededLimit::Processes(60)), "{mode}: {ended:?}");
        assert!((1..60).contains(&born), "{mode}: {born}");
        assert!(ended.duration < Duration::from_secs(10), "{ended:?}");
        assert_eq!(ended.limit.unwrap().to_string(), "wanted more than 60 processes and threads at once");
    }
}

#[tokio::test]
async fn where_no_group_can_be_made_processes_are_watched() {
    for mode in walls() {
        let place = SandboxFixture::with(mode, None).await;
        assert!(
            place.sandbox.describe_isolation().contains("watched, since no cgroup"),
            "{}",
            place.sandbox.describe_isolation()
        );
        let (ended, born) = a_fork_bomb(&place, 60).await;
        assert_eq!(
            (ended.exit, ended.limit),
            (Exit::Signal(9), Some(ExceededLimit::Processes(60))),
            "{ended:?}"
        );
        assert!(ended.duration < Duration::from_secs(10), "{ended:?}");
        if !rustix::process::getuid().is_root() {
            assert!((1..60).contains(&born), "for everybody but root the system bounds them too: {born}");
        }
    }
    if rustix::process::getuid().is_root() {
        again("limits::where_no_group_can_be_made_processes_are_watched", true, &[]);
    }
}

#[tokio::test]
async fn a_memory_bomb_is_ended_and_told() {
    for mode in walls() {
        let mut places = vec![SandboxFixture::with(mode, None).await];
        if let Some(groups) = CgroupParent::of_this_machine() {
            places.push(SandboxFixture::with(mode, Some(groups)).await);
            places.push(SandboxFixture::new(IsolationMode::None).await);
        }
        for place in &places {
            let (ended, out) = a_memory_bomb(place).await;
            assert_eq!(
                ended.limit,
                Some(ExceededLimit::Memory(256 * MIB)),
                "{}: {ended:?} {out}",
                place.sandbox.describe_isolation()
            );
            assert_eq!(ended.limit.unwrap().to_string(), "wanted more than 256 MiB of memory");
        }
    }
}

#[tokio::test]
async fn temporary_files_are_bounded_since_they_lie_in_memory() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let script = "for at in /tmp /var/tmp /dev/shm; do head -c 100000000 /dev/zero > $at/f 2>/dev/null; \
                  stat -c %s $at/f; rm $at/f; done";
        let job = limited(&place, &["sh", "-c", script], |limits| limits.memory = 256 * MIB);
        let (_, out, _) = place.run(job).await;
        let sizes: Vec<u64> = out.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(sizes, [64 * MIB, 32 * MIB, 32 * MIB]);
    }
}

#[tokio::test]
async fn open_files_and_cores_are_bounded() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let many = "import resource
held = []
try:
    for _ in range(2000): held.append(open('/dev/null'))
except OSError as e: print(e.errno, len(held) < 300)
print(resource.getrlimit(resource.RLIMIT_CORE))";
        let job = limited(&place, &["python3", "-c", many], |limits| limits.open_files = 300);
        assert_eq!(place.run(job).await.1, "24 True\n(1, 1)");
    }
}

/// Ways to use 200 MB of disk and keep running.
const FILLERS: [(&str, &str); 4] = [
    ("in many files", "for i in $(seq 20); do head -c 10000000 /dev/zero > f$i; done; sleep 20"),
    ("in its home", "head -c 200000000 /dev/zero > $HOME/f; sleep 20"),
    ("in a file without a name", "exec 3>f; rm f; head -c 200000000 /dev/zero >&3; sleep 20"),
    ("where nobody may look", "mkdir d; exec 3>d/f; chmod 0 d; head -c 200000000 /dev/zero >&3; sleep 20"),
];

#[tokio::test]
async fn whoever_fills_the_disk_is_ended_and_told() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        for (how, script) in FILLERS {
            let job = limited(&place, &["sh", "-c", script], |limits| limits.disk = 50 * MIB);
            let (ended, ..) = place.run(job).await;
            assert_eq!(
                (ended.exit, ended.limit),
                (Exit::Signal(9), Some(ExceededLimit::Disk(50 * MIB))),
                "{how}: {ended:?}"
            );
            assert!(ended.duration < Duration::from_secs(10), "{how}: {ended:?}");
            let clean = place.sh("chmod 700 d 2>/dev/null; rm -rf d f* $HOME/f").await;
            assert_eq!(clean.0.exit, Exit::Code(0));
        }
    }
    if !is_again() {
        again("limits::whoever_fills_the_disk_is_ended_and_told", true, &[]);
    }
}

#[tokio::test]
async fn no_job_goes_over_the_limits_of_the_settings_whatever_it_was_given() {
    let limits = JobLimits { open_files: 70, largest_file: 3 * MIB, ..JobLimits::default() };
    let mut place = SandboxFixture::new(IsolationMode::None).await;
    place.sandbox = place.sandbox.limited_to(limits);
    assert_eq!(place.sandbox.limits(), limits);
    let job = place.job(&["sh", "-c", "ulimit -n; ulimit -f"]);
    assert_eq!(job.limits, JobLimits::default(), "it was given more");
    let (_, out, _) = place.run(job).await;
    // `-f` counts blocks of 512 bytes.
    assert_eq!(out, "70\n6144");
    let fewer = limited(&place, &["sh", "-c", "ulimit -n"], |limits| limits.open_files = 65);
    assert_eq!(place.run(fewer).await.1, "65", "and one that is given less has less");
}
