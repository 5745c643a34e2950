//! Access to the pages: the API's token shows everything, signing in with GitHub what that person may read there. Both
//! give a cookie with an unguessable word. Changes also need a second word, which no other site can know.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::cookie::{Cookie, SameSite, time};
use actix_web::http::{StatusCode, header};
use actix_web::web::{Data, Form, Query};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use journeyman_order::{Person, RepositoryId, Requester};

use super::DashboardState;
use super::answer::{DashboardFrame, EarlyAnswer, PageResult, broken, nothing, refused, shown, shown_as, to};
use super::people::RepositoryRights;

const COOKIE: &str = "journeyman_session";

pub(crate) struct DashboardSession {
    pub(crate) form_word: String,
    /// `None` for the API's token, which may see and do everything.
    holder: Option<SessionHolder>,
}

struct SessionHolder {
    person: Person,
    rights: RepositoryRights,
    trouble: Option<String>,
}

impl DashboardSession {
    pub(crate) fn may_read(&self, repository: RepositoryId) -> bool {
        self.holder.as_ref().is_none_or(|holder| holder.rights.contains_key(&repository))
    }

    pub(crate) fn may_write(&self, repository: RepositoryId) -> bool {
        self.holder.as_ref().is_none_or(|holder| holder.rights.get(&repository) == Some(&true))
    }

    /// The repositories whose orders are shown; `None` for all.
    pub(crate) fn among(&self) -> Option<Vec<RepositoryId>> {
        self.holder.as_ref().map(|holder| holder.rights.keys().copied().collect())
    }

    /// `None` for the API's token.
    pub(crate) fn person(&self) -> Option<&Person> {
        self.holder.as_ref().map(|holder| &holder.person)
    }

    pub(crate) fn requester(&self) -> Requester {
        self.person().map_or(Requester::ApiToken, |person| Requester::Person(person.clone()))
    }

    pub(crate) fn frame(&self, here: &'static str) -> DashboardFrame {
        let login = self.person().map(|person| person.login.clone());
        let trouble = self.holder.as_ref().and_then(|holder| holder.trouble.clone());
        DashboardFrame { form_word: self.form_word.clone(), here, login, trouble }
    }
}

#[derive(Template)]
#[template(path = "dashboard/sign_in.html")]
struct SignInPage {
    takes_token: bool,
    takes_people: bool,
    problem: Option<String>,
    next: String,
    next_query: String,
    frame: DashboardFrame,
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

fn token(state: &DashboardState) -> Option<&SecretString> {
    state.api_token.as_ref().filter(|token| !token.expose_secret().is_empty())
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The session of a cookie, with its current rights.
async fn session_of(state: &DashboardState, cookie: &str) -> Option<DashboardSession> {
    let session = state.people.session(cookie)?;
    let form_word = session.form_word.clone();
    let Some(known) = &session.person else {
        return Some(DashboardSession { form_word, holder: None });
    };
    let Some((rights, trouble)) = known.rights(state.door.as_deref()?).await else {
        tracing::info!(login = known.person.login, "GitHub takes the token of a session no more: it is over");
        state.people.end(cookie);
        return None;
    };
    let holder = SessionHolder { person: known.person.clone(), rights, trouble };
    Some(DashboardSession { form_word, holder: Some(holder) })
}

/// Whether a cookie's session may still read a repository.
pub(crate) async fn still_reads(state: &DashboardState, cookie: &str, repository: RepositoryId) -> bool {
    session_of(state, cookie).await.is_some_and(|session| session.may_read(repository))
}

/// The full name of a cookie. Over HTTPS its prefix keeps other hosts of the domain from setting it.
pub(crate) fn cookie_name(state: &DashboardState, name: &str) -> String {
    format!("{}{name}", if is_secure(state) { "__Host-" } else { "" })
}

pub(crate) fn cookie(request: &HttpRequest, state: &DashboardState) -> String {
    let cookie = request.cookie(&cookie_name(state, COOKIE));
    cookie.map(|cookie| cookie.value().to_owned()).unwrap_or_default()
}

pub(crate) async fn signed_in(
    request: &HttpRequest,
    state: &DashboardState,
) -> Result<DashboardSession, EarlyAnswer> {
    let cookie = cookie(request, state);
    if let Some(session) = session_of(state, &cookie).await {
        return Ok(session);
    }
    let here = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let site = request.headers().get("sec-fetch-site").and_then(|value| value.to_str().ok());
    // A link on GitHub arrives without our same-site cookie. Requested again from here, it has the cookie.
    if site == Some("cross-site") && cookie.is_empty() && is_local(here) {
        return Err(passed_on(here).into());
    }
    Err(to(&format!("/sign-in?{}", next_query(here))).into())
}

/// For pages that concern no single repository: requires the API's token.
pub(crate) async fn signed_in_by_token(
    request: &HttpRequest,
    state: &DashboardState,
) -> Result<DashboardSession, EarlyAnswer> {
    let session = signed_in(request, state).await?;
    match session.holder {
        None => Ok(session),
        Some(_) => Err(nothing("There is no such page.").into()),
    }
}

/// A page that makes the browser request another page from here.
pub(crate) fn passed_on(path: &str) -> HttpResponse {
    let mut again = HttpResponse::Ok();
    again.insert_header((header::REFRESH, format!("0;url={path}")));
    again.insert_header((header::CACHE_CONTROL, "no-store"));
    again.insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"));
    again.body("<!doctype html><html lang=\"en\"><title>Journeyman</title></html>")
}

fn next_query(next: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish()
}

pub(crate) async fn may_change(
    request: &HttpRequest,
    state: &DashboardState,
    word: &str,
) -> Result<DashboardSession, EarlyAnswer> {
    let session = signed_in(request, state).await?;
    let is_ours = is_from_here(request)
        && aws_lc_rs::constant_time::verify_slices_are_equal(word.as_bytes(), session.form_word.as_bytes())
            .is_ok();
    if is_ours {
        return Ok(session);
    }
    Err(refused("This form is not of this session. Go back, reload the page, and try again.").into())
}

/// Whether one of our pages sent it, as far as the browser says.
fn is_from_here(request: &HttpRequest) -> bool {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    match (text("sec-fetch-site"), text("origin"), text("host")) {
        (Some(site), ..) => site == "same-origin",
        (None, Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, from)| from == host),
        (None, Some(_), None) => false,
        (None, None, _) => true,
    }
}

/// Whether it is a path on this host.
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
    if signed_in(&request, &state).await.is_ok() {
        return to(landing(&query.next));
    }
    shown(&page(&state, None, &query.next))
}

