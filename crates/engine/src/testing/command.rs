//! A command in a checkout: its walls, its time, its network, and what it printed.

use std::collections::BTreeMap;
use std::time::Duration;

use super::checkout::TestCheckout;
use super::{CommandOutput, CommitTester, MOST_KEPT, TestRunRequest};
use crate::egress::{self, JobEgress};
use crate::job::{OutputRecorder, RecordedOutput, short_job, succeed, writable};
use journeyman_gateway::EgressPolicy;
use journeyman_order::network::NetworkRecord;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{CommitSha, EffectError, TestingSettings};
use journeyman_sandbox::{Job, JobLimits, Mount, SandboxNetwork};
use journeyman_verify::SetupNetwork;
use journeyman_workspace::Workspaces;

/// What of a command's output is read.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;

/// Of one command: what its output is called, whether it has a network, how long it may take.
pub(super) struct CommandOptions {
    pub(super) name: String,
    /// What it may reach; none: nothing.
    pub(super) access: Option<EgressPolicy>,
    pub(super) timeout: Duration,
    pub(super) environment: BTreeMap<String, String>,
}

/// A command that was run, and the end of what it printed.
pub(super) struct FinishedCommand {
    pub(super) run: CommandRun,
    pub(super) output: CommandOutput,
    /// Whether the output's start is missing.
    pub(super) is_cut: bool,
    /// None where it had no network to do something with.
    pub(super) network: Option<NetworkRecord>,
}

impl FinishedCommand {
    /// The end of what it printed.
    pub(super) fn printed(&self) -> &str {
        &self.output.text
    }

    /// With as much of the output's end as is kept, once it was read.
    pub(super) fn shortened(mut self) -> Self {
        let text = &mut self.output.text;
        let from = text.floor_char_boundary(text.len().saturating_sub(MOST_KEPT));
        *text = text.split_off(from);
        self
    }
}

impl CommitTester {
    pub(super) async fn command(
        &self,
        place: &TestCheckout,
        command: &str,
        how: CommandOptions,
    ) -> Result<FinishedCommand, EffectError> {
        let mut environment = how.environment;
        environment.entry("CI".to_owned()).or_insert_with(|| "true".to_owned());
        environment.retain(|_, value| !value.is_empty());
        let (door, network) = match how.access {
            Some(access) => {
                let (door, network) = JobEgress::open(&self.sandbox, access)?;
                environment.extend(door.environment.iter().cloned());
                (Some(door), network)
            }
            None => (None, SandboxNetwork::None),
        };
        let mut recorder = OutputRecorder::default();
        let job = Job {
            // Both streams in one pipe: a line that is torn between two names no test.
            program: ["sh", "-c", &format!("exec 2>&1\n{command}")].map(Into::into).to_vec(),
            directory: place.tree.clone(),
            environment,
            stdin: Vec::new(),
            home: place.home.clone(),
            mounts: vec![writable(&place.tree)],
            layers: Vec::new(),
            relocation: place.relocation.clone(),
            network,
            limits: JobLimits::default(),
            timeout: how.timeout,
            most_output: MOST_OUTPUT,
        };
        let ended = self.sandbox.run(job, &mut recorder).await?;
        let network = match door {
            Some(door) => Some(door.close().await),
            None => None,
        };
        let RecordedOutput { text, is_cut, sha256 } = recorder.finish();
        let duration_seconds = ended.duration.as_secs_f64();
        let run = CommandRun {
            command: command.to_owned(),
            exit: ended.exit,
            duration_seconds,
            output_sha256: sha256,
        };
        Ok(FinishedCommand {
            run,
            output: CommandOutput { name: how.name, text },
            is_cut: is_cut || ended.output_cut,
            network,
        })
    }

    /// Where packages come from for a commit with these paths laid over it.
    pub(super) async fn setup_network(
        &self,
        ask: &TestRunRequest,
        commit: &CommitSha,
        laid: Vec<String>,
        command: &str,
    ) -> Result<SetupNetwork, EffectError> {
        let (repository, base, commit) = (ask.repository.clone(), ask.base.clone(), commit.clone());
        let read = move |workspaces: Workspaces| {
            let root = workspaces.root_files(&repository, &commit)?;
            let changes = workspaces.changes(&repository, &base, &commit)?;
            Ok((root, changes.into_iter().map(|file| file.path).chain(laid).collect::<Vec<_>>()))
        };
        let (root, edited) = self.git(read).await?;
        let TestingSettings { setup_network, setup_network_for_changes: allowed, .. } = &self.settings;
        Ok(journeyman_verify::setup_network(setup_network, &root, command, &edited, *allowed))
    }

    /// Nothing, unless the repository asks for it and the server's settings allow it.
    pub(super) fn for_tests(&self, ask: &TestRunRequest) -> Result<Option<EgressPolicy>, EffectError> {
        const SETTING: &str =
            "`network` in .github/journeyman.yml and sandbox.test_network in journeyman.toml";
        let asked = ask.settings.network.iter().flatten();
        let allowed: Vec<String> = self
            .settings
            .test_network
            .iter()
            .filter(|entry| asked.clone().any(|asked| asked == *entry))
            .cloned()
            .collect();
        if allowed.is_empty() {
            return Ok(None);
        }
        to_reach(&allowed, SETTING)
    }

    pub(super) async fn short(
        &self,
        place: &TestCheckout,
        program: &[&str],
        tree: Mount,
    ) -> Result<Vec<u8>, EffectError> {
        let program = program.iter().map(Into::into).collect();
        let mut job = short_job(program, &place.tree, &place.home, vec![tree]);
        job.relocation.clone_from(&place.relocation);
        succeed(&self.sandbox, job, "a command in a checkout").await
    }
}

pub(super) fn for_setup(network: &SetupNetwork) -> Result<Option<EgressPolicy>, EffectError> {
    const SETTING: &str = "sandbox.setup_network in journeyman.toml";
    match network {
        SetupNetwork::Hosts(hosts) => to_reach(hosts, SETTING),
        SetupNetwork::Edited(_) => Ok(None),
    }
}

/// These hosts, and no model.
fn to_reach(hosts: &[String], setting: &str) -> Result<Option<EgressPolicy>, EffectError> {
    Ok(Some(EgressPolicy {
        names: egress::allowed_hosts(hosts, setting)?,
        model: None,
        setting: setting.to_owned(),
    }))
}
