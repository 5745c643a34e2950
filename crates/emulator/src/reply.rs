//! Responses in GitHub's form: JSON and its errors.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) enum EmulatedReplyBody {
    Nothing,
    Json(Value),
    /// A redirect to this address.
    Redirect(String),
}

#[derive(Debug)]
pub(crate) struct EmulatedApiReply {
    pub status: u16,
    pub body: EmulatedReplyBody,
    /// The `Link` header of a paged response.
    pub link: Option<String>,
}

impl EmulatedApiReply {
    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self { status, body: EmulatedReplyBody::Json(value), link: None }
    }

    pub(crate) fn ok(value: Value) -> Self {
        Self::json(200, value)
    }

    pub(crate) fn no_content() -> Self {
        Self { status: 204, body: EmulatedReplyBody::Nothing, link: None }
    }

    pub(crate) fn into_response(self) -> HttpResponse {
        let mut response = HttpResponse::build(status(self.status));
        if let Some(link) = self.link {
            response.insert_header(("Link", link));
        }
        match self.body {
            EmulatedReplyBody::Nothing => response.finish(),
            EmulatedReplyBody::Json(value) => {
                response.insert_header(("Content-Type", "application/json; charset=utf-8"));
                response.body(value.to_string())
            }
            EmulatedReplyBody::Redirect(location) => response.insert_header(("Location", location)).finish(),
        }
    }
}

pub(crate) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// An error in GitHub's words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{status} {message} {}", self.errors_text())]
pub(crate) struct EmulatedApiError {
    pub status: u16,
    pub message: String,
    pub errors: Vec<Value>,
    /// Its new address, if it has moved.
    pub location: Option<String>,
}

impl EmulatedApiError {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new(), location: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(403, "Resource not accessible by integration")
    }

    pub(crate) fn suspended() -> Self {
        Self::new(403, "This installation has been suspended")
    }

    pub(crate) fn bad_credentials() -> Self {
        Self::new(401, "Bad credentials")
    }

    pub(crate) fn broken(what: impl std::fmt::Display) -> Self {
        Self::new(500, format!("the emulator failed: {what}"))
    }

    /// 422 for one field.
    pub(crate) fn invalid(resource: &str, field: &str, code: &str) -> Self {
        let errors = vec![json!({"resource": resource, "field": field, "code": code})];
        Self { errors, ..Self::new(422, "Validation Failed") }
    }

    /// 422 with a message.
    pub(crate) fn custom(resource: &str, message: String) -> Self {
        let errors = vec![json!({"resource": resource, "code": "custom", "message": message})];
        Self { errors, ..Self::new(422, "Validation Failed") }
    }

    fn errors_text(&self) -> String {
        self.errors.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn into_reply(self) -> EmulatedApiReply {
        if let Some(location) = self.location {
            return EmulatedApiReply {
                body: EmulatedReplyBody::Redirect(location),
                ..EmulatedApiReply::json(self.status, Value::Null)
            };
        }
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.to_string(),
        });
        if !self.errors.is_empty()
            && let Some(fields) = body.as_object_mut()
        {
            fields.insert("errors".to_owned(), Value::Array(self.errors));
        }
        EmulatedApiReply::json(self.status, body)
    }
}

/// The result of a request or an act.
pub(crate) type ActResult<T = EmulatedApiReply> = Result<T, EmulatedApiError>;
