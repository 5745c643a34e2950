//! `journeyman doctor`: checks the settings and this machine, and lists the results.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{SETTINGS, user_settings, user_settings_file};
use crate::app::{DoctorScope, examine};
use crate::config::{
    DeliveryMode, DoctorFinding, FindingLevel, GithubSettings, KNOWN_SETTINGS, SettingDefault, Settings,
    SettingsError,
};
use crate::order::WriteLimits;

/// What `doctor` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "It looks at the sandbox and its limits, at git, at the agents, at [network], at where setups get their \
                        packages from: [registries] and what this machine's own package managers are set to, and at the key that \
                        commits are signed with. With [github] in the settings it also looks at what `serve` needs: the App, \
                        where its webhook goes and what became of the last deliveries, the clock, the templates, the store, the \
                        disk, the port. No secret is shown.\nA line begins with `ok`, with `warn` where it works with less than it \
                        could have, or with `FIX` where `serve` or its orders would fail.\nExit codes: 0 nothing has to be \
                        fixed, 1 something has, 2 the settings cannot be read.\n\nExample:\n  journeyman doctor --config journeyman.toml"
)]
pub(super) struct DoctorArguments {
    /// The settings; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document instead of words.
    #[arg(long)]
    json: bool,
}

pub(super) async fn main(arguments: DoctorArguments) -> anyhow::Result<u8> {
    let file = user_settings(arguments.config);
    let (settings, scope) = load(file.as_deref())?;
    let mut findings = vec![which(file.as_deref())];
    findings.extend(examine(&settings, scope).await);
    let is_well = findings.iter().all(DoctorFinding::is_usable);
    if arguments.json {
        let each = findings.iter().map(|finding| {
            let level = finding.level.word().to_lowercase();
            json!({"about": finding.about, "text": finding.text, "ok": finding.is_usable(), "level": level})
        });
        let document = json!({
            "ok": is_well, "settings": file, "server": scope == DoctorScope::Server, "findings": each.collect::<Vec<_>>(),
        });
        println!("{}", serde_json::to_string_pretty(&document)?);
    } else {
        for finding in &findings {
            println!("{:4}  {}: {}", finding.level.word(), finding.about, finding.text);
        }
        if scope == DoctorScope::Local {
            println!("      [github] is not set: what `serve` needs was not looked at");
        }
    }
    Ok(u8::from(!is_well))
}

/// The settings file that was checked.
fn which(file: Option<&Path>) -> DoctorFinding {
    let text = match file {
        Some(file) => format!("{}, and over it the environment", file.display()),
        None => {
            let usual = user_settings_file();
            let usual = usual.map_or_else(|| SETTINGS.to_owned(), |file| file.display().to_string());
            format!(
                "no file, the environment alone: `journeyman setup` makes {usual}, and --config FILE names another"
            )
        }
    };
    DoctorFinding::new("settings", text, FindingLevel::Good)
}

/// A server's settings, or those of the other commands if they configure no App.
pub(super) fn load(file: Option<&Path>) -> anyhow::Result<(Settings, DoctorScope)> {
    let is_required =
        |setting: &&crate::config::KnownSetting| matches!(setting.default, SettingDefault::Required(_));
    let all = KNOWN_SETTINGS.iter().filter(is_required).count();
    match Settings::load(file, std::env::vars()) {
        Ok(settings) => Ok((settings, DoctorScope::Server)),
        Err(SettingsError::Missing { keys }) if keys.len() == all => {
            Ok((load_without_app(file)?, DoctorScope::Local))
        }
        Err(error) => Err(error.into()),
    }
}

/// Settings for commands without GitHub. The App's key may be absent: a systemd unit may have it encrypted, for the
/// server only.
pub(super) fn load_without_app(file: Option<&Path>) -> anyhow::Result<Settings> {
    let nobody = GithubSettings {
        api_url: "https://api.github.com".parse()?,
        app_id: 0,
        private_key: String::new().into(),
        webhook_secrets: Vec::new(),
        deliveries: DeliveryMode::Webhook,
        writes: WriteLimits::NONE,
        client: None,
    };
    Ok(Settings::load_beside(nobody, file, std::env::vars())?)
}
