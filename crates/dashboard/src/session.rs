//! Who may see the pages: whoever has shown the API's token, and then has a cookie that says so until it is over.
//!
//! The cookie is made with a key that comes of the token, so that nothing is kept here, and another token ends every
//! session. What changes something carries a second word of the same key, which no other site can know.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::cookie::{Cookie, SameSite, time};
use actix_web::http::header;
use actix_web::web::{Data, Form, Query};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use aws_lc_rs::{hmac, rand};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::DashboardState;
use super::answer::{shown, shown_as, to};

const COOKIE: &str = "journeyman_session";
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);

/// A person who has signed in.
pub(crate) struct DashboardSession {
    /// Has to come with whatever changes something.
    pub(crate) form_word: String,
}

#[derive(Template)]
#[template(path = "dashboard/sign_in.html")]
struct SignInPage {
    is_open: bool,
    is_wrong: bool,
    next: String,
    /// Nobody has signed in.
    form_word: String,
    here: &'static str,
}

#[derive(Deserialize)]
pub(crate) struct SignInQuery {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(crate) struct SignInForm {
    token: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(crate) struct SignOutForm {
    #[serde(default)]
    word: String,
}

fn key(token: &SecretString, purpose: &str) -> hmac::Key {
    let root = hmac::Key::new(hmac::HMAC_SHA256, token.expose_secret().as_bytes());
    hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&root, purpose.as_bytes()).as_ref())
}

fn token(state: &DashboardState) -> Option<&SecretString> {
    state.api_token.as_ref().filter(|token| !token.expose_secret().is_empty())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// `until.chance.signature`.
fn issue(token: &SecretString) -> Option<String> {
    let mut chance = [0; 16];
    rand::fill(&mut chance).ok()?;
    let said = format!("{}.{}", now() + LASTS.as_secs(), hex::encode(chance));
    let signature = hmac::sign(&key(token, "dashboard session 1"), said.as_bytes());
    Some(format!("{said}.{}", hex::encode(signature.as_ref())))
}

fn session(token: &SecretString, cookie: &str) -> Option<DashboardSession> {
    let (said, signature) = cookie.rsplit_once('.')?;
    let signature = hex::decode(signature).ok()?;
    hmac::verify(&key(token, "dashboard session 1"), said.as_bytes(), &signature).ok()?;
    let until: u64 = said.split('.').next()?.parse().ok()?;
    let form_word = hmac::sign(&key(token, "dashboard form 1"), cookie.as_bytes());
    (now() < until).then(|| DashboardSession { form_word: hex::encode(form_word.as_ref()) })
}

/// Who asks.
///
/// # Errors
/// The answer to somebody who has not signed in, which shows nothing: the way to sign in.
pub(crate) fn signed_in(
    request: &HttpRequest,
    state: &DashboardState,
) -> Result<DashboardSession, Box<HttpResponse>> {
    let cookie = request.cookie(COOKIE);
    let known = cookie.zip(token(state)).and_then(|(cookie, token)| session(token, cookie.value()));
    known.ok_or_else(|| {
        let here = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let site = request.headers().get("sec-fetch-site").and_then(|value| value.to_str().ok());
        // A link on GitHub leads here without our cookie, which is for ourselves alone. Asked from here, it comes along.
        if site == Some("cross-site") && request.cookie(COOKIE).is_none() && is_local(here) {
            let mut again = HttpResponse::Ok();
            again.insert_header((header::REFRESH, format!("0;url={here}")));
            again.insert_header((header::CACHE_CONTROL, "no-store"));
            again.insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"));
            return Box::new(again.body("<!doctype html><html lang=\"en\"><title>Journeyman</title></html>"));
        }
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("next", here);
        Box::new(to(&format!("/sign-in?{}", query.finish())))
    })
}

/// Who asks for a change.
///
/// # Errors
/// The answer to somebody who has not signed in, or to a form that is not of ours.
pub(crate) fn may_change(
    request: &HttpRequest,
    state: &DashboardState,
    word: &str,
) -> Result<DashboardSession, Box<HttpResponse>> {
    let session = signed_in(request, state)?;
    let is_ours = is_from_here(request)
        && aws_lc_rs::constant_time::verify_slices_are_equal(word.as_bytes(), session.form_word.as_bytes())
            .is_ok();
    if is_ours {
        return Ok(session);
    }
    Err(Box::new(super::answer::refused(
        "This form is not of this session. Go back, reload the page, and try again.",
    )))
}

/// Whether a page of ours sent it, as far as the browser says.
fn is_from_here(request: &HttpRequest) -> bool {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    match (text("sec-fetch-site"), text("origin"), text("host")) {
        (Some(site), ..) => site == "same-origin",
        (None, Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, from)| from == host),
        (None, Some(_), None) => false,
        (None, None, _) => true,
    }
}

