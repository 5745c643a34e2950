//! `/api/v1/work-orders`. Every handler checks the token first.

use actix_web::http::header;
use actix_web::web::{Data, Path, Payload, Query};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::json;

use super::HttpState;
use super::auth::require_token;
use super::body::BodyBudget;
use super::problem::ProblemDetails;
use super::views::{OrderView, SignalView, order_url};
use journeyman_attest::{ENVELOPE_TYPE, SigningError};
use journeyman_order::bounds::{LARGEST_SETTINGS, MOST_LISTED};
use journeyman_order::next::OrderProjection;
use journeyman_order::order_api::OpenOrderResult;
use journeyman_order::steps::steps;
use journeyman_order::{IssueNumber, Journal, OrderId, OrderRequest, Receipt, RepositoryName, projection};
use journeyman_store::{JournalStore, OrderFilter, StoreError};

const PAGE: u32 = 50;

pub(super) type ApiResult = Result<HttpResponse, ProblemDetails>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenOrderRequest {
    repository: RepositoryName,
    issue: IssueNumber,
    pipeline: Option<String>,
    base: Option<String>,
    agent: Option<String>,
    guidance: Option<String>,
}

pub(super) async fn create(
    request: HttpRequest,
    body: Payload,
    state: Data<HttpState>,
    room: Data<BodyBudget>,
) -> ApiResult {
    require_token(&request, &state)?;
    let body = room.read_up_to(LARGEST_SETTINGS, &request, body).await?;
    let wish: OpenOrderRequest = serde_json::from_slice(&body.bytes).map_err(|error| {
        ProblemDetails::bad_request(format!(
            "{{\"repository\": \"owner/name\", \"issue\": 1}} expected: {error}"
        ))
    })?;
    if wish.issue.0 == 0 || i64::try_from(wish.issue.0).is_err() {
        return Err(ProblemDetails::unprocessable("an issue's number is 1 or more"));
    }
    let chosen = [("pipeline", wish.pipeline), ("agent", wish.agent), ("base", wish.base)];
    let chosen = chosen.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let advice = wish.guidance.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let request = OrderRequest { options: chosen.collect(), advice };
    let (order, mut response) = match state.orders.open(wish.repository, wish.issue, request).await? {
        OpenOrderResult::Opened(order) => (order, HttpResponse::Accepted()),
        OpenOrderResult::AlreadyActive(order) => (order, HttpResponse::Ok()),
        OpenOrderResult::GoesOn { order, signal } => return told(order, signal, &state).await,
    };
    let row = state.store.order(order).await?;
    Ok(response.insert_header((header::LOCATION, order_url(order))).json(OrderView::new(row)))
}

/// The largest number that the store can look up. Nothing has a larger one.
const LARGEST_NUMBER: u64 = i64::MAX.unsigned_abs();

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalQuery {
    after: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrderListQuery {
    limit: Option<u32>,
    before: Option<String>,
    repository: Option<String>,
    issue: Option<u64>,
    active: Option<bool>,
    needs_person: Option<bool>,
}

pub(super) async fn list(
    request: HttpRequest,
    page: Result<Query<OrderListQuery>, actix_web::Error>,
    state: Data<HttpState>,
) -> ApiResult {
    require_token(&request, &state)?;
    let Query(page) = page.map_err(|error| {
        ProblemDetails::bad_request(format!(
            "the query may hold limit, before, repository, issue, active and needs_person: {error}"
        ))
    })?;
    let limit = page.limit.unwrap_or(PAGE);
    if !(1..=MOST_LISTED as u32).contains(&limit) {
        return Err(ProblemDetails::bad_request(format!("limit is from 1 to {MOST_LISTED}")));
    }
    let invalid = |error: journeyman_order::ids::InvalidId| ProblemDetails::bad_request(error.to_string());
    let filter = OrderFilter {
        active: page.active,
        needs_person: page.needs_person,
        repository: page.repository.map(|name| name.parse().map_err(invalid)).transpose()?,
        issue: page.issue.map(|number| IssueNumber(number.min(LARGEST_NUMBER))),
        before: page.before.map(|order| order.parse().map_err(invalid)).transpose()?,
        limit,
        ..OrderFilter::default()
    };
    let rows = state.store.orders(&filter).await?;
    let is_full = u32::try_from(rows.len()).is_ok_and(|length| length == limit);
    let before = rows.last().filter(|_| is_full).map(|last| last.id);
    let mut orders = Vec::with_capacity(rows.len());
    for row in rows {
        // Orders that ended well have nothing more to show.
        let is_open = row.active || row.needs_person || row.state == "cancelled";
        let projection = if is_open { readable(&state, row.id).await? } else { None };
        let view = OrderView::new(row);
        orders.push(match projection {
            Some((journal, projection)) => view.with_projection(&journal, &projection),
            None => view,
        });
    }
    Ok(HttpResponse::Ok().json(json!({"work_orders": orders, "before": before})))
}

pub(super) async fn show(request: HttpRequest, order: Path<String>, state: Data<HttpState>) -> ApiResult {
    require_token(&request, &state)?;
    let order = order_id(&order)?;
    let row = state.store.order(order).await?;
    let artifacts = state.store.artifacts(order).await?;
    let mut view = OrderView::new(row).with_artifacts(artifacts);
    if let Some((journal, projection)) = readable(&state, order).await? {
        view = view.with_projection(&journal, &projection);
        view.budget = Some(projection.budget);
    }
    Ok(HttpResponse::Ok().json(view))
}

/// `None` if its journal cannot be read. The list then shows only its row.
pub(super) async fn readable(
    state: &HttpState,
    order: OrderId,
) -> Result<Option<(Journal, OrderProjection)>, StoreError> {
    match projected(state, order).await {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::UnreadableJournal { .. } | StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A receipt exists as soon as there is a commit or an end.
pub(super) async fn show_receipt(
    request: HttpRequest,
    order: Path<String>,
    state: Data<HttpState>,
) -> ApiResult {
    require_token(&request, &state)?;
    let order = order_id(&order)?;
    let (journal, projection) = projected(&state, order).await?;
    if projection.next.settled.is_none() && projection.trace.work.is_none() {
        return Err(ProblemDetails::not_found(format!(
            "order {order} has no receipt yet: the work is still running"
        )));
    }
    Ok(HttpResponse::Ok().json(Receipt::of(&journal, &projection)))
}

/// Signs the journal's current state on request, so nothing is stored and nothing becomes stale.
pub(super) async fn show_attestation(
    request: HttpRequest,
    order: Path<String>,
    state: Data<HttpState>,
) -> ApiResult {
    require_token(&request, &state)?;
    let order = order_id(&order)?;
    let (journal, projection) = projected(&state, order).await?;
    let envelope = state.signer.attest(&journal, &projection).await.map_err(|nothing| match nothing {
        SigningError::AtWork | SigningError::NoCommit => {
            ProblemDetails::conflict(format!("order {order} has no signed receipt: {nothing}"))
        }
        SigningError::Key(_) | SigningError::Unwritable(_) => {
            tracing::error!(%order, %nothing, "a receipt cannot be signed");
            ProblemDetails::broken("the receipt cannot be signed; the log says why")
        }
    })?;
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, ENVELOPE_TYPE)).body(envelope.to_json()))
}

