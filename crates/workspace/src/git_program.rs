//! git as a program, for what libgit2 does not do: putting packs together without reading all that is in them, and taking away
//! what nothing leads to.
//!
//! May know: git's command line and its environment. Must never know: what it is asked for. It runs in repositories of ours
//! only, never where an agent could write, and reaches no server.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long it may take.
const LONGEST: Duration = Duration::from_secs(3 * 60 * 60);
/// How often whoever waits for git looks up.
const LOOK: Duration = Duration::from_millis(100);
/// What is kept of what git says: its last words say what went wrong.
const MOST_SAID: usize = 8 << 10;

/// Has git do something in a bare repository of ours. An error says what git said, or why it was ended.
pub(super) fn run(repository: &Path, arguments: &[&str], is_given_up: &AtomicBool) -> Result<(), String> {
    let child = command(repository, arguments).spawn();
    let mut process = GitProcess { child: child.map_err(|error| format!("git cannot be started: {error}"))? };
    let words = last_words(process.child.stderr.take());
    let until = Instant::now() + LONGEST;
    let said = loop {
        match words.recv_timeout(LOOK) {
            Ok(said) => break said,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            Err(RecvTimeoutError::Timeout) if is_given_up.load(Ordering::Relaxed) => {
                return Err("nobody waits for it any more".to_owned());
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                return Err(format!("it was not done after {} seconds", LONGEST.as_secs()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let ended = process.child.wait().map_err(|error| format!("wait for git: {error}"))?;
    if ended.success() { Ok(()) } else { Err(format!("git ended with {ended}: {said}")) }
}

/// Behind the fences that hold for all of it: no settings of the machine or of a person, no hook, nothing to ask, and what it
/// writes is on the disk before it has a name.
fn command(repository: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", "/dev/null");
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    for setting in ["core.hooksPath=/dev/null", "core.fsync=all", "gc.auto=0", "maintenance.auto=false"] {
        command.args(["-c", setting]);
    }
    command.arg("--git-dir").arg(repository).args(arguments);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // git has children of its own, and they end with it.
    command.process_group(0);
    command
}

/// The end of what git and its children say, told once when they have ended.
fn last_words(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || {
            let (mut said, mut piece) = (Vec::new(), [0; 4096]);
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                said.extend_from_slice(&piece[..length]);
                said.drain(..said.len().saturating_sub(MOST_SAID));
            }
            let _ = sender.send(String::from_utf8_lossy(&said).trim().replace(char::is_control, "; "));
        });
    }
    receiver
}

/// git and its children: none of them is left when this is dropped.
struct GitProcess {
    child: Child,
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        // Until it is reaped, its number is no other process's.
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
