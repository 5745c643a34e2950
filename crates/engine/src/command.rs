//! A command in a place made from an environment: its sandbox, timeout, network and output.
//!
//! May know: the sandbox, places. Must never know: what the command is for.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::effect_error::soon;
use crate::egress::{self, JobEgress};
use crate::job::{OutputRecorder, succeed};
use crate::place::EnvironmentPlace;
use journeyman_environment::SetupNetwork;
use journeyman_gateway::EgressPolicy;
use journeyman_order::bounds::{LARGEST_DOCUMENT, MOST_PRINTED};
use journeyman_order::network::NetworkRecord;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{EffectError, Exit, TestingSettings, TrustedCertificates};
use journeyman_sandbox::{ExceededLimit, Job, Mount, ProgramOwner, Sandbox, SandboxNetwork};

#[derive(Clone)]
pub(crate) struct CommandOptions {
    pub(crate) name: String,
    pub(crate) access: Option<EgressPolicy>,
    pub(crate) timeout: Duration,
    pub(crate) environment: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    pub name: String,
    pub text: String,
}

pub(crate) struct FinishedCommand {
    pub(crate) run: CommandRun,
    pub(crate) output: CommandOutput,
    pub(crate) is_cut: bool,
    pub(crate) limit: Option<ExceededLimit>,
    /// `None` if it had no network.
    pub(crate) network: Option<NetworkRecord>,
}

impl FinishedCommand {
    pub(crate) fn shortened(mut self) -> Self {
        let text = &mut self.output.text;
        let from = text.floor_char_boundary(text.len().saturating_sub(LARGEST_DOCUMENT));
        *text = text.split_off(from);
        self
    }

    /// Combines this command with a later one. The first failure is the exit of both.
    pub(crate) fn joined(mut self, next: Self) -> Self {
        if self.run.exit == Exit::Code(0) {
            self.run.exit = next.run.exit;
        }
        self.run.duration_seconds += next.run.duration_seconds;
        let sums = [self.run.output_sha256, next.run.output_sha256].concat();
        self.run.output_sha256 = hex::encode(Sha256::digest(sums));
        self.output.text.push('\n');
        self.output.text.push_str(&next.output.text);
        self.is_cut |= next.is_cut;
        self.limit = self.limit.or(next.limit);
        self.network = NetworkRecord::joined(self.network, next.network);
        self.shortened()
    }
}

pub(crate) async fn run_command(
    sandbox: &Sandbox,
    place: &EnvironmentPlace,
    command: &str,
    how: CommandOptions,
) -> Result<FinishedCommand, EffectError> {
    let mut environment = place.variables.clone();
    environment.extend(how.environment);
    environment.entry("CI".to_owned()).or_insert_with(|| "true".to_owned());
    environment.retain(|_, value| !value.is_empty());
    let (egress, network) = match how.access {
        Some(access) => {
            environment.extend(certificates(place, access.outgoing.trusted.as_ref())?);
            let (egress, network) = JobEgress::open(sandbox, access)?;
            environment.extend(egress.environment.iter().cloned());
            // These files stay: offline, cargo and Maven find what was installed only by its original source.
            egress.write_home_files(&place.home.written())?;
            (Some(egress), network)
        }
        None => (None, SandboxNetwork::None),
    };
    let mut recorder = OutputRecorder::default();
    let job = Job {
        program: vec!["sh".into()],
        directory: place.tree.at.clone(),
        environment,
        search: place.search.clone(),
        // Nothing of the command is on a command line, which its programs can read. Both streams share one pipe: a line
        // torn between two names no test.
        stdin: format!("{{ exec 2>&1\n{command}\n\n}} </dev/null\n").into_bytes(),
        home: place.home.at.clone(),
        mounts: vec![place.tree_mount()],
        layers: place.layers(),
        relocations: place.relocations(),
        user: place.user(),
        root: place.root.as_ref().and_then(|root| root.job_root(ProgramOwner::Root)),
        joins: place.network.clone(),
        network,
        limits: sandbox.limits(),
        timeout: how.timeout,
        most_output: MOST_PRINTED,
    };
    let ended = sandbox.run(job, &mut recorder).await?;
    let network = match egress {
        Some(egress) => Some(egress.close().await),
        None => None,
    };
    let (mut text, is_cut, output_sha256) = recorder.finish();
    if let Some(limit) = &ended.limit {
        let place = limit.setting().unwrap_or("a fixed limit");
        text.push_str(&format!("\nJourneyman ended this command: it {limit} ({place}).\n"));
    }
    let duration_seconds = ended.duration.as_secs_f64();
    let run = CommandRun { command: command.to_owned(), exit: ended.exit, duration_seconds, output_sha256 };
    Ok(FinishedCommand {
        run,
        output: CommandOutput { name: how.name, text },
        is_cut: is_cut || ended.output_cut,
        limit: ended.limit,
        network,
    })
}

