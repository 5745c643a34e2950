//! What anybody may ask: is it alive, can it work.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use chrono::Utc;
use serde_json::json;

use super::problem::ProblemDetails;
use super::{HttpState, Readiness};

/// The process answers.
pub(super) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "alive", "version": env!("CARGO_PKG_VERSION")}))
}

/// The store keeps what is written, the disk has room, and the application can work. Deliveries that wait do not make
/// it unready: they wait for GitHub too, and a server that is taken out of service hears of no more.
pub(super) async fn ready(state: Data<HttpState>) -> Result<HttpResponse, ProblemDetails> {
    match (state.ready)() {
        Readiness::Ready { disk_free_bytes } => {
            state.store.check_writes().await?;
            let oldest = state.store.oldest_pending_delivery().await?;
            let waits = oldest.map(|came| (Utc::now() - came).num_seconds().max(0));
            Ok(HttpResponse::Ok().json(json!({
                "status": "ready",
                "disk_free_bytes": disk_free_bytes,
                "oldest_pending_delivery_seconds": waits,
            })))
        }
        Readiness::NotReady { because } => Err(ProblemDetails::unavailable(because)),
    }
}

pub(super) async fn nowhere(request: HttpRequest) -> Result<HttpResponse, ProblemDetails> {
    let path: String = request.path().chars().take(200).collect();
    Err(ProblemDetails::not_found(format!("there is nothing at {path}")))
}
