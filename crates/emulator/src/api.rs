//! The entry point of the REST API: faults, authentication, routing, and the record of calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::stream;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use uuid::Uuid;

use super::auth::Credentials;
use super::reply::{ActResult, EmulatedApiError, EmulatedApiReply, status};
use super::request::{EmulatedApiRequest, header};
use super::routes::route;
use super::state::SharedEmulatorState;
use super::state::calls::{ApiCall, Caller, FaultKind};
use crate::clock;

/// The headers to record, without those recorded elsewhere; of credentials only the scheme.
fn recorded(headers: &HeaderMap) -> BTreeMap<String, String> {
    let told = headers.iter().filter_map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        let value = match name.as_str() {
            "user-agent" | "cookie" => return None,
            "authorization" => value.split_once(' ').map_or("", |(scheme, _)| scheme).to_owned(),
            _ => value.into_owned(),
        };
        Some((name.as_str().to_owned(), value))
    });
    told.collect()
}

/// The record of a call at its arrival.
pub(crate) fn arrived(request: &HttpRequest, caller: Caller, body: String) -> ApiCall {
    ApiCall {
        at: clock::now(),
        method: request.method().to_string(),
        path: request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(),
        caller,
        user_agent: header(request.headers(), "user-agent"),
        headers: recorded(request.headers()),
        body,
        status: None,
    }
}

/// Runs a call unless a fault prevents it, and records it.
pub(crate) async fn carry_out(
    shared: &SharedEmulatorState,
    call: ApiCall,
    apply: impl Future<Output = HttpResponse>,
) -> HttpResponse {
    let faulty = |code, headers: Vec<(String, String)>, body: String| {
        let mut response = HttpResponse::build(status(code));
        for (name, value) in headers {
            response.insert_header((name, value));
        }
        response.body(body)
    };
    // `None` if a fault cuts the connection.
    let answer = match shared.take_fault(&call.method, &call.path, &call.body) {
        None => Some(apply.await),
        Some(FaultKind::Delay(time)) => {
            tokio::time::sleep(time).await;
            Some(apply.await)
        }
        Some(FaultKind::Status { code, headers, body }) => Some(faulty(code, headers, body)),
        Some(FaultKind::Lost) => None,
        Some(FaultKind::AppliedThenLost) => {
            let _ = apply.await;
            None
        }
        Some(FaultKind::AppliedThen(code)) => {
            let _ = apply.await;
            Some(faulty(code, Vec::new(), json!({"message": "Server Error"}).to_string()))
        }
    };
    let status = answer.as_ref().map(|answer| answer.status().as_u16());
    shared.record(ApiCall { at: clock::now(), status, ..call });
    answer.unwrap_or_else(cut_off)
}

/// Fails before the body's first byte, so that the server drops the connection without writing anything.
fn cut_off() -> HttpResponse {
    let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let broken = stream::iter([Err::<web::Bytes, _>(reset)]);
    HttpResponse::Ok().streaming(broken)
}

/// Handles every request of the API.
pub(crate) async fn serve(
    request: HttpRequest,
    body: web::Bytes,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let authorization = header(request.headers(), "authorization");
    let authorization = (!authorization.is_empty()).then_some(authorization);
    let credentials = shared.lock().authenticate(authorization.as_deref());
    let caller = credentials.as_ref().map_or(Caller::Nobody, |credentials| shared.lock().caller(credentials));
    let call = arrived(&request, caller, String::from_utf8_lossy(&body).into_owned());
    let apply = async {
        let parts = RequestParts {
            method: request.method().as_str(),
            path: request.path(),
            query: request.query_string(),
            accept: header(request.headers(), "accept"),
        };
        decorate(&shared, answer(&shared, parts, &body, credentials))
    };
    carry_out(&shared, call, apply).await
}

/// What an answer depends on, besides the body and the caller.
pub(crate) struct RequestParts<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
    pub accept: String,
}

pub(crate) fn answer(
    shared: &SharedEmulatorState,
    parts: RequestParts<'_>,
    body: &[u8],
    credentials: ActResult<Credentials>,
) -> EmulatedApiReply {
    try_answer(shared, parts, body, credentials).unwrap_or_else(EmulatedApiError::into_reply)
}

fn try_answer(
    shared: &SharedEmulatorState,
    parts: RequestParts<'_>,
    body: &[u8],
    credentials: ActResult<Credentials>,
) -> ActResult {
    let credentials = credentials?;
    let body = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(body).map_err(|_| EmulatedApiError::new(400, "Problems parsing JSON"))?
    };
    let path = parts.path;
    let below = path.strip_prefix("/api/v3/").or_else(|| path.strip_prefix("/api/")).unwrap_or(path);
    let request = EmulatedApiRequest {
        method: parts.method.to_owned(),
        segments: below.trim_matches('/').split('/').map(decode).collect(),
        query: url::form_urlencoded::parse(parts.query.as_bytes()).into_owned().collect(),
        accept: parts.accept,
        body,
        credentials,
    };
    if request.method == "GET" {
        route(&mut shared.lock(), &request)
    } else {
        shared.change(|world| route(world, &request))
    }
}

/// The headers of every GitHub response.
pub(crate) fn common_headers(shared: &SharedEmulatorState) -> [(&'static str, String); 5] {
    let used = shared.lock().calls.len() as u64 % 5_000;
    let id = Uuid::new_v4().simple().to_string().to_ascii_uppercase();
    [
        ("x-github-request-id", id),
        ("x-ratelimit-limit", "5000".to_owned()),
        ("x-ratelimit-remaining", (5_000 - used).to_string()),
        ("x-ratelimit-reset", (clock::now().timestamp() + 3_600).to_string()),
        ("x-ratelimit-resource", "core".to_owned()),
    ]
}

fn decorate(shared: &SharedEmulatorState, reply: EmulatedApiReply) -> HttpResponse {
    let mut response = reply.into_response();
    for (name, value) in common_headers(shared) {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// Decodes `%XX` in a path segment. Text that is not UTF-8 then matches nothing.
fn decode(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}
