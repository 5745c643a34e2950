//! `journeyman` as a separate process, in its own folder and environment.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Anything that takes longer has failed.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Child processes must not hold its output open for longer than this.
const HELD: Duration = Duration::from_secs(30);

/// Processes that hold a pipe that this process reads.
fn holders() -> String {
    let pipes = |process: &Path| -> Vec<std::path::PathBuf> {
        let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let open = open.filter_map(|open| std::fs::read_link(open.path()).ok());
        open.filter(|open| open.to_string_lossy().starts_with("pipe:")).collect()
    };
    let ours = pipes(Path::new("/proc/self"));
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let holding = processes.filter(|process| pipes(process).iter().any(|pipe| ours.contains(pipe)));
    let named = holding.map(|process| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        format!("{} {}\n", process.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    });
    named.collect()
}

/// A command of the program, to be run in a folder. It inherits only the variables for finding toolchains; the user's
/// settings are below `config`.
pub fn journeyman(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(arguments).current_dir(folder).env_clear();
    for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.env("NO_COLOR", "1").env("XDG_CONFIG_HOME", folder.join("config"));
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

/// A running program and its output so far. Killed on drop.
pub struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
    printed: JoinHandle<String>,
    told: JoinHandle<String>,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    /// Both outputs, in the order of arrival.
    pub said: String,
    pub printed: String,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let said = Arc::new(Mutex::new(String::new()));
        let printed = listen(child.stdout.take().expect("piped"), &said);
        let told = listen(child.stderr.take().expect("piped"), &said);
        Self { child: Child(child), said, printed, told }
    }

    /// The output so far.
    pub fn said(&self) -> String {
        self.said.lock().expect("no holder panics").clone()
    }

    /// Waits until `find` returns a value for the output.
    pub async fn hears<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = find(&self.said()) {
                return found;
            }
            let ended = self.child.0.try_wait().expect("it can be asked");
            assert!(ended.is_none(), "{what}: it ended with {ended:?}:\n{}", self.said());
            assert!(begun.elapsed() < PATIENCE, "{what}: waited in vain:\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks it to stop, like a service manager or Ctrl-C.
    pub fn interrupt(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child.0);
        rustix::process::kill_process(id, signal).expect("it is alive");
    }

    /// Waits for its end.
    pub async fn end(mut self) -> Ended {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.0.try_wait().expect("it can be asked") {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let over = Instant::now();
        while !(self.printed.is_finished() && self.told.is_finished()) {
            assert!(over.elapsed() < HELD, "it ended, and its output is held open:\n{}", holders());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let printed = self.printed.join().expect("its output can be read");
        self.told.join().expect("its output can be read");
        let said = self.said.lock().expect("no holder panics").clone();
        Ended { code: status.code(), said, printed }
    }
}

fn listen(output: impl Read + Send + 'static, said: &Arc<Mutex<String>>) -> JoinHandle<String> {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        let mut all = String::new();
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            all += &format!("{line}\n");
            *said.lock().expect("no holder panics") += &format!("{line}\n");
        }
        all
    })
}

struct Child(process::Child);

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
