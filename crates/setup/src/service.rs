//! Runs the server as a systemd service: generates the unit and the commands that install it.
//!
//! May know: the settings file, the user, systemd's programs. Must never know: GitHub, orders.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use journeyman_config::{RuntimeKind, Settings, effective_settings};
use secrecy::ExposeSecret as _;

use crate::files;
use crate::unit::{ServiceScope, UnitValues};

const NAME: &str = "journeyman.service";
/// The encrypted key of a system unit.
const CREDENTIAL: &str = "/etc/credstore.encrypted/journeyman.app.pem";
/// The settings' folder if root installs the service.
const OF_SYSTEM: &str = "/etc/journeyman";
/// The program is copied here if the service's user cannot execute the original.
const PROGRAM: &str = "/usr/local/bin/journeyman";
/// Added to `server.drain_seconds`.
const STOP_SECONDS: u64 = 20;

/// A service that can be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicePlan {
    pub scope: ServiceScope,
    unit: String,
    /// The path of the unit.
    pub file: PathBuf,
    /// Shell commands for a person to run afterwards.
    pub commands: Vec<String>,
    /// Notes for a person.
    pub notes: Vec<String>,
    /// Folders that must exist before the service starts.
    folders: Vec<PathBuf>,
}

impl ServicePlan {
    /// Plans the service for this settings file and the current user.
    ///
    /// # Errors
    /// If the settings file is incomplete without variables: a service does not inherit a terminal's environment.
    pub fn of(settings: &Path, scope: ServiceScope) -> anyhow::Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let nothing = std::iter::empty;
        let known = Settings::load(Some(settings), nothing()).context(
            "a service has not the environment of this terminal, and the settings' file alone does not do",
        )?;
        let mut given = effective_settings(Some(settings), nothing())?;
        given.retain(|one| one.from != "default");
        let text = |key: &str| given.iter().find(|one| one.key == key).map(|one| &one.value);
        let key = text("github.private_key_path").map(|path| files::beside(settings, path));
        let variables = text("server.environment_file").map(|path| files::beside(settings, path));
        let url = known.store.url.expose_secret();
        let database = url.strip_prefix("sqlite://").map(|path| path.split('?').next().unwrap_or(path));
        // The path is percent-encoded in the address.
        let decoded = |path: &str| url::Url::parse(&format!("file://{path}")).ok()?.to_file_path().ok();
        let database = database.map(|path| decoded(path).unwrap_or_else(|| path.into()));
        let database = database.map(|path| files::folder_of(&path).to_owned());
        // PostgreSQL has no folder here. The empty path keeps the unit from overriding `store.url`.
        let store = text("store.url").map(|_| database.unwrap_or_default());
        let data = text("data.dir").map(|_| known.data.dir.clone());

