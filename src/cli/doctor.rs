//! `journeyman doctor`: looks at the settings and at this machine, and says what is there and what is wrong.

use std::path::PathBuf;

use clap::Args;

use super::user_settings;
use crate::app::{examine, examine_signing};
use crate::config::{TestRunSettings, commit_signing};

/// What `doctor` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "It looks at the sandbox, at [network], and at where setups get their packages from: [registries] and what \
                        this machine's own package managers are set to, and at the key that commits are signed with. No secret is shown.\nExit codes: 0 all is well, 1 \
                        something has to be mended, 2 the settings cannot be read."
)]
pub(super) struct DoctorArguments {
    /// The settings; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) async fn main(arguments: DoctorArguments) -> anyhow::Result<u8> {
    let file = user_settings(arguments.config);
    let settings = TestRunSettings::load(file.as_deref(), std::env::vars())?;
    let mut findings = examine(settings).await;
    let signing = commit_signing(file.as_deref(), std::env::vars());
    findings.push(examine_signing(signing.map_err(Into::into)).await);
    for finding in &findings {
        let mark = if finding.is_good { "ok  " } else { "MEND" };
        println!("{mark}  {}: {}", finding.about, finding.text);
    }
    Ok(u8::from(findings.iter().any(|finding| !finding.is_good)))
}
