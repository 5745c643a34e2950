//! Webhook deliveries: signed, sent in order, and recorded.

use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::ExposeSecret as _;
use sha2::Sha256;

use super::state::SharedEmulatorState;
use super::state::deliveries::DeliveryResult;

/// A receiver's timeout, as on GitHub.
const PATIENCE: Duration = Duration::from_secs(10);

/// The `X-Hub-Signature-256` of a body.
pub fn signature(secret: &[u8], body: &[u8]) -> String {
    match Hmac::<Sha256>::new_from_slice(secret) {
        Ok(mut mac) => {
            mac.update(body);
            format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
        }
        // Unreachable, because HMAC accepts keys of any length. Every receiver rejects an empty signature.
        Err(_) => "sha256=".to_owned(),
    }
}

/// Sends the queued deliveries one after the other, forever.
pub(crate) async fn deliver(shared: Arc<SharedEmulatorState>) {
    // No proxy and no redirects: deliveries only go to the configured address.
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent("GitHub-Hookshot/e5f1b2c")
        .build();
    let Ok(client) = client else {
        tracing::error!("no HTTP client for webhooks could be made; nothing will be delivered");
        return;
    };
    let mut news = shared.watch();
    loop {
        news.mark_unchanged();
        let next = {
            let world = shared.lock();
            let queued = world.deliveries.iter().find(|one| one.outcome == DeliveryResult::Queued).cloned();
            queued.map(|delivery| {
                let secret = world.app.webhook_secret.expose_secret().as_bytes();
                let sign = signature(secret, delivery.payload.as_bytes());
                (delivery, sign, world.webhook_url.clone(), world.app.id, world.app.hook)
            })
        };
        let Some((delivery, sign, address, app, hook)) = next else {
            if news.changed().await.is_err() {
                return;
            }
            continue;
        };
        let outcome = match address {
            None => DeliveryResult::NoAddress,
            Some(address) => {
                let sent = client
                    .post(&address)
                    .header("Accept", "*/*")
                    .header("Content-Type", "application/json")
                    .header("X-GitHub-Delivery", &delivery.guid)
                    .header("X-GitHub-Event", &delivery.event)
                    .header("X-GitHub-Hook-ID", hook.to_string())
                    .header("X-GitHub-Hook-Installation-Target-ID", app.to_string())
                    .header("X-GitHub-Hook-Installation-Target-Type", "integration")
                    .header("X-Hub-Signature-256", sign)
                    .body(delivery.payload)
                    .send()
                    .await;
                match sent {
                    Ok(response) => DeliveryResult::Answered(response.status().as_u16()),
                    Err(error) => DeliveryResult::Failed(error.without_url().to_string()),
                }
            }
        };
        shared.change(|world| world.delivered(delivery.id, outcome));
    }
}
