//! Errors as `application/problem+json` (RFC 9457).

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

use journeyman_order::order_api::OrderRequestError;
use journeyman_store::StoreError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {detail}")]
pub(super) struct ProblemDetails {
    status: StatusCode,
    title: &'static str,
    detail: String,
    header: Option<(header::HeaderName, String)>,
}

impl ProblemDetails {
    fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        Self { status, title, detail: detail.into(), header: None }
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "The request cannot be read", detail)
    }

    pub(super) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Not authorized", detail)
    }

    pub(super) fn with_header(mut self, name: header::HeaderName, value: impl Into<String>) -> Self {
        self.header = Some((name, value.into()));
        self
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", detail)
    }

    pub(super) fn method_not_allowed(allowed: &str) -> Self {
        let detail = format!("allowed here: {allowed}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed", detail)
            .with_header(header::ALLOW, allowed)
    }

    pub(super) fn too_slow(seconds: u64) -> Self {
        let detail = format!("the body did not arrive within {seconds} seconds");
        Self::new(StatusCode::REQUEST_TIMEOUT, "Too slow", detail).with_header(header::CONNECTION, "close")
    }

    pub(super) fn too_large(most: usize) -> Self {
        let detail = format!("a body has at most {most} bytes here");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "Too large", detail).with_header(header::CONNECTION, "close")
    }

    pub(super) fn media_type(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Wrong media type", detail)
    }

    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Conflicts with the current state", detail)
    }

    pub(super) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Cannot be done", detail)
    }

    pub(super) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Not available right now", detail)
    }

    pub(super) fn busy() -> Self {
        Self::unavailable("too many large deliveries at once; send it again")
            .with_header(header::RETRY_AFTER, "10")
    }

    pub(super) fn broken(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", detail)
    }
}

impl ResponseError for ProblemDetails {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        response.insert_header((header::CONTENT_TYPE, "application/problem+json"));
        if let Some((name, value)) = &self.header {
            response.insert_header((name.clone(), value.as_str()));
        }
        response.body(
            json!({
                "type": "about:blank",
                "title": self.title,
                "status": self.status.as_u16(),
                "detail": self.detail,
            })
            .to_string(),
        )
    }
}

impl From<StoreError> for ProblemDetails {
    fn from(error: StoreError) -> Self {
        // The database's message belongs in the log. The client can do nothing with it.
        match error {
            StoreError::NotFound { what } => Self::not_found(format!("there is no {what}")),
            StoreError::Refused { .. } => Self::unprocessable(error.to_string()),
            StoreError::Unavailable { .. } => {
                tracing::error!(%error, "the store is unavailable");
                Self::unavailable("the store cannot be used right now; try again")
            }
            StoreError::UnreadableJournal { order, .. } => {
                tracing::warn!("{error}");
                Self::broken(format!(
                    "this version of Journeyman cannot read the journal of order {order}; the log says why"
                ))
            }
            StoreError::Broken { .. } => {
                tracing::error!(%error, "the store is broken");
                Self::broken(
                    "something in the store cannot be read; the log and `journeyman doctor` say what",
                )
            }
        }
    }
}

impl From<OrderRequestError> for ProblemDetails {
    fn from(error: OrderRequestError) -> Self {
        match error {
            OrderRequestError::NotFound(detail) => Self::not_found(detail),
            OrderRequestError::Refused(detail) => Self::unprocessable(detail),
            OrderRequestError::Conflict(detail) => Self::conflict(detail),
            OrderRequestError::Unavailable(detail) => Self::unavailable(detail),
        }
    }
}
