//! What a server's settings say to adapters, which never know where settings come from.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::package_registry::{PackageRegistry, RegistryCredential};

/// Whether a host is this machine, where nothing crosses a network.
pub fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// How fast writes to GitHub may be made in the name of one installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLimits {
    /// The least time from one write to the next.
    pub interval: Duration,
    /// The most in any minute; none: as many as there are.
    pub per_minute: Option<NonZeroU32>,
    /// The most in any hour; none: as many as there are.
    pub per_hour: Option<NonZeroU32>,
}

impl WriteLimits {
    /// For a GitHub that has none: the emulator, which is on this machine.
    pub const NONE: Self = Self { interval: Duration::ZERO, per_minute: None, per_hour: None };

    /// What GitHub asks for: one write a second, and its secondary limits.
    pub const GITHUB: Self = Self {
        interval: Duration::from_secs(1),
        per_minute: NonZeroU32::new(80),
        per_hour: NonZeroU32::new(500),
    };
}

/// Who is told that an order needs a person, or is done.
#[derive(Debug, Clone)]
pub struct NotificationSettings {
    /// Where messages are posted to. A secret: Slack's addresses hold one.
    pub url: SecretString,
    /// What they are signed with; none: they are not.
    pub secret: Option<SecretString>,
    pub format: NotificationFormat,
}

/// Where traces of orders are sent.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// Where spans are posted to.
    pub endpoint: Url,
    /// What is sent with them, such as a collector's token.
    pub headers: Vec<(String, SecretString)>,
}

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationFormat {
    Json,
    Slack,
}

/// What one job in the sandbox may use of the machine: agents, setups and tests. Smaller jobs of ours get less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// Processes at once, each thread counted.
    pub processes: u32,
    /// Bytes of memory of all its processes, its temporary files included.
    pub memory: u64,
    /// Bytes of any one file.
    pub largest_file: u64,
    /// Files that one process may hold open.
    pub open_files: u64,
    /// Bytes in its home and in all that it may write, with what was there before it. An empty file counts as a
    /// block, since inodes run out too.
    pub disk: u64,
}

const GIB: u64 = 1 << 30;

/// Enough for an agent that compiles and for the tests of a large project.
impl Default for JobLimits {
    fn default() -> Self {
        Self { processes: 4_096, memory: 8 * GIB, largest_file: 8 * GIB, open_files: 16_384, disk: 32 * GIB }
    }
}

impl JobLimits {
    /// For git, and for what only looks: nothing that should ever be large.
    pub fn small() -> Self {
        Self { processes: 512, memory: 2 * GIB, ..Self::default() }
    }

    /// Each limit as it is, and none of them above the other's.
    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        Self {
            processes: self.processes.min(other.processes),
            memory: self.memory.min(other.memory),
            largest_file: self.largest_file.min(other.largest_file),
            open_files: self.open_files.min(other.open_files),
            disk: self.disk.min(other.disk),
        }
    }
}

/// How the tests of repositories are run. By default without time and without a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestingSettings {
    /// How long installing what the tests need may take.
    pub setup_time: Duration,
    /// How long one run of the tests may take.
    pub test_time: Duration,
    /// How long mutants of the changed lines are tried; zero: none are.
    pub mutant_time: Duration,
    /// Names of hosts that a setup may reach by HTTPS; `*` for any public one, `registries` for
    /// those of the package managers found.
    pub setup_network: Vec<String>,
    /// Whether that holds for changes that edit what is installed, too; otherwise these have no network for it.
    pub setup_network_for_changes: bool,
    /// Names of hosts that tests may reach where their repository asks for them.
    pub test_network: Vec<String>,
    /// Bytes of environments and images that are kept although nothing uses them now.
    pub keep: u64,
    /// Registries that a setup is led to, with their credentials outside of its sandbox.
    pub registries: Vec<PackageRegistry>,
    /// How these are reached.
    pub outgoing: OutgoingNetwork,
}

/// How this machine reaches other hosts. By default directly, with the certificates that the system trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutgoingNetwork {
    /// Certificates that are trusted besides those of the system, as PEM; and the file they are from.
    pub trusted: Option<TrustedCertificates>,
    /// What every connection goes through.
    pub proxy: Option<OutgoingProxy>,
}

/// Certificates of authorities, besides those that the system knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedCertificates {
    pub file: PathBuf,
    pub pem: Vec<u8>,
}

/// A proxy that takes CONNECT, and for whom it is not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingProxy {
    /// `http://host:port`, without user and password.
    pub url: Url,
    /// The user's name and password, where it wants them.
    pub credential: RegistryCredential,
    /// Names of hosts that are reached without it: `host`, `.domain`; loopback always is.
    pub bypass: Vec<String>,
}

impl OutgoingProxy {
    /// Its address with the name and the password in it, for whoever takes it in one piece.
    pub fn with_credential(&self) -> SecretString {
        let mut url = self.url.clone();
        if let RegistryCredential::Password { user, password } = &self.credential {
            // An http address takes both.
            let _ = url.set_username(user);
            let _ = url.set_password(Some(password.expose_secret()));
        }
        SecretString::from(url.to_string())
    }

    /// Whether a host is reached without the proxy.
    pub fn is_bypassed(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_loopback = host == "localhost"
            || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let is_listed = |entry: &String| {
            if entry.trim() == "*" {
                return true;
            }
            let entry = entry.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
            let above = host.strip_suffix(entry.as_str());
            !entry.is_empty() && above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        };
        is_loopback || self.bypass.iter().any(is_listed)
    }
}

/// Which walls agents and tests run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationMode {
    /// Namespaces of their own for every job.
    Bubblewrap,
    /// No walls at all; only by name.
    None,
}

impl fmt::Display for IsolationMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Bubblewrap => "bubblewrap",
            Self::None => "none",
        })
    }
}

/// What commits are signed with: the key of the settings, and whose it is.
#[derive(Debug, Clone)]
pub struct CommitSigning {
    pub format: SignatureFormat,
    /// What is in the key's file.
    pub key: SecretString,
    /// GitHub verifies a signature by the keys of the account with the committer's address.
    pub committer: CommitterIdentity,
}

/// Programs whose signatures git understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureFormat {
    /// `ssh-keygen`
    Ssh,
    /// `gpg`
    Gpg,
}

impl SignatureFormat {
    /// As git's `gpg.format` names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Gpg => "gpg",
        }
    }
}

/// Who commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitterIdentity {
    pub name: String,
    pub email: String,
}

impl CommitterIdentity {
    /// Reads `NAME <ADDRESS>`; none where it is no such text.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once(" <")?;
        let email = rest.strip_suffix('>')?;
        let is_plain =
            |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control() || "<>".contains(c));
        let is_address = email.contains('@') && !email.contains(char::is_whitespace);
        (is_plain(name) && name.trim() == name && is_plain(email) && is_address)
            .then(|| Self { name: name.to_owned(), email: email.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committer_is_a_name_and_an_address() {
        let read = CommitterIdentity::parse("Sums Bot <bot@example.org>").unwrap();
        assert_eq!((read.name.as_str(), read.email.as_str()), ("Sums Bot", "bot@example.org"));
        for text in [
            "",
            "bot@example.org",
            "<bot@example.org>",
            "A <b>",
            "A <b@c",
            "A <b@c> d",
            "A\n <b@c>",
            "A <b @c>",
            "A < <b@c>",
        ] {
            assert_eq!(CommitterIdentity::parse(text), None, "{text:?}");
        }
    }
}
