//! What the API and the files look like, for programs, as this version has them. Open to all: they say nothing of a server.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};

use super::HttpState;
use super::problem::ProblemDetails;

const API: &str = include_str!("../../../docs/openapi.json");

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