async fn projected(state: &HttpState, order: OrderId) -> Result<(Journal, OrderProjection), StoreError> {
    let journal = state.store.journal(order).await?;
    let projection = projection(journal.pipeline(), &journal, chrono::Utc::now());
    Ok((journal, projection))
}

pub(super) async fn show_steps(
    request: HttpRequest,
    order: Path<String>,
    state: Data<HttpState>,
) -> ApiResult {
    require_token(&request, &state)?;
    let journal = state.store.journal(order_id(&order)?).await?;
    Ok(HttpResponse::Ok().json(json!({"steps": steps(&journal)})))
}

pub(super) async fn show_journal(
    request: HttpRequest,
    order: Path<String>,
    page: Result<Query<JournalQuery>, actix_web::Error>,
    state: Data<HttpState>,
) -> ApiResult {
    require_token(&request, &state)?;
    let Query(JournalQuery { after }) =
        page.map_err(|error| ProblemDetails::bad_request(format!("the query may hold after: {error}")))?;
    let order = order_id(&order)?;
    let entries = match after {
        Some(after) => {
            state.store.order(order).await?;
            state.store.entries_after(order, after.min(LARGEST_NUMBER)).await?
        }
        None => state.store.journal(order).await?.entries().to_vec(),
    };
    Ok(HttpResponse::Ok().json(json!({"entries": entries})))
}

pub(super) async fn download(
    request: HttpRequest,
    path: Path<(String, String)>,
    state: Data<HttpState>,
) -> ApiResult {
    require_token(&request, &state)?;
    let (order, name) = path.into_inner();
    let artifact = state.store.artifact(order_id(&order)?, &name).await?;
    let media_type = header::HeaderValue::from_str(&artifact.info.media_type)
        .unwrap_or_else(|_| header::HeaderValue::from_static("application/octet-stream"));
    // An agent wrote it, so browsers must save it and never run it, whatever its type.
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, media_type))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"))
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}\"", artifact.info.name),
        ))
        .body(artifact.content))
}

pub(super) fn order_id(text: &str) -> Result<OrderId, ProblemDetails> {
    text.parse()
        .map_err(|error: journeyman_order::ids::InvalidId| ProblemDetails::not_found(error.to_string()))
}

/// The order and what happened to the command in this entry, as far as the journal says.
pub(super) async fn told(order: OrderId, entry: u64, state: &HttpState) -> ApiResult {
    let (_, projection) = projected(state, order).await?;
    let answer = projection.answers.iter().find(|answered| answered.signal == entry);
    let mut view = OrderView::new(state.store.order(order).await?);
    view.signal = Some(SignalView::new(entry, answer.map(|answered| &answered.answer)));
    Ok(HttpResponse::Accepted().insert_header((header::LOCATION, order_url(order))).json(view))
}