fn page(state: &DashboardState, problem: Option<&str>, next: &str) -> SignInPage {
    let next = landing(next).to_owned();
    SignInPage {
        takes_token: token(state).is_some(),
        takes_people: state.door.is_some(),
        problem: problem.map(str::to_owned),
        next_query: next_query(&next),
        next,
        frame: DashboardFrame::default(),
    }
}

/// The sign-in page, with the reason for the refusal.
pub(crate) fn refused_sign_in(
    state: &DashboardState,
    status: StatusCode,
    because: &str,
    next: &str,
) -> HttpResponse {
    shown_as(status, &page(state, Some(because), next))
}

pub(crate) fn landing(next: &str) -> &str {
    if is_local(next) { next } else { "/" }
}

pub(crate) fn is_secure(state: &DashboardState) -> bool {
    state.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
}

/// The session's cookie, sent only to us.
pub(crate) fn session_cookie(state: &DashboardState, value: String, lasts: Duration) -> Cookie<'static> {
    Cookie::build(cookie_name(state, COOKIE), value)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(is_secure(state))
        .max_age(time::Duration::try_from(lasts).unwrap_or(time::Duration::HOUR))
        .finish()
}

pub(crate) async fn sign_in(
    request: HttpRequest,
    form: Form<SignInForm>,
    state: Data<DashboardState>,
) -> PageResult {
    if !is_from_here(&request) {
        let because = "This form was sent from another site. Sign in here.";
        return Ok(refused_sign_in(&state, StatusCode::FORBIDDEN, because, ""));
    }
    let is_right = |token: &&SecretString| journeyman_http::is_same_secret(form.token.trim(), token);
    let begun = token(&state).filter(is_right).and_then(|_| state.people.begin_by_token());
    let Some((word, lasts)) = begun else {
        tracing::warn!("somebody could not sign in to the dashboard");
        let because = "That is not the token of server.api_token.";
        return Ok(refused_sign_in(&state, StatusCode::FORBIDDEN, because, &form.next));
    };
    let mut answer = to(landing(&form.next));
    let cookie = session_cookie(&state, word, lasts);
    answer.add_cookie(&cookie).map_err(|error| broken(&error.to_string()))?;
    Ok(answer)
}

pub(crate) async fn sign_out(
    request: HttpRequest,
    form: Form<SignOutForm>,
    state: Data<DashboardState>,
) -> PageResult {
    may_change(&request, &state, &form.word).await?;
    state.people.end(&cookie(&request, &state));
    // Ends the updates of its open pages.
    state.shared.ended.send_replace(());
    let mut answer = to("/sign-in");
    let gone = Cookie::build(cookie_name(&state, COOKIE), "").path("/").secure(is_secure(&state));
    let _ = answer.add_removal_cookie(&gone.finish());
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

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
