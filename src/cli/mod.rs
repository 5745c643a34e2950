//! The command line: one file a subcommand.
//!
//! May know: the application, the settings, the emulator (for `run` and `demo`).
//! Must never know: how work is done.

// Replaces the standard library's macros, which panic once the reader is gone. `journeyman … | head` is fine, and
// running work continues without a reader.
macro_rules! print {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stdout(), $($text)*);
    }};
}
macro_rules! println {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}
macro_rules! eprintln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

#[cfg(feature = "emulator")]
mod agent;
mod backup;
#[cfg(feature = "emulator")]
mod demo;
mod doctor;
mod environment;
#[cfg(feature = "eval")]
mod eval;
#[cfg(feature = "emulator")]
mod issue_file;
mod live;
#[cfg(feature = "emulator")]
mod local;
mod local_clone;
mod manual;
mod orders;
mod pipeline;
mod receipt;
#[cfg(feature = "emulator")]
mod run;
#[cfg(feature = "emulator")]
mod sample;
#[cfg(feature = "emulator")]
mod scripted_agent;
mod serve;
mod setup;
#[cfg(feature = "eval")]
mod simulated_agent;
#[cfg(feature = "emulator")]
mod verify;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

const START_HERE: &str = if cfg!(feature = "emulator") {
    "Start here:\n  journeyman setup                                    a GitHub App and its server, in a browser\n  \
     journeyman demo --once                              watch it work first; no account, no key\n  \
     journeyman verify --base main                       whether a branch does what it says; no account, no key\n  \
     journeyman environment --repo .                     whether a repository's tests can run here\n  \
     journeyman run --repo . --issue ISSUE.md            the whole job on a local repository"
} else {
    "Start here:\n  journeyman setup                                    a GitHub App and its server, in a browser\n  \
     journeyman environment --repo .                     whether a repository's tests can run here"
};

/// Includes the commit if the build sets it, as `make build` does.
static VERSION: LazyLock<String> = LazyLock::new(|| match option_env!("JOURNEYMAN_COMMIT") {
    Some(commit) if !commit.is_empty() => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
    _ => env!("CARGO_PKG_VERSION").to_owned(),
});

/// Journeyman turns a labeled GitHub issue into a verified pull request.
///
/// It clones the repository, has a coding agent plan and implement, runs the tests itself, sends the agent back with
/// what failed, and opens a pull request only for a commit that it has seen pass and seen on the remote.
#[derive(Debug, Parser)]
#[command(name = "journeyman", version = VERSION.as_str(), after_help = START_HERE)]
struct CommandLine {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Create the GitHub App and the settings and start the server, on a page in your browser.
    Setup(setup::SetupArguments),
    /// Serve a GitHub App: webhooks, workers and the API in one process.
    Serve(serve::ServeArguments),
    /// Check the settings and this machine, and say what to fix.
    Doctor(doctor::DoctorArguments),
    /// List what a running server works on, and what it waits for.
    Orders(orders::OrdersArguments),
    /// Show an order of a running server.
    Show(orders::ShowArguments),
    /// Show what was done for an order; -f goes on as it happens.
    Logs(orders::LogsArguments),
    /// Have an order try again, with advice if you like.
    Retry(orders::RetryArguments),
    /// Accept what waits for a person as it is.
    Approve(orders::CommandArguments),
    /// Stop an order.
    Cancel(orders::CommandArguments),
    /// Write a server's state into one file, also while it runs.
    Backup(backup::BackupArguments),
    /// Put a backup back where a server's state lies.
    Restore(backup::RestoreArguments),
    /// Verify a branch of a local git repository: run the tests of base and head on the code of both.
    #[cfg(feature = "emulator")]
    Verify(verify::VerifyArguments),
    /// Work on an issue in a local git repository, without GitHub.
    #[cfg(feature = "emulator")]
    Run(run::RunArguments),
    /// Watch it work on a sample repository, with GitHub emulated on loopback.
    #[cfg(feature = "emulator")]
    Demo(demo::DemoArguments),
    /// Check an agent of the settings.
    #[cfg(feature = "emulator")]
    Agent(agent::AgentArguments),
    /// Prepare a repository's environment, run its tests, and say what to change where they cannot run.
    Environment(environment::EnvironmentArguments),
    /// Run a suite of cases with an agent and report the results.
    #[cfg(feature = "eval")]
    Eval(eval::EvalArguments),
    #[cfg_attr(feature = "draw", doc = "Check a pipeline's file, or draw a pipeline.")]
    #[cfg_attr(not(feature = "draw"), doc = "Check a pipeline's file.")]
    Pipeline(pipeline::PipelineArguments),
    /// Show a signed receipt in words, or run its tests again and compare.
    Receipt(receipt::ReceiptArguments),
    /// Print what a shell completes the command line with.
    Completions(manual::CompletionsArguments),
    /// Write the manual pages into a folder.
    Man(manual::ManArguments),
    /// The agent of the demo and of suites of real fixes: does what a script says, stage by stage.
    #[cfg(feature = "emulator")]
    #[command(hide = true)]
    ScriptedAgent(scripted_agent::ScriptedAgentArguments),
    /// The agent of simulated suites: is right as often as it is told to be.
    #[cfg(feature = "eval")]
    #[command(hide = true)]
    SimulatedAgent(simulated_agent::SimulatedAgentArguments),
}

/// Exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;
/// Exit code after SIGTERM, for instance from a service manager.
const TERMINATED: u8 = 143;
/// Exit code for wrong usage, including wrong settings.
const WRONG_USAGE: u8 = 2;

/// The settings' file name.
const SETTINGS: &str = "journeyman.toml";

/// The settings of the person at the keyboard: `--config`, or the user's own. Never from the current folder: it may be
/// someone else's clone, and settings name programs that run outside the sandbox.
fn user_settings(given: Option<PathBuf>) -> Option<PathBuf> {
    let own = given.or_else(|| user_settings_file().filter(|file| file.exists()));
    if own.is_none() && std::path::Path::new(SETTINGS).exists() {
        eprintln!(
            "journeyman: {SETTINGS} in this folder is not read; `--config {SETTINGS}` reads it, if you trust it"
        );
    }
    own
}

/// Path of the user's own settings, whether or not the file exists.
fn user_settings_file() -> Option<PathBuf> {
    Some(user_folder("XDG_CONFIG_HOME", ".config")?.join("journeyman").join(SETTINGS))
}

/// A folder of the user's: from its variable, or the usual one in the home.
fn user_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    folder(variable).or_else(|| folder("HOME").map(|home| home.join(usual)))
}

/// The user's cache folder.
fn cache_folder() -> Option<PathBuf> {
    Some(user_folder("XDG_CACHE_HOME", ".cache")?.join("journeyman"))
}

pub fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    match command {
        Subcommands::Serve(arguments) => wait_for(serve::main(arguments)),
        Subcommands::Setup(arguments) => wait_for(setup::main(arguments)),
        Subcommands::Doctor(arguments) => wait_for(doctor::main(arguments)),
        Subcommands::Orders(arguments) => wait_for(orders::list(arguments)),
        Subcommands::Show(arguments) => wait_for(orders::show(arguments)),
        Subcommands::Logs(arguments) => wait_for(orders::logs(arguments)),
        Subcommands::Retry(arguments) => wait_for(orders::retry(arguments)),
        Subcommands::Approve(arguments) => wait_for(orders::approve(arguments)),
        Subcommands::Cancel(arguments) => wait_for(orders::cancel(arguments)),
        Subcommands::Backup(arguments) => wait_for(backup::main(arguments)),
        Subcommands::Restore(arguments) => wait_for(backup::restored(arguments)),
        #[cfg(feature = "emulator")]
        Subcommands::Verify(arguments) => wait_for(verify::main(arguments)),
        #[cfg(feature = "emulator")]
        Subcommands::Run(arguments) => wait_for(run::main(arguments)),
        #[cfg(feature = "emulator")]
        Subcommands::Demo(arguments) => wait_for(demo::main(arguments)),
        #[cfg(feature = "emulator")]
        Subcommands::Agent(arguments) => wait_for(agent::main(arguments)),
        Subcommands::Environment(arguments) => wait_for(environment::main(arguments)),
        #[cfg(feature = "eval")]
        Subcommands::Eval(arguments) => wait_for(eval::main(arguments)),
        Subcommands::Pipeline(arguments) => exit(pipeline::main(&arguments)),
        Subcommands::Receipt(arguments) => wait_for(receipt::main(arguments)),
        Subcommands::Completions(arguments) => exit(manual::completions(&arguments, CommandLine::command())),
        Subcommands::Man(arguments) => exit(manual::man(&arguments, CommandLine::command())),
        // Agents run inside the sandbox and need no runtime.
        #[cfg(feature = "emulator")]
        Subcommands::ScriptedAgent(arguments) => exit(scripted_agent::main(&arguments)),
        #[cfg(feature = "eval")]
        Subcommands::SimulatedAgent(arguments) => exit(simulated_agent::main(&arguments)),
    }
}

fn wait_for(work: impl Future<Output = anyhow::Result<u8>>) -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return exit(Err(error.into())),
    };
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    exit(done)
}

fn exit(done: anyhow::Result<u8>) -> ExitCode {
    ExitCode::from(done.unwrap_or_else(|error| {
        eprintln!("journeyman: {error:#}");
        code(&error)
    }))
}

fn code(error: &anyhow::Error) -> u8 {
    #[cfg(feature = "emulator")]
    if error.is::<local::PersonRequired>() {
        return local::HANDED_OVER;
    }
    let is_usage = error.is::<UsageError>()
        || error.is::<crate::config::SettingsError>()
        || error.is::<crate::config::TemplatesError>();
    if is_usage { WRONG_USAGE } else { 1 }
}

/// A mistake in how the command was called.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(String);

/// Logs to standard error; `RUST_LOG` sets the level.
fn log(default: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    // Only the first call has an effect.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Colours are for a terminal only: in a file or the system's journal they break searching.
    let is_colourful = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _ = log.with_ansi(is_colourful).log_internal_errors(false).try_init();
}

/// SIGTERM and Ctrl-C. Signals that arrive between two calls of `next` are not lost.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal and returns the exit code that it stands for.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => TERMINATED,
            _ = self.interrupt.recv() => INTERRUPTED,
        }
    }
}

/// Cancelled at the first request to stop, after which cleanup may still take a while. A second request ends the
/// process at once.
fn asked_to_stop() -> std::io::Result<CancellationToken> {
    let mut signals = StopSignals::listen()?;
    let asked = CancellationToken::new();
    let tell = asked.clone();
    tokio::spawn(async move {
        signals.next().await;
        tell.cancel();
        let code = signals.next().await;
        std::process::exit(code.into());
    });
    Ok(asked)
}
