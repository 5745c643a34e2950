//! `POST /webhook`: signature first, then the headers, then the disk, then 202.

use std::sync::atomic::{AtomicI64, Ordering};

use actix_web::http::header::{self, ContentType};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::Utc;
use serde_json::json;

use super::HttpState;
use super::body::BodyBudget;
use super::problem::ProblemDetails;
use journeyman_order::DeliveryGuid;
use journeyman_store::{DeliverySaveOutcome, NewDelivery};
use journeyman_webhook::{SignatureError, verify};

pub(super) async fn receive(
    request: HttpRequest,
    body: Payload,
    state: Data<HttpState>,
    room: Data<BodyBudget>,
) -> Result<HttpResponse, ProblemDetails> {
    let signature = text(&request, "x-hub-signature-256");
    if signature.is_none() {
        // Nobody's body is read without even a claim to be GitHub.
        log_refusal(&SignatureError::Missing);
        return Err(refuse(SignatureError::Missing));
    }
    let body = room.read(&request, body).await?;
    verify(&state.webhook_secrets, signature, &body.bytes).map_err(|error| {
        log_refusal(&error);
        refuse(error)
    })?;

    let guid: DeliveryGuid =
        text(&request, "x-github-delivery").and_then(|guid| guid.parse().ok()).ok_or_else(|| {
            ProblemDetails::bad_request("the header X-GitHub-Delivery is missing or is not a GUID")
        })?;
    let event = text(&request, "x-github-event").filter(|event| is_word(event)).ok_or_else(|| {
        ProblemDetails::bad_request("the header X-GitHub-Event is missing or is not an event's name")
    })?;
    if is_form(&request, &body.bytes) {
        return Err(ProblemDetails::media_type(
            "set the webhook's content type to application/json on GitHub",
        ));
    }
    if event == "ping" {
        return Ok(HttpResponse::Ok().json(json!({"status": "pong"})));
    }
    let delivery = NewDelivery {
        action: action(&body.bytes),
        event: event.to_owned(),
        guid: guid.clone(),
        body: body.bytes,
        received_at: Utc::now(),
    };
    let saved = state.store.save_delivery(delivery).await?;
    tracing::debug!(%guid, event, ?saved, "delivery");
    let answer = match saved {
        DeliverySaveOutcome::New => {
            state.orders.delivery_arrived();
            r#"{"status":"accepted"}"#
        }
        DeliverySaveOutcome::Seen => r#"{"status":"duplicate"}"#,
    };
    Ok(HttpResponse::Accepted().content_type(ContentType::json()).body(answer))
}

/// Said at most once in ten seconds: strangers may send as many as they like.
fn log_refusal(error: &SignatureError) {
    const SECONDS: i64 = 10;
    static LAST: AtomicI64 = AtomicI64::new(i64::MIN);
    let now = Utc::now().timestamp();
    let last = LAST.load(Ordering::Relaxed);
    let is_first = || LAST.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if now.saturating_sub(last) >= SECONDS && is_first() {
        tracing::warn!(
            "a webhook was refused: {error}. If GitHub sent it, github.webhook_secret is not the secret on the App's page"
        );
    }
}

fn refuse(error: SignatureError) -> ProblemDetails {
    ProblemDetails::unauthorized(error.to_string())
}

fn text<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}

fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

fn is_form(request: &HttpRequest, body: &[u8]) -> bool {
    let says_form = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/x-www-form-urlencoded"));
    says_form || body.starts_with(b"payload=")
}

/// For people who look at deliveries; GitHub writes it first. The body is read by whoever works on it.
fn action(body: &[u8]) -> Option<String> {
    let rest = body.strip_prefix(br#"{"action":""#)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok().filter(|action| is_word(action)).map(str::to_owned)
}
