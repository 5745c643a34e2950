//! `/sign-in/github`: to GitHub's sign-in page and back. The state is in a cookie of that browser, and GitHub passes
//! its signature on. So nothing is stored here, however many people never come back.

use std::time::Duration;

use actix_web::cookie::{Cookie, SameSite, time};
use actix_web::http::{StatusCode, header};
use actix_web::web::{Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::answer::{broken, nothing, to};
use super::people::random_word;
use super::session::{cookie_name, is_secure, landing, now, passed_on, refused_sign_in, session_cookie};
use super::{DashboardState, GitHubDoorError};
use journeyman_order::bounds::LONGEST_PATH;

const BROWSER: &str = "journeyman_browser";
/// The time to sign in on GitHub.
const SIGNING_IN: Duration = Duration::from_secs(10 * 60);

#[derive(Deserialize)]
pub(crate) struct LeaveQuery {
    #[serde(default)]
    next: String,
}

/// GitHub's parameters; anyone could have written them.
#[derive(Deserialize)]
pub(crate) struct ReturnQuery {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    error: String,
}

pub(crate) async fn leave(query: Query<LeaveQuery>, state: Data<DashboardState>) -> HttpResponse {
    let Some(door) = &state.door else { return nothing("Nobody signs in as on GitHub here.") };
    let (Some(verifier), Some(chance)) = (random_word(), &state.shared.chance) else {
        return broken("This machine has no randomness.");
    };
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let journey = SignInJourney::begin(verifier, &query.next, now()).text();
    let mut answer = to(door.page(&signature(chance, &journey), &challenge).as_str());
    // GitHub redirects here: a lax cookie comes with that request, a strict one does not.
    let cookie = Cookie::build(cookie_name(&state, BROWSER), journey)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(is_secure(&state))
        .max_age(time::Duration::try_from(SIGNING_IN).unwrap_or(time::Duration::HOUR))
        .finish();
    match answer.add_cookie(&cookie) {
        Ok(()) => answer,
        Err(error) => broken(&error.to_string()),
    }
}

pub(crate) async fn come_back(
    request: HttpRequest,
    query: Query<ReturnQuery>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let Some(door) = &state.door else { return nothing("Nobody signs in as on GitHub here.") };
    let browser = request
        .cookie(&cookie_name(&state, BROWSER))
        .map(|cookie| cookie.value().to_owned())
        .unwrap_or_default();
    let chance = state.shared.chance.as_ref();
    let Some(journey) =
        chance.and_then(|chance| SignInJourney::returned(chance, &browser, &query.state, now()))
    else {
        let text = "This sign-in was not begun in this browser, or is over. Begin again.";
        return refused_sign_in(&state, StatusCode::FORBIDDEN, text, "");
    };
    let refused = |status, text: &str| refused_sign_in(&state, status, text, &journey.next);
    if !query.error.is_empty() {
        return refused(StatusCode::FORBIDDEN, "On GitHub it was said that you do not want to sign in here.");
    }
    let entered = match door.enter(&query.code, &journey.verifier).await {
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
    // Requested from here instead of GitHub's page, so that the same-site cookie is sent.
    let mut answer = passed_on(&journey.next);
    let session = session_cookie(&state, word, lasts);
    let added = answer.add_cookie(&session);
    let gone = Cookie::build(cookie_name(&state, BROWSER), "").path("/").secure(is_secure(&state));
    let removed = answer.add_removal_cookie(&gone.finish());
    // The URL contains the code, although it is used up.
    let quiet = header::HeaderValue::from_static("no-referrer");
    answer.headers_mut().insert(header::REFERRER_POLICY, quiet);
    match added.and(removed) {
        Ok(()) => answer,
        Err(error) => broken(&error.to_string()),
    }
}

struct SignInJourney {
    until: u64,
    /// The verifier for the returned code.
    verifier: String,
    next: String,
}

/// Only this server can make it, and only for this browser's cookie. GitHub passes it on as `state`.
fn signature(chance: &[u8; 32], journey: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, chance);
    hex::encode(hmac::sign(&key, format!("sign-in as on GitHub 1 {journey}").as_bytes()))
}

impl SignInJourney {
    fn begin(verifier: String, next: &str, now: u64) -> Self {
        let next = if next.len() > LONGEST_PATH { "/" } else { landing(next) };
        Self { until: now + SIGNING_IN.as_secs(), verifier, next: next.to_owned() }
    }

    fn text(&self) -> String {
        format!("{}.{}.{}", self.until, self.verifier, URL_SAFE_NO_PAD.encode(&self.next))
    }

    /// Verifies a returning person; `None` if the signature is not for this browser's journey, or the journey has
    /// expired. GitHub accepts each code only once.
    fn returned(chance: &[u8; 32], journey: &str, signed: &str, now: u64) -> Option<Self> {
        let expected = signature(chance, journey);
        aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_bytes(), signed.as_bytes()).ok()?;
        let mut parts = journey.splitn(3, '.');
        let (until, verifier, next) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let next = String::from_utf8(URL_SAFE_NO_PAD.decode(next).ok()?).ok()?;
        (now < until).then(|| Self { until, verifier: verifier.to_owned(), next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_is_of_one_browser_and_one_server_and_soon_over() {
        let (here, elsewhere) = ([1; 32], [2; 32]);
        let journey = SignInJourney::begin("verifier".to_owned(), "/orders/1", 1_000).text();
        let state = signature(&here, &journey);
        let returned = |chance, journey: &str, state: &str, now| {
            SignInJourney::returned(chance, journey, state, now).map(|one| (one.verifier, one.next))
        };
        let expected = Some(("verifier".to_owned(), "/orders/1".to_owned()));
        assert_eq!(returned(&here, &journey, &state, 1_599), expected);
        assert_eq!(returned(&here, &journey, &state, 1_600), None, "it took too long");
        assert_eq!(returned(&elsewhere, &journey, &state, 1_001), None, "of another server");
        assert_eq!(returned(&here, "", &state, 1_001), None, "of no browser");
        let other = SignInJourney::begin("another".to_owned(), "/orders/1", 1_000).text();
        assert_eq!(returned(&here, &other, &state, 1_001), None, "of another browser");
        let longer = journey.replacen("1600", "9999", 1);
        assert_eq!(returned(&here, &longer, &state, 1_001), None, "made longer");
        assert_eq!(returned(&here, &longer, "", 1_001), None);
    }

    #[test]
    fn nobody_comes_back_to_an_address_that_is_none_of_ours() {
        let next = |next: &str| SignInJourney::begin(String::new(), next, 0).next;
        assert_eq!(next("/?state=working"), "/?state=working");
        assert_eq!(next("//example.org"), "/");
        assert_eq!(next(&format!("/{}", "a".repeat(60_000))), "/");
    }
}
