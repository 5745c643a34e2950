//! `POST /webhook`: check the signature, then the headers, write to disk, answer 202.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{self, ContentType};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use chrono::Utc;
use serde_json::json;

use super::HttpState;
use super::body::BodyBudget;
use super::problem::ProblemDetails;
use journeyman_metrics::metrics;
use journeyman_order::DeliveryGuid;
use journeyman_store::{DeliverySaveOutcome, NewDelivery};
use journeyman_webhook::{SignatureError, verify};

pub(super) async fn receive(
    request: HttpRequest,
    body: Payload,
    state: Data<HttpState>,
    room: Data<BodyBudget>,
) -> Result<HttpResponse, ProblemDetails> {
    let taken = take(&request, body, &state, &room).await;
    if let Err(refused) = &taken {
        metrics().delivery_received("refused");
        log_refusal(refused, text(&request, SIGNATURE).is_some());
    }
    taken
}

const SIGNATURE: &str = "x-hub-signature-256";

async fn take(
    request: &HttpRequest,
    body: Payload,
    state: &HttpState,
    room: &BodyBudget,
) -> Result<HttpResponse, ProblemDetails> {
    let signature = text(request, SIGNATURE);
    if signature.is_none() {
        // Without a claimed signature, the body is not even read.
        return Err(refuse(SignatureError::Missing));
    }
    let body = room.read_up_to(state.limits.bytes, request, body).await?;
    verify(&state.webhook_secrets, signature, &body.bytes).map_err(refuse)?;

    let guid: DeliveryGuid =
        text(request, "x-github-delivery").and_then(|guid| guid.parse().ok()).ok_or_else(|| {
            ProblemDetails::bad_request("the header X-GitHub-Delivery is missing or is not a GUID")
        })?;
    let event = text(request, "x-github-event").filter(|event| is_word(event)).ok_or_else(|| {
        ProblemDetails::bad_request("the header X-GitHub-Event is missing or is not an event's name")
    })?;
    if is_form(request, &body.bytes) {
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
            metrics().delivery_received("new");
            state.orders.delivery_arrived();
            r#"{"status":"accepted"}"#
        }
        DeliverySaveOutcome::Seen => {
            metrics().delivery_received("seen");
            r#"{"status":"duplicate"}"#
        }
    };
    Ok(HttpResponse::Accepted().content_type(ContentType::json()).body(answer))
}

/// Logs each kind at most once in ten seconds. A stranger's flood then cannot fill the log or hide other kinds.
fn log_refusal(refused: &ProblemDetails, is_signed: bool) {
    const PAUSE: Duration = Duration::from_secs(10);
    static LAST: Mutex<BTreeMap<(u16, bool), Instant>> = Mutex::new(BTreeMap::new());
    let (status, now) = (refused.status_code(), Instant::now());
    {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let said = last.get(&(status.as_u16(), is_signed));
        if said.is_some_and(|said| now.duration_since(*said) < PAUSE) {
            return;
        }
        last.insert((status.as_u16(), is_signed), now);
    }
    let remedy = match (status, is_signed) {
        (StatusCode::UNAUTHORIZED, true) => {
            ". If GitHub sent it, github.webhook_secret is not the secret on the App's page"
        }
        (StatusCode::UNAUTHORIZED, false) => ". If GitHub sent it, there is no secret on the App's page",
        (_, _) => "",
    };
    tracing::warn!("a webhook was refused: {refused}{remedy}");
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

/// For people who look at deliveries. GitHub writes `action` first. The body itself is parsed later.
fn action(body: &[u8]) -> Option<String> {
    let rest = body.strip_prefix(br#"{"action":""#)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok().filter(|action| is_word(action)).map(str::to_owned)
}
