//! Runs git as a child process, isolated from the machine's environment and settings.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::Command;

/// The only git settings that the children read.
const SETTINGS: &str = "[safe]\n\tdirectory = *\n[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n\
                        [receive]\n\tfsckObjects = true\n\tautogc = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// Writes the settings file for the children.
pub(crate) fn prepare(place: &Path) -> anyhow::Result<()> {
    std::fs::write(place.join("gitconfig"), SETTINGS).context("git's settings could not be written")?;
    Ok(())
}

/// git in its own environment; only PATH is inherited.
pub(crate) fn git(place: &Path) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    // With an absolute path, starting git needs no fork of this process, which would cost more than git itself.
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
