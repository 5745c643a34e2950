//! `journeyman eval`: runs a suite of cases with any agent through the real engine, and reports figures.
//!
//! Running (`runner`, `hidden`) is separate from reading (`record`), counting (`statistics`, `report`) and drawing
//! (`table`, `page`), which are pure.

mod hidden;
mod page;
mod record;
mod replay;
mod report;
#[cfg(test)]
mod report_tests;
mod runner;
pub(super) mod simulation;
mod statistics;
mod suite;
mod table;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use super::INTERRUPTED;
use super::local::{LocalOptions, LocalStack};
use super::sample::own_agent;
use super::{UsageError, log, user_settings};
use crate::config::AgentSettings;
use crate::order::Pipeline;
use report::EvalSetup;
use simulation::{PassRates, Simulation, percent};
use suite::{CaseRepository, EvalSuite, ReplaySelection};

/// The agent that replays real fixes.
const REPLAY_AGENT: &str = "replay";
const SIMULATED_AGENT: &str = "simulated";

/// What `eval` is told.
#[derive(Debug, Args)]
#[command(
    group(clap::ArgGroup::new("cases_of").required(true).args(["suite", "simulate"])),
    after_help = "Exit codes: 0 the suite was run, whatever the rates; 1 it could not be run; 2 wrong usage.\n\n\
                        Examples:\n  ANTHROPIC_API_KEY=… journeyman eval --suite evals/small --agent claude --html report.html\n  \
                        journeyman eval --simulate 35,72,45 --cases 1000"
)]
pub(super) struct EvalArguments {
    /// A folder with cases; see docs/EVAL.md.
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Use a simulated agent; RATES are the percentages of first, second and third attempts that pass.
    #[arg(long, value_name = "RATES", conflicts_with = "agent")]
    simulate: Option<PassRates>,
    /// How many cases the simulated agent gets.
    #[arg(long, value_name = "N", conflicts_with = "suite", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cases: u32,
    /// The seed of the simulated agent's random draws.
    #[arg(long, value_name = "N", conflicts_with = "suite", default_value_t = 7)]
    seed: u64,
    /// The percentage of simulated cases that fail in the same way until there is advice.
    #[arg(long, value_name = "PERCENT", conflicts_with = "suite", default_value = "0", value_parser = percent)]
    stubborn: f64,
    /// When the rounds are used up, a simulated tech lead gives advice once.
    #[arg(long, conflicts_with = "suite")]
    guidance: bool,
    /// The percentage of simulated attempts that pass after advice.
    #[arg(long, value_name = "PERCENT", conflicts_with = "suite", default_value = "45", value_parser = percent)]
    guided: f64,
    #[command(flatten)]
    replays: ReplaySelection,
    /// The agent, by its name in the settings.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The pipeline, by its name or as a file.
    #[arg(long, value_name = "NAME_OR_FILE")]
    pipeline: Option<String>,
    /// How many cases run at the same time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: Option<u16>,
    /// Write the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as a page with plots, in one file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Settings for agents, limits and the sandbox; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Keep journals, workspaces and outputs in this folder, which must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(super) async fn main(arguments: EvalArguments) -> anyhow::Result<u8> {
    log("error");
    let simulation = arguments.simulate.clone().map(|rates| Simulation {
        rates,
        seed: arguments.seed,
        stubborn: arguments.stubborn,
        guided: arguments.guidance.then_some(arguments.guided),
    });
    let suite = match &arguments.suite {
        Some(folder) => suite::read(folder, &arguments.replays)?,
        None => suite::simulated(arguments.cases),
    };
    let parallel = usize::from(arguments.parallel.unwrap_or(4));
    // Find out before hours of work, not after, that a file is not writable.
    let json = arguments.json.as_deref().map(|path| create("--json", path)).transpose()?;
    let html = arguments.html.as_deref().map(|path| create("--html", path)).transpose()?;
    let patches = tempfile::Builder::new().prefix("journeyman-patches-").tempdir()?;
    let local = start(&arguments, &suite, simulation.as_ref(), parallel, patches.path()).await?;
    let (began, clock) = (chrono::Utc::now(), Instant::now());
    let ran = runner::run(&local, &suite.cases, parallel, arguments.keep.is_some(), patches.path()).await?;
    let setting = EvalSetup {
        journeyman: env!("CARGO_PKG_VERSION").to_owned(),
        suite: suite.name,
        description: suite.description,
        cases: suite.cases.len() as u64,
        agent: local.agent.clone(),
        pipeline: local.pipeline.clone(),
        simulation,
        parallel,
        began: began.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        seconds: clock.elapsed().as_secs_f64(),
        interrupted: ran.interrupted,
    };
    let report = report::report(setting, ran.records, ran.troubles);
    print!("{}", table::text(&report));
    if let Some(mut file) = json {
        serde_json::to_writer_pretty(&mut file, &report)?;
        writeln!(file)?;
    }
    if let Some(mut file) = html {
        file.write_all(page::html(&report)?.as_bytes())?;
    }
    // The report is written before the cleanup.
    local.stop().await?;
    let nothing_ran = report.cases.is_empty() && !report.troubles.is_empty();
    Ok(match (ran.interrupted, nothing_ran) {
        (true, _) => INTERRUPTED,
        (false, true) => 1,
        (false, false) => 0,
    })
}

