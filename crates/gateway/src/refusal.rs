//! The gateway's refusals, so that programs understand them and people know what to change.

use std::convert::Infallible;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::json;

use super::names::AllowedHost;
use journeyman_order::model_service::Provider;

/// Why a body breaks off.
pub(super) type ProxyBodyError = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer.
pub(super) type ProxyBody = UnsyncBoxBody<Bytes, ProxyBodyError>;

pub(super) fn whole(bytes: impl Into<Bytes>) -> ProxyBody {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

pub(super) fn plain(status: StatusCode, text: String) -> Response<ProxyBody> {
    answer(status, "text/plain; charset=utf-8", text)
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Response<ProxyBody> {
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The answer to a forbidden request: what is allowed, and where to set it.
pub(super) fn forbidden(what: &str, why: &str, names: &[AllowedHost], setting: &str) -> Response<ProxyBody> {
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

/// An error in the format of the provider's programs.
pub(super) fn of_model(
    provider: Provider,
    status: StatusCode,
    kind: RefusalKind,
    message: &str,
) -> Response<ProxyBody> {
    let body = match provider {
        Provider::Anthropic => {
            let name = match kind {
                // On any other kind, Claude Code retries five times with ever smaller requests.
                RefusalKind::Spent => "billing_error",
                RefusalKind::Refused => "invalid_request_error",
                RefusalKind::NotThere => "not_found_error",
                RefusalKind::Unavailable => "api_error",
            };
            json!({ "type": "error", "error": { "type": name, "message": message } })
        }
        Provider::OpenAi => {
            let name = match kind {
                RefusalKind::Refused | RefusalKind::NotThere => "invalid_request_error",
                RefusalKind::Spent => "insufficient_quota",
                RefusalKind::Unavailable => "server_error",
            };
            json!({ "error": { "type": name, "code": name, "param": null, "message": message } })
        }
    };
    let mut response = answer(status, "application/json", body.to_string());
    if kind != RefusalKind::Unavailable {
        // Some programs would otherwise retry for minutes.
        let name = HeaderName::from_static("x-should-retry");
        response.headers_mut().insert(name, HeaderValue::from_static("false"));
    }
    response
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalKind {
    Refused,
    Spent,
    NotThere,
    Unavailable,
}
