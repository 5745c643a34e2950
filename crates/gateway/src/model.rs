//! The way to a job's model: to one service and a few of its operations, with the key that the job does not have.

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

/// The way to one model's service, for one job.
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

/// Why there is no way to a model's service. Says nothing of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUpstream {
    /// The address does not do.
    #[error(
        "the address of a model's service is https://HOST/PATH, or http:// on this machine's loopback, without user, query and fragment"
    )]
    Address,
    /// The key does not do.
    #[error("the key to the model's service has characters that no key has")]
    Key,
}

/// What of a service's a job may ask for. Files, batches, stored answers and what administers an account are the
/// account's, and not the job's.
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
    /// To the service at this address, of which the dialect's paths are a part as the provider's own programs add
    /// them: `https://api.example` for Anthropic, `https://api.example/v1` for OpenAI.
    ///
    /// # Errors
    /// When the address or the key could not be used.
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

    /// With words for whoever asks for a model without a price: where its price is set.
    #[must_use]
    pub fn explaining(self, unpriced: fn(&str) -> String) -> Self {
        Self { unpriced, ..self }
    }

    /// By way of a proxy, or with other certificates.
    #[must_use]
    pub fn reached_by(self, outgoing: OutgoingNetwork) -> Self {
        Self { outgoing, ..self }
    }

    /// The address of an operation. Nothing of what the job wrote is in it.
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

    /// Connections are made to this service only: no redirects, no proxy but that of the settings.
    pub(super) fn client(&self) -> Result<&reqwest::Client, String> {
        let made = self.client.get_or_init(|| {
            let client = journeyman_outgoing::client(&self.outgoing, |builder| {
                let builder = builder.referer(false).connect_timeout(Duration::from_secs(20));
                // A model may think for minutes before it says anything, and a stream has pings in between.
                builder.read_timeout(Duration::from_secs(600))
            });
            client.map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// The headers to send: what of the job's means something to the service, and the key of ours.
    pub(super) fn headers(&self, of_job: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of_job {
            if is_passed_on(name.as_str()) {
                headers.append(name, value.clone());
            }
        }
        // What is compressed cannot be counted.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = &self.header {
            headers.insert(name, value.clone());
        }
        headers
    }

    /// What takes the key out of bytes that pass, with as many stars, should the service repeat it.
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
    /// What a request asks for, if that is anything a job may ask for.
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

    /// Whether it costs tokens.
    pub(super) fn costs(self) -> bool {
        match self {
            Self::Messages | Self::ChatCompletions | Self::Responses => true,
            Self::CountTokens | Self::Models => false,
        }
    }
}

/// Credentials are not among them, whatever a service calls them; nor whose account it is.
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

/// What of an answer's headers a program needs.
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
