//! Access to a package registry: only below one address, with a credential that the job does not have.

mod answer;
mod ask;
mod cargo;
mod path;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::addresses::{AddressScope, network_of, scope_of};
use super::names::{AllowedHost, HostName};
use super::tunnel::Dialer;
use cargo::CargoDownloads;
use journeyman_order::bounds::SHORTEST_SECRET;
use journeyman_order::{OutgoingNetwork, PackageRegistry, RegistryCredential, RegistryKind, RegistryName};

/// Path prefix for a named registry at the gateway.
pub(super) const PREFIX: &str = "/registries/";
/// All npm registries under one address, by scope: npm uses one address for a whole lock file.
pub(super) const NPM_PREFIX: &str = "/npm/";
/// Path of cargo's downloads, below its registry's prefix.
const CARGO_DOWNLOADS: &str = "+dl/";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Long, because mirrors fetch missing packages before they answer.
const READ_TIMEOUT: Duration = Duration::from_secs(180);

/// Access to one registry. Cheap to clone.
#[derive(Clone)]
pub struct RegistryUpstream(Arc<RegistryInner>);

struct RegistryInner {
    registry: PackageRegistry,
    /// A job may only request paths below it. Ends with a slash.
    root: Url,
    /// The rest of the registry's address, after the root.
    entry: String,
    within: Option<IpNet>,
    header: Option<HeaderValue>,
    outgoing: OutgoingNetwork,
    client: OnceLock<Result<reqwest::Client, String>>,
    elsewhere: OnceLock<Result<reqwest::Client, String>>,
    downloads: tokio::sync::OnceCell<CargoDownloads>,
}

/// Why a registry cannot be used. Does not mention its credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("registries.{name}.{key}: {problem}")]
pub struct InvalidRegistry {
    name: RegistryName,
    key: &'static str,
    /// Without the setting's name, for registries that are not named in the settings.
    pub problem: String,
}

const ADDRESS: &str = "its address has to be https://HOST/PATH, without user, query and fragment; http:// only on \
    this machine, at private addresses and for names of one's own network (`at` says which network that is)";
const NETWORK: &str = "this is not the network that its address lies in, such as 10.0.0.0/8 or fd12::/32";
const CREDENTIAL: &str = "its user, password or token has characters that none has";

impl fmt::Debug for RegistryUpstream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RegistryUpstream({} at {})", self.0.registry.name, self.0.root)
    }
}

impl RegistryUpstream {
    /// Creates access to this registry.
    ///
    /// # Errors
    /// When its address or its credential is unusable.
    pub fn new(registry: PackageRegistry, outgoing: OutgoingNetwork) -> Result<Self, InvalidRegistry> {
        let wrong =
            |(key, problem): RegistryProblem| InvalidRegistry { name: registry.name.clone(), key, problem };
        let no_address = || wrong(("url", ADDRESS.to_owned()));
        let read = |text| network_of(text).ok_or_else(|| wrong(("at", NETWORK.to_owned())));
        let within = registry.within.as_deref().map(read).transpose()?;
        let url = &registry.url;
        let is_bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let is_plain = match url.scheme() {
            "https" => false,
            "http" => true,
            _ => return Err(no_address()),
        };
        let may_be_plain = match url.host() {
            None => return Err(no_address()),
            Some(Host::Domain(host)) => is_of_ones_own(host) || within.is_some(),
            Some(Host::Ipv4(address)) => literal(address.into(), within).map_err(wrong)?,
            Some(Host::Ipv6(address)) => literal(address.into(), within).map_err(wrong)?,
        };
        if !is_bare || (is_plain && !may_be_plain) {
            return Err(no_address());
        }
        let header = header(&registry).map_err(|()| wrong(("user", CREDENTIAL.to_owned())))?;
        let (root, entry) = root(&registry).ok_or_else(no_address)?;
        Ok(Self(Arc::new(RegistryInner {
            registry,
            root,
            entry,
            within,
            header,
            outgoing,
            client: OnceLock::new(),
            elsewhere: OnceLock::new(),
            downloads: tokio::sync::OnceCell::new(),
        })))
    }

    pub(super) fn registry(&self) -> &PackageRegistry {
        &self.0.registry
    }

    /// Its address at the gateway, for a package manager.
    pub(super) fn address(&self, port: u16) -> String {
        format!("{}{}", self.local_url(port), self.0.entry)
    }

    fn local_url(&self, port: u16) -> String {
        format!("http://127.0.0.1:{port}{}", self.local_path())
    }

    fn local_path(&self) -> String {
        format!("{PREFIX}{}/", self.0.registry.name)
    }

