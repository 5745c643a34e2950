//! What this machine's own package managers are set to: their registries and mirrors, and the credentials for these.
//!
//! Read once, outside of every sandbox, so that a setup can have its packages from where this machine has them. A
//! credential is taken only along with a registry that the same settings name, never by itself. What cannot be taken
//! is told, without secrets.

mod cargo;
mod go;
mod maven;
mod netrc;
mod npm;
mod pip;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use url::Url;

use journeyman_order::{PackageRegistry, RegistryCredential, RegistryKind, RegistryName, byte_order_mark};

/// Larger files are no settings.
const LARGEST: u64 = 4 << 20;
/// More registries than any machine is set to.
const MOST: usize = 40;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRegistries {
    pub found: Vec<HostRegistry>,
    pub skipped: Vec<SkippedRegistry>,
}

/// A registry that a package manager of this machine is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRegistry {
    pub registry: PackageRegistry,
    /// The file or variable that names it.
    pub taken_from: String,
}

/// Something that names a registry and cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRegistry {
    pub taken_from: String,
    /// Says nothing of what stands there.
    pub because: String,
}

/// Registries that everybody has without any settings.
const PUBLIC: [&str; 8] = [
    "pypi.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "index.crates.io",
    "proxy.golang.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "sum.golang.org",
];

impl HostRegistries {
    /// Of the machine whose files lie below `root`, for the user whose variables these are.
    pub fn read(root: &Path, variables: impl Iterator<Item = (String, String)>) -> Self {
        let host = HostSettings { root: root.to_owned(), variables: variables.collect() };
        let mut found = HostFindings { host: &host, all: Self::default() };
        pip::read(&mut found);
        npm::read(&mut found);
        cargo::read(&mut found);
        go::read(&mut found);
        maven::read(&mut found);
        found.all
    }
}

/// Files and variables. Held no longer than they are read: there are secrets among them.
struct HostSettings {
    root: PathBuf,
    variables: BTreeMap<String, String>,
}

impl HostSettings {
    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// A file of the machine's, by its path below the root.
    fn system(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn home(&self, path: &str) -> Option<PathBuf> {
        let home = self.variable("HOME").map(Path::new).filter(|home| home.is_absolute())?;
        Some(home.join(path))
    }

    /// Where the variable says, or else there in the home.
    fn named_or_home(&self, variable: &str, path: &str) -> Option<PathBuf> {
        self.variable(variable).map(PathBuf::from).or_else(|| self.home(path))
    }

    fn text(&self, file: &Path) -> Option<String> {
        let is_small = std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
        let text = is_small.then(|| std::fs::read_to_string(file).ok()).flatten()?;
        Some(byte_order_mark::strip(&text).to_owned())
    }
}

/// Gathers what is found.
struct HostFindings<'a> {
    host: &'a HostSettings,
    all: HostRegistries,
}

/// A registry as settings name it.
struct NamedRegistry {
    kind: RegistryKind,
    url: String,
    credential: RegistryCredential,
    mirror: bool,
    scopes: Vec<String>,
    known_as: Option<String>,
}

impl NamedRegistry {
    fn new(kind: RegistryKind, url: &str) -> Self {
        Self {
            kind,
            url: url.trim().to_owned(),
            credential: RegistryCredential::None,
            mirror: false,
            scopes: Vec::new(),
            known_as: None,
        }
    }
}

