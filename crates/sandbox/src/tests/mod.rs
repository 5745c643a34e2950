//! Real jobs in real sandboxes.

mod egress;
mod environment;
mod layers;
mod leftovers;
mod limits;
mod mounts;
mod output;
mod programs;
mod refused;
mod roots;
mod unavailable;
mod users;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use journeyman_order::Exit;

/// Each mode with isolation; prints the present one, for failing tests.
fn walls() -> impl Iterator<Item = IsolationMode> {
    tried([IsolationMode::Bubblewrap])
}

fn every_mode() -> impl Iterator<Item = IsolationMode> {
    tried([IsolationMode::None]).chain(walls())
}

fn tried(modes: impl IntoIterator<Item = IsolationMode>) -> impl Iterator<Item = IsolationMode> {
    modes.into_iter().inspect(|mode| eprintln!("in the mode {mode}:"))
}

/// A place on the host with a work folder, a home, and files that a job must not see.
struct SandboxFixture {
    root: TempDir,
    sandbox: Sandbox,
}

/// The folder for places; a test that runs again as another user gets one that this user owns.
const PLACES: &str = "JOURNEYMAN_TEST_PLACES";

impl SandboxFixture {
    async fn new(mode: IsolationMode) -> Self {
        Self::with(mode, CgroupParent::of_this_machine()).await
    }

