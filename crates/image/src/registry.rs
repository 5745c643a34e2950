//! One registry's HTTP interface, as far as pulling needs it.
//!
//! May know: addresses, credentials, bytes. Must never know: what the bytes mean, files of images.
//!
//! A registry's answers are hostile: each body has a most, addresses that it names have to be as safe as its own, and
//! a credential goes to the registry and its token service only. The library for this (`oci-client`) was left out: it
//! reads manifests without end into memory and panics on a token with a line break.

use std::error::Error as _;
use std::time::Duration;

use futures_util::StreamExt;
use http_auth::ChallengeRef;
use http_auth::parser::ChallengeParser;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, RANGE, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;

use crate::auth::{self, FoundCredential, ImageCredential};
use crate::error::ImageError;
use crate::manifest::{DOCKER_INDEX, DOCKER_MANIFEST, INDEX, MANIFEST};
use crate::reference::{ImageDigest, ImageReference, shown};
use crate::settings::ImageSettings;
use journeyman_outgoing::InvalidOutgoing;

/// What registries accept as the largest manifest; the same for configurations.
pub(crate) const MOST_OF_A_DOCUMENT: u64 = 4 << 20;
const MOST_OF_A_TOKEN: u64 = 1 << 20;
const MOST_OF_AN_ERROR: u64 = 16 << 10;
const MOST_REDIRECTS: usize = 5;
/// Tries of one request.
pub(crate) const TRIES: u32 = 5;
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(15);
/// Without a byte.
const SILENCE: Duration = Duration::from_secs(60);

/// Reaches registries.
#[derive(Debug, Clone)]
pub(crate) struct RegistryClient {
    http: Client,
    settings: ImageSettings,
}

/// One image's repository at its registry, for one pull.
#[derive(Debug)]
pub(crate) struct RegistrySession {
    http: Client,
    image: ImageReference,
    base: Url,
    found: FoundCredential,
    /// Once the registry has said what it wants.
    authorization: Mutex<Option<HeaderValue>>,
}

/// Whoever sets something has to change it.
fn settings_error(text: String) -> ImageError {
    ImageError::Settings(text)
}

impl RegistryClient {
    pub(crate) fn new(settings: ImageSettings) -> Result<Self, ImageError> {
        let wrong = |error: InvalidOutgoing| settings_error(error.to_string());
        let client = journeyman_outgoing::client_builder(&settings.outgoing).map_err(wrong)?;
        let client = client
            .user_agent(concat!("journeyman/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .redirect(Policy::custom(redirected));
        let http = journeyman_outgoing::build(client).map_err(wrong)?;
        Ok(Self { http, settings })
    }

    pub(crate) async fn session(&self, image: &ImageReference) -> Result<RegistrySession, ImageError> {
        let host = match image.registry() {
            "docker.io" => "registry-1.docker.io",
            other => other,
        };
        let base = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}/v2/"))
                .map_err(|error| settings_error(format!("`{host}` is no registry: {error}")))
        };
        let mut url = base("https")?;
        if self.settings.plain_http_on_loopback
            && is_loopback(&url)
            && self.http.get(url.clone()).send().await.is_err()
        {
            url = base("http")?;
        }
        Ok(RegistrySession {
            http: self.http.clone(),
            image: image.clone(),
            base: url,
            found: auth::credential(&self.settings.auth_files, image)?,
            authorization: Mutex::new(None),
        })
    }
}

impl RegistrySession {
    /// The document that a tag or digest leads to.
    pub(crate) async fn manifest(&self, name: &str) -> Result<Vec<u8>, ImageError> {
        let mut headers = HeaderMap::new();
        for kind in [INDEX, DOCKER_INDEX, MANIFEST, DOCKER_MANIFEST] {
            headers.append(ACCEPT, HeaderValue::from_static(kind));
        }
        self.document(&format!("manifests/{name}"), &headers).await
    }

    /// A small blob.
    pub(crate) async fn config(&self, digest: &ImageDigest) -> Result<Vec<u8>, ImageError> {
        self.document(&format!("blobs/{digest}"), &HeaderMap::new()).await
    }

    /// A blob from this byte on. Whether the answer begins there, its status says.
    pub(crate) async fn blob(&self, digest: &ImageDigest, from: u64) -> Result<Response, ImageError> {
        let mut headers = HeaderMap::new();
        if from > 0
            && let Ok(range) = HeaderValue::from_str(&format!("bytes={from}-"))
        {
            headers.insert(RANGE, range);
        }
        self.get(&format!("blobs/{digest}"), &headers).await
    }

