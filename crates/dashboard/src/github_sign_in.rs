//! `/sign-in/github`: to GitHub's page that asks a person, and back from it. Which browser went there is in a cookie of
//! its own, what else has to be known stays here.

use actix_web::cookie::{Cookie, SameSite, time};
use actix_web::http::{StatusCode, header};
use actix_web::web::{Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::answer::{broken, nothing, to};
use super::people::random_word;
use super::session::{PERSON, is_secure, landing, passed_on, refused_sign_in, session_cookie};
use super::{DashboardState, GitHubDoorError};

const BROWSER: &str = "journeyman_browser";
const PATH: &str = "/sign-in/github";

#[derive(Deserialize)]
pub(crate) struct LeaveQuery {
    #[serde(default)]
    next: String,
}

/// What GitHub sends along; all of it could be anybody's words.
#[derive(Deserialize)]
pub(crate) struct ReturnQuery {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    error: String,
}

/// To GitHub.
pub(crate) async fn leave(query: Query<LeaveQuery>, state: Data<DashboardState>) -> HttpResponse {
    let Some(door) = &state.door else { return nothing("Nobody signs in as on GitHub here.") };
    let words = (random_word(), random_word(), random_word());
    let (Some(word), Some(browser), Some(verifier)) = words else {
        return broken("This machine has no randomness.");
    };
    state.people.await_return(&word, &browser, &verifier, landing(&query.next));
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let mut answer = to(door.page(&word, &challenge).as_str());
    // GitHub's page leads here: such a cookie comes along with it, and a strict one does not.
    let cookie = Cookie::build(BROWSER, browser)
        .path(PATH)
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(is_secure(&state))
        .max_age(time::Duration::minutes(10))
        .finish();
    match answer.add_cookie(&cookie) {
        Ok(()) => answer,
        Err(error) => broken(&error.to_string()),
    }
}

/// Back from GitHub.
pub(crate) async fn come_back(
    request: HttpRequest,
    query: Query<ReturnQuery>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let Some(door) = &state.door else { return nothing("Nobody signs in as on GitHub here.") };
    let browser = request.cookie(BROWSER).map(|cookie| cookie.value().to_owned()).unwrap_or_default();
    let Some(entry) = state.people.returned(&query.state, &browser) else {
        let text = "This sign-in was not begun in this browser, or is over. Begin again.";
        return refused_sign_in(&state, StatusCode::FORBIDDEN, text, "");
    };
    let refused = |status, text: &str| refused_sign_in(&state, status, text, &entry.next);
    if !query.error.is_empty() {
        return refused(StatusCode::FORBIDDEN, "On GitHub it was said that you do not want to sign in here.");
    }
    let entered = match door.enter(&query.code, &entry.verifier).await {
        Ok(entered) => entered,
        Err(GitHubDoorError::Refused(because)) => {
            tracing::warn!("GitHub refused a sign-in: {because}");
            return refused(StatusCode::FORBIDDEN, "GitHub does not confirm this sign-in. Begin again.");
        }
        Err(GitHubDoorError::Unavailable(because)) => {
            tracing::error!("nobody can sign in as on GitHub: {because}");
            let text =
                "GitHub could not be asked who you are; the server's log says why. Begin again in a moment.";
            return refused(StatusCode::BAD_GATEWAY, text);
        }
    };
    let login = entered.person.login.clone();
    let Some((word, lasts)) = state.people.begin(entered) else {
        return broken("This machine has no randomness.");
    };
    tracing::info!(login, "somebody has signed in to the dashboard as on GitHub");
    // Asked for from here, and not from GitHub's page: then the cookie, which is for ourselves alone, comes along.
    let mut answer = passed_on(&entry.next);
    let session = session_cookie(&state, format!("{PERSON}{word}"), lasts);
    let added = answer.add_cookie(&session);
    let removed = answer.add_removal_cookie(&Cookie::build(BROWSER, "").path(PATH).finish());
    // The address holds the code, though it is spent.
    let quiet = header::HeaderValue::from_static("no-referrer");
    answer.headers_mut().insert(header::REFERRER_POLICY, quiet);
    match added.and(removed) {
        Ok(()) => answer,
        Err(error) => broken(&error.to_string()),
    }
}
