//! Transport to GitHub and back, with octocrab over the network.
//!
//! May know: addresses, credentials, octocrab. Must never know: what an answer means, when to retry.

use std::time::Duration;

use async_trait::async_trait;
use http::header::{ACCEPT, LOCATION};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt, Limited};
use octocrab::Octocrab;
use octocrab::models::AppId;
use octocrab::service::middleware::retry::RetryConfig;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::{Position, Url};

use super::endpoints::Endpoints;
use super::error::{ErrorKind, GitHubError, Result};
use journeyman_order::OutgoingNetwork;
use journeyman_order::bounds::MOST_HOPS;

/// Timeout for connecting.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a whole request, including its answer.
pub(super) const WHOLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer. A page of a hundred comments of full length is 26 MB at most.
const LARGEST_ANSWER: usize = 32 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct AppCredentials {
    /// `github.api_url`: `https://api.github.com`, `https://HOST/api/v3`, or the emulator on loopback.
    pub api_url: Url,
    /// `github.app_id`.
    pub app_id: u64,
    /// The App's private key as downloaded from GitHub, RSA in PEM.
    pub private_key_pem: SecretString,
    pub outgoing: OutgoingNetwork,
}

/// The identity that sends a request.
#[derive(Debug, Clone)]
pub enum RequestSender {
    /// The App itself, with a signed JWT.
    App,
    /// The owner of this token.
    Token(SecretString),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitHubApi {
    Rest,
    GraphQl,
}

#[derive(Debug, Clone)]
pub struct OutgoingRequest<'a> {
    pub sender: RequestSender,
    pub api: GitHubApi,
    pub method: Method,
    /// Path and query, relative to the API's base.
    pub route: &'a str,
    pub body: Option<&'a Value>,
    /// For errors: method and path.
    pub name: String,
}

#[derive(Debug, Clone, Default)]
pub struct IncomingAnswer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

#[async_trait]
pub trait GitHubConnection: Send + Sync {
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] without a complete answer; the request may still have been carried out.
    async fn exchange(&self, request: OutgoingRequest<'_>) -> Result<IncomingAnswer>;
}

/// The connection over the network. octocrab sends no authorization to routes with a host other than api.github.com, so
/// routes never contain a host.
pub(super) struct NetworkConnection {
    rest: Octocrab,
    graphql: Octocrab,
    /// The base of REST routes.
    base: Url,
}

impl NetworkConnection {
    pub(super) fn new(settings: &AppCredentials, endpoints: &Endpoints) -> Result<Self> {
        let (rest, graphql) = (client(settings, &endpoints.rest)?, client(settings, &endpoints.graphql)?);
        let base = Url::parse(&endpoints.rest)
            .map_err(|error| GitHubError::unexpected(format!("github.api_url cannot be used: {error}")))?;
        Ok(Self { rest, graphql, base })
    }

    /// The redirect's target for a read, if it is a route of the same API. The token goes nowhere else.
    fn led_on(&self, from: &Url, status: u16, headers: &HeaderMap) -> Option<Url> {
        if !matches!(status, 301 | 302 | 307 | 308) {
            return None;
        }
        let to = from.join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
        let below = to.path().strip_prefix(self.base.path().trim_end_matches('/'));
        (to.origin() == self.base.origin() && below?.starts_with('/')).then_some(to)
    }
}

#[async_trait]
impl GitHubConnection for NetworkConnection {
    async fn exchange(&self, request: OutgoingRequest<'_>) -> Result<IncomingAnswer> {
        let client = match request.api {
            GitHubApi::Rest => &self.rest,
            GitHubApi::GraphQl => &self.graphql,
        };
        let client = match request.sender {
            RequestSender::App => client.clone(),
            RequestSender::Token(token) => client
                .user_access_token(token)
                .map_err(|_| GitHubError::unexpected("octocrab takes no token"))?,
        };
        let (route, body) = (request.route, request.body);
        let unreachable = |error: octocrab::Error| {
            let why = journeyman_outgoing::innermost(&error);
            GitHubError::unavailable(format!(
                "GitHub could not be reached for {} ({why}); if this stays, look at github.api_url and the network",
                request.name
            ))
        };
        let mut response = match request.method {
            Method::POST => client._post(route, body).await,
            Method::PATCH => client._patch(route, body).await,
            Method::DELETE => client._delete(route, body).await,
            _ => client._get(route).await,
        }
        .map_err(unreachable)?;
        // Follows redirects for reads only: a redirected write would have an unknown outcome. A renamed or moved
        // repository redirects once, to its id.
        if request.method == Method::GET {
            let mut at = Url::parse(&format!("{}{route}", self.base.as_str().trim_end_matches('/'))).ok();
            for _ in 0..MOST_HOPS {
                let (status, headers) = (response.status().as_u16(), response.headers());
                let next = at.as_ref().and_then(|at| self.led_on(at, status, headers));
                let Some(next) = next else { break };
                let route = &next[Position::BeforePath..Position::AfterQuery];
                response = client._get(route).await.map_err(unreachable)?;
                at = Some(next);
            }
        }
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await.map_err(|error| {
            GitHubError::unavailable(format!("GitHub's answer to {} broke off: {error}", request.name))
        })?;
        Ok(IncomingAnswer {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes().to_vec(),
        })
    }
}

fn client(settings: &AppCredentials, base: &str) -> Result<Octocrab> {
    let unusable = |_| {
        GitHubError::new(
            ErrorKind::Unauthorized,
            "github.private_key_path holds no usable RSA key in PEM; make a new key on the App's page",
        )
    };
    let http_client = journeyman_outgoing::client(&settings.outgoing, |builder| {
        // Each request may write: the caller decides whether to retry.
        let once = builder.retry(reqwest::retry::never());
        once.connect_timeout(CONNECT_TIMEOUT).read_timeout(WHOLE_TIMEOUT)
    });
    let http_client = http_client.map_err(|error| GitHubError::unexpected(error.to_string()))?;
    // Disables octocrab's retries: it would resend a POST whose answer was lost.
    Octocrab::builder()
        .app_from_rsa_pem(AppId(settings.app_id), settings.private_key_pem.expose_secret())
        .map_err(unusable)?
        .add_retry_config(RetryConfig::None)
        .add_header(ACCEPT, "application/vnd.github+json".to_owned())
        .base_uri(base)
        .and_then(|builder| builder.build_with_reqwest(http_client))
        .map_err(|error| GitHubError::unexpected(format!("github.api_url cannot be used: {error}")))
}
