//! Creating an App: a person posts its manifest to GitHub, and GitHub sends the person back with a code, exchanged once
//! for the App's id, key and secrets.

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::endpoints::Endpoints;
use super::error::{ErrorKind, GitHubError, Result};
use super::logs::{API_VERSION, client, unreachable};
use journeyman_order::OutgoingNetwork;

/// The subject of error messages.
const WHAT: &str = "the new App";

/// A newly created App. GitHub reveals its secrets only once.
#[derive(Debug, Deserialize)]
pub struct ConvertedApp {
    pub id: u64,
    pub slug: String,
    pub client_id: String,
    pub client_secret: SecretString,
    pub webhook_secret: Option<SecretString>,
    pub pem: SecretString,
}

pub fn web_address(api_url: &Url) -> Result<Url> {
    Ok(Endpoints::of(api_url)?.web)
}

/// Exchanges the code that GitHub returned for a manifest.
///
/// # Errors
/// [`ErrorKind::NotFound`] when the code is used, older than an hour, or not GitHub's.
pub async fn convert_manifest(api_url: &Url, outgoing: &OutgoingNetwork, code: &str) -> Result<ConvertedApp> {
    let is_code = (1..=200).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let unknown = || {
        GitHubError::new(
            ErrorKind::NotFound,
            "GitHub does not know the code it sent: it holds for an hour, and once; create the App again",
        )
    };
    if !is_code {
        return Err(unknown());
    }
    let endpoints = Endpoints::of(api_url)?;
    let request = client(outgoing)?
        .post(format!("{}/app-manifests/{code}/conversions", endpoints.rest))
        .header("accept", "application/vnd.github+json")
        .header("x-github-api-version", API_VERSION);
    let answer = request.send().await.map_err(|error| unreachable(WHAT, &error))?;
    match answer.status().as_u16() {
        201 => {
            let body = answer.bytes().await.map_err(|error| unreachable(WHAT, &error))?;
            // The parser's message could quote secrets.
            serde_json::from_slice(&body).map_err(|_| {
                GitHubError::unexpected(
                    "GitHub's answer about the new App is not what its documentation says",
                )
            })
        }
        404 => Err(unknown()),
        status => {
            Err(GitHubError::unavailable(format!("GitHub answered {status} when asked for the new App")))
        }
    }
}
