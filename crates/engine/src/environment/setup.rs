//! Runs a setup: its commands one after the other, each in its own shell, until one fails.
//!
//! May know: the commands, their place, what they may reach. Must never know: what becomes of what they made.

use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use super::{EnvironmentProgress, EnvironmentRequest, Environments, RunningServices};
use crate::command::{CommandOptions, FinishedCommand, for_setup, is_good, run_command};
use crate::place::EnvironmentPlace;
use journeyman_environment::SetupNetwork;
use journeyman_order::bounds::LONGEST_TAIL;
use journeyman_order::network::NetworkRecord;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{EffectError, Exit};

/// The last command gets at least this, however little time the others left.
const LEAST: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct FinishedSetup {
    /// `None` if there is nothing to install.
    pub(super) run: Option<CommandRun>,
    pub(super) steps: Vec<CommandRun>,
    /// The end of what it printed.
    pub(super) output: Option<String>,
    pub(super) network: Option<NetworkRecord>,
}

impl Environments {
    /// The inner error is the command that failed.
    pub(super) async fn run_setup(
        &self,
        ask: &EnvironmentRequest,
        place: &EnvironmentPlace,
    ) -> Result<Result<FinishedSetup, Box<FinishedCommand>>, EffectError> {
        let Some(whole) = ask.plan.setup_command() else { return Ok(Ok(FinishedSetup::default())) };
        let (begun, limit) = (Instant::now(), self.inner.settings.setup_time);
        let (mut steps, mut output, mut network) = (Vec::new(), String::new(), None);
        // They may reach what the setup may: both have the same settings, and the services end with the setup.
        let (services, failed) = match Box::pin(self.start_services(&ask.plan.services, limit)).await? {
            Ok(services) => (services, None),
            // Not every setup needs it. If the tests do, they report it too.
            Err(failed) => (None, Some(failed)),
        };
        let place = &EnvironmentPlace {
            network: services.as_ref().map(|services| services.network.clone()),
            ..place.clone()
        };
        for setup in &ask.plan.setup {
            let command = setup.command.trim();
            self.progress.tell(EnvironmentProgress::SetupBegan { command: command.to_owned() });
            let _shown = self.board.show(format!("setup: {command}"));
            let access = for_setup(&ask.network, &self.inner.settings)?;
            // Without a network, pip and npm would retry for minutes before using what is there.
            let offline: &[(&str, &str)] = match &ask.network {
                SetupNetwork::Hosts(_) => &[],
                SetupNetwork::Edited(_) => &[("PIP_NO_INDEX", "1"), ("npm_config_fetch_retries", "0")],
                SetupNetwork::Nowhere => {
                    &[("PIP_RETRIES", "0"), ("npm_config_fetch_retries", "0"), ("CARGO_NET_RETRY", "0")]
                }
            };
            let how = CommandOptions {
                name: "setup".to_owned(),
                access,
                timeout: limit.saturating_sub(begun.elapsed()).max(LEAST.min(limit)),
                environment: offline.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            };
            let mut ended = Box::pin(run_command(&self.inner.sandbox, place, command, how)).await?;
            self.progress.tell(EnvironmentProgress::SetupEnded(ended.run.clone()));
            if !is_good(&ended.run) {
                if let Some(note) = ask.network.note() {
                    ended.output.text.push_str(&format!("\n{note}"));
                }
                let ended_by_now = services.iter().flat_map(RunningServices::ended);
                for failure in failed.into_iter().chain(ended_by_now) {
                    ended.output.text.push_str(&format!("\n{failure}. It said:\n{}", failure.said));
                }
                return Ok(Err(Box::new(ended.shortened())));
            }
            output.push_str(&ended.output.text);
            network = NetworkRecord::joined(network, ended.network);
            steps.push(ended.run);
        }
        let from = output.floor_char_boundary(output.len().saturating_sub(LONGEST_TAIL));
        let (run, output) = (Some(as_one(whole, &steps)), Some(output.split_off(from)));
        Ok(Ok(FinishedSetup { run, steps, output, network }))
    }
}

/// Successful commands as one. The digest of several is that of their digests, one per line.
fn as_one(command: String, steps: &[CommandRun]) -> CommandRun {
    if let [one] = steps {
        return CommandRun { command, ..one.clone() };
    }
    let mut digest = Sha256::new();
    for step in steps {
        digest.update(format!("{}\n", step.output_sha256));
    }
    CommandRun {
        command,
        exit: Exit::Code(0),
        duration_seconds: steps.iter().map(|step| step.duration_seconds).sum(),
        output_sha256: hex::encode(digest.finalize()),
    }
}