/// A path of ours, and no other host's.
fn is_local(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains(|character: char| character == '\\' || character == ';' || character.is_control())
}

pub(crate) async fn ask(
    request: HttpRequest,
    query: Query<SignInQuery>,
    state: Data<DashboardState>,
) -> HttpResponse {
    if signed_in(&request, &state).is_ok() {
        return to(landing(&query.next));
    }
    shown(&page(&state, false, &query.next))
}

fn page(state: &DashboardState, is_wrong: bool, next: &str) -> SignInPage {
    let next = landing(next).to_owned();
    SignInPage { is_open: token(state).is_some(), is_wrong, next, form_word: String::new(), here: "" }
}

fn landing(next: &str) -> &str {
    if is_local(next) { next } else { "/" }
}

pub(crate) async fn sign_in(
    request: HttpRequest,
    form: Form<SignInForm>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let is_right = token(&state)
        .filter(|token| is_from_here(&request) && journeyman_http::is_same_secret(form.token.trim(), token));
    let Some(value) = is_right.and_then(issue) else {
        tracing::warn!("somebody could not sign in to the dashboard");
        return shown_as(actix_web::http::StatusCode::FORBIDDEN, &page(&state, true, &form.next));
    };
    let mut answer = to(landing(&form.next));
    let is_secure = state.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    let lasts = time::Duration::try_from(LASTS).unwrap_or(time::Duration::HOUR);
    let cookie = Cookie::build(COOKIE, value)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(is_secure)
        .max_age(lasts)
        .finish();
    match answer.add_cookie(&cookie) {
        Ok(()) => answer,
        Err(error) => super::answer::broken(&error.to_string()),
    }
}

pub(crate) async fn sign_out(
    request: HttpRequest,
    form: Form<SignOutForm>,
    state: Data<DashboardState>,
) -> HttpResponse {
    if let Err(refused) = may_change(&request, &state, &form.word) {
        return *refused;
    }
    let mut answer = to("/sign-in");
    let _ = answer.add_removal_cookie(&Cookie::build(COOKIE, "").path("/").finish());
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_holds_for_its_own_token_alone_and_cannot_be_made_longer() {
        let (ours, other) = (SecretString::from("the token"), SecretString::from("another"));
        let cookie = issue(&ours).unwrap();
        assert!(session(&ours, &cookie).is_some());
        assert!(session(&other, &cookie).is_none());
        let (until, rest) = cookie.split_once('.').unwrap();
        let later: u64 = until.parse::<u64>().unwrap() + 1;
        assert!(session(&ours, &format!("{later}.{rest}")).is_none());
        for broken in ["", ".", "1.2", &cookie[..cookie.len() - 2]] {
            assert!(session(&ours, broken).is_none(), "{broken:?}");
        }
    }

    #[test]
    fn after_signing_in_nobody_is_led_to_another_host() {
        for elsewhere in
            ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "", "/;x"]
        {
            assert_eq!(landing(elsewhere), "/", "{elsewhere}");
        }
        assert_eq!(landing("/orders/1?x=2"), "/orders/1?x=2");
    }
}
