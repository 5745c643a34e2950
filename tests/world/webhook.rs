//! Handmade deliveries with GitHub's signature, for cases that GitHub's queue would not produce.

use journeyman::emulator::{DeliveryAttempt, DeliveryResult, signature};

use super::{PATIENCE, WEBHOOK_SECRET, World};

impl World {
    /// Sends a delivery; returns the status of the answer.
    pub async fn deliver(&self, guid: &str, event: &str, body: &[u8]) -> u16 {
        self.deliver_signed(guid, event, body, &signature(WEBHOOK_SECRET.as_bytes(), body)).await
    }

    /// Sends a delivery with this signature; returns the status of the answer.
    pub async fn deliver_signed(&self, guid: &str, event: &str, body: &[u8], sign: &str) -> u16 {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let sent = client
            .post(format!("{}/webhook", self.address()))
            .header("Content-Type", "application/json")
            .header("X-GitHub-Delivery", guid)
            .header("X-GitHub-Event", event)
            .header("X-Hub-Signature-256", sign)
            .body(body.to_vec())
            .send()
            .await;
        sent.expect("Journeyman answers").status().as_u16()
    }

    /// The last label's delivery, whether or not it arrived.
    pub async fn labeled_body(&self) -> Vec<u8> {
        let labeled =
            |one: &DeliveryAttempt| one.event == "issues" && one.action.as_deref() == Some("labeled");
        let found = self.github.wait_for("the label's delivery", PATIENCE, |github| {
            let deliveries = github.deliveries();
            let last = deliveries.into_iter().rev().find(labeled)?;
            (last.outcome != DeliveryResult::Queued).then_some(last.payload)
        });
        found.await.expect("it is delivered").into_bytes()
    }
}
