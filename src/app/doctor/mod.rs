//! What can be said of the settings and of this machine before anything is done with them: how other hosts are reached,
//! what holds a job, where setups get their packages from, which agents can work, and what a server needs besides.

mod agents;
mod server;

use crate::config::{Settings, TestRunSettings, readable_certificates};
use crate::order::CommitSigning;
use crate::sandbox::IsolationMode;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// What it is about: a key of the settings, a file, a variable.
    pub about: String,
    /// What is there, or what is wrong and how to mend it. Without secrets.
    pub text: String,
    /// Whether the server can work with it.
    pub is_good: bool,
}

fn finding(about: &str, text: String, is_good: bool) -> DoctorFinding {
    DoctorFinding { about: about.to_owned(), text, is_good }
}

/// Who asks, and so what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorScope {
    /// `run`, `environment` and the like: no GitHub, no store.
    Local,
    /// `serve`.
    Server,
    /// The server itself, while it runs.
    RunningServer,
}

/// Looks at everything that work needs, as the start of `serve` and the preflight of an order do.
pub async fn examine(settings: &Settings, scope: DoctorScope) -> Vec<DoctorFinding> {
    let data = Some(settings.data.dir.clone()).filter(|_| scope != DoctorScope::Local);
    let rules =
        TestRunSettings { data, sandbox: settings.sandbox.clone(), testing: settings.testing.clone() };
    let mut findings = machine(rules).await;
    findings.push(signing(settings.signing.clone()).await);
    findings.extend(agents::examine(settings).await);
    if scope != DoctorScope::Local {
        findings.extend(server::examine(settings, scope).await);
    }
    findings
}

/// Looks at the key that commits are signed with, and tries it.
async fn signing(signing: Option<CommitSigning>) -> DoctorFinding {
    let about = "signing";
    match super::commit_signer(signing).await {
        Ok(Some(signer)) => {
            let committer = signer.committer();
            let text = format!(
                "commits are signed with the key {}, as {} <{}>",
                signer.fingerprint(),
                committer.name,
                committer.email
            );
            finding(about, text, true)
        }
        Ok(None) => finding(about, "commits are not signed".to_owned(), true),
        Err(error) => finding(about, format!("{error:#}"), false),
    }
}

/// What running setups and tests needs.
async fn machine(mut settings: TestRunSettings) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let sandbox = super::open_sandbox(&settings.sandbox).await;
    match sandbox {
        Ok(sandbox) => {
            findings.push(finding("sandbox.mode", sandbox.describe_isolation(), true));
            let folder = settings.data.clone().filter(|folder| folder.is_dir());
            let text = match sandbox.check_layers(&folder.unwrap_or_else(std::env::temp_dir)).await {
                Ok(()) => {
                    "overlays can be mounted: images can be used, and nothing is copied for a run".to_owned()
                }
                Err(_) if sandbox.mode() == IsolationMode::None => {
                    "no overlays can be mounted there without a sandbox: `image` and `services` cannot be used, and \
                     environments are copied for each run"
                        .to_owned()
                }
                Err(error) => format!(
                    "no overlays can be mounted there ({error}): `image` and `services` cannot be used, and \
                     environments are copied for each run"
                ),
            };
            findings.push(finding("data.dir", text, true));
        }
        Err(error) => findings.push(finding("sandbox.mode", format!("{error:#}"), false)),
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let git =
        tokio::process::Command::new("git").arg("--version").env_clear().env("PATH", search).output().await;
    findings.push(match git {
        Ok(said) if said.status.success() => {
            finding("git", String::from_utf8_lossy(&said.stdout).trim().to_owned(), true)
        }
        Ok(_) | Err(_) => finding("git", "it is missing: install it, 2.29 or newer".to_owned(), false),
    });
    let outgoing = &settings.testing.outgoing;
    let checked = crate::outgoing::check(outgoing);
    if let Some(trusted) = outgoing.trusted.as_ref().filter(|_| checked.is_ok()) {
        let mut text =
            format!("{} is trusted in addition to the system's certificates", trusted.file.display());
        let (_, others) = readable_certificates(&std::fs::read(&trusted.file).unwrap_or_default());
        if !others.is_empty() {
            let numbers = others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            text.push_str(&format!(
                "; of its certificates, number {numbers} cannot be read and is left out: replace or remove it"
            ));
        }
        findings.push(finding("network.ca_file", text, true));
    }
    if let Some(proxy) = &outgoing.proxy {
        let with = if proxy.credential.secret().is_some() { "with a password" } else { "without a password" };
        let text = format!("HTTPS goes through {}, {with}; not for {:?}", proxy.url, proxy.bypass);
        findings.push(finding("network.proxy", text, true));
    }
    if let Err(error) = checked {
        findings.push(finding("network", error.to_string(), false));
    }
    match super::complete_registries(&settings.sandbox, &mut settings.testing) {
        Ok(notes) => findings.extend(notes.into_iter().map(|note| finding(&note.from, note.text, true))),
        Err(error) => findings.push(finding("registries", format!("{error:#}"), false)),
    }
    findings
}
