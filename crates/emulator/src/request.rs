//! A request of the API, and who makes it.

use actix_web::http::header::{HeaderMap, HeaderName};
use serde_json::Value;

use super::auth::Credentials;
use super::reply::EmulatedApiError;
use super::state::{EmulatorState, TokenHolder};

/// A request, taken apart.
pub(crate) struct EmulatedApiRequest {
    pub method: String,
    /// The path below the API's address, decoded, in segments.
    pub segments: Vec<String>,
    pub query: Vec<(String, String)>,
    pub accept: String,
    pub body: Value,
    pub credentials: Credentials,
}

impl EmulatedApiRequest {
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, field: &str) -> Option<String> {
        self.body.get(field).and_then(Value::as_str).map(str::to_owned)
    }

    /// Whoever holds the token; without one there is nothing to see here, and an App's own token opens only `/app`.
    pub(crate) fn holder(&self) -> Result<&TokenHolder, EmulatedApiError> {
        match &self.credentials {
            Credentials::Nobody => Err(EmulatedApiError::new(401, "Requires authentication")),
            Credentials::App => Err(EmulatedApiError::new(
                403,
                "You must authenticate with an installation access token in order to access this resource",
            )),
            Credentials::Token { holder, .. } => Ok(holder),
        }
    }

    /// The account that acts: the App's bot, or the person.
    pub(crate) fn actor(&self, world: &EmulatorState) -> Result<u64, EmulatedApiError> {
        Ok(match self.holder()? {
            TokenHolder::Installation { .. } => world.app.bot,
            TokenHolder::Person(id) => *id,
        })
    }
}

pub(crate) fn header(headers: &HeaderMap, name: &str) -> String {
    let found = HeaderName::try_from(name).ok().and_then(|name| headers.get(name));
    found.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}
