//! The text of a systemd unit: the shipped unit with the actual program, settings and user.
//!
//! May know: the keys of units. Must never know: who runs them, or what the settings mean.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

const SHIPPED: &str = include_str!("../../../deploy/journeyman.service");
/// Folders that `ProtectHome=` hides.
const HOMES: [&str; 3] = ["/home", "/root", "/run/user"];
/// Keys that a user's manager supports. The rest needs root.
const OF_USERS: &str = "Description StateDirectory StateDirectoryMode UMask ExecStart Restart RestartSec KillMode \
                        TimeoutStopSec TasksMax MemoryHigh LimitNOFILE LimitCORE Delegate NoNewPrivileges \
                        RestrictRealtime RestrictSUIDSGID RestrictAddressFamilies SystemCallArchitectures WantedBy";

/// The systemd manager that runs the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceScope {
    /// The machine's: full isolation, but root must install it.
    System,
    /// The current user's, who needs no help to install it.
    User,
}

/// Differences from the shipped unit.
#[derive(Debug, Clone)]
pub(crate) struct UnitValues {
    pub(crate) scope: ServiceScope,
    pub(crate) program: PathBuf,
    pub(crate) settings: PathBuf,
    /// For a system unit.
    pub(crate) user: String,
    /// `PATH`, for finding the agents' programs.
    pub(crate) path: String,
    /// The database's folder, if the settings name it. Empty if the database is on another machine.
    pub(crate) store: Option<PathBuf>,
    /// The data folder, if the settings name it.
    pub(crate) data: Option<PathBuf>,
    /// The encrypted credential with the App's key.
    pub(crate) credential: Option<PathBuf>,
    pub(crate) stop_seconds: u64,
}

impl UnitValues {
    /// # Errors
    /// If a path cannot be written in a unit.
    pub(crate) fn text(&self) -> anyhow::Result<String> {
        let mut lines = Vec::new();
        for line in SHIPPED.lines().skip_while(|line| *line != "[Unit]") {
            let key = line.split_once('=').map(|(key, _)| key).filter(|_| !line.starts_with('#'));
            match (key, self.scope) {
                // A user's unit lacks the keys that the comments explain.
                (None, ServiceScope::User) if line.starts_with('#') => {}
                (None, _) => lines.push(line.to_owned()),
                (Some("ExecStart"), _) => self.start(&mut lines)?,
                (Some("TimeoutStopSec"), _) => lines.push(format!("TimeoutStopSec={}", self.stop_seconds)),
                (Some("Environment"), _) => lines.extend(self.own_folder(line)),
                (Some("WorkingDirectory"), ServiceScope::User) => {
                    lines.push("WorkingDirectory=%S/journeyman".to_owned());
                }
                (Some("WantedBy"), ServiceScope::User) => lines.push("WantedBy=default.target".to_owned()),
                (Some("User"), ServiceScope::System) => lines.push(format!("User={}", self.user)),
                (Some("ProtectHome"), ServiceScope::System) if self.is_at_home() => {
                    lines.push("ProtectHome=read-only".to_owned());
                }
                (Some(_), ServiceScope::System) => lines.push(line.to_owned()),
                (Some(key), ServiceScope::User) if OF_USERS.split(' ').any(|known| known == key) => {
                    lines.push(line.to_owned());
                }
                (Some(_), ServiceScope::User) => {}
            }
        }
        let text = lines.join("\n") + "\n";
        // Collapse the blank lines left by omitted keys.
        Ok(format!("# Made by `journeyman setup`.\n{}", text.replace("\n\n\n", "\n\n")))
    }

    fn start(&self, lines: &mut Vec<String>) -> anyhow::Result<()> {
        if !self.path.is_empty() {
            lines.push(format!("Environment=PATH={}", quoted(&self.path)?));
        }
        if let Some(credential) = &self.credential {
            lines.push(format!("LoadCredentialEncrypted=app.pem:{}", plain(credential)?));
        }
        if self.scope == ServiceScope::System {
            // A database on another machine has no folder here.
            let named = [&self.store, &self.data].into_iter().flatten();
            for folder in named.filter(|folder| folder.is_absolute()) {
                lines.push(format!("ReadWritePaths={}", quoted(shown(folder)?)?));
            }
        }
        // In a command, `$` starts a variable.
        let [program, settings] = [&self.program, &self.settings].map(|path| quoted(shown(path)?));
        let command = format!("{} serve --config {}", program?, settings?);
        lines.push(format!("ExecStart={}", command.replace('$', "$$")));
        Ok(())
    }

