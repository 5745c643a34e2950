//! A job's request to a registry: chooses the registry and sends the request.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, LOCATION, RANGE,
    USER_AGENT,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use url::Url;

use super::cargo::{CONFIGURATION, CargoDownloads};
use super::path::RegistryPath;
use super::{CARGO_DOWNLOADS, NPM_PREFIX, PREFIX, RegistryUpstream, answer};
use crate::ProxyState;
use crate::names::ConnectTarget;
use crate::refusal::{ProxyBody, plain};
use journeyman_order::bounds::{LARGEST_SETTINGS, MOST_HOPS};
use journeyman_order::{OutgoingNetwork, PackageRegistry, RegistryCredential, RegistryKind, RegistryName};

/// The job's headers that a registry needs. Credentials are not among them.
const PASSED_ON: [HeaderName; 6] = [ACCEPT, USER_AGENT, IF_NONE_MATCH, IF_MODIFIED_SINCE, RANGE, IF_RANGE];
const PUBLIC_NPM: &str = "registry.npmjs.org:443";

/// The target of a request, and its possible paths there, most likely first.
struct RegistryRoute<'a> {
    upstream: &'a RegistryUpstream,
    paths: Vec<RegistryPath>,
}

/// What a registry answered.
pub(super) enum RegistryAnswer {
    /// The response, requested with or without the credential.
    Given(reqwest::Response),
    /// A redirect to a path below the same root.
    Moved(StatusCode, String),
}

/// Why there is no response.
pub(super) enum RegistryFailure {
    Refused(String),
    Failed(String),
}

