//! What the door says when it does not open, so that programs understand it and people know what to change.

use std::convert::Infallible;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::json;

use super::model::Provider;
use super::names::AllowedName;

/// Why an answer's body breaks off.
pub(super) type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// An answer's body.
pub(super) type Body = UnsyncBoxBody<Bytes, BodyError>;

pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// An answer in words.
pub(super) fn plain(status: StatusCode, text: String) -> Response<Body> {
    answer(status, "text/plain; charset=utf-8", text)
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// To what is not allowed: what is, and where that is set.
pub(super) fn forbidden(what: &str, why: &str, names: &[AllowedName], setting: &str) -> Response<Body> {
    let allowed = if names.is_empty() {
        "This job may reach no host.".to_owned()
    } else {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        format!("This job may reach, by HTTPS: {}.", names.join(", "))
    };
    let text = format!(
        "Journeyman's gateway refuses {what}: {why}.\n{allowed}\nWho runs the server can change that: {setting}.\n"
    );
    plain(StatusCode::FORBIDDEN, text)
}

/// An error in the form that the provider's programs read.
pub(super) fn of_model(provider: Provider, status: StatusCode, kind: Kind, message: &str) -> Response<Body> {
    let body = match provider {
        Provider::Anthropic => {
            let name = match kind {
                // After any other kind Claude Code tries five times more, with less in its request each time.
                Kind::Spent => "billing_error",
                Kind::Refused => "invalid_request_error",
                Kind::NotThere => "not_found_error",
                Kind::Unavailable => "api_error",
            };
            json!({ "type": "error", "error": { "type": name, "message": message } })
        }
        Provider::OpenAi => {
            let name = match kind {
                Kind::Refused | Kind::NotThere => "invalid_request_error",
                Kind::Spent => "insufficient_quota",
                Kind::Unavailable => "server_error",
            };
            json!({ "error": { "type": name, "code": name, "param": null, "message": message } })
        }
    };
    let mut response = answer(status, "application/json", body.to_string());
    if kind != Kind::Unavailable {
        // Some programs would otherwise try for minutes.
        let name = HeaderName::from_static("x-should-retry");
        response.headers_mut().insert(name, HeaderValue::from_static("false"));
    }
    response
}

/// What kind of no it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Refused,
    Spent,
    NotThere,
    Unavailable,
}