impl HostFindings<'_> {
    fn skip(&mut self, taken_from: &str, because: impl Into<String>) {
        if self.all.skipped.len() < MOST {
            let skipped = SkippedRegistry { taken_from: taken_from.to_owned(), because: because.into() };
            self.all.skipped.push(skipped);
        }
    }

    fn add(&mut self, taken_from: &str, named: NamedRegistry) {
        let NamedRegistry { kind, url, credential, mirror, scopes, known_as } = named;
        let (url, of_url) = match address(&url) {
            Ok(read) => read,
            Err(because) => return self.skip(taken_from, format!("a registry for {kind}: {because}")),
        };
        let credential = match (credential, of_url) {
            (RegistryCredential::None, of_url) => of_url,
            (given, _) => given,
        };
        let host = url.host_str().unwrap_or_default();
        if PUBLIC.contains(&host) && credential == RegistryCredential::None {
            return;
        }
        let is_plain =
            |scope: &String| scope.bytes().all(|b| b.is_ascii_graphic() && !b"\"'\\$`,=<>&".contains(&b));
        if !scopes.iter().all(is_plain) {
            return self.skip(taken_from, format!("a registry for {kind}: what it is for cannot be read"));
        }
        let of_kind = self.all.found.iter().filter(|found| found.registry.kind == kind).count();
        let name = match of_kind {
            0 => format!("host-{kind}"),
            before => format!("host-{kind}-{}", before + 1),
        };
        let Ok(name) = RegistryName::parse(&name) else { return };
        if self.all.found.len() >= MOST {
            return self.skip(taken_from, "more registries than are taken");
        }
        let known_as = known_as.unwrap_or_else(|| name.to_string());
        let registry =
            PackageRegistry { name, kind, url, credential, mirror, scopes, within: None, known_as };
        self.all.found.push(HostRegistry { registry, taken_from: taken_from.to_owned() });
    }

    /// What `~/.netrc` has for a host, where the address has nothing itself.
    fn of_netrc(&self, url: &str) -> RegistryCredential {
        let host = Url::parse(url.trim()).ok();
        let host = host.as_ref().and_then(Url::host_str);
        let file = self.host.named_or_home("NETRC", ".netrc");
        let text = file.and_then(|file| self.host.text(&file));
        let (Some(host), Some(text)) = (host, text) else { return RegistryCredential::None };
        netrc::login(&text, host)
            .map_or(RegistryCredential::None, |(user, password)| password_of(user, password))
    }
}

fn password_of(user: String, password: String) -> RegistryCredential {
    RegistryCredential::Password { user, password: SecretString::from(password) }
}

/// An address, and what stood in it for a credential.
fn address(text: &str) -> Result<(Url, RegistryCredential), &'static str> {
    let mut url = Url::parse(text).map_err(|_| "its address is none")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("its address is neither http nor https");
    }
    let decoded = |text: &str| percent_decoded(text).ok_or("its address has a user that is no text");
    let credential = match (url.username(), url.password()) {
        ("", None) => RegistryCredential::None,
        (user, Some(password)) => password_of(decoded(user)?, decoded(password)?),
        (_, None) => return Err("its address has a user without a password"),
    };
    let is_bare = url.set_username("").is_ok() && url.set_password(None).is_ok();
    if !is_bare || url.query().is_some() || url.fragment().is_some() {
        return Err("its address has more than a host and a path");
    }
    Ok((url, credential))
}

/// As forms have it, but that a plus is a plus.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let text = text.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(text.as_bytes());
    match (pairs.next(), pairs.next()) {
        (None, _) => Some(String::new()),
        (Some((name, value)), None) if value.is_empty() => Some(name.into_owned()),
        (Some(_), _) => None,
    }
}

/// With `${NAME}` replaced by variables; none where one is not set.
fn expanded(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}')?;
        whole += before;
        whole += &variable(name)?;
        rest = after;
    }
    Some(whole + rest)
}

/// Lines of `name = value`, by the section that they stand in; a line that begins with a space goes on with the value
/// before. As pip's and Go's files are.
fn lines_of_values(text: &str) -> Vec<(String, String, String)> {
    let mut values: Vec<(String, String, String)> = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t'])
            && let Some((_, _, value)) = values.last_mut()
        {
            value.push('\n');
            value.push_str(trimmed);
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
        } else if let Some((name, value)) = trimmed.split_once(['=', ':']) {
            values.push((section.clone(), name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    values
}