impl ProxyState {
    /// Answers a request for a registry; `None` if it is not one.
    pub(crate) async fn registry(&self, parts: &Parts, port: u16) -> Option<Response<ProxyBody>> {
        let path = parts.uri.path();
        if self.access.registries.is_empty() || !(path.starts_with(PREFIX) || path.starts_with(NPM_PREFIX)) {
            return None;
        }
        let what = format!("{} {path}", parts.method);
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(self.refuse(&what, "of a registry a job may only read"));
        }
        let public = public_npm();
        let route = match self.route(path, public.as_ref()) {
            Ok(route) => route,
            Err(why) => return Some(self.refuse(&what, why)),
        };
        let answered = match self.ask_registry(&route, parts, port).await {
            Ok(answered) => answered,
            Err(RegistryFailure::Refused(why)) => self.refuse(&what, &why),
            Err(RegistryFailure::Failed(why)) => {
                let name = &route.upstream.0.registry.name;
                plain(StatusCode::BAD_GATEWAY, format!("the registry {name}: {why}\n"))
            }
        };
        Some(answered)
    }

    fn named(&self, name: &str) -> Result<&RegistryUpstream, &'static str> {
        let is = |upstream: &&RegistryUpstream| upstream.0.registry.name.as_str() == name;
        self.access.registries.iter().find(is).ok_or("this job has no registry of that name")
    }

    fn route<'a>(
        &'a self,
        path: &str,
        public: Option<&'a RegistryUpstream>,
    ) -> Result<RegistryRoute<'a>, &'static str> {
        let of_npm = path.strip_prefix(NPM_PREFIX);
        // npm appends a lock file's paths to its registry's address, including paths that already are the gateway's.
        let own = of_npm.map_or(path, |rest| path.get(path.len() - rest.len() - 1..).unwrap_or(rest));
        if let Some(rest) = own.strip_prefix(PREFIX) {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let path = RegistryPath::parse(rest)?;
            return Ok(RegistryRoute { upstream: self.named(name)?, paths: vec![path] });
        }
        let path = RegistryPath::parse(of_npm.unwrap_or_default())?;
        let npm = || {
            let all = self.access.registries.iter();
            all.filter(|upstream| upstream.0.registry.kind == RegistryKind::Npm)
        };
        let scope = path.scope();
        let scoped = npm()
            .find(|upstream| scope.as_ref().is_some_and(|scope| upstream.0.registry.scopes.contains(scope)));
        let mirror = || npm().find(|upstream| upstream.0.registry.mirror);
        let allows = |target: &ConnectTarget| self.access.names.iter().any(|entry| entry.allows(target));
        let public = || public.filter(|_| ConnectTarget::parse(PUBLIC_NPM).is_ok_and(|npm| allows(&npm)));
        let upstream = scoped.or_else(mirror).or_else(public);
        let upstream =
            upstream.ok_or("no registry of this job's has it, and the public one is not on the list")?;
        let without = path.without(upstream.0.root.path());
        Ok(RegistryRoute { upstream, paths: std::iter::once(path).chain(without).collect() })
    }

    async fn ask_registry(
        &self,
        route: &RegistryRoute<'_>,
        parts: &Parts,
        port: u16,
    ) -> Result<Response<ProxyBody>, RegistryFailure> {
        let upstream = route.upstream;
        let mut given = Err(RegistryFailure::Failed("it was not asked".to_owned()));
        for path in &route.paths {
            let is_cargo = upstream.0.registry.kind == RegistryKind::Cargo;
            if is_cargo && path.as_str() == CONFIGURATION {
                let downloads = self.downloads(upstream).await?;
                return Ok(answer::json(downloads.told(&upstream.local_url(port))));
            }
            let (root, rest) = match path.as_str().strip_prefix(CARGO_DOWNLOADS).filter(|_| is_cargo) {
                Some(rest) => match &self.downloads(upstream).await?.root {
                    Some(root) => (root.clone(), rest),
                    None => return Err(refused("its crates are downloaded from another host")),
                },
                None => (upstream.0.root.clone(), path.as_str()),
            };
            given = self.ask_below(upstream, &root, rest, parts).await;
            match &given {
                Ok(RegistryAnswer::Given(response)) if response.status() == StatusCode::NOT_FOUND => {}
                Ok(_) | Err(_) => break,
            }
        }
        match given? {
            RegistryAnswer::Given(response) => {
                let tally = self.book.reach(upstream.host());
                Ok(answer::pass_back(upstream, response, port, tally, self.limits.tunnel_bytes))
            }
            RegistryAnswer::Moved(status, rest) => {
                Ok(answer::moved(status, &format!("{}{rest}", upstream.local_path())))
            }
        }
    }

    /// Where cargo downloads crates; requested once.
    async fn downloads<'a>(
        &self,
        upstream: &'a RegistryUpstream,
    ) -> Result<&'a CargoDownloads, RegistryFailure> {
        let read = async || {
            let (parts, ()) = http::Request::new(()).into_parts();
            let root = &upstream.0.root;
            let answer = self.ask_below(upstream, root, CONFIGURATION, &parts).await?;
            let RegistryAnswer::Given(mut response) = answer else {
                return Err(refused("it sends us elsewhere for its config.json"));
            };
            let said = response.status();
            let mut text = Vec::new();
            while let Ok(Some(bytes)) = response.chunk().await {
                text.extend_from_slice(&bytes);
                if text.len() > LARGEST_SETTINGS {
                    break;
                }
            }
            let read = if said.is_success() { CargoDownloads::read(root, &text) } else { None };
            let unread =
                || format!("its config.json cannot be read ({said}); is its address that of a sparse index?");
            read.ok_or_else(|| RegistryFailure::Failed(unread()))
        };
        upstream.0.downloads.get_or_try_init(read).await
    }

    async fn ask_below(
        &self,
        upstream: &RegistryUpstream,
        root: &Url,
        rest: &str,
        parts: &Parts,
    ) -> Result<RegistryAnswer, RegistryFailure> {
        let mut target = Url::parse(&format!("{root}{rest}")).map_err(|_| refused("its path is none"))?;
        target.set_query(parts.uri.query());
        if target.origin() != root.origin() || !target.path().starts_with(root.path()) {
            return Err(refused("its path leads up"));
        }
        let mut headers = HeaderMap::new();
        for name in PASSED_ON {
            if let Some(value) = parts.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        // A compressed answer cannot be rewritten.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let anonymous = headers.clone();
        if let Some(credential) = &upstream.0.header {
            headers.insert(AUTHORIZATION, credential.clone());
        }
        let client = upstream.client(&self.reach).map_err(RegistryFailure::Failed)?;
        let mut response = send(client, &parts.method, target.clone(), headers).await?;
        for _ in 0..MOST_HOPS {
            let Some(next) = redirected(&target, &response) else {
                return checked(upstream, response).map(RegistryAnswer::Given);
            };
            let next = next.ok_or_else(|| refused("it sends us to what is no address"))?;
            if next.origin() == upstream.0.root.origin() {
                let rest = next.path().strip_prefix(upstream.0.root.path());
                let rest = rest.and_then(|rest| RegistryPath::parse(rest).ok());
                let rest = rest.ok_or_else(|| refused("it sends us to another part of its host"))?;
                let query = next.query().map(|query| format!("?{query}")).unwrap_or_default();
                return Ok(RegistryAnswer::Moved(response.status(), format!("{}{query}", rest.as_str())));
            }
            // Many registries use separate storage with signed URLs. The credential is not sent there.
            let is_as_safe = next.scheme() == "https" || (next.scheme(), target.scheme()) == ("http", "http");
            let is_named = matches!(next.host(), Some(url::Host::Domain(_)));
            if !is_as_safe || !is_named || !next.username().is_empty() || next.password().is_some() {
                return Err(refused("it sends us to an address that is not safe"));
            }
            let client = upstream.client_elsewhere(&self.reach).map_err(RegistryFailure::Failed)?;
            response = send(client, &parts.method, next.clone(), anonymous.clone()).await?;
            target = next;
        }
        Err(refused("it sends us on again and again"))
    }
}

