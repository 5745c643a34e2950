//! `journeyman serve`: the GitHub App.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{SETTINGS, StopSignals, log, user_settings};
use crate::app::Application;
use crate::config::{Settings, effective_settings};

/// What `serve` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Every key of the settings is also read from the environment, as JOURNEYMAN_SECTION__KEY.\n\
                        On SIGTERM or Ctrl-C it begins nothing new and lets agents and tests go on for server.drain_seconds; a \
                        second one stops them at once. It ends within fifteen seconds after that. Orders go on at the next \
                        start."
)]
pub(super) struct ServeArguments {
    /// The settings; when absent journeyman.toml in the current folder, if that is in no git work tree, or else
    /// ~/.config/journeyman/journeyman.toml.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A server may run in a folder of its own, but someone else may have filled a work tree.
fn of_this_folder() -> Option<PathBuf> {
    let file = Path::new(SETTINGS);
    if !file.exists() {
        return None;
    }
    if file.canonicalize().is_ok_and(|file| file.ancestors().any(|folder| folder.join(".git").exists())) {
        tracing::warn!(
            "{SETTINGS} in this folder is not read, as it is in a git work tree; `--config {SETTINGS}` reads it"
        );
        return None;
    }
    Some(file.to_owned())
}

pub(super) async fn main(arguments: ServeArguments) -> anyhow::Result<u8> {
    run(start(arguments.config).await?).await
}

/// Binds the server's address; nothing runs yet.
pub(super) async fn start(config: Option<PathBuf>) -> anyhow::Result<Application> {
    // Callers of octocrab report failed requests themselves, with what to do.
    log("info,actix_server=warn,octocrab=off");
    let file = config.or_else(of_this_folder).or_else(|| user_settings(None));
    let settings = Settings::load(file.as_deref(), std::env::vars())?;
    let shown = effective_settings(file.as_deref(), std::env::vars())?;
    let mut application = Application::build(settings).await?;
    tracing::info!("listening on http://{}, webhooks at /webhook", application.address());
    application.show_settings(shown);
    application.watch_app();
    Ok(application)
}

/// Serves until it is asked to stop.
pub(super) async fn run(application: Application) -> anyhow::Result<u8> {
    let handle = application.handle();
    let mut asked = StopSignals::listen()?;
    tokio::spawn(async move {
        asked.next().await;
        tracing::info!("asked to stop; orders stay resumable");
        handle.drain();
        asked.next().await;
        tracing::info!("asked to stop again");
        handle.stop();
    });
    application.run().await?;
    Ok(0)
}
