//! Runs the git program for what libgit2 cannot do: joining packs without reading all their contents, and deleting
//! unreachable objects.
//!
//! May know: git's command line and its environment. Must never know: why it runs. It runs in our own repositories
//! only, never where an agent could write, and contacts no server.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use journeyman_order::bounds::LONGEST_TAIL;

/// Timeout of one run.
const LONGEST: Duration = Duration::from_secs(3 * 60 * 60);
/// How often to poll git.
const LOOK: Duration = Duration::from_millis(100);

/// Runs git in one of our bare repositories. An error holds git's message, or why it was stopped.
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

/// A git command that ignores system and user settings, runs no hooks, never prompts, and syncs files before naming
/// them.
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
    // The group lets us stop git's children with it.
    command.process_group(0);
    command
}
