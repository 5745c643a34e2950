//! git as a program, for what libgit2 does not do: putting packs together without reading all that is in them, and taking away
//! what nothing leads to.
//!
//! May know: git's command line and its environment. Must never know: what it is asked for. It runs in repositories of ours
//! only, never where an agent could write, and reaches no server.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use journeyman_order::bounds::LONGEST_TAIL;

/// How long it may take.
const LONGEST: Duration = Duration::from_secs(3 * 60 * 60);
/// How often whoever waits for git looks up.
const LOOK: Duration = Duration::from_millis(100);

/// Has git do something in a bare repository of ours. An error says what git said, or why it was ended.
pub(super) fn run(repository: &Path, arguments: &[&str], is_given_up: &AtomicBool) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("git cannot be run: {error}");
    let mut words = tempfile::tempfile().map_err(failed)?;
    let mut command = command(repository, arguments);
    command.stderr(words.try_clone().map_err(failed)?);
    let mut child = command.spawn().map_err(failed)?;
    let until = Instant::now() + LONGEST;
    let ended = loop {
        if let Some(ended) = child.try_wait().map_err(failed)? {
            break ended;
        }
        let is_late = Instant::now() >= until;
        if is_late || is_given_up.load(Ordering::Relaxed) {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait().map_err(failed)?;
            let why = if is_late { "it took too long" } else { "nobody waits for it any more" };
            return Err(why.to_owned());
        }
        std::thread::sleep(LOOK);
    };
    if ended.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    let length = words.seek(SeekFrom::End(0)).map_err(failed)?;
    words.seek(SeekFrom::Start(length.saturating_sub(LONGEST_TAIL as u64))).map_err(failed)?;
    words.take(LONGEST_TAIL as u64).read_to_end(&mut said).map_err(failed)?;
    let said = String::from_utf8_lossy(&said).trim().replace(char::is_control, "; ");
    Err(format!("git ended with {ended}: {said}"))
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
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    // git has children of its own, and they end with it.
    command.process_group(0);
    command
}