    async fn with(mode: IsolationMode, groups: Option<CgroupParent>) -> Self {
        // Outside /tmp, because the private /tmp would hide by accident what the sandbox must hide.
        let places = std::env::var(PLACES)
            .map_or_else(|_| journeyman_test_support::repository().join("target"), PathBuf::from);
        fs::create_dir_all(&places).unwrap();
        let root = tempfile::tempdir_in(places).unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        fs::create_dir(root.path().join("other")).unwrap();
        fs::write(root.path().join("other/secret"), "canary").unwrap();
        let reads = ReadablePaths::of_this_machine(Vec::new()).unwrap();
        Self { root, sandbox: Sandbox::with(mode, reads, groups).await.unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn job(&self, program: &[&str]) -> Job {
        Job {
            program: program.iter().map(Into::into).collect(),
            directory: self.path("work"),
            environment: BTreeMap::new(),
            stdin: Vec::new(),
            home: self.path("home"),
            mounts: vec![Mount { path: self.path("work"), access: MountAccess::ReadWrite }],
            layers: Vec::new(),
            search: Vec::new(),
            relocations: Vec::new(),
            user: JobUser::default(),
            root: None,
            joins: None,
            network: SandboxNetwork::None,
            limits: JobLimits::default(),
            timeout: Duration::from_secs(60),
            most_output: 1 << 20,
        }
    }

    async fn run(&self, job: Job) -> (JobResult, String, String) {
        let mut said = CollectedOutput::default();
        let ended = self.sandbox.run(job, &mut said).await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (ended, text(&said.stdout), text(&said.stderr))
    }

    async fn sh(&self, script: &str) -> (JobResult, String, String) {
        self.run(self.job(&["sh", "-c", script])).await
    }
}

/// Whether any process of this machine has this word, made up by the test, on its command line.
fn runs_somewhere(word: &str) -> bool {
    command_lines().iter().any(|line| line.contains(word))
}

fn command_lines() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}

fn made_up(what: &str) -> String {
    format!("{what}{}", uuid::Uuid::new_v4().simple())
}

/// Whether this test runs in its own process.
fn is_again() -> bool {
    std::env::var_os(PLACES).is_some()
}

/// Starts a program with an inherited open file.
fn left_open(program: impl AsRef<std::ffi::OsStr>) -> std::process::Command {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 9</dev/zero"]).arg(program);
    command
}

/// Runs a test again, alone in its own process, as another user if tests run as root. Returns its output.
fn again(test: &str, as_somebody: bool, variables: &[(&str, &str)]) -> String {
    use std::os::unix::fs::chown;
    const SOMEBODY: u32 = 54_321;
    let target = journeyman_test_support::repository().join("target");
    let places = tempfile::tempdir_in(target).unwrap();
    let binary = std::env::current_exe().unwrap();
    let changes = as_somebody && rustix::process::getuid().is_root();
    let mut command = if changes {
        chown(places.path(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        let mut command = left_open("setpriv");
        command.args([format!("--reuid={SOMEBODY}"), format!("--regid={SOMEBODY}"), "--clear-groups".into()]);
        command.arg(binary);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", places.path());
        command
    } else {
        left_open(binary)
    };
    let test = format!("tests::{test}");
    command.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
    let output = command.env(PLACES, places.path()).envs(variables.iter().copied()).output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    assert!(output.status.success() && said.contains("1 passed"), "{test} again: {said}");
    said
}

#[tokio::test]
async fn a_job_answers_with_its_output_and_its_exit_code() {
    for mode in every_mode() {
        let place = SandboxFixture::new(mode).await;
        assert_eq!(place.sandbox.mode(), mode);
        let (ended, out, err) = place.sh("pwd; echo wrong >&2; exit 7").await;
        assert_eq!(ended.exit, Exit::Code(7), "{mode}");
        assert!(!ended.output_cut && ended.duration > Duration::ZERO);
        assert_eq!(out, place.path("work").display().to_string(), "the same path inside and outside");
        assert_eq!(err, "wrong");
    }
}

#[tokio::test]
async fn two_jobs_are_shown_their_own_folders_at_one_path() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        for name in ["one", "two"] {
            let host = place.path(name);
            fs::create_dir_all(host.join("tree")).unwrap();
            fs::write(host.join("tree/name"), name).unwrap();
            let mut job =
                place.job(&["sh", "-c", "pwd; cat name; echo \"$HOME\"; echo seen >\"$HOME/kept\""]);
            (job.directory, job.home) = (host.join("tree"), host.join("home"));
            job.mounts = vec![Mount { path: host.join("tree"), access: MountAccess::ReadOnly }];
            job.relocations = vec![Relocation { host: host.clone(), inside: "/somewhere/else".into() }];
            let (_, out, err) = place.run(job).await;
            assert_eq!(
                (out, err),
                (format!("/somewhere/else/tree\n{name}/somewhere/else/home"), String::new())
            );
            assert_eq!(fs::read_to_string(host.join("home/kept")).unwrap(), "seen\n");
        }
        let place = SandboxFixture::new(IsolationMode::None).await;
        let mut job = place.job(&["true"]);
        job.relocations = vec![Relocation { host: place.path("work"), inside: "/somewhere/else".into() }];
        let refused = place.sandbox.run(job, &mut CollectedOutput::default()).await.unwrap_err();
        assert!(
            refused.to_string().contains("without a sandbox, folders are seen where they are"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn the_host_cannot_be_seen() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let secret = place.path("other/secret").display().to_string();
        let manifest = journeyman_test_support::repository().join("Cargo.toml").display().to_string();
        let home = std::env::home_dir().unwrap().join(".bashrc").display().to_string();
        for hidden in [
            "/etc/shadow",
            "/etc/gitconfig",
            "/etc/ssl/private",
            "/proc/1/root/etc/shadow",
            &manifest,
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            &secret,
            &home,
        ] {
            let (ended, _, _) = place.run(place.job(&["ls", hidden])).await;
            assert_ne!(ended.exit, Exit::Code(0), "{hidden}");
        }
        let (_, out, _) = place
            .sh("ls -A /tmp /var/tmp /run /mnt 2>/dev/null; ls /proc | grep -c '^[0-9]'; hostname")
            .await;
        let tail: Vec<_> = out.lines().rev().take(2).collect();
        assert_eq!(tail[0], "journeyman");
        assert!(tail[1].parse::<u32>().unwrap() < 8, "only its own processes: {out}");
    }
}

#[tokio::test]
async fn a_job_is_nobody_in_particular_and_has_no_capability() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let (_, out, _) = place
            .sh("id -u; id -un; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status | tr -d '\\t'")
            .await;
        assert_eq!(out, "1000\njourneyman\nCapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1");
    }
}

#[tokio::test]
async fn a_job_has_no_terminal_and_no_session_of_ours() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        // A session from outside the namespace would show as zero.
        let (_, out, _) =
            place.sh("cut -d' ' -f6,7 /proc/$$/stat; (: < /dev/tty) 2>/dev/null || echo none").await;
        let (session, rest) = out.split_once(' ').unwrap();
        assert!(session != "0", "{out}");
        assert_eq!(rest, "0\nnone");
    }
}