    /// A line with the unit's own folder. `None` if the settings name another one, because variables override settings.
    fn own_folder(&self, line: &str) -> Option<String> {
        let named =
            if line.contains("JOURNEYMAN_STORE__URL") { self.store.is_some() } else { self.data.is_some() };
        let line = match self.scope {
            ServiceScope::System => line.to_owned(),
            ServiceScope::User => line.replace("/var/lib/", "%S/"),
        };
        (!named).then_some(line)
    }

    /// Whether `ProtectHome=yes` would hide something that the service needs.
    fn is_at_home(&self) -> bool {
        let folders = [self.store.as_ref(), self.data.as_ref()];
        let named = [Some(&self.program), Some(&self.settings)].into_iter().chain(folders);
        let searched = self.path.split(':').map(Path::new);
        named
            .flatten()
            .map(PathBuf::as_path)
            .chain(searched)
            .any(|path| HOMES.iter().any(|home| path.starts_with(home)))
    }
}

fn shown(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} has a name that no unit can hold", path.display()))
}

/// Quotes a word for a unit.
fn quoted(text: &str) -> anyhow::Result<String> {
    anyhow::ensure!(!text.chars().any(char::is_control), "{text:?} has a name that no unit can hold");
    let text = text.replace('%', "%%");
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\' | ';');
    if text.chars().all(is_plain) {
        return Ok(text);
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A path for a key that does not support quotes.
fn plain(path: &Path) -> anyhow::Result<String> {
    let text = quoted(shown(path)?)?;
    anyhow::ensure!(!text.starts_with('"'), "{} has a name that no unit can hold", path.display());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(scope: ServiceScope) -> UnitValues {
        UnitValues {
            scope,
            program: "/usr/local/bin/journeyman".into(),
            settings: "/etc/journeyman/journeyman.toml".into(),
            user: "journeyman".to_owned(),
            path: "/usr/bin:/bin".to_owned(),
            store: None,
            data: None,
            credential: None,
            stop_seconds: 20,
        }
    }

    fn body(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
    }

    #[test]
    fn with_what_the_shipped_unit_names_it_is_the_shipped_unit() {
        let text = values(ServiceScope::System).text().unwrap();
        let own: Vec<&str> =
            body(&text).into_iter().filter(|line| *line != "Environment=PATH=/usr/bin:/bin").collect();
        assert_eq!(own, body(SHIPPED));
    }

    #[test]
    fn what_lies_at_home_is_seen_and_what_the_settings_name_is_written_to() {
        let unit = UnitValues {
            program: "/home/anna/100% mine/journeyman".into(),
            settings: "/home/anna/$bot/journeyman.toml".into(),
            user: "anna".to_owned(),
            data: Some("/srv/bot data".into()),
            credential: Some("/etc/credstore.encrypted/journeyman.app.pem".into()),
            stop_seconds: 320,
            ..values(ServiceScope::System)
        };
        let text = unit.text().unwrap();
        let lines = body(&text);
        for line in [
            "User=anna",
            "ProtectHome=read-only",
            "ReadWritePaths=\"/srv/bot data\"",
            "LoadCredentialEncrypted=app.pem:/etc/credstore.encrypted/journeyman.app.pem",
            "ExecStart=\"/home/anna/100%% mine/journeyman\" serve --config /home/anna/$$bot/journeyman.toml",
            "Environment=JOURNEYMAN_STORE__URL=sqlite:///var/lib/journeyman/journeyman.db",
            "TimeoutStopSec=320",
        ] {
            assert!(lines.contains(&line), "{line}: {text}");
        }
        assert!(!text.contains("JOURNEYMAN_DATA__DIR"), "{text}");
        let broken = UnitValues { settings: "/home/a\nUser=root".into(), ..unit };
        assert!(broken.text().is_err());
    }

    #[test]
    fn a_users_unit_asks_for_nothing_that_only_root_can_give() {
        let text = values(ServiceScope::User).text().unwrap();
        let lines = body(&text);
        for line in [
            "WorkingDirectory=%S/journeyman",
            "Environment=JOURNEYMAN_DATA__DIR=%S/journeyman/data",
            "NoNewPrivileges=yes",
            "Delegate=memory pids",
            "WantedBy=default.target",
        ] {
            assert!(lines.contains(&line), "{line}: {text}");
        }
        for key in ["User=", "Protect", "Private", "CapabilityBoundingSet", "After=", "EnvironmentFile="] {
            assert!(!lines.iter().any(|line| line.starts_with(key)), "{key}: {text}");
        }
    }
}