fn create(option: &str, path: &Path) -> anyhow::Result<File> {
    File::create(path).map_err(|error| UsageError(format!("{option} {}: {error}", path.display())).into())
}

async fn start(
    arguments: &EvalArguments,
    suite: &EvalSuite,
    simulation: Option<&Simulation>,
    parallel: usize,
    patches: &Path,
) -> anyhow::Result<LocalStack> {
    let mut agents = BTreeMap::new();
    let mut agent = arguments.agent.clone();
    let mut pipeline = arguments.pipeline.clone().or_else(|| suite.pipeline.clone());
    let mut pipelines = Vec::new();
    if let Some(simulation) = simulation {
        let own = Pipeline::parse(match simulation.guided {
            Some(_) => include_str!("../../../templates/eval/simulated-guided.yaml"),
            None => include_str!("../../../templates/eval/simulated.yaml"),
        })?;
        pipeline.get_or_insert_with(|| own.name.clone());
        pipelines.push(own);
        let words = ["simulated-agent", &serde_json::to_string(simulation)?];
        agents.insert(SIMULATED_AGENT.to_owned(), own_agent(SIMULATED_AGENT, &words)?);
        agent = Some(SIMULATED_AGENT.to_owned());
    }
    let is_replay = suite.cases.iter().any(|case| matches!(case.repository, CaseRepository::Real(_)));
    if is_replay && agent.is_none() {
        let script = patches.join("script.yaml");
        let text = include_str!("../../../templates/eval/replay.yaml");
        std::fs::write(&script, text.replace("PATCHES", &patches.display().to_string()))?;
        let settings =
            own_agent(REPLAY_AGENT, &["scripted-agent", "--script", &script.display().to_string()])?;
        let settings = AgentSettings { read: [settings.read, vec![patches.to_owned()]].concat(), ..settings };
        agents.insert(REPLAY_AGENT.to_owned(), settings);
        agent = Some(REPLAY_AGENT.to_owned());
    }
    if let Some(folder) = &arguments.keep {
        let wrong =
            |problem: &dyn std::fmt::Display| UsageError(format!("--keep {}: {problem}", folder.display()));
        std::fs::create_dir_all(folder).map_err(|error| wrong(&error))?;
        if std::fs::read_dir(folder).map_err(|error| wrong(&error))?.next().is_some() {
            return Err(wrong(&"the folder is not empty; name one that is, or a new one").into());
        }
    }
    let keep = arguments.keep.as_deref().map(std::fs::canonicalize).transpose()?;
    LocalStack::start(LocalOptions {
        config: user_settings(arguments.config.clone()),
        agent,
        pipeline,
        agents,
        pipelines,
        parallel: Some(parallel),
        keep,
        ..LocalOptions::default()
    })
    .await
}
