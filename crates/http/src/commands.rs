//! What an order can be told over the API: what people say in comments, by the holder of the token.

use actix_web::http::header;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::HttpState;
use super::api::{Answer, MOST_JSON, order_id};
use super::auth::hold_token;
use super::body::Room;
use super::problem::Problem;
use super::views::{OrderView, SignalView, order_url};
use journeyman_order::{Command, OrderId, survey};
use journeyman_store::JournalStore;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advice {
    guidance: Option<String>,
}

/// Nothing needs to be said with it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub(super) async fn retry(
    request: HttpRequest,
    order: Path<String>,
    body: Payload,
    state: Data<HttpState>,
    room: Data<Room>,
) -> Answer {
    let guidance = advice(&request, body, &state, &room).await?;
    tell(order_id(&order)?, Command::Retry { guidance }, &state).await
}

pub(super) async fn plan(
    request: HttpRequest,
    order: Path<String>,
    body: Payload,
    state: Data<HttpState>,
    room: Data<Room>,
) -> Answer {
    let guidance = advice(&request, body, &state, &room).await?;
    tell(order_id(&order)?, Command::Plan { guidance }, &state).await
}

/// The advice that comes with a command, if any.
async fn advice(
    request: &HttpRequest,
    body: Payload,
    state: &HttpState,
    room: &Room,
) -> Result<Option<String>, Problem> {
    hold_token(request, state.api_token.as_ref())?;
    let advice: Advice = read(request, body, room, "nothing or {\"guidance\": \"…\"}").await?;
    Ok(advice.guidance.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

pub(super) async fn approve(
    request: HttpRequest,
    order: Path<String>,
    body: Payload,
    state: Data<HttpState>,
    room: Data<Room>,
) -> Answer {
    hold_token(&request, state.api_token.as_ref())?;
    let Nothing {} = read(&request, body, &room, "nothing or {}").await?;
    tell(order_id(&order)?, Command::Approve, &state).await
}

pub(super) async fn cancel(
    request: HttpRequest,
    order: Path<String>,
    body: Payload,
    state: Data<HttpState>,
    room: Data<Room>,
) -> Answer {
    hold_token(&request, state.api_token.as_ref())?;
    let Nothing {} = read(&request, body, &room, "nothing or {}").await?;
    tell(order_id(&order)?, Command::Cancel, &state).await
}

/// An empty body says nothing, as an empty object does.
async fn read<T: Default + for<'de> Deserialize<'de>>(
    request: &HttpRequest,
    body: Payload,
    room: &Room,
    expected: &str,
) -> Result<T, Problem> {
    let body = room.read_up_to(MOST_JSON, request, body).await?;
    if body.bytes.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&body.bytes)
        .map_err(|error| Problem::bad_request(format!("{expected} expected: {error}")))
}

/// Tells the order, and says what became of it as far as its journal tells.
async fn tell(order: OrderId, command: Command, state: &HttpState) -> Answer {
    let entry = state.desk.command(order, command).await?;
    let journal = state.store.journal(order).await?;
    let survey = survey(journal.pipeline(), &journal, chrono::Utc::now());
    let answer = survey.answers.iter().find(|answered| answered.signal == entry);
    let signal = SignalView::new(entry, answer.map(|answered| &answered.answer));
    let row = state.store.order(order).await?;
    Ok(HttpResponse::Accepted()
        .insert_header((header::LOCATION, order_url(order)))
        .json(OrderView::new(row).with_signal(signal)))
}
