//! A service's error: what it means and how to react.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::super::text::{beginning_of, end_of};
use super::ModelApi;
use super::key::ModelApiKey;
use journeyman_order::agent_run::{AgentFailure, AgentFailureKind};
use journeyman_order::bounds::LONGEST_MESSAGE;

/// Longer waits are nonsense; the order has a lower limit of its own.
const LONGEST_WAIT_SECONDS: u64 = 86_400;

/// A service's error, sent as the response or in the middle of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ApiRefusal {
    pub(super) status: Option<u16>,
    /// The error's `type` and `code`.
    pub(super) names: Vec<String>,
    pub(super) message: String,
    pub(super) retry_after_seconds: Option<u64>,
}

impl ApiRefusal {
    /// From a response without success. Its body is an error's JSON, or any text of a proxy.
    pub(super) fn of_response(status: u16, retry_after_seconds: Option<u64>, body: &str) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let mut refusal = match json.get("error") {
            Some(Value::Object(error)) => Self::of_error(error),
            Some(Value::String(text)) => Self::of_text(text),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {
                Self::of_text(json.get("message").and_then(Value::as_str).unwrap_or(body))
            }
        };
        refusal.status = Some(status);
        refusal.retry_after_seconds = retry_after_seconds;
        refusal
    }

    /// `{"type": …, "code": …, "message": …}`; some servers use the HTTP status as `code`.
    pub(super) fn of_error(error: &Map<String, Value>) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        let code = error.get("code").and_then(Value::as_u64);
        Self {
            status: code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)),
            names: [text("type"), text("code")].into_iter().flatten().collect(),
            message: text("message").unwrap_or_default(),
            retry_after_seconds: None,
        }
    }

    pub(super) fn of_text(text: &str) -> Self {
        Self { message: text.to_owned(), ..Self::default() }
    }

    fn is_named(&self, names: &[&str]) -> bool {
        self.names.iter().any(|name| names.contains(&name.as_str()))
    }

    fn meaning(&self) -> RefusalCause {
        let words = self.message.to_ascii_lowercase();
        // Sent as a 429 or a 400, but waiting does not help.
        if self.is_named(&["billing_error", "insufficient_quota", "billing_hard_limit_reached"])
            || words.contains("credit balance is too low")
        {
            return RefusalCause::Unpaid;
        }
        if self.is_named(&["authentication_error", "permission_error", "invalid_api_key"]) {
            return RefusalCause::KeyRefused;
        }
        if self
            .is_named(&["overloaded_error", "rate_limit_error", "api_error", "timeout_error", "server_error"])
            || self.is_named(&["rate_limit_exceeded", "server_overloaded"])
        {
            return RefusalCause::Busy;
        }
        if self.is_named(&["not_found_error", "model_not_found"]) {
            return RefusalCause::NotThere;
        }
        match self.status {
            Some(401 | 403) => RefusalCause::KeyRefused,
            Some(402) => RefusalCause::Unpaid,
            Some(404 | 405) => RefusalCause::NotThere,
            Some(300..=399) => RefusalCause::Elsewhere,
            Some(408 | 409 | 425 | 429 | 500..=599) => RefusalCause::Busy,
            Some(_) | None => RefusalCause::No,
        }
    }
}

enum RefusalCause {
    KeyRefused,
    Unpaid,
    NotThere,
    Elsewhere,
    Busy,
    No,
}

impl ModelApi {
    /// The failure for an error of the service.
    pub(super) fn refused(&self, refusal: &ApiRefusal, key: &ModelApiKey) -> AgentFailure {
        let agent = &self.agent;
        let mut words = refusal.status.map(|status| status.to_string()).unwrap_or_default();
        let message = match legible(&refusal.message) {
            message if message.is_empty() => {
                refusal.names.first().map(|name| legible(name)).unwrap_or_default()
            }
            message => message,
        };
        if !message.is_empty() {
            words = if words.is_empty() { message } else { format!("{words}: {message}") };
        }
        if words.is_empty() {
            words = "without words".to_owned();
        }
        let (kind, text) = match refusal.meaning() {
            RefusalCause::KeyRefused => (
                AgentFailureKind::Misconfigured,
                format!("the model's service refused the key ({words}); {}", self.where_the_key_is(key)),
            ),
            RefusalCause::Unpaid => (
                AgentFailureKind::Misconfigured,
                format!(
                    "the model's service requires payment ({words}); check the account of the key: {}",
                    self.where_the_key_is(key)
                ),
            ),
            RefusalCause::NotThere => (
                AgentFailureKind::Misconfigured,
                format!(
                    "the model's service does not know this model or address ({words}); check \
                     agents.{agent}.model and agents.{agent}.base_url"
                ),
            ),
            RefusalCause::Elsewhere => (
                AgentFailureKind::Misconfigured,
                format!(
                    "the model's service sends us elsewhere ({words}), where the key would not be safe; set \
                     agents.{agent}.base_url to where the service is"
                ),
            ),
            RefusalCause::Busy => {
                (AgentFailureKind::Unavailable, format!("the model's service cannot answer now ({words})"))
            }
            RefusalCause::No => {
                (AgentFailureKind::Ended, format!("the model's service refused the request ({words})"))
            }
        };
        let waits = kind == AgentFailureKind::Unavailable;
        AgentFailure {
            retry_after_seconds: refusal.retry_after_seconds.filter(|_| waits),
            ..AgentFailure::new(kind, text)
        }
    }

    /// Tells a person where to fix the key.
    pub(super) fn where_the_key_is(&self, key: &ModelApiKey) -> String {
        let agent = &self.agent;
        match key {
            ModelApiKey::NotNeeded => format!(
                "none was sent, because agents.{agent}.key_env names no variable of our environment that holds it"
            ),
            ModelApiKey::Missing { name } => {
                format!("agents.{agent}.key_env names {name}, which is not set in Journeyman's environment")
            }
            ModelApiKey::Given { name, .. } => {
                format!(
                    "it is the value of {name} in Journeyman's environment, as agents.{agent}.key_env says"
                )
            }
        }
    }
}

/// Text from outside, shortened, on plain lines.
pub(super) fn legible(text: &str) -> String {
    end_of(&beginning_of(text.trim(), LONGEST_MESSAGE), LONGEST_MESSAGE + 1)
}

/// `retry-after`: seconds, rounded up, or an HTTP date.
pub(super) fn retry_after(value: &str, now: DateTime<Utc>) -> Option<u64> {
    let value = value.trim();
    let seconds = match value.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => seconds.ceil() as u64,
        Ok(_) => return None,
        Err(_) => {
            let moment = DateTime::parse_from_rfc2822(value).ok()?.with_timezone(&Utc);
            u64::try_from((moment - now).num_seconds()).unwrap_or(0)
        }
    };
    Some(seconds.clamp(1, LONGEST_WAIT_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_seconds_or_a_moment() {
        let now = DateTime::parse_from_rfc3339("2026-10-21T07:28:00Z").unwrap().with_timezone(&Utc);
        for (value, seconds) in [
            ("7", Some(7)),
            (" 0 ", Some(1)),
            ("0.2", Some(1)),
            ("1.5", Some(2)),
            ("Wed, 21 Oct 2026 07:30:00 GMT", Some(120)),
            ("Wed, 21 Oct 2026 07:00:00 GMT", Some(1)),
            ("99999999999999999999999", Some(LONGEST_WAIT_SECONDS)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, now), seconds, "{value:?}");
        }
    }
}
