//! What anybody may ask: is it alive, can it work, what is it.

use actix_web::http::header;
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

/// A plain page until there is a dashboard.
pub(super) async fn front() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(FRONT)
}

pub(super) async fn nowhere(request: HttpRequest) -> Result<HttpResponse, ProblemDetails> {
    let path: String = request.path().chars().take(200).collect();
    Err(ProblemDetails::not_found(format!("there is nothing at {path}")))
}

const FRONT: &str = concat!(
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width\"><title>Journeyman</title>",
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}",
    "code{background:#8882;padding:.1em .3em;border-radius:3px}</style>",
    "<h1>Journeyman ",
    env!("CARGO_PKG_VERSION"),
    "</h1><p>Turns a labeled issue into a verified pull request. It is running.</p><ul>",
    "<li><a href=\"/health\"><code>GET /health</code></a>: the process is alive</li>",
    "<li><a href=\"/ready\"><code>GET /ready</code></a>: it can work</li>",
    "<li><code>POST /webhook</code>: GitHub's deliveries</li>",
    "<li><code>GET /api/v1/work-orders</code>: what is being worked on, with the token of ",
    "<code>server.api_token</code> as <code>Authorization: Bearer</code></li>",
    "<li><code>POST /api/v1/work-orders</code>: <code>{\"repository\": \"owner/name\", \"issue\": 1}</code></li>",
    "<li><code>GET /api/v1/work-orders/{id}</code>, <code>/{id}/steps</code>, <code>/{id}/journal</code>, ",
    "<code>/{id}/artifacts/{name}</code></li>",
    "<li><code>POST /api/v1/work-orders/{id}/retry</code>, <code>/{id}/approve</code>, ",
    "<code>/{id}/cancel</code></li></ul></html>"
);
