//! The output of a GitHub Actions job. GitHub redirects to a storage service with a signed URL, valid for a minute,
//! that must not get our token.

use std::error::Error as _;
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, LOCATION};
use reqwest::{Client, Response};
use secrecy::ExposeSecret as _;
use url::Url;

use super::connection::CONNECT_TIMEOUT;
use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result};
use super::permissions::TokenPermissions;
use super::service::GitHub;
use journeyman_order::OutgoingNetwork;
use journeyman_order::bounds::LARGEST_STREAM;

/// The same version that octocrab sends.
pub(super) const API_VERSION: &str = "2022-11-28";
/// Bytes kept from the end.
const KEPT: usize = 256 * 1024;
/// The subject of error messages.
const WHAT: &str = "the log of a job";
/// Timeout for the whole request.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(20);

/// An HTTP client beside octocrab. It follows no redirects: tokens and codes are only for GitHub.
pub(super) fn client(outgoing: &OutgoingNetwork) -> Result<Client> {
    journeyman_outgoing::client(outgoing, |builder| {
        builder.connect_timeout(CONNECT_TIMEOUT).timeout(WHOLE_TIMEOUT).user_agent("journeyman")
    })
    .map_err(|error| GitHubError::unexpected(error.to_string()))
}

impl GitHub {
    /// The HTTP client for requests that octocrab cannot make.
    pub(super) fn plain_client(&self) -> Result<&Client> {
        self.0.logs.get_or_init(|| client(&self.0.outgoing)).as_ref().map_err(Clone::clone)
    }

    /// The end of a job's output, unchanged; `None` if its log was deleted. Untrusted.
    ///
    /// # Errors
    /// [`ErrorKind::Forbidden`] without the permission to read it; otherwise as for every call.
    pub async fn job_log(&self, at: &InstalledRepository, job: u64) -> Result<Option<String>> {
        let token = self.token(at, TokenPermissions::ReadActions, None).await?;
        let url = format!("{}{}", self.0.endpoints.rest, at.route(&format!("/actions/jobs/{job}/logs")));
        let request = self.plain_client()?.get(url).bearer_auth(token.secret().expose_secret());
        let request =
            request.header(ACCEPT, "application/vnd.github+json").header("x-github-api-version", API_VERSION);
        let mut answer = request.send().await.map_err(|error| unreachable(WHAT, &error))?;
        if matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            let usable = |url: &Url| {
                let is_here = || url.host().is_some_and(|host| journeyman_order::is_loopback(&host));
                url.scheme() == "https" || (url.scheme() == "http" && is_here())
            };
            let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let Some(url) = location.and_then(|text| Url::parse(text).ok()).filter(usable) else {
                let because = "GitHub names no address of the job's log that can be used";
                return Err(GitHubError::unexpected(because));
            };
            // Without our token: the signed URL is sufficient.
            let signed = self.plain_client()?.get(url).send().await;
            answer = signed.map_err(|error| unreachable(WHAT, &error))?;
        }
        match answer.status().as_u16() {
            200 => Ok(Some(end_of(answer).await?)),
            404 | 410 => Ok(None),
            status => Err(refused(WHAT, status)),
        }
    }
}

/// The error for an unexpected status.
pub(super) fn refused(what: &str, status: u16) -> GitHubError {
    let kind = match status {
        401 => ErrorKind::Unauthorized,
        403 | 404 => ErrorKind::Forbidden,
        429 | 500..=599 => ErrorKind::Unavailable { retry_after: None },
        _ => ErrorKind::Unexpected,
    };
    GitHubError::new(kind, format!("{what} was answered with {status}"))
}

/// The body; `None` if it is longer than `most`.
pub(super) async fn body_of(answer: Response, most: usize, what: &str) -> Result<Option<Vec<u8>>> {
    let mut stream = answer.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| unreachable(what, &error))?;
        if bytes.len() + chunk.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// An error without the URL, which is signed.
pub(super) fn unreachable(what: &str, error: &reqwest::Error) -> GitHubError {
    let why = error.source().map(|source| format!(" ({})", journeyman_outgoing::innermost(source)));
    GitHubError::unavailable(format!("{what} could not be read{}", why.unwrap_or_default()))
}

async fn end_of(answer: Response) -> Result<String> {
    let mut stream = answer.bytes_stream();
    let (mut kept, mut read): (Vec<u8>, usize) = (Vec::new(), 0);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| unreachable(WHAT, &error))?;
        read += chunk.len();
        kept.extend_from_slice(&chunk);
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
        if read > LARGEST_STREAM {
            break;
        }
    }
    let start = kept.len().saturating_sub(KEPT);
    Ok(String::from_utf8_lossy(kept.get(start..).unwrap_or_default()).into_owned())
}
