//! Commands to an order over the API. They match the commands in comments, given by the token's holder.

use actix_web::HttpRequest;
use actix_web::web::{Data, Path, Payload};
use serde::Deserialize;

use super::HttpState;
use super::api::{ApiResult, order_id, told};
use super::auth::require_token;
use super::body::BodyBudget;
use super::problem::ProblemDetails;
use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::{OrderId, Requester, SlashCommand};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GuidanceRequest {
    guidance: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

/// The request, the order's id and the body of a command.
type CommandRequest = (HttpRequest, Path<String>, Payload, Data<HttpState>, Data<BodyBudget>);

pub(super) async fn retry(request: CommandRequest) -> ApiResult {
    guided(request, |guidance| SlashCommand::Retry { guidance }).await
}

pub(super) async fn plan(request: CommandRequest) -> ApiResult {
    guided(request, |guidance| SlashCommand::Plan { guidance, until_code: true }).await
}

pub(super) async fn approve(request: CommandRequest) -> ApiResult {
    bare(request, SlashCommand::Approve).await
}

pub(super) async fn cancel(request: CommandRequest) -> ApiResult {
    bare(request, SlashCommand::Cancel).await
}

/// A command with optional guidance.
async fn guided(
    (request, order, body, state, room): CommandRequest,
    command: fn(Option<String>) -> SlashCommand,
) -> ApiResult {
    require_token(&request, &state)?;
    let advice: GuidanceRequest = read(&request, body, &room, "nothing or {\"guidance\": \"…\"}").await?;
    let guidance = advice.guidance.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    send_command(order_id(&order)?, command(guidance), &state).await
}

async fn bare((request, order, body, state, room): CommandRequest, command: SlashCommand) -> ApiResult {
    require_token(&request, &state)?;
    let EmptyRequest {} = read(&request, body, &room, "nothing or {}").await?;
    send_command(order_id(&order)?, command, &state).await
}

/// An empty body equals an empty object.
async fn read<T: Default + for<'de> Deserialize<'de>>(
    request: &HttpRequest,
    body: Payload,
    room: &BodyBudget,
    expected: &str,
) -> Result<T, ProblemDetails> {
    let body = room.read_up_to(LARGEST_SETTINGS, request, body).await?;
    if body.bytes.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&body.bytes)
        .map_err(|error| ProblemDetails::bad_request(format!("{expected} expected: {error}")))
}

async fn send_command(order: OrderId, command: SlashCommand, state: &HttpState) -> ApiResult {
    let entry = state.orders.command(order, Requester::ApiToken, command).await?;
    told(order, entry, state).await
}