#[tokio::test]
async fn only_what_is_mounted_for_writing_can_be_written() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let name = made_up("file");
        let mut job = place.job(&[
        "sh",
        "-c",
        "for f in /usr/$0 /etc/$0 /$0 /run/$0 /dev/$0 \"$1/x\" \"$2/x\" \"$3/x\" /tmp/$0 /var/tmp/$0 /dev/shm/$0; do \
         (echo hi > \"$f\") 2>/dev/null && echo \"$f\"; done",
        &name,
    ]);
        let other = place.path("other");
        for folder in [&other, &place.path("work"), &place.path("home")] {
            job.program.push(folder.into());
        }
        job.mounts.push(Mount { path: other, access: MountAccess::ReadOnly });
        let (_, out, _) = place.run(job).await;
        let own = ["/tmp", "/var/tmp", "/dev/shm"].map(|folder| Path::new(folder).join(&name));
        let expected: Vec<_> = [place.path("work/x"), place.path("home/x")]
            .iter()
            .chain(&own)
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(out.lines().collect::<Vec<_>>(), expected);
        assert!(place.path("work/x").exists() && own.iter().all(|path| !path.exists()));
    }
}

#[tokio::test]
async fn the_network_is_there_only_when_it_is_asked_for() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
        let (ended, _, _) = place.sh(&script).await;
        assert_ne!(ended.exit, Exit::Code(0));
        let mut job = place.job(&["sh", "-c", &script]);
        job.network = SandboxNetwork::Host;
        let (ended, _, err) = place.run(job).await;
        assert_eq!(ended.exit, Exit::Code(0), "{err}");
    }
}

#[tokio::test]
async fn whoever_holds_the_output_open_does_not_hold_us() {
    for mode in every_mode() {
        let place = SandboxFixture::new(mode).await;
        let (ended, out, _) = place.sh("(sleep 30) & echo done").await;
        assert_eq!((ended.exit, out.as_str()), (Exit::Code(0), "done"));
        assert!(ended.duration < Duration::from_secs(10), "{mode}: {:?}", ended.duration);
    }
}

#[tokio::test]
async fn output_without_end_is_cut_and_input_of_any_size_is_fed() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let mut job = place.job(&["sh", "-c", "head -c 50000000 /dev/zero; echo end >&2"]);
        job.most_output = 100_000;
        let mut said = CollectedOutput::default();
        let ended = place.sandbox.run(job, &mut said).await.unwrap();
        assert_eq!((ended.exit, ended.output_cut), (Exit::Code(0), true));
        assert_eq!((said.stdout.len(), said.stderr.as_slice()), (100_000, b"end\n".as_slice()));

        let mut job = place.job(&["cat"]);
        job.stdin = vec![b'x'; 5_000_000];
        job.most_output = u64::MAX;
        let mut said = CollectedOutput::default();
        let ended = place.sandbox.run(job, &mut said).await.unwrap();
        assert_eq!((ended.exit, said.stdout.len()), (Exit::Code(0), 5_000_000));

        let mut job = place.job(&["true"]);
        job.stdin = vec![b'x'; 5_000_000];
        assert_eq!(place.run(job).await.0.exit, Exit::Code(0), "input that nobody reads is no error");
    }
}

