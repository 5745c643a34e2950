//! Whether the configured agents can work: program, credential, version.

use std::path::PathBuf;
use std::time::Duration;

use super::{good, problem};
use crate::agent::{Agents, Runtime, RuntimeKind};
use crate::app::open_sandbox;
use crate::config::{DoctorFinding, Settings};
use crate::engine::missing_for_agent;
use crate::order::moves::AgentTask;
use crate::sandbox::Sandbox;

/// Timeout for checking a key and for asking a version.
const PATIENCE: Duration = Duration::from_secs(10);
/// The agent that works without any settings.
const BUILT_IN: &str = "claude";

pub(super) async fn examine(settings: &Settings) -> Vec<DoctorFinding> {
    let agents = match Agents::new(settings.agents.clone(), &settings.testing.outgoing) {
        Ok(agents) => agents,
        Err(error) => return vec![problem("agents", error.to_string())],
    };
    // A missing sandbox is reported elsewhere. Without one nothing about agents can be checked.
    let Ok(sandbox) = open_sandbox(&settings.sandbox).await else { return Vec::new() };
    let mut findings = Vec::new();
    for (name, own) in &settings.agents {
        let problems = match agents.get(name) {
            Ok(Runtime::Program(program)) => {
                let lookup = |name: &str| settings.variables.value(name);
                let invocation = program.invocation(&AgentTask::default(), None, "", &lookup);
                missing_for_agent(name, &invocation, &sandbox)
            }
            Ok(Runtime::Api(api)) => {
                let key = api.key(&|name| settings.variables.value(name));
                api.refused_key(&key, PATIENCE).await.into_iter().collect()
            }
            Err(error) => vec![error],
        };
        let is_default = settings.defaults.agent == *name;
        let about = format!("agents.{name}");
        if problems.is_empty() {
            let version = match own.runtime {
                RuntimeKind::Claude => {
                    version(own.program.first().map_or(BUILT_IN, String::as_str), &sandbox).await
                }
                RuntimeKind::Command | RuntimeKind::Api(_) => None,
            };
            let what = version.unwrap_or_else(|| "it can be started or asked".to_owned());
            let of = if is_default { "; roles that were given no other work with it" } else { "" };
            findings.push(good(&about, format!("{what}{of}")));
        } else if is_default || name != BUILT_IN {
            findings.push(problem(&about, problems.join("; ")));
        }
    }
    findings
}

/// Asks Claude Code for its version. The settings name the program, so it may run here.
async fn version(program: &str, sandbox: &Sandbox) -> Option<String> {
    let program = if program.contains('/') { PathBuf::from(program) } else { sandbox.locate(program)? };
    let mut command = tokio::process::Command::new(&program);
    // Withhold this process's own environment from the program.
    command.env_clear().envs(sandbox.host_environment());
    command.arg("--version").stdin(std::process::Stdio::null()).kill_on_drop(true);
    let said = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let line: String = String::from_utf8_lossy(&said.stdout).lines().next()?.chars().take(100).collect();
    (said.status.success() && !line.is_empty()).then(|| format!("{}: {line}", program.display()))
}
