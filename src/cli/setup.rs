//! `journeyman setup`: web pages that guide from nothing to a working server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use super::{SETTINGS, UsageError, log, serve, user_folder, user_settings_file};
use crate::app::{DoctorScope, examine};
use crate::config::{DoctorFinding, Settings};
use crate::setup::{
    ServicePlan, ServiceScope, SetupApp, SetupDoctor, SetupEnd, SetupOptions, SetupProgress, SetupStep,
    has_user_manager, start,
};

/// Timeout for the server's readiness check.
const PATIENCE: Duration = Duration::from_secs(2);

/// What `setup` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "It prints the address of a page on this machine. There you create a GitHub App of your own with one click, \
                        install it on repositories, and give the agent's key; labels are made, and everything is checked. What \
                        it learns is written to the settings and to files beside them that only you can read. It may be run \
                        again at any time, and goes on where it stopped.\n\
                        On a server that you reach through SSH, open the page through a tunnel; how is printed.\n\
                        With --non-interactive it opens no page: it makes the labels, checks, and says what is missing.\n\
                        Exit codes: 0 all is there, 1 something is missing or has to be fixed.\n\n\
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
    #[arg(long, value_name = "WHOSE", value_parser = PossibleValuesParser::new(["system", "user"]).map(scope))]
    service: Option<ServiceScope>,
}

/// Maps the values that clap accepts.
fn scope(whose: String) -> ServiceScope {
    if whose == "user" { ServiceScope::User } else { ServiceScope::System }
}

struct Doctor;

#[async_trait]
impl SetupDoctor for Doctor {
    async fn examine(&self, settings: &Settings) -> Vec<DoctorFinding> {
        examine(settings, DoctorScope::Server).await
    }

    async fn ready(&self, server: SocketAddr) -> Result<(), String> {
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build();
        let asked = client.map_err(|error| error.to_string())?.get(format!("http://{server}/ready")).send();
        let answer = asked.await.map_err(|_| format!("Nothing answers on {server} yet."))?;
        if answer.status().is_success() {
            return Ok(());
        }
        let said: serde_json::Value = answer.json().await.unwrap_or_default();
        let because = said["detail"].as_str().unwrap_or("it does not say why");
        Err(format!("The server on {server} is not ready: {because}."))
    }
}

/// This user's data folder for a server whose settings are in the usual place.
fn data_folder(file: &Path) -> Option<PathBuf> {
    if Some(file) != user_settings_file().as_deref() {
        return None;
    }
    if rustix::process::geteuid().is_root() {
        // A service has its own user, who cannot enter root's home.
        return Some("/var/lib/journeyman".into());
    }
    Some(user_folder("XDG_DATA_HOME", ".local/share")?.join("journeyman"))
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
    let options = SetupOptions {
        settings: file.clone(),
        data: data_folder(&file),
        listen: arguments.listen,
        doctor: Arc::new(Doctor),
    };
    let mut server = start(options)?;
    println!("Open this page in your browser:\n\n  {}\n", server.address);
    let is_remote = std::env::var_os("SSH_CONNECTION").is_some();
    if is_remote {
        println!("From your own machine, first:  {}\n", tunnel(server.address.port().unwrap_or_default()));
    }
    println!("It ends with the last page, or with Ctrl-C; run it again to go on.");
    loop {
        match server.ended().await {
            SetupEnd::Serve if arguments.service == Some(ServiceScope::User) => {
                service(&file, arguments.service)?;
                server.listens(Settings::load(Some(&file), std::env::vars())?.server.listen);
            }
            SetupEnd::Serve => match serve::start(Some(file.clone())).await {
                Ok(application) => {
                    let address = application.address();
                    server.listens(address);
                    service(&file, arguments.service)?;
                    println!("Journeyman listens on http://{address}/");
                    if is_remote {
                        println!("From your own machine:  {}", tunnel(address.port()));
                    }
                    tokio::spawn(async move {
                        // The setup pages stay up until they have shown that the server is ready.
                        while server.ended().await == SetupEnd::Serve {}
                        server.close().await;
                    });
                    return serve::run(application).await;
                }
                Err(error) => {
                    eprintln!("journeyman: {error:#}");
                    server.failed(format!("{error:#}"));
                }
            },
            SetupEnd::Leave => {
                server.close().await;
                println!("Start the server:  journeyman serve --config {}", file.display());
                if arguments.service.is_none() {
                    let user = if has_user_manager() { " (or user)" } else { "" };
                    println!(
                        "As a service:      journeyman setup --non-interactive --service system{user} --config {}",
                        file.display()
                    );
                }
                service(&file, arguments.service)?;
                return Ok(0);
            }
            SetupEnd::Ready => {
                server.close().await;
                println!("Journeyman runs as a service.");
                return Ok(0);
            }
        }
    }
}

/// The command for a tunnel to a port of this machine.
fn tunnel(port: u16) -> String {
    format!("ssh -L {port}:127.0.0.1:{port} THIS-SERVER")
}

/// Writes or installs the requested service.
fn service(file: &Path, asked: Option<ServiceScope>) -> anyhow::Result<()> {
    let Some(scope) = asked else { return Ok(()) };
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

/// The settings' usual place, where every command finds them.
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
    let mut progress = SetupProgress::observe(file, BTreeMap::new()).await;
    while progress.unlabeled() > 0 {
        eprintln!("making labels: {} repositories are left", progress.unlabeled());
        progress = SetupProgress::observe(file, progress.labels).await;
    }
    if let Some(problem) = &progress.problem {
        println!("FIX   {problem}");
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
        println!("FIX   {missing}");
    }
    let mut is_well = progress.step() == SetupStep::Check;
    if let Some(settings) = &progress.settings {
        for check in Doctor.examine(settings).await {
            is_well &= check.is_usable();
            println!("{:4}  {}: {}", check.level.word(), check.about, check.text);
        }
    }
    Ok(u8::from(!is_well))
}
