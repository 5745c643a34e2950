//! The App's manifest, as GitHub's form takes it.

use journeyman_config::AppManifest;
use serde_json::{Value, json};
use url::Url;

use crate::answers::AppAnswers;

/// GitHub wants an address for an App that is not told of anything; this one is nobody's, and never will be.
const NOWHERE: &str = "https://journeyman.invalid/webhook";
const HOMEPAGE: &str = "https://github.com/";

/// `back` is where GitHub sends the person to.
pub(crate) fn manifest(answers: &AppAnswers, back: &Url) -> Value {
    let shipped = AppManifest::shipped();
    let public = answers.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/'));
    let hook = public.map_or_else(|| NOWHERE.to_owned(), |url| format!("{url}/webhook"));
    // Where people come back to who sign in to the dashboard.
    let sign_in = public.map(|url| format!("{url}/sign-in/github/back"));
    json!({
        "name": answers.name,
        "url": answers.public_url.as_ref().map_or(HOMEPAGE, Url::as_str),
        "description": "Turns a labeled issue into a verified pull request.",
        "public": false,
        "redirect_url": back.as_str(),
        "callback_urls": Vec::from_iter(sign_in),
        // Without a public address too: what GitHub would have sent is asked for, and it keeps that for an active one alone.
        "hook_attributes": {"url": hook, "active": true},
        "default_permissions": shipped.permissions,
        "default_events": shipped.events,
    })
}