#[tokio::test]
async fn variables_never_stand_on_a_command_line() {
    for mode in every_mode() {
        let place = SandboxFixture::new(mode).await;
        let (secret, marker) = (made_up("secret"), made_up("marker"));
        let mut job = place.job(&["sh", "-c", &format!("echo $KEY; sleep 1; : {marker}")]);
        job.environment.insert("KEY".into(), secret.clone());
        let look = async {
            let begun = Instant::now();
            while !runs_somewhere(&marker) && begun.elapsed() < Duration::from_secs(10) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            (runs_somewhere(&marker), command_lines().iter().any(|line| line.contains(&secret)))
        };
        let ((_, out, _), (seen, leaked)) = tokio::join!(place.run(job), look);
        assert_eq!(out, secret);
        assert!(seen && !leaked, "{mode}");
    }
}

#[tokio::test]
async fn a_job_that_cannot_be_run_says_why() {
    use std::os::unix::fs::symlink;
    for mode in every_mode() {
        let place = SandboxFixture::new(mode).await;
        let mut sink = CollectedOutput::default();
        let error = place.sandbox.run(place.job(&["no-such-program"]), &mut sink).await.unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");

        let mut outside = place.job(&["true"]);
        outside.directory = place.path("other");
        let error = place.sandbox.run(outside, &mut sink).await.unwrap_err();
        assert!(error.to_string().contains("neither in a mount nor in its home"), "{error}");

        symlink("/etc", place.path("link")).unwrap();
        let mut linked = place.job(&["true"]);
        linked.mounts.push(Mount { path: place.path("link"), access: MountAccess::ReadOnly });
        let error = place.sandbox.run(linked, &mut sink).await.unwrap_err();
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
    }
    let error = Sandbox::new(IsolationMode::None, vec!["/no/such/folder".into()]).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"));
}

/// The victim of the next test; does nothing on its own.
#[tokio::test]
async fn a_long_job_when_asked_for() {
    if let Ok(marker) = std::env::var("JOURNEYMAN_TEST_LONG_JOB") {
        let mode = walls().find(|mode| marker.starts_with(&mode.to_string())).unwrap();
        let place = SandboxFixture::new(mode).await;
        place.sh(&format!("setsid sh -c 'while :; do sleep 0.05; done # {marker}' & sleep 60")).await;
    }
}

#[test]
fn no_sandbox_outlives_a_journeyman_that_is_killed() {
    for mode in walls() {
        // At once, during bubblewrap's setup, and with everything running.
        for milliseconds in [0, 1, 2, 4, 8, 300] {
            a_journeyman_is_killed(mode, Duration::from_millis(milliseconds));
        }
    }
}

fn a_journeyman_is_killed(mode: IsolationMode, after: Duration) {
    let marker = made_up(&format!("{mode}-orphan"));
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::a_long_job_when_asked_for"])
        .env("JOURNEYMAN_TEST_LONG_JOB", &marker)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let wait_until = |there: bool| {
        let begun = Instant::now();
        // Half a sandbox may remain, without any process of the job.
        let runs =
            || command_lines().iter().any(|line| line.contains(&marker) && !line.contains("bwrap --args"));
        while (if there { runs_somewhere(&marker) } else { runs() }) != there {
            assert!(begun.elapsed() < Duration::from_secs(20), "there: {there}");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait_until(true);
    std::thread::sleep(after);
    victim.kill().unwrap();
    victim.wait().unwrap();
    wait_until(false);
}

#[tokio::test]
async fn a_job_has_no_open_files_but_its_own() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let (_, out, _) = place.sh("ls -l /proc/self/fd | grep -v ' 3 -> ' | sed -n 's/.* -> //p'").await;
        let others: Vec<_> =
            out.lines().filter(|to| !to.starts_with("pipe:") && *to != "/dev/null").collect();
        assert!(others.is_empty(), "{out}");
        assert!(out.lines().count() <= 4, "input, both outputs, and the lifeline: {out}");
        // A program that waits for all its children, even unknown ones, does not wait for the lifeline's process.
        let wait = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')";
        assert_eq!(place.run(place.job(&["python3", "-c", wait])).await.1, "none");
    }
    match fs::read_link("/proc/self/fd/9") {
        Ok(ours) if is_again() => assert_eq!(ours, Path::new("/dev/zero")),
        Ok(_) | Err(_) => {
            again("a_job_has_no_open_files_but_its_own", false, &[]);
        }
    }
}
