//! Access to a job's model: one service and some of its operations, with a key that the job does not have.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use secrecy::ExposeSecret;
use url::Url;

use super::meter::{GatewayBudget, Meter, PriceLookup};
use super::replace::StreamReplacer;
use journeyman_order::bounds::SHORTEST_SECRET;
use journeyman_order::model_service::{Credential, Provider};
use journeyman_order::{OutgoingNetwork, is_loopback};

/// Access to one model's service, for one job.
#[derive(Clone)]
pub struct ModelUpstream {
    pub(super) provider: Provider,
    pub(super) meter: Arc<Meter>,
    base: Url,
    credential: Credential,
    header: Option<(HeaderName, HeaderValue)>,
    client: Arc<OnceLock<Result<reqwest::Client, String>>>,
    pub(super) unpriced: fn(&str) -> String,
    outgoing: OutgoingNetwork,
}

/// Why a model's service cannot be used. Does not mention the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUpstream {
    /// The address is invalid.
    #[error(
        "the address of a model's service is https://HOST/PATH, or http:// on this machine's loopback, without user, query and fragment"
    )]
    Address,
    /// The key is invalid.
    #[error("the key to the model's service has characters that no key has")]
    Key,
}

/// The operations that a job may use. Files, batches, stored answers and administration belong to the account, not to
/// the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelOperation {
    Messages,
    CountTokens,
    ChatCompletions,
    Responses,
    Models,
}

impl fmt::Debug for ModelUpstream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.base.as_str();
        out.debug_struct("ModelDoor")
            .field("base", &base)
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

impl ModelUpstream {
    /// Access to the service at this base address, to which the dialect's paths are appended the way that the
    /// provider's programs do: `https://api.example` for Anthropic, `https://api.example/v1` for OpenAI.
    ///
    /// # Errors
    /// When the address or the key is unusable.
    pub fn new(
        base: Url,
        credential: Credential,
        provider: Provider,
        budget: GatewayBudget,
        price: PriceLookup,
    ) -> Result<Self, InvalidUpstream> {
        let is_safe = match base.scheme() {
            "https" => base.has_host(),
            "http" => base.host().is_some_and(|host| is_loopback(&host)),
            _ => false,
        };
        let is_bare = base.username().is_empty()
            && base.password().is_none()
            && base.query().is_none()
            && base.fragment().is_none();
        if !is_safe || !is_bare {
            return Err(InvalidUpstream::Address);
        }
        let header = match &credential {
            Credential::None => None,
            Credential::ApiKey(key) => Some(("x-api-key", key.expose_secret().to_owned())),
            Credential::Bearer(key) => Some(("authorization", format!("Bearer {}", key.expose_secret()))),
        };
        let header = header.map(|(name, value)| {
            let mut value = HeaderValue::from_str(&value).map_err(|_| InvalidUpstream::Key)?;
            value.set_sensitive(true);
            Ok((HeaderName::from_static(name), value))
        });
        Ok(Self {
            provider,
            meter: Arc::new(Meter::new(budget, price)),
            base,
            credential,
            header: header.transpose()?,
            client: Arc::default(),
            unpriced: |_| "who runs the server can set its price".to_owned(),
            outgoing: OutgoingNetwork::default(),
        })
    }

    /// Adds the text for a model without a price: where to set the price.
    #[must_use]
    pub fn explaining(self, unpriced: fn(&str) -> String) -> Self {
        Self { unpriced, ..self }
    }

    /// Uses a proxy or additional certificates.
    #[must_use]
    pub fn reached_by(self, outgoing: OutgoingNetwork) -> Self {
        Self { outgoing, ..self }
    }

    /// The address of an operation. Contains nothing from the job.
    pub(super) fn address(&self, operation: ModelOperation) -> String {
        let path = match (self.provider, operation) {
            (_, ModelOperation::Messages) => "v1/messages",
            (_, ModelOperation::CountTokens) => "v1/messages/count_tokens",
            (_, ModelOperation::ChatCompletions) => "chat/completions",
            (_, ModelOperation::Responses) => "responses",
            (Provider::Anthropic, ModelOperation::Models) => "v1/models",
            (Provider::OpenAi, ModelOperation::Models) => "models",
        };
        format!("{}/{path}", self.base.as_str().trim_end_matches('/'))
    }

    /// Connects to this service only: no redirects, no proxy except that of the settings.
    pub(super) fn client(&self) -> Result<&reqwest::Client, String> {
        let made = self.client.get_or_init(|| {
            let client = journeyman_outgoing::client(&self.outgoing, |builder| {
                let builder = builder.referer(false).connect_timeout(Duration::from_secs(20));
                // A model may think for minutes before its first output; a stream has pings in between.
                builder.read_timeout(Duration::from_secs(600))
            });
            client.map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// The headers to send: the job's, as far as the service needs them, and our key.
    pub(super) fn headers(&self, of_job: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of_job {
            if is_passed_on(name.as_str()) {
                headers.append(name, value.clone());
            }
        }
        // A compressed answer cannot be counted.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = &self.header {
            headers.insert(name, value.clone());
        }
        headers
    }

    /// Replaces the key in passing bytes with stars of equal length, in case the service repeats it.
    pub(super) fn scrub(&self) -> Option<StreamReplacer> {
        let key = match &self.credential {
            Credential::None => return None,
            Credential::ApiKey(key) | Credential::Bearer(key) => key.expose_secret(),
        };
        let stars = (key.as_bytes().to_vec(), vec![b'*'; key.len()]);
        StreamReplacer::of(vec![stars]).filter(|_| key.len() >= SHORTEST_SECRET)
    }
}

impl ModelOperation {
    /// The operation of a request, if a job may use it.
    pub(super) fn of(provider: Provider, method: &Method, path: &str) -> Option<Self> {
        let is_post = method == Method::POST;
        match (provider, path) {
            (_, "/v1/models") if method == Method::GET => Some(Self::Models),
            (Provider::Anthropic, "/v1/messages") if is_post => Some(Self::Messages),
            (Provider::Anthropic, "/v1/messages/count_tokens") if is_post => Some(Self::CountTokens),
            (Provider::OpenAi, "/v1/chat/completions") if is_post => Some(Self::ChatCompletions),
            (Provider::OpenAi, "/v1/responses") if is_post => Some(Self::Responses),
            _ => None,
        }
    }

    pub(super) fn costs(self) -> bool {
        match self {
            Self::Messages | Self::ChatCompletions | Self::Responses => true,
            Self::CountTokens | Self::Models => false,
        }
    }
}

/// Excludes credentials under any name, and the account's identity.
fn is_passed_on(name: &str) -> bool {
    matches!(
        name,
        "accept"
            | "user-agent"
            | "anthropic-version"
            | "anthropic-beta"
            | "x-app"
            | "openai-beta"
            | "originator"
            | "version"
            | "session_id"
            | "conversation_id"
            | "idempotency-key"
    ) || name.starts_with("x-stainless-")
}

/// The headers of an answer that a program needs.
pub(super) fn is_handed_back(name: &str) -> bool {
    matches!(
        name,
        "content-type"
            | "cache-control"
            | "request-id"
            | "x-request-id"
            | "retry-after"
            | "retry-after-ms"
            | "x-should-retry"
    ) || name.starts_with("anthropic-ratelimit-")
        || name.starts_with("x-ratelimit-")
}
