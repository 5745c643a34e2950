//! Checks the settings and this machine before any work: how other hosts are reached, the sandbox, the package
//! registries of setups, the agents, and what a server needs.

mod agents;
mod server;

use super::git;
use crate::config::{DoctorFinding, FindingLevel, Settings, TestRunSettings, readable_certificates};
use crate::order::CommitSigning;
use crate::sandbox::IsolationMode;

fn good(about: &str, text: impl Into<String>) -> DoctorFinding {
    DoctorFinding::new(about, text, FindingLevel::Good)
}

fn warning(about: &str, text: impl Into<String>) -> DoctorFinding {
    DoctorFinding::new(about, text, FindingLevel::Warning)
}

fn problem(about: &str, text: impl Into<String>) -> DoctorFinding {
    DoctorFinding::new(about, text, FindingLevel::Problem)
}

/// What the caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorScope {
    /// `run`, `environment` and the like, which need no GitHub and no store.
    Local,
    /// `serve`.
    Server,
}

/// Checks everything that work needs. `serve` at its start and an order's preflight check the same.
pub async fn examine(settings: &Settings, scope: DoctorScope) -> Vec<DoctorFinding> {
    let data = Some(settings.data.dir.clone()).filter(|_| scope != DoctorScope::Local);
    let rules =
        TestRunSettings { data, sandbox: settings.sandbox.clone(), testing: settings.testing.clone() };
    let mut findings = machine(rules).await;
    findings.push(signing(settings.signing.clone()).await);
    findings.extend(agents::examine(settings).await);
    if scope != DoctorScope::Local {
        findings.extend(server::examine(settings).await);
    }
    findings
}

/// Checks the key that signs commits, and tries it.
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
            good(about, text)
        }
        Ok(None) => good(about, "commits are not signed"),
        Err(error) => problem(about, format!("{error:#}")),
    }
}

/// Checks what setups and tests need.
async fn machine(mut settings: TestRunSettings) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let sandbox = super::open_sandbox(&settings.sandbox).await;
    match sandbox {
        Ok(sandbox) => {
            let describe = if sandbox.is_bounded() { good } else { warning };
            findings.push(describe("sandbox.mode", sandbox.describe_isolation()));
            let folder = settings.data.clone().filter(|folder| folder.is_dir());
            findings.push(match sandbox.check_layers(&folder.unwrap_or_else(std::env::temp_dir)).await {
                Ok(()) => {
                    let text = "overlays can be mounted: images can be used, and nothing is copied for a run";
                    good("data.dir", text)
                }
                Err(error) => {
                    let why = match sandbox.mode() {
                        IsolationMode::None => " without a sandbox".to_owned(),
                        IsolationMode::Bubblewrap => format!(" ({error})"),
                    };
                    let text = format!(
                        "no overlays can be mounted there{why}: `image` and `services` cannot be used, and \
                         environments are copied for each run"
                    );
                    warning("data.dir", text)
                }
            });
        }
        Err(error) => findings.push(problem("sandbox.mode", format!("{error:#}"))),
    }
    let missing = crate::engine::missing_image_programs();
    findings.push(match missing.as_slice() {
        [] => good("images", "skopeo and umoci are installed"),
        [..] => {
            let missing = missing.join(" and ");
            let text = format!(
                "{missing} not installed: `image` and `services` cannot be used; nothing else needs it"
            );
            warning("images", text)
        }
    });
    findings.push(match git::version().await {
        Ok(version) => good("git", version),
        Err(error) => problem("git", error.to_string()),
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
        let describe = if others.is_empty() { good } else { warning };
        findings.push(describe("network.ca_file", text));
    }
    if let Some(proxy) = &outgoing.proxy {
        let with = if proxy.credential.secret().is_some() { "with a password" } else { "without a password" };
        let text = format!("HTTPS goes through {}, {with}; not for {:?}", proxy.url, proxy.bypass);
        findings.push(good("HTTPS_PROXY", text));
    }
    if let Err(error) = checked {
        findings.push(problem("network", error.to_string()));
    }
    match super::complete_registries(&settings.sandbox, &mut settings.testing) {
        Ok(notes) => findings.extend(notes),
        Err(error) => findings.push(problem("registries", format!("{error:#}"))),
    }
    findings
}
