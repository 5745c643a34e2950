//! Public pages: liveness, readiness, and this version's API description, schemas and key.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use chrono::Utc;
use serde_json::json;

use super::problem::ProblemDetails;
use super::{HttpState, Readiness};

const API: &str = include_str!("../../../docs/openapi.json");

pub(super) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "alive", "version": env!("CARGO_PKG_VERSION")}))
}

/// Checks that the store writes, the disk has room and the application works. A backlog of deliveries does not count:
/// it also grows if GitHub is down, and a server taken out of service would receive nothing more.
pub(super) async fn ready(state: Data<HttpState>) -> Result<HttpResponse, ProblemDetails> {
    match (state.ready)() {
        Readiness::Ready { disk_free_bytes, orders_wait_because } => {
            state.store.check_writes().await?;
            let oldest = state.store.oldest_pending_delivery().await?;
            let waits = oldest.map(|came| (Utc::now() - came).num_seconds().max(0));
            Ok(HttpResponse::Ok().json(json!({
                "status": "ready",
                "disk_free_bytes": disk_free_bytes,
                "oldest_pending_delivery_seconds": waits,
                "orders_wait_because": orders_wait_because,
            })))
        }
        Readiness::NotReady { because } => Err(ProblemDetails::unavailable(because)),
    }
}

pub(super) async fn nowhere(request: HttpRequest) -> HttpResponse {
    nothing_there(&request)
}

/// The answer for unknown paths.
pub fn nothing_there(request: &HttpRequest) -> HttpResponse {
    let path: String = request.path().chars().take(200).collect();
    ProblemDetails::not_found(format!("there is nothing at {path}")).error_response()
}

/// No name or text contains a NUL, and databases may reject one.
pub(super) async fn refuse_nul(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    if request.uri().to_string().contains("%00") {
        return Err(
            ProblemDetails::bad_request("an address has no character in it that is none (%00)").into()
        );
    }
    next.call(request).await
}

pub(super) async fn api() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(API)
}

pub(super) async fn schema(
    name: Path<String>,
    state: Data<HttpState>,
) -> Result<HttpResponse, ProblemDetails> {
    match state.schemas.iter().find(|(known, _)| *known == name.as_str()) {
        Some((_, schema)) => Ok(HttpResponse::Ok().content_type("application/schema+json").json(schema)),
        None => {
            let known: Vec<&str> = state.schemas.iter().map(|(known, _)| *known).collect();
            Err(ProblemDetails::not_found(format!("there are the schemas {}", known.join(", "))))
        }
    }
}

/// Public: it opens nothing, and verifying a receipt needs no token.
pub(super) async fn show_key(state: Data<HttpState>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/x-pem-file"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(state.signer.public_key().to_pem())
}
