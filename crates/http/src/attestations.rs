//! The signed receipt of an order, and the key that it is verified with.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};

use super::HttpState;
use super::api::{ApiResult, order_id, projected};
use super::auth::require_token;
use super::problem::ProblemDetails;
use journeyman_attest::{ENVELOPE_TYPE, SigningError};

/// Signed when it is asked for, from the journal: there is nothing to keep, and nothing that could be out of date.
pub(super) async fn show(request: HttpRequest, order: Path<String>, state: Data<HttpState>) -> ApiResult {
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

/// For everybody: it opens nothing, and who verifies a receipt needs no token.
pub(super) async fn show_key(state: Data<HttpState>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/x-pem-file"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(state.signer.public_key().to_pem())
}