    async fn document(&self, path: &str, headers: &HeaderMap) -> Result<Vec<u8>, ImageError> {
        let mut tried = 0;
        loop {
            tried += 1;
            match read_at_most(self.get(path, headers).await?, MOST_OF_A_DOCUMENT).await {
                Ok(bytes) => return Ok(bytes),
                Err(BodyProblem::TooLarge) => {
                    let reason = format!(
                        "its registry sends more than {MOST_OF_A_DOCUMENT} bytes for a description of it"
                    );
                    return Err(ImageError::refused(&self.image, reason));
                }
                Err(BodyProblem::BrokenOff(error)) if tried >= TRIES => return Err(self.unreachable(&error)),
                Err(BodyProblem::BrokenOff(_)) => tokio::time::sleep(pause(tried)).await,
            }
        }
    }

    /// Asks until there is an answer that asking again would not change. The answer is a success.
    async fn get(&self, path: &str, headers: &HeaderMap) -> Result<Response, ImageError> {
        // The parts are checked names: nothing in them ends the path.
        let url = self
            .base
            .join(&format!("{}/{path}", self.image.repository()))
            .map_err(|error| settings_error(format!("{}: {error}", self.image)))?;
        let mut tried = 0;
        let mut renewed = false;
        loop {
            tried += 1;
            let authorization = self.authorization.lock().await.clone();
            let mut request = self.http.get(url.clone()).headers(headers.clone());
            if let Some(value) = &authorization {
                request = request.header(AUTHORIZATION, value);
            }
            let wait = match request.send().await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) if response.status() == StatusCode::UNAUTHORIZED && !renewed => {
                    renewed = true;
                    self.authorize(&response, authorization.as_ref()).await?;
                    continue;
                }
                Ok(response) if is_passing(response.status()) && tried < TRIES => {
                    retry_after(&response).unwrap_or_else(|| pause(tried))
                }
                Ok(response) => return Err(self.refusal(response).await),
                Err(error) if is_lasting(&error) || tried >= TRIES => return Err(self.unreachable(&error)),
                Err(_) => pause(tried),
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Does what the registry wants before it answers. Of several requests at once, one does it for all.
    async fn authorize(&self, refused: &Response, with: Option<&HeaderValue>) -> Result<(), ImageError> {
        let mut authorization = self.authorization.lock().await;
        if authorization.as_ref() != with {
            return Ok(());
        }
        let wanted: Vec<&str> = refused
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let challenges: Vec<ChallengeRef<'_>> =
            wanted.iter().flat_map(|value| ChallengeParser::new(value)).filter_map(Result::ok).collect();
        let named = |scheme: &str| challenges.iter().find(|found| found.scheme.eq_ignore_ascii_case(scheme));
        let value = if let Some(bearer) = named("Bearer") {
            let token = self.token(bearer).await?;
            format!("Bearer {}", token.expose_secret())
        } else if named("Basic").is_some() {
            match &self.found.credential {
                Some(ImageCredential::Password { user, password }) => basic(user, password),
                Some(ImageCredential::IdentityToken(_)) | None => return Err(self.denied()),
            }
        } else {
            let cause = "it wants a way to log in that is not known here".to_owned();
            return Err(ImageError::Unavailable { registry: self.image.registry().to_owned(), cause });
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| self.bad_token())?;
        value.set_sensitive(true);
        *authorization = Some(value);
        Ok(())
    }

    /// Asks the registry's token service.
    async fn token(&self, challenge: &ChallengeRef<'_>) -> Result<SecretString, ImageError> {
        let parameter = |name: &str| {
            let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.to_unescaped())
        };
        let realm = parameter("realm").unwrap_or_default();
        let realm = Url::parse(&realm).ok().filter(|realm| self.is_as_safe(realm)).ok_or_else(|| {
            ImageError::Unavailable {
                registry: self.image.registry().to_owned(),
                cause: format!("its token service is not reached over HTTPS ({})", shown(&realm)),
            }
        })?;
        let scope = format!("repository:{}:pull", self.image.repository());
        let mut fields = vec![("scope", scope)];
        fields.extend(parameter("service").map(|service| ("service", service)));
        let request = match &self.found.credential {
            Some(ImageCredential::IdentityToken(token)) => {
                fields.push(("grant_type", "refresh_token".to_owned()));
                fields.push(("client_id", "journeyman".to_owned()));
                fields.push(("refresh_token", token.expose_secret().to_owned()));
                self.http.post(realm).form(&fields)
            }
            Some(ImageCredential::Password { user, password }) => {
                self.http.get(realm).query(&fields).basic_auth(user, Some(password.expose_secret()))
            }
            None => self.http.get(realm).query(&fields),
        };
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => {
                return Err(self.denied());
            }
            status => {
                let cause = format!("its token service answers with {status}");
                return Err(ImageError::Unavailable { registry: self.image.registry().to_owned(), cause });
            }
        }
        let bytes = read_at_most(response, MOST_OF_A_TOKEN).await.map_err(|_| self.bad_token())?;
        let answer: TokenAnswer = serde_json::from_slice(&bytes).map_err(|_| self.bad_token())?;
        answer.token.or(answer.access_token).ok_or_else(|| self.bad_token())
    }

    /// An address that a registry names has to be as safe as its own.
    fn is_as_safe(&self, url: &Url) -> bool {
        match url.scheme() {
            "https" => true,
            "http" => self.base.scheme() == "http" && is_loopback(url),
            _ => false,
        }
    }

    async fn refusal(&self, response: Response) -> ImageError {
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.denied(),
            StatusCode::NOT_FOUND => {
                let hint = self.found.hint(self.image.registry());
                ImageError::NotFound { image: self.image.to_string(), hint }
            }
            status => {
                let said = read_at_most(response, MOST_OF_AN_ERROR).await.unwrap_or_default();
                let said = shown(String::from_utf8_lossy(&said).trim());
                let cause = if said.is_empty() { status.to_string() } else { format!("{status}: {said}") };
                ImageError::Unavailable { registry: self.image.registry().to_owned(), cause }
            }
        }
    }

    fn denied(&self) -> ImageError {
        let hint = self.found.hint(self.image.registry());
        ImageError::Denied { image: self.image.to_string(), hint }
    }

    fn bad_token(&self) -> ImageError {
        let cause = "its token service answers with something else than a token".to_owned();
        ImageError::Unavailable { registry: self.image.registry().to_owned(), cause }
    }

    /// A connection that ended too early, with an error or without one.
    pub(crate) fn broken_off(&self, error: Option<&reqwest::Error>) -> ImageError {
        match error {
            Some(error) => self.unreachable(error),
            None => ImageError::Unreachable {
                registry: self.image.registry().to_owned(),
                cause: "the connection ends before the last byte".to_owned(),
            },
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ImageError {
        let registry = self.image.registry().to_owned();
        let cause = chain(error);
        if cause.contains("certificate") {
            return settings_error(format!(
                "the registry {registry} shows a certificate that is not trusted ({cause}). If it is your company's, \
                 name the file with its authority as network.ca_file in journeyman.toml"
            ));
        }
        if error.is_redirect() {
            return ImageError::Unavailable { registry, cause };
        }
        ImageError::Unreachable { registry, cause }
    }
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<SecretString>,
    access_token: Option<SecretString>,
}

#[derive(Debug)]
enum BodyProblem {
    TooLarge,
    BrokenOff(reqwest::Error),
}

async fn read_at_most(response: Response, most: u64) -> Result<Vec<u8>, BodyProblem> {
    let mut all = Vec::new();
    let mut parts = response.bytes_stream();
    while let Some(part) = parts.next().await {
        let part = part.map_err(BodyProblem::BrokenOff)?;
        if (all.len() as u64).saturating_add(part.len() as u64) > most {
            return Err(BodyProblem::TooLarge);
        }
        all.extend_from_slice(&part);
    }
    Ok(all)
}

/// Follows where registries keep their blobs, never from HTTPS to what anybody can read and change. The client takes
/// the credential away when another host is meant.
fn redirected(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let was_safe = attempt.previous().last().is_none_or(|url| url.scheme() == "https");
    if attempt.previous().len() > MOST_REDIRECTS {
        return attempt.error("it redirects without end");
    }
    let (is_safe, is_near) = (attempt.url().scheme() == "https", is_loopback(attempt.url()));
    if is_safe || (!was_safe && is_near) {
        attempt.follow()
    } else {
        attempt.error("it redirects to an address that is not HTTPS")
    }
}

fn is_loopback(url: &Url) -> bool {
    url.host().is_some_and(|host| journeyman_outgoing::is_loopback(&host))
}

fn basic(user: &str, password: &SecretString) -> String {
    use base64::Engine as _;
    let both = format!("{user}:{}", password.expose_secret());
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both))
}

fn is_passing(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
}

/// Whether asking again would bring the same.
fn is_lasting(error: &reqwest::Error) -> bool {
    error.is_redirect() || error.is_builder() || chain(error).contains("certificate")
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: u64 = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// Before the next try: half a second, one, two, four.
pub(crate) fn pause(tried: u32) -> Duration {
    Duration::from_millis(250).saturating_mul(2_u32.saturating_pow(tried)).min(LONGEST_WAIT)
}

/// Why bytes are refused that are not those that were asked for.
pub(crate) fn wrong_bytes(found: &ImageDigest, asked: &ImageDigest) -> String {
    format!("its registry sends bytes with the digest {found} where {asked} was asked for")
}

/// An error and what is behind it, without the address: its query can hold a signature.
pub(crate) fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut behind = error.source();
    while let Some(error) = behind {
        let said = error.to_string();
        if !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        behind = error.source();
    }
    if text.is_empty() {
        text = if error.is_timeout() {
            "it does not answer in time".to_owned()
        } else {
            "the connection broke".to_owned()
        };
    }
    shown(&text)
}