pub(crate) async fn short(
    sandbox: &Sandbox,
    place: &EnvironmentPlace,
    program: &[&str],
    tree: Mount,
    stdin: Vec<u8>,
) -> Result<Vec<u8>, EffectError> {
    let program = program.iter().map(Into::into).collect();
    succeed(sandbox, place.short_job(program, vec![tree], stdin), "a command in a checkout").await
}

pub(crate) fn for_setup(
    network: &SetupNetwork,
    settings: &TestingSettings,
) -> Result<Option<EgressPolicy>, EffectError> {
    const SETTING: &str = "sandbox.setup_network in journeyman.toml";
    match network {
        SetupNetwork::Hosts(hosts) => {
            let access = to_reach(hosts, SETTING, settings)?;
            Ok(Some(EgressPolicy { registries: egress::registries(settings)?, ..access }))
        }
        SetupNetwork::Edited(_) => Ok(None),
        SetupNetwork::Nowhere => to_reach(&[], SETTING, settings).map(Some),
    }
}

pub(crate) fn to_reach(
    hosts: &[String],
    setting: &str,
    settings: &TestingSettings,
) -> Result<EgressPolicy, EffectError> {
    let names = egress::allowed_hosts(hosts, setting)?;
    let outgoing = settings.outgoing.clone();
    Ok(EgressPolicy { names, setting: setting.to_owned(), outgoing, ..EgressPolicy::default() })
}

const CERTIFICATE_VARIABLES: [&str; 7] = [
    "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO",
];
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
const OWN_BUNDLE: &str = ".config/journeyman/certificates.pem";

/// Makes programs trust the certificates of the machine and of the settings, because many bring their own list.
fn certificates(
    place: &EnvironmentPlace,
    own: Option<&TrustedCertificates>,
) -> Result<Vec<(String, String)>, EffectError> {
    let system = BUNDLES.iter().map(Path::new).find(|file| file.is_file());
    let file = match (own, system) {
        (None, None) => return Ok(Vec::new()),
        // An image does not contain that file.
        (None, Some(system)) if place.root.is_none() => system.display().to_string(),
        (own, system) => {
            let known = system.map(std::fs::read).transpose();
            let known =
                known.map_err(|error| soon(format!("cannot read the system's certificates: {error}")))?;
            let own = own.map(|own| own.pem.as_slice()).unwrap_or_default();
            let bundle = [known.unwrap_or_default().as_slice(), b"\n", own].concat();
            journeyman_sandbox::write_in_home(&place.home.written(), Path::new(OWN_BUNDLE), &bundle)
                .map_err(|error| soon(format!("cannot write certificates into a job's home: {error}")))?;
            place.seen_in_home(OWN_BUNDLE)
        }
    };
    Ok(CERTIFICATE_VARIABLES.iter().map(|name| ((*name).to_owned(), file.clone())).collect())
}

pub(crate) fn is_good(run: &CommandRun) -> bool {
    run.exit == Exit::Code(0)
}
