//! git as a child process: its environment and settings, and nothing of the machine's.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::Command;

/// git's settings for the children; nobody else's settings are read.
const SETTINGS: &str = "[safe]\n\tdirectory = *\n[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n\
                        [receive]\n\tfsckObjects = true\n\tautogc = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// Writes what the children read.
pub(crate) fn prepare(place: &Path) -> anyhow::Result<()> {
    std::fs::write(place.join("gitconfig"), SETTINGS).context("git's settings could not be written")?;
    Ok(())
}

/// git with an environment of our own and nothing inherited but the way to programs.
pub(crate) fn git(place: &Path) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    // With a path of its own the program is started without a copy of this process, which costs more than git does.
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let program = programs.find(|program| program.is_file()).unwrap_or_else(|| "git".into());
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", place)
        .env("GIT_CONFIG_GLOBAL", place.join("gitconfig"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}