        let for_another = scope == ServiceScope::System && is_root;
        let moves = for_another && files::folder_of(settings) != Path::new(OF_SYSTEM);
        let own = std::env::current_exe()?;
        let copies = for_another && !is_for_everybody(&own);
        let encrypted = key.clone().filter(|_| scope == ServiceScope::System && has_systemd_creds());
        let values = UnitValues {
            scope,
            program: if copies { PROGRAM.into() } else { own.clone() },
            settings: if moves { Path::new(OF_SYSTEM).join("journeyman.toml") } else { settings.to_owned() },
            user: if is_root { "journeyman".to_owned() } else { asking_user() },
            path: searched(),
            store: store.clone(),
            data: data.clone(),
            credential: encrypted.as_ref().map(|_| PathBuf::from(CREDENTIAL)),
            stop_seconds: known.server.drain.as_secs() + STOP_SECONDS,
        };
        let unit = values.text()?;
        let file = match scope {
            ServiceScope::System => files::beside(settings, NAME),
            ServiceScope::User => user_units()?.join(NAME),
        };
        let mut notes = Vec::new();
        let is_beside = |file: &Path| files::folder_of(file) == files::folder_of(settings);
        if let Some(key) = &key {
            notes.push(match (scope, &encrypted) {
                (ServiceScope::System, Some(_)) => format!(
                    "The App's key is kept encrypted for this machine. {} is then needed no more: remove it once the \
                     service runs, or keep it in a safe place.",
                    key.display()
                ),
                (ServiceScope::System, None) if moves && is_beside(key) => format!(
                    "The App's key is copied to {OF_SYSTEM}, not encrypted: this machine has no systemd-creds. Remove {} \
                     once the service runs, or keep it in a safe place.",
                    key.display()
                ),
                (ServiceScope::System, None) => format!(
                    "The App's key stays in {}, not encrypted: this machine has no systemd-creds.",
                    key.display()
                ),
                (ServiceScope::User, _) => format!(
                    "The App's key stays in {}, which only you can read. A unit of the system keeps it encrypted.",
                    key.display()
                ),
            });
        }
        if moves {
            notes.push(format!(
                "The settings are copied to {OF_SYSTEM}. {} holds the same secrets: remove it once the service runs.",
                settings.display()
            ));
        }
        if copies {
            notes.push(format!(
                "The program is copied to {PROGRAM}: the service's user cannot execute {}. Copy it again after an upgrade.",
                own.display()
            ));
        }
        if for_another {
            notes.extend(agent_program(&known).filter(|program| !is_for_everybody(program)).map(|program| {
                format!(
                    "The service's user cannot execute the agent's program {}: install it for all users, such as in \
                     /usr/local/bin.",
                    program.display()
                )
            }));
        }
        if scope == ServiceScope::User {
            notes.push("So that it runs while you are not signed in: loginctl enable-linger".to_owned());
        }
        let folders: Vec<PathBuf> =
            store.into_iter().chain(data).filter(|folder| folder.is_absolute()).collect();
        let commands = match scope {
            ServiceScope::User => Vec::new(),
            ServiceScope::System => {
                let mine = [Some(settings.to_owned()), variables, key.filter(|_| encrypted.is_none())];
                let mut lines = Vec::new();
                if is_root {
                    lines = for_new_user(settings, mine.into_iter().flatten(), moves);
                }
                if copies {
                    lines.push(format!("install -m 755 {} {PROGRAM}", word(&own)));
                }
                for folder in folders.iter().filter(|folder| for_another && is_new(folder)) {
                    lines.push(format!("chown journeyman: {}", word(folder)));
                }
                if let Some(key) = &encrypted {
                    lines.push("install -d -m 700 /etc/credstore.encrypted".to_owned());
                    lines.push(format!("systemd-creds encrypt --name=app.pem {} {CREDENTIAL}", word(key)));
                }
                lines.push(format!("install -m 644 {} /etc/systemd/system/{NAME}", word(&file)));
                lines.push("systemctl daemon-reload".to_owned());
                lines.push(format!("systemctl enable --now {NAME}"));
                let sudo = if is_root { "" } else { "sudo " };
                lines.into_iter().map(|line| format!("{sudo}{line}")).collect()
            }
        };
        Ok(Self { scope, unit, file, commands, notes, folders })
    }

    /// Writes the unit. A user's service also starts.
    ///
    /// # Errors
    /// With systemd's message.
    pub fn install(&self) -> anyhow::Result<()> {
        for folder in self.folders.iter().map(PathBuf::as_path).chain(self.file.parent()) {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&self.file, &self.unit)
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        match self.scope {
            ServiceScope::System => Ok(()),
            ServiceScope::User => {
                systemctl(&["daemon-reload"])?;
                systemctl(&["enable", NAME])?;
                // Restart, because an older version may be running.
                systemctl(&["restart", NAME])
            }
        }
    }
}

/// Whether a systemd user manager is running and accepts units.
pub fn has_user_manager() -> bool {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    folder.is_some_and(|folder| folder.join("systemd/private").exists())
}

/// The current user's name for systemd. If /etc/passwd does not list the user, the numeric id.
fn asking_user() -> String {
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let number = rustix::process::geteuid().as_raw().to_string();
    let named = known.lines().find(|line| line.split(':').nth(2) == Some(&*number));
    named.and_then(|line| line.split(':').next()).map_or(number.clone(), str::to_owned)
}

