//! Responses: pages with security headers, and their few static files.

use actix_web::error::InternalError;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use askama::Template;

use journeyman_store::StoreError;

const STYLE: &str = include_str!("../assets/dashboard.css");
const SCRIPT: &str = include_str!("../assets/dashboard.js");
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

#[derive(Default)]
pub(crate) struct DashboardFrame {
    /// Required by every change; empty without a session.
    pub(crate) form_word: String,
    pub(crate) here: &'static str,
    pub(crate) login: Option<String>,
    /// Why they see less than usual.
    pub(crate) trouble: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/trouble.html")]
struct TroublePage<'a> {
    heading: &'a str,
    text: &'a str,
    frame: DashboardFrame,
}

pub(crate) fn shown(page: &impl Template) -> HttpResponse {
    shown_as(StatusCode::OK, page)
}

pub(crate) fn shown_as(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(html) => held(HttpResponse::build(status)).body(html),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            HttpResponse::InternalServerError().body("The page could not be made; see the server's log.\n")
        }
    }
}

fn held(mut answer: HttpResponseBuilder) -> HttpResponseBuilder {
    answer
        .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::X_FRAME_OPTIONS, "DENY"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .insert_header((header::CACHE_CONTROL, "no-store"));
    answer
}

fn trouble(status: StatusCode, heading: &str, text: &str) -> HttpResponse {
    shown_as(status, &TroublePage { heading, text, frame: DashboardFrame::default() })
}

pub(crate) fn to(path: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, path))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .finish()
}

pub(crate) fn nothing(text: &str) -> HttpResponse {
    trouble(StatusCode::NOT_FOUND, "There is nothing here", text)
}

pub(crate) fn misread(text: &str) -> HttpResponse {
    trouble(StatusCode::BAD_REQUEST, "That cannot be read", text)
}

/// Not found: a page for people, an API error for programs.
pub(crate) async fn nowhere(request: HttpRequest) -> HttpResponse {
    let wants = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let is_of_programs = ["/api/", "/schemas/"].iter().any(|path| request.path().starts_with(path));
    match !is_of_programs && wants.is_some_and(|wants| wants.contains("text/html")) {
        true => nothing("There is no such page."),
        false => journeyman_http::nothing_there(&request),
    }
}

pub(crate) fn refused(text: &str) -> HttpResponse {
    trouble(StatusCode::FORBIDDEN, "That was not done", text)
}

pub(crate) fn conflict(text: &str) -> HttpResponse {
    trouble(StatusCode::CONFLICT, "That was not done", text)
}

pub(crate) fn broken(text: &str) -> HttpResponse {
    trouble(StatusCode::INTERNAL_SERVER_ERROR, "Something is wrong here", text)
}

/// Asks the client to retry later.
pub(crate) fn busy(text: &str) -> HttpResponse {
    let mut answer = trouble(StatusCode::SERVICE_UNAVAILABLE, "Not right now", text);
    answer.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("10"));
    answer
}

/// A response that replaces the requested page.
#[derive(Debug)]
pub(crate) struct EarlyAnswer(Box<HttpResponse>);

pub(crate) type PageResult = Result<HttpResponse, EarlyAnswer>;

impl From<HttpResponse> for EarlyAnswer {
    fn from(answer: HttpResponse) -> Self {
        Self(Box::new(answer))
    }
}

impl From<EarlyAnswer> for actix_web::Error {
    fn from(EarlyAnswer(answer): EarlyAnswer) -> Self {
        InternalError::from_response("another answer than was asked for", *answer).into()
    }
}

impl From<askama::Error> for EarlyAnswer {
    fn from(error: askama::Error) -> Self {
        broken(&error.to_string()).into()
    }
}

/// The store's own error is only logged.
impl From<StoreError> for EarlyAnswer {
    fn from(error: StoreError) -> Self {
        let answer = match &error {
            StoreError::NotFound { what } => nothing(&format!("There is no {what}.")),
            StoreError::Refused { .. } => refused(&error.to_string()),
            StoreError::Unavailable { .. } => {
                tracing::error!(%error, "the store is unavailable");
                let text = "The database cannot be used right now. Reload the page in a moment.";
                trouble(StatusCode::SERVICE_UNAVAILABLE, "Not right now", text)
            }
            StoreError::UnreadableJournal { order, .. } => {
                tracing::warn!("{error}");
                broken(&format!(
                    "This version of Journeyman cannot read the journal of order {order}; the log says why."
                ))
            }
            StoreError::Broken { .. } => {
                tracing::error!(%error, "the store is broken");
                broken("Something in the database cannot be read; the log and `journeyman doctor` say what.")
            }
        };
        answer.into()
    }
}

pub(crate) async fn style() -> HttpResponse {
    file("text/css; charset=utf-8", STYLE)
}

pub(crate) async fn script() -> HttpResponse {
    file("text/javascript; charset=utf-8", SCRIPT)
}

fn file(media_type: &'static str, text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, media_type))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CACHE_CONTROL, "max-age=300"))
        .body(text)
}
