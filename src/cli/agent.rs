//! `journeyman agent check`: asks an agent one question as an order does, and reports what is wrong.

use clap::{Args, Subcommand};

use super::local::{LocalOptions, LocalStack};
use super::sample::Sample;
use super::{INTERRUPTED, log, sample, user_settings};
use crate::emulator::RepositorySource;
use crate::order::agent_run::AgentFailureKind;
use crate::order::bounds::LONGEST_MESSAGE;
use crate::order::length::shorten;
use crate::order::next::OrderProjection;
use crate::order::trace::StageState;
use crate::order::{AgentRun, EffectOutcome, Journal, JournalEvent, Pipeline};

/// The first stage of a real pipeline, run once.
const PIPELINE: &str = "
name: agent-check
version: 1
stages:
  - name: classify
    agent: code_reviewer
    command: classify_issue
    arguments: ['{{issue.number}}', '{{issue.title}}', '{{issue.body}}']
    output: {one_of: [/feature, /bug, /chore]}
    retry_count: 0
    timeout: 10m
";
const REPOSITORY: &str = "local/agent-check";
/// What programs print when they want someone to sign in.
const LOGIN: [&str; 7] =
    ["log in", "login", "sign in", "sign-in", "authenticat", "auth method", "browser to continue"];

/// What `agent` is told.
#[derive(Debug, Args)]
pub(super) struct AgentArguments {
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// Have an agent of the settings classify a sample issue in the sandbox, and say what is wrong.
    #[command(
        after_help = "It costs what one short answer costs.\nExit codes: 0 the agent works, 1 it does not, \
                            2 wrong usage or settings.\n\nExample:\n  journeyman agent check codex --config journeyman.toml"
    )]
    Check {
        /// The agent, by its name in the settings.
        name: String,
        /// The settings; ~/.config/journeyman/journeyman.toml when absent.
        #[arg(long, value_name = "FILE")]
        config: Option<std::path::PathBuf>,
    },
}

pub(super) async fn main(arguments: AgentArguments) -> anyhow::Result<u8> {
    log("error");
    let AgentCommand::Check { name, config } = arguments.command;
    let local = LocalStack::start(LocalOptions {
        config: user_settings(config),
        agent: Some(name.clone()),
        pipeline: Some("agent-check".to_owned()),
        pipelines: vec![Pipeline::parse(PIPELINE)?],
        runs: Some(1),
        ..LocalOptions::default()
    })
    .await?;
    eprintln!("  asking the agent {name} to classify a sample issue, in the sandbox");
    let asked = ask(&local, &name).await;
    let resumes = local.resumes;
    local.stop().await?;
    let Some((journal, projection)) = asked? else { return Ok(INTERRUPTED) };
    let found = match first_run(&journal) {
        Some(run) => verdict((name.as_str(), resumes), run, &projection),
        None => Err(not_asked(&projection)),
    };
    match found {
        Ok(lines) => {
            println!("ok    agents.{name}: {}", lines.join("\n      "));
            Ok(0)
        }
        Err(problems) => {
            for problem in problems {
                println!("FIX   agents.{name}: {problem}");
            }
            Ok(1)
        }
    }
}

/// The order, once its agent has answered or cannot be asked; `None` if stopped.
async fn ask(local: &LocalStack, name: &str) -> anyhow::Result<Option<(Journal, OrderProjection)>> {
    local.put_repository(REPOSITORY, RepositorySource::Files(Sample::Shell.files())).await?;
    let (title, body) = sample::issue();
    let issue = local.put_issue(REPOSITORY, &title, &body, Some(name)).await?;
    let Some(order) = local.order(&REPOSITORY.parse()?, issue).await? else { return Ok(None) };
    let seen = local.until(order, |journal, projection| {
        let cannot_be_asked = projection.trace.waiting.is_some() || projection.next.settled.is_some();
        first_run(journal).is_some() || cannot_be_asked
    });
    seen.await
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other outcome is an agent's run")]
fn first_run(journal: &Journal) -> Option<&AgentRun> {
    journal.entries().iter().find_map(|entry| match &entry.event {
        JournalEvent::Observed { outcome, .. } => match &**outcome {
            EffectOutcome::AgentRan(run) => Some(&**run),
            _ => None,
        },
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Intended { .. } => None,
    })
}

/// Why the agent was not run at all.
fn not_asked(projection: &OrderProjection) -> Vec<String> {
    let trace = &projection.trace;
    if !trace.problems.is_empty() {
        return trace.problems.clone();
    }
    let waiting = trace.waiting.as_ref().map(|waiting| waiting.message.clone());
    vec![waiting.or(projection.surfaces().because).unwrap_or_else(|| "it was not asked".to_owned())]
}

/// What a run shows about an agent: its answer, or what is wrong and how to fix it.
fn verdict(
    (name, resumes): (&str, bool),
    run: &AgentRun,
    projection: &OrderProjection,
) -> Result<Vec<String>, Vec<String>> {
    let result = run.result.as_deref().unwrap_or_default().trim();
    let is_right = projection.trace.stages.iter().any(|stage| stage.state == StageState::Passed);
    if run.failure.is_none() && is_right {
        let mut lines = vec![format!("it answered {result:?} after {:.1} s", run.duration_seconds)];
        if resumes && run.session_id.is_none() {
            lines.push(format!(
                "agents.{name}.resumes is true, and it named no session: print {{\"type\":\"session_started\",\
                 \"session_id\":\"…\"}}, or remove the setting"
            ));
        }
        lines.extend(run.warnings.iter().cloned());
        return Ok(lines);
    }
    let mut problems = Vec::new();
    let said = match &run.failure {
        Some(failure) => {
            problems.push(failure.message.clone());
            format!("{result}\n{}", failure.message)
        }
        None => {
            problems.push(format!(
                "it answered, but not with one of /feature, /bug and /chore: {:?}. Everything on its standard output is \
                 the answer: print progress on standard error, or print JSON lines and the answer as \
                 {{\"type\":\"result\",\"result\":\"…\"}}",
                shorten(result, LONGEST_MESSAGE)
            ));
            result.to_owned()
        }
    };
    let said = said.to_lowercase();
    if LOGIN.iter().any(|word| said.contains(word)) {
        problems.push(format!(
            "it seems to ask for a login, and nobody can log in inside the sandbox: set a key in this environment and name \
             its variable in agents.{name}.env"
        ));
    }
    let refused = run.network.iter().flat_map(|network| &network.refused);
    problems.extend(refused.map(|refused| {
        format!(
            "it was kept from {}: {}. If it needs that host, add it to agents.{name}.network",
            refused.what, refused.why
        )
    }));
    let is_limit = run.failure.as_ref().is_some_and(|failure| failure.kind == AgentFailureKind::LimitReached);
    if is_limit && result.is_empty() {
        problems.push(
            "it printed no answer in time: it may wait for a person, or for a host that it cannot reach"
                .to_owned(),
        );
    }
    Err(problems)
}
