//! Sends a notification to the address of `[notifications]` when an order needs a person or is done.
//!
//! May know: HTTP, how to sign a message, Slack's text format. Must never know: journals, and why an order has
//! its state. A failed notification never affects the order: it is retried a few times and then dropped.

mod slack;
#[cfg(test)]
mod tests;

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::json;
use sha2::Sha256;
use uuid::Uuid;

use journeyman_metrics::metrics;
use journeyman_order::{Backoff, NotificationFormat, NotificationSettings, OutgoingNetwork};
use journeyman_outgoing::InvalidOutgoing;

/// Timeout of one attempt.
const WITHIN: Duration = Duration::from_secs(10);

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notification {
    pub event: NotificationEvent,
    pub order: String,
    pub repository: String,
    pub issue: u64,
    /// Written by the issue's author, so untrusted. `because` can be untrusted too.
    pub title: String,
    pub issue_url: String,
    /// The order's state, in the API's word.
    pub state: String,
    /// The state in words for people.
    pub headline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_request_url: Option<String>,
}

/// The reason for a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationEvent {
    /// The order cannot continue without a person.
    NeedsPerson,
    /// The order is verified, or a person accepted it.
    Done,
}

impl NotificationEvent {
    fn word(self) -> &'static str {
        match self {
            Self::NeedsPerson => "needs_person",
            Self::Done => "done",
        }
    }
}

/// Sends notifications. Cheap to clone.
#[derive(Clone)]
pub struct Notifier {
    settings: NotificationSettings,
    client: Client,
}

impl Notifier {
    /// A notifier that uses the proxy and certificates of these network settings.
    pub fn new(settings: NotificationSettings, outgoing: &OutgoingNetwork) -> Result<Self, InvalidOutgoing> {
        // Redirects are not followed: they lead away from the configured address.
        let client = journeyman_outgoing::client(outgoing, |builder| builder.timeout(WITHIN))?;
        Ok(Self { settings, client })
    }

    /// Sends it and retries after pauses. Returns whether it was accepted.
    pub async fn send(&self, notification: &Notification) -> bool {
        let body = self.body(notification);
        let delivery = Uuid::now_v7();
        let (order, event) = (&notification.order, notification.event.word());
        let mut failures = 0;
        loop {
            let because = match self.try_once(&body, event, delivery).await {
                Ok(()) => {
                    tracing::info!(%order, event, %delivery, "a notification was sent");
                    metrics().notified(true);
                    return true;
                }
                Err(because) => because,
            };
            failures += 1;
            let Some(pause) = Backoff::EFFECT.pause(failures, None) else {
                tracing::warn!(%order, event, %delivery, because, "a notification is given up");
                metrics().notified(false);
                return false;
            };
            tracing::info!(%order, event, %delivery, because, "a notification is tried again");
            tokio::time::sleep(pause).await;
        }
    }

    fn body(&self, notification: &Notification) -> Vec<u8> {
        let text = match self.settings.format {
            NotificationFormat::Json => serde_json::to_vec(notification),
            NotificationFormat::Slack => serde_json::to_vec(&json!({ "text": slack::text(notification) })),
        };
        // Serializing texts and numbers cannot fail.
        text.unwrap_or_default()
    }

    /// The error omits the address, which may contain a secret, as Slack's does.
    async fn try_once(&self, body: &[u8], event: &str, delivery: Uuid) -> Result<(), String> {
        let mut request = self
            .client
            .post(self.settings.url.expose_secret())
            .header(CONTENT_TYPE, "application/json")
            .header("X-Journeyman-Event", event)
            .header("X-Journeyman-Delivery", delivery.to_string())
            .body(body.to_vec());
        if let Some(signature) = self.signature(body) {
            request = request.header("X-Hub-Signature-256", signature);
        }
        let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(format!("it answered {}", answer.status())),
        }
    }

    /// Uses the same scheme as GitHub's webhooks.
    fn signature(&self, body: &[u8]) -> Option<String> {
        let secret = self.settings.secret.as_ref()?;
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).ok()?;
        mac.update(body);
        Some(format!("sha256={}", hex::encode(mac.finalize().into_bytes())))
    }
}
