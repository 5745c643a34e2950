//! Says to the address of `[notifications]` that an order needs a person, or is done.
//!
//! May know: HTTP, how a message is signed, Slack's form of a text. Must never know: journals, and why an order stands as
//! it does. What becomes of a message is nothing to the order: it is tried a few times, and then left.

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

/// How long one try may take.
const WITHIN: Duration = Duration::from_secs(10);

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notification {
    pub event: NotificationEvent,
    pub order: String,
    pub repository: String,
    pub issue: u64,
    /// Whoever filed the issue wrote it: data, as the reason below may be.
    pub title: String,
    pub issue_url: String,
    /// How the order stands, in the word of the API.
    pub state: String,
    /// The same for people.
    pub headline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_request_url: Option<String>,
}

/// What about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationEvent {
    /// Nothing goes on without a person.
    NeedsPerson,
    /// It is verified, or a person accepted it.
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
    /// One that reaches its address as the settings of `[network]` say.
    pub fn new(settings: NotificationSettings, outgoing: &OutgoingNetwork) -> Result<Self, InvalidOutgoing> {
        // An address that sends us elsewhere is not the one of the settings.
        let client = journeyman_outgoing::client(outgoing, |builder| builder.timeout(WITHIN))?;
        Ok(Self { settings, client })
    }

    /// Sends it, and tries again after pauses. Whether it was taken.
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
        // Texts and numbers are always JSON.
        text.unwrap_or_default()
    }

    /// The error says nothing of the address: it may hold a secret, as Slack's does.
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

    /// As GitHub signs its webhooks.
    fn signature(&self, body: &[u8]) -> Option<String> {
        let secret = self.settings.secret.as_ref()?;
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).ok()?;
        mac.update(body);
        Some(format!("sha256={}", hex::encode(mac.finalize().into_bytes())))
    }
}