    /// Connects to this registry only: redirects are checked by us, and proxies of the environment are ignored.
    fn client(&self, reach: &Dialer) -> Result<&reqwest::Client, String> {
        let made = self.0.client.get_or_init(|| {
            let rule = AddressRule {
                is_local: is_local(self.0.root.host_str().unwrap_or_default()),
                is_plain: self.0.root.scheme() == "http",
                within: self.0.within,
            };
            self.client_with(reach, move |_, address| rule.objection(address))
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// For other hosts, without the credential: only public addresses and those of the registry's network.
    fn client_elsewhere(&self, reach: &Dialer) -> Result<&reqwest::Client, String> {
        let made = self.0.elsewhere.get_or_init(|| {
            let (objection, within) = (reach.objection, self.0.within);
            self.client_with(reach, move |host, address| {
                objection(&AllowedHost::to_look_up(host.clone(), within), address)
            })
        });
        made.as_ref().map_err(Clone::clone)
    }

    fn client_with(
        &self,
        reach: &Dialer,
        rule: impl Fn(&HostName, IpAddr) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Result<reqwest::Client, String> {
        let proxy = self.0.outgoing.proxy.as_ref();
        let proxy = proxy.and_then(|proxy| HostName::parse(proxy.url.host_str()?).ok());
        let resolver = CheckedResolver { reach: reach.clone(), rule: Arc::new(rule), proxy };
        let client = journeyman_outgoing::client(&self.0.outgoing, |builder| {
            let builder = builder.referer(false).dns_resolver(Arc::new(resolver));
            builder.connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT)
        });
        client.map_err(|error| error.to_string())
    }

    /// Redacted from answers, in case the registry repeats them.
    fn secrets(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let stars = |text: &str| (text.as_bytes().to_vec(), vec![b'*'; text.len()]);
        let mut texts: Vec<String> = Vec::new();
        let credential = &self.0.registry.credential;
        if let Some(secret) = credential.secret() {
            let secret = secret.expose_secret();
            texts.push(secret.to_owned());
            texts.push(url::form_urlencoded::byte_serialize(secret.as_bytes()).collect());
            if let RegistryCredential::Password { user, .. } = credential {
                texts.push(STANDARD.encode(format!("{user}:{secret}")));
            }
        }
        texts.dedup();
        texts.iter().filter(|text| text.len() >= SHORTEST_SECRET).map(|text| stars(text)).collect()
    }
}

/// The setting that is invalid, and why.
type RegistryProblem = (&'static str, String);

/// Whether a literal address in the settings may be used without TLS.
fn literal(address: IpAddr, within: Option<IpNet>) -> Result<bool, RegistryProblem> {
    match scope_of(address) {
        AddressScope::Public => Ok(false),
        AddressScope::Private(_) if within.is_none_or(|network| network.contains(&address)) => Ok(true),
        AddressScope::Private(_) => Err(("at", NETWORK.to_owned())),
        AddressScope::Forbidden(_) if address.is_loopback() => Ok(true),
        AddressScope::Forbidden(why) => Err(("url", format!("its address {why}"))),
    }
}

/// The addresses that a registry's name may resolve to. The server's operator named it, so a private one is allowed.
#[derive(Debug, Clone, Copy)]
struct AddressRule {
    is_local: bool,
    is_plain: bool,
    within: Option<IpNet>,
}

impl AddressRule {
    fn objection(self, address: IpAddr) -> Option<&'static str> {
        match scope_of(address) {
            AddressScope::Public if self.is_plain => Some("is public, and there only https will do"),
            AddressScope::Public => None,
            AddressScope::Private(_) if self.within.is_none_or(|network| network.contains(&address)) => None,
            AddressScope::Private(_) => Some("does not lie in the network that `at` names"),
            AddressScope::Forbidden(_) if address.is_loopback() && self.is_local => None,
            AddressScope::Forbidden(why) => Some(why),
        }
    }
}

type ResolverRule = Arc<dyn Fn(&HostName, IpAddr) -> Option<&'static str> + Send + Sync>;

/// Resolves a name once and connects only to addresses that the rule allows.
struct CheckedResolver {
    reach: Dialer,
    rule: ResolverRule,
    /// The proxy's own name. The proxy resolves all other names.
    proxy: Option<HostName>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = HostName::parse(name.as_str());
        let is_proxy = self.proxy.is_some() && self.proxy.as_ref() == host.as_ref().ok();
        let (reach, rule) = (self.reach.clone(), Arc::clone(&self.rule));
        Box::pin(async move {
            let host = host.map_err(io::Error::other)?;
            let found = (reach.resolve)(&host).await?;
            let objection = |address: &IpAddr| Some((*address, rule(&host, *address)?));
            if let Some((address, why)) = found.iter().find_map(objection).filter(|_| !is_proxy) {
                return Err(io::Error::other(format!("its name leads to {address}, which {why}")).into());
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

fn is_local(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// Whether a name cannot belong to a public registry.
fn is_of_ones_own(host: &str) -> bool {
    !host.contains('.') || [".localhost", ".local", ".internal"].iter().any(|end| host.ends_with(end))
}

/// Splits a registry's address into the root that a job may use and the rest. A simple index has its files beside it.
fn root(registry: &PackageRegistry) -> Option<(Url, String)> {
    let mut url = registry.url.clone();
    let path = url.path().trim_end_matches('/').to_owned();
    let (above, last) = path.rsplit_once('/').unwrap_or_default();
    let (path, entry) = match registry.kind {
        RegistryKind::Pip if matches!(last, "simple" | "+simple") => {
            (format!("{above}/"), format!("{last}/"))
        }
        RegistryKind::Pip
        | RegistryKind::Npm
        | RegistryKind::Cargo
        | RegistryKind::Go
        | RegistryKind::Maven => (format!("{path}/"), String::new()),
    };
    url.set_path(&path);
    (url.path() == path).then_some((url, entry))
}

fn header(registry: &PackageRegistry) -> Result<Option<HeaderValue>, ()> {
    let text = match &registry.credential {
        RegistryCredential::None => return Ok(None),
        RegistryCredential::Password { user, password } => {
            if user.contains(':') {
                return Err(());
            }
            format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.expose_secret())))
        }
        RegistryCredential::Token(token) => match registry.kind {
            // cargo sends a token without a scheme.
            RegistryKind::Cargo => token.expose_secret().to_owned(),
            RegistryKind::Pip | RegistryKind::Npm | RegistryKind::Go | RegistryKind::Maven => {
                format!("Bearer {}", token.expose_secret())
            }
        },
    };
    let text = SecretString::from(text);
    let mut value = HeaderValue::from_str(text.expose_secret()).map_err(|_| ())?;
    value.set_sensitive(true);
    Ok(Some(value))
}
