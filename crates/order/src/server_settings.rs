//! A server's settings for the adapters, which never know where settings come from.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::package_registry::{PackageRegistry, RegistryCredential};
use super::words::words;

/// Whether a host is this machine, so that traffic crosses no network.
pub fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// How fast we may write to GitHub through one installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLimits {
    /// The shortest time between two writes.
    pub interval: Duration,
    /// The most writes in any minute; `None`: unlimited.
    pub per_minute: Option<NonZeroU32>,
    /// The most writes in any hour; `None`: unlimited.
    pub per_hour: Option<NonZeroU32>,
}

impl WriteLimits {
    /// For a GitHub without limits: the emulator on this machine.
    pub const NONE: Self = Self { interval: Duration::ZERO, per_minute: None, per_hour: None };

    /// GitHub's rules: one write a second, and its secondary limits.
    pub const GITHUB: Self = Self {
        interval: Duration::from_secs(1),
        per_minute: NonZeroU32::new(80),
        per_hour: NonZeroU32::new(500),
    };
}

/// Where to send a notification when an order needs a person or is done.
#[derive(Debug, Clone)]
pub struct NotificationSettings {
    /// The URL for messages. A secret: Slack's addresses contain one.
    pub url: SecretString,
    /// The key that signs messages; `None`: they are unsigned.
    pub secret: Option<SecretString>,
    pub format: NotificationFormat,
}

/// Where to send traces of orders.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    pub endpoint: Url,
    /// Headers to send, such as a collector's token.
    pub headers: Vec<(String, SecretString)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationFormat {
    Json,
    Slack,
}

/// What one sandbox job (agent, setup or tests) may use of the machine. Our smaller jobs get less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// Concurrent processes, counting each thread.
    pub processes: u32,
    /// Memory of all its processes in bytes, including its temporary files.
    pub memory: u64,
    /// Largest file in bytes.
    pub largest_file: u64,
    /// Open files per process.
    pub open_files: u64,
    /// Bytes in its home and writable folders, including existing content. An empty file counts as a block, because
    /// inodes run out too.
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
    /// For git and for read-only jobs, which should never be large.
    pub fn small() -> Self {
        Self { processes: 512, memory: 2 * GIB, ..Self::default() }
    }

    /// Caps each limit at the other's value.
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

/// How to run the tests of repositories. The default allows no time and no network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestingSettings {
    /// Longest time for installing what the tests need.
    pub setup_time: Duration,
    /// Longest time for one test run.
    pub test_time: Duration,
    /// Longest time for mutants of the changed lines; zero: none are tried.
    pub mutant_time: Duration,
    /// Host names that a setup may reach by HTTPS; `*` for any public one, `registries` for those of the detected
    /// package managers.
    pub setup_network: Vec<String>,
    /// Whether that also holds for changes to what is installed; otherwise their setup has no network.
    pub setup_network_for_changes: bool,
    /// Host names that tests may reach if their repository asks for them.
    pub test_network: Vec<String>,
    /// Bytes of currently unused environments and images to keep.
    pub keep: u64,
    /// Registries for setups; their credentials stay outside the sandbox.
    pub registries: Vec<PackageRegistry>,
    /// How to reach these registries.
    pub outgoing: OutgoingNetwork,
}

/// How this machine reaches other hosts. By default directly, trusting the system's certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutgoingNetwork {
    /// Certificates to trust besides the system's.
    pub trusted: Option<TrustedCertificates>,
    /// The proxy for every connection.
    pub proxy: Option<OutgoingProxy>,
}

/// Additional certificate authorities, as PEM, with their file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedCertificates {
    pub file: PathBuf,
    pub pem: Vec<u8>,
}

/// A proxy that supports CONNECT, and the hosts that bypass it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingProxy {
    /// `http://host:port`, without user and password.
    pub url: Url,
    /// The proxy's user name and password, if it requires them.
    pub credential: RegistryCredential,
    /// Host names that bypass the proxy: `host`, `.domain`. Loopback always bypasses it.
    pub bypass: Vec<String>,
}

impl OutgoingProxy {
    /// The proxy's URL including user name and password.
    pub fn with_credential(&self) -> SecretString {
        let mut url = self.url.clone();
        if let RegistryCredential::Password { user, password } = &self.credential {
            // An http URL accepts both.
            let _ = url.set_username(user);
            let _ = url.set_password(Some(password.expose_secret()));
        }
        SecretString::from(url.to_string())
    }

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

/// Where work is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestOrigin {
    /// On GitHub, as the repository's settings `label` and `verify` have it.
    #[default]
    GitHub,
    /// At the command line, where these two settings do not count.
    CommandLine,
}

/// The isolation for agents and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationMode {
    /// Separate namespaces for every job.
    Bubblewrap,
    /// No isolation; it must be asked for by name.
    None,
}

words!(IsolationMode::Display { Bubblewrap: "bubblewrap", None: "none" });

/// How to sign commits: the configured key and its owner.
#[derive(Debug, Clone)]
pub struct CommitSigning {
    pub format: SignatureFormat,
    /// The content of the key's file.
    pub key: SecretString,
    /// GitHub verifies a signature with the keys of the account that has the committer's address.
    pub committer: CommitterIdentity,
}

/// Signature formats that git supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureFormat {
    /// `ssh-keygen`
    Ssh,
    /// `gpg`
    Gpg,
}

words!(SignatureFormat::word { Ssh: "ssh", Gpg: "gpg" });

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitterIdentity {
    pub name: String,
    pub email: String,
}

impl CommitterIdentity {
    /// Parses `NAME <ADDRESS>`; `None` if the text has another form.
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
            "", "bot@example.org", "<bot@example.org>", "A <b>", "A <b@c", "A <b@c> d", "A\n <b@c>",
            "A <b @c>", "A < <b@c>",
        ] {
            assert_eq!(CommitterIdentity::parse(text), None, "{text:?}");
        }
    }
}
