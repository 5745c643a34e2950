//! `journeyman setup`: pages that lead from nothing to a server that works.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use clap::{Args, ValueEnum};

use super::{SETTINGS, UsageError, log, serve, user_settings_file};
use crate::app::{DoctorScope, examine};
use crate::config::Settings;
use crate::setup::{
    ServicePlan, ServiceScope, SetupApp, SetupCheck, SetupDoctor, SetupEnd, SetupOptions, SetupProgress,
    SetupStep, has_user_manager, start,
};

/// What `setup` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "It prints the address of a page on this machine. There you create a GitHub App of your own with one click, \
                        install it on repositories, and give the agent's key; labels are made, and everything is checked. What \
                        it learns is written to the settings and to files beside them that only you can read. It may be run \
                        again at any time, and goes on where it stopped.\n\
                        On a server that you reach through SSH, open the page through a tunnel; how is printed.\n\
                        With --non-interactive it opens no page: it makes the labels, checks, and says what is missing.\n\
                        Exit codes: 0 all is there, 1 something is missing or has to be mended.\n\n\
                        Example:\n  journeyman setup"
)]
pub(super) struct SetupArguments {
    /// The settings, which are made or completed; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the page is; a free port when absent.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Open no page: make the labels, check, and say what is missing.
    #[arg(long)]
    non_interactive: bool,
    /// Make a service of systemd at the end: of the `system`, whose unit is written beside the settings, with the commands
    /// that install it; or of this `user`, installed and started.
    #[arg(long, value_name = "WHOSE")]
    service: Option<WhoseService>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WhoseService {
    System,
    User,
}

struct Doctor;

#[async_trait]
impl SetupDoctor for Doctor {
    async fn examine(&self, settings: &Settings) -> Vec<SetupCheck> {
        let found = examine(settings, DoctorScope::Server).await;
        found
            .into_iter()
            .map(|one| SetupCheck { about: one.about, text: one.text, is_good: one.is_usable() })
            .collect()
    }
}

pub(super) async fn main(arguments: SetupArguments) -> anyhow::Result<u8> {
    let file = match arguments.config {
        Some(file) => std::path::absolute(file)?,
        None => usual()?,
    };
    if arguments.non_interactive {
        let code = without_pages(&file).await?;
        if code == 0 {
            service(&file, arguments.service)?;
        }
        return Ok(code);
    }
    // The server says the rest itself, if it is started from the last page.
    let options = SetupOptions { settings: file.clone(), listen: arguments.listen, doctor: Arc::new(Doctor) };
    let server = start(options)?;
    println!("Open this page in your browser:\n\n  {}\n", server.address);
    if std::env::var_os("SSH_CONNECTION").is_some() {
        let port = server.address.port().unwrap_or_default();
        println!("From your own machine, first:  ssh -L {port}:127.0.0.1:{port} THIS-SERVER\n");
    }
    println!("It ends with the last page, or with Ctrl-C; run it again to go on.");
    match server.ended().await {
        SetupEnd::Serve => {
            service(&file, arguments.service)?;
            if matches!(arguments.service, Some(WhoseService::User)) {
                // It has begun, and two servers do not share the settings.
                return Ok(0);
            }
            serve::main(serve::ServeArguments::of(file)).await
        }
        SetupEnd::Leave => {
            println!("Start the server:  journeyman serve --config {}", file.display());
            if arguments.service.is_none() {
                let user = if has_user_manager() { " (or user)" } else { "" };
                println!(
                    "As a service:      journeyman setup --non-interactive --service system{user} --config {}",
                    file.display()
                );
            }
            service(&file, arguments.service)?;
            Ok(0)
        }
        SetupEnd::Runs => {
            println!("The service runs:  systemctl --user status journeyman");
            if matches!(arguments.service, Some(WhoseService::System)) {
                service(&file, arguments.service)?;
            }
            Ok(0)
        }
    }
}

/// The service that was asked for.
fn service(file: &Path, asked: Option<WhoseService>) -> anyhow::Result<()> {
    let scope = match asked {
        None => return Ok(()),
        Some(WhoseService::System) => ServiceScope::System,
        Some(WhoseService::User) => ServiceScope::User,
    };
    let plan = ServicePlan::of(file, scope)?;
    plan.install()?;
    match scope {
        ServiceScope::System => {
            println!("The unit is written: {}. These commands install and start it:\n", plan.file.display());
            for line in &plan.commands {
                println!("  {line}");
            }
            println!();
        }
        ServiceScope::User => println!("The service runs: {}", plan.file.display()),
    }
    for note in &plan.notes {
        println!("{note}");
    }
    Ok(())
}

/// Where all commands read them.
fn usual() -> anyhow::Result<PathBuf> {
    let file = user_settings_file().ok_or_else(|| {
        UsageError(
            "there is no home folder (HOME is not set): name the settings with --config FILE".to_owned(),
        )
    })?;
    if Path::new(SETTINGS).exists() && !file.exists() {
        println!(
            "{SETTINGS} in this folder is not looked at: `journeyman setup --config {SETTINGS}` goes on with it.\n"
        );
    }
    Ok(file)
}

async fn without_pages(file: &Path) -> anyhow::Result<u8> {
    log("warn,octocrab=off");
    let mut progress = SetupProgress::of(file).await;
    while progress.unlabeled() > 0 {
        eprintln!("making labels: {} repositories are left", progress.unlabeled());
        progress = progress.on(file).await;
    }
    if let Some(problem) = &progress.problem {
        println!("MEND  {problem}");
    }
    if let Some(app) = &progress.app {
        println!("ok    the App: {}", app.page);
    }
    for repository in &progress.repositories {
        let with = if progress.has_labels(repository) { ", with its labels" } else { "" };
        println!("ok    installed{with}: {repository}");
    }
    let missing = match progress.step() {
        SetupStep::App if progress.problem.is_some() => None,
        SetupStep::App => Some(format!(
            "there is no App in {}: run `journeyman setup` without --non-interactive, or create it by hand (docs/INSTALL.md, \"Create the GitHub App\")",
            file.display()
        )),
        SetupStep::Install => {
            let page = progress.app.as_ref().map(SetupApp::install_page).unwrap_or_default();
            Some(format!("the App is installed nowhere: open {page}"))
        }
        SetupStep::Agent => Some(
            "the agent has no key: put it into the file of server.environment_file, or into the environment"
                .to_owned(),
        ),
        SetupStep::Check => None,
    };
    if let Some(missing) = &missing {
        println!("MEND  {missing}");
    }
    let mut is_well = progress.step() == SetupStep::Check;
    if let Some(settings) = &progress.settings {
        for check in Doctor.examine(settings).await {
            is_well &= check.is_good;
            println!("{}  {}: {}", if check.is_good { "ok  " } else { "MEND" }, check.about, check.text);
        }
    }
    Ok(u8::from(!is_well))
}
