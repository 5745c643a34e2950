//! `journeyman completions` and `journeyman man`: shell completions and man pages for packages.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

/// What `completions` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  journeyman completions bash > ~/.local/share/bash-completion/completions/journeyman"
)]
pub(super) struct CompletionsArguments {
    /// Whose.
    shell: Shell,
}

/// What `man` is told.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  journeyman man ~/.local/share/man/man1")]
pub(super) struct ManArguments {
    /// Where the pages are written: journeyman.1, journeyman-serve.1 …
    folder: PathBuf,
}

pub(super) fn completions(arguments: &CompletionsArguments, mut command: Command) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "journeyman", &mut script);
    print!("{}", String::from_utf8(script)?);
    Ok(0)
}

pub(super) fn man(arguments: &ManArguments, command: Command) -> anyhow::Result<u8> {
    let folder = &arguments.folder;
    let wrong = || format!("{} cannot be written", folder.display());
    std::fs::create_dir_all(folder).with_context(wrong)?;
    clap_mangen::generate_to(command, folder).with_context(wrong)?;
    Ok(0)
}
