//! GitHub's deliveries and delivery attempts: the App's own list, which GitHub keeps for days.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::{GitHubError, Result, found};
use super::service::GitHub;
use super::transport::GitHubRequest;
use journeyman_order::DeliveryGuid;
use journeyman_order::bounds::MOST_ITEMS;

/// One attempt to deliver an event. Attempts with the same GUID have the same payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HookDelivery {
    /// The id of the attempt.
    pub id: u64,
    pub guid: DeliveryGuid,
    /// `X-GitHub-Event`.
    pub event: String,
    pub action: Option<String>,
    pub delivered_at: DateTime<Utc>,
    #[serde(default, rename = "status_code", deserialize_with = "is_success")]
    pub was_taken_in: bool,
}

fn is_success<'de, D: Deserializer<'de>>(code: D) -> std::result::Result<bool, D::Error> {
    Ok(Option::<i64>::deserialize(code)?.is_some_and(|code| (200..300).contains(&code)))
}

/// GitHub's own report of its deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// The URL for deliveries, if set.
    pub url: Option<String>,
    /// The newest deliveries, at most a hundred, newest first.
    pub newest: Vec<HookDelivery>,
    pub answered_at: Option<DateTime<Utc>>,
}

impl GitHub {
    pub async fn hook_report(&self) -> Result<HookReport> {
        #[derive(Deserialize)]
        struct Wire {
            url: Option<String>,
        }
        let request = GitHubRequest::get("/app/hook/config");
        let url = match found(self.ask_as_app(&request).await)? {
            Some(answer) => answer.json::<Wire>()?.url.filter(|url| !url.is_empty()),
            // The App has no webhook.
            None => None,
        };
        let request = GitHubRequest::get("/app/hook/deliveries?per_page=100");
        let answer = self.ask_as_app(&request).await?;
        Ok(HookReport { url, newest: answer.json()?, answered_at: answer.answered_at })
    }

    /// All deliveries and attempts since then, newest first. Complete, because the caller continues from the newest.
    pub async fn hook_deliveries(&self, since: DateTime<Utc>) -> Result<Vec<HookDelivery>> {
        let mut all = Vec::new();
        let mut route = "/app/hook/deliveries?per_page=100".to_owned();
        for _ in 0..MOST_ITEMS {
            let request = GitHubRequest::get(route.as_str());
            let answer = self.ask_as_app(&request).await?;
            let page: Vec<HookDelivery> = answer.json()?;
            let is_last = page.iter().any(|one| one.delivered_at < since);
            all.extend(page.into_iter().filter(|one| one.delivered_at >= since));
            let cursor = answer.next_cursor.filter(|cursor| !is_last && is_plain(cursor));
            let Some(cursor) = cursor else { return Ok(all) };
            let next = format!("/app/hook/deliveries?per_page=100&cursor={cursor}");
            if next == route {
                break;
            }
            route = next;
        }
        Err(GitHubError::unexpected("the list of the App's deliveries has no end"))
    }

    /// A delivery's payload as JSON.
    ///
    /// # Errors
    /// As for every call; [`ErrorKind::NotFound`](super::ErrorKind::NotFound) when GitHub no longer keeps it.
    pub async fn hook_payload(&self, delivery: &HookDelivery) -> Result<Vec<u8>> {
        #[derive(Deserialize)]
        struct Wire {
            request: WireRequest,
        }
        #[derive(Deserialize)]
        struct WireRequest {
            payload: Value,
        }
        let request = GitHubRequest::get(format!("/app/hook/deliveries/{}", delivery.id));
        let answer = self.ask_as_app(&request).await?;
        let wire: Wire = answer.json()?;
        serde_json::to_vec(&wire.request.payload).map_err(|error| {
            GitHubError::unexpected(format!("a delivery's payload cannot be written: {error}"))
        })
    }
}

/// Whether a cursor can be put into a route unescaped.
fn is_plain(cursor: &str) -> bool {
    !cursor.is_empty()
        && cursor.len() <= 500
        && cursor.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'%' | b'.' | b'='))
}
