//! Deliveries by hand, signed as GitHub signs them: for what GitHub's queue would not do.

use journeyman::emulator::signature;

use super::{WEBHOOK_SECRET, World};

impl World {
    /// Sends a delivery; the status of the answer.
    pub async fn deliver(&self, guid: &str, event: &str, body: &[u8]) -> u16 {
        self.deliver_signed(guid, event, body, &signature(WEBHOOK_SECRET.as_bytes(), body)).await
    }

    /// Sends a delivery with this signature; the status of the answer.
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

    /// What GitHub sends when the label is put on: recorded from the emulator, which then forgets nothing.
    pub fn recorded(&self, event: &str, action: &str) -> Vec<u8> {
        let deliveries = self.github.deliveries();
        let found =
            deliveries.iter().rev().find(|one| one.event == event && one.action.as_deref() == Some(action));
        found.unwrap_or_else(|| panic!("no {event}.{action} was delivered")).payload.clone().into_bytes()
    }
}