fn refused(why: &str) -> RegistryFailure {
    RegistryFailure::Refused(why.to_owned())
}

async fn send(
    client: &reqwest::Client,
    method: &Method,
    target: Url,
    headers: HeaderMap,
) -> Result<reqwest::Response, RegistryFailure> {
    let sent = client.request(method.clone(), target).headers(headers).send().await;
    // The error omits the URL, which may contain settings or a signature.
    sent.map_err(|error| {
        RegistryFailure::Failed(format!(
            "it could not be reached: {}",
            journeyman_outgoing::innermost(&error.without_url())
        ))
    })
}

/// The redirect's target: outer `None` without a redirect, inner `None` if the target is not a URL.
fn redirected(from: &Url, response: &reqwest::Response) -> Option<Option<Url>> {
    let location = response.headers().get(LOCATION)?;
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    is_redirect.then(|| from.join(location.to_str().ok()?).ok())
}

/// The operator has to fix a rejected credential; the job must not be asked for one.
fn checked(
    upstream: &RegistryUpstream,
    response: reqwest::Response,
) -> Result<reqwest::Response, RegistryFailure> {
    let name = &upstream.0.registry.name;
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            Err(RegistryFailure::Refused(match upstream.0.registry.credential {
                RegistryCredential::None => format!(
                    "the registry wants a credential, and has none: registries.{name}.key_env in journeyman.toml"
                ),
                RegistryCredential::Password { .. } | RegistryCredential::Token(_) => format!(
                    "the registry does not take the credential of registries.{name} in journeyman.toml"
                ),
            }))
        }
        _ => Ok(response),
    }
}

/// The public npm registry, for packages that no registry of the job covers.
fn public_npm() -> Option<RegistryUpstream> {
    let registry = PackageRegistry {
        name: RegistryName::parse("public-npm").ok()?,
        kind: RegistryKind::Npm,
        url: Url::parse("https://registry.npmjs.org/").ok()?,
        credential: RegistryCredential::None,
        mirror: true,
        scopes: Vec::new(),
        within: None,
    };
    RegistryUpstream::new(registry, OutgoingNetwork::default()).ok()
}

impl RegistryUpstream {
    /// The name in the record.
    fn host(&self) -> String {
        let port = self.0.root.port_or_known_default().unwrap_or_default();
        format!("{}:{port}", self.0.root.host_str().unwrap_or_default())
    }
}