/// The folder of user units.
fn user_units() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = named.or_else(|| Some(std::env::home_dir()?.join(".config")));
    Ok(folder.context("this user has no home folder")?.join("systemd/user"))
}

/// Commands that create the service's user and let only its group read these files.
fn for_new_user(settings: &Path, files: impl Iterator<Item = PathBuf>, moves: bool) -> Vec<String> {
    let (beside, elsewhere): (Vec<PathBuf>, Vec<PathBuf>) =
        files.partition(|file| moves && files::folder_of(file) == files::folder_of(settings));
    let mut lines = vec![
        "useradd --system --user-group --home-dir /var/lib/journeyman --shell /usr/sbin/nologin journeyman"
            .to_owned(),
        format!("install -d -m 750 -g journeyman {OF_SYSTEM}"),
    ];
    for file in beside {
        let name = if file == settings {
            "journeyman.toml".into()
        } else {
            file.file_name().unwrap_or_default().to_owned()
        };
        let to = Path::new(OF_SYSTEM).join(name);
        lines.push(format!("install -m 640 -g journeyman {} {}", word(&file), word(&to)));
    }
    for file in elsewhere {
        lines.push(format!("chgrp journeyman {}", word(&file)));
        lines.push(format!("chmod 640 {}", word(&file)));
    }
    lines
}

/// The program of the default agent.
fn agent_program(known: &Settings) -> impl Iterator<Item = PathBuf> {
    let agent = known.agents.get(&known.defaults.agent);
    let named = agent.and_then(|agent| match &agent.runtime {
        RuntimeKind::Claude => Some(agent.program.first().map_or("claude", String::as_str)),
        RuntimeKind::Command => agent.program.first().map(String::as_str),
        RuntimeKind::Api(_) => None,
    });
    let search = searched();
    let found = named.and_then(|name| {
        // `join` keeps an absolute path unchanged.
        search.split(':').map(|folder| Path::new(folder).join(name)).find(|program| program.is_file())
    });
    found.into_iter()
}

/// Whether a folder is missing or empty. An earlier plan may have created it.
fn is_new(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// Whether every user of this machine can execute a program and enter all its parent folders.
fn is_for_everybody(program: &Path) -> bool {
    let Ok(program) = program.canonicalize() else { return false };
    let lets =
        |path: &Path, bits: u32| std::fs::metadata(path).is_ok_and(|about| about.mode() & bits == bits);
    lets(&program, 0o005) && program.ancestors().skip(1).all(|folder| lets(folder, 0o001))
}

/// `PATH` without relative folders.
fn searched() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let is_whole = |folder: &&str| folder.starts_with('/') && !folder.chars().any(char::is_control);
    path.split(':').filter(is_whole).collect::<Vec<_>>().join(":")
}

fn has_systemd_creds() -> bool {
    Command::new("systemd-creds").arg("--version").output().is_ok_and(|said| said.status.success())
}

/// Quotes a path for a command that people copy.
fn word(path: &Path) -> String {
    shell_words::quote(&path.display().to_string()).into_owned()
}

fn systemctl(arguments: &[&str]) -> anyhow::Result<()> {
    let run = Command::new("systemctl").arg("--user").args(arguments).output();
    let run = run.context("systemctl cannot be started")?;
    let said = String::from_utf8_lossy(&run.stderr).trim().to_owned();
    anyhow::ensure!(run.status.success(), "systemctl --user {}: {said}", arguments.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_below_a_folder_that_is_closed_to_others_is_not_for_everybody() {
        // The tests' usual folder is closed to other users; this one is not.
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let allow = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let program = folder.path().join("journeyman");
        std::fs::write(&program, "").unwrap();
        allow(&program, 0o755);
        allow(folder.path(), 0o755);
        assert!(is_for_everybody(&program));
        allow(folder.path(), 0o700);
        assert!(!is_for_everybody(&program));
        allow(folder.path(), 0o755);
        allow(&program, 0o750);
        assert!(!is_for_everybody(&program));
        assert!(!is_for_everybody(&folder.path().join("gone")));
    }
}
