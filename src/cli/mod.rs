//! The command line: one file a subcommand.
//!
//! May know: the application, the settings, the emulator (for `run` and `demo`).
//! Must never know: how work is done.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is where people are spoken to")]

mod demo;
mod eval;
mod issue_file;
mod live;
mod local;
mod pipeline;
mod receipt;
mod run;
mod sample;
mod scripted_agent;
mod serve;
mod simulated_agent;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Journeyman turns a labeled GitHub issue into a verified pull request.
///
/// It clones the repository, has a coding agent plan and implement, runs the tests itself, sends the agent back with
/// what failed, and opens a pull request only for a commit that it has seen pass and seen on the remote.
#[derive(Debug, Parser)]
#[command(
    name = "journeyman",
    version,
    after_help = "Start here:\n  journeyman demo --once                              watch it work; no account, no key\n  \
                  journeyman run --repo . --issue ISSUE.md            the whole job on a local repository\n  \
                  journeyman serve --config journeyman.toml           as a GitHub App"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Serve a GitHub App: webhooks, workers and the API in one process.
    Serve(serve::Arguments),
    /// Do the whole job on a local git repository, without GitHub.
    Run(run::Arguments),
    /// Watch it work on a sample repository, with GitHub emulated on loopback.
    Demo(demo::Arguments),
    /// Run a suite of cases with an agent, and see in figures what came of them.
    Eval(eval::Arguments),
    /// Check a pipeline's file, or draw a pipeline.
    Pipeline(pipeline::Arguments),
    /// Show a signed receipt in words, or run its tests again and compare.
    Receipt(receipt::Arguments),
    /// The agent of the demo: does what a script says, stage by stage.
    #[command(hide = true)]
    ScriptedAgent(scripted_agent::Arguments),
    /// The agent of simulated suites: is right as often as it is told to be.
    #[command(hide = true)]
    SimulatedAgent(simulated_agent::Arguments),
}

/// Exit code for wrong usage, settings included.
const WRONG_USAGE: u8 = 2;
/// A person has to say the next word.
const HANDED_OVER: u8 = 3;
/// Exit code when a person pressed Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Where settings are looked for when nothing is said.
fn settings_file(given: Option<PathBuf>) -> Option<PathBuf> {
    let usual = PathBuf::from("journeyman.toml");
    given.or_else(|| usual.exists().then_some(usual))
}

/// The program.
pub fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    // Agents run inside the sandbox and need none of what follows.
    let command = match command {
        Subcommands::ScriptedAgent(arguments) => return exit(scripted_agent::main(&arguments)),
        Subcommands::Pipeline(arguments) => return exit(pipeline::main(&arguments)),
        Subcommands::SimulatedAgent(arguments) => return exit(simulated_agent::main(&arguments)),
        served @ (Subcommands::Serve(_)
        | Subcommands::Run(_)
        | Subcommands::Demo(_)
        | Subcommands::Eval(_)
        | Subcommands::Receipt(_)) => served,
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return exit(Err(error.into())),
    };
    let done = runtime.block_on(async {
        match command {
            Subcommands::Serve(arguments) => serve::main(arguments).await,
            Subcommands::Run(arguments) => run::main(arguments).await,
            Subcommands::Demo(arguments) => demo::main(arguments).await,
            Subcommands::Eval(arguments) => eval::main(arguments).await,
            Subcommands::Receipt(arguments) => receipt::main(arguments).await,
            Subcommands::Pipeline(_) | Subcommands::ScriptedAgent(_) | Subcommands::SimulatedAgent(_) => {
                Ok(0)
            }
        }
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    exit(done)
}

fn exit(done: anyhow::Result<u8>) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("journeyman: {error:#}");
            let is_usage = error.is::<WrongUsage>()
                || error.is::<crate::config::SettingsError>()
                || error.is::<crate::config::TemplatesError>();
            let code = match error.is::<NeedsPerson>() {
                true => HANDED_OVER,
                false if is_usage => WRONG_USAGE,
                false => 1,
            };
            ExitCode::from(code)
        }
    }
}

/// Something that the person at the keyboard has to say differently.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongUsage(String);

/// The work waits for a person's word, and here is nobody who could say it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NeedsPerson(String);

/// Logs go to standard error; `RUST_LOG` says how much.
fn log(default: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    // Set once; a second call changes nothing.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Colours are for people at a terminal; in a file or a journal they are in the way of every search.
    let is_colourful = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _ = log.with_ansi(is_colourful).try_init();
}

/// SIGTERM or Ctrl-C.
async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
