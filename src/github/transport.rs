//! One request, one answer: time limits, size limits, and statuses made into errors that say what to do.

use std::time::Duration;

use chrono::Utc;
use http_body_util::{BodyExt, Limited};
use octocrab::Octocrab;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{ErrorKind, GitHubError, Result};
use super::permissions::Permissions;

/// How long a connection may take to be made.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take, its answer included.
pub(super) const WHOLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read. A page of a hundred comments of full length is 26 MB at most.
const LARGEST_ANSWER: usize = 32 * 1024 * 1024;
/// What GitHub asks one to wait after a secondary limit that names no time.
const SECONDARY_LIMIT_WAIT: Duration = Duration::from_secs(60);
/// No wait is longer, whatever a header says: limits of GitHub's are renewed every hour.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// A request, on a route relative to the API's base. octocrab puts no authorization on routes with another
/// host than api.github.com, so that a route never names one.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) verb: Verb,
    pub(super) route: String,
    pub(super) body: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Patch,
    Delete,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

impl Request {
    pub(super) fn get(route: impl Into<String>) -> Self {
        Self { verb: Verb::Get, route: route.into(), body: None }
    }

    pub(super) fn post(route: impl Into<String>, body: Value) -> Self {
        Self { verb: Verb::Post, route: route.into(), body: Some(body) }
    }

    pub(super) fn patch(route: impl Into<String>, body: Value) -> Self {
        Self { verb: Verb::Patch, route: route.into(), body: Some(body) }
    }

    pub(super) fn delete(route: impl Into<String>) -> Self {
        Self { verb: Verb::Delete, route: route.into(), body: None }
    }

    fn name(&self) -> String {
        let path = self.route.split('?').next().unwrap_or_default();
        format!("{} {path}", self.verb.word())
    }
}

/// In whose name a request is made; decides what an error tells one to look at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    App,
    Installation(Permissions),
}

/// A 2xx answer.
pub(super) struct Answer {
    body: Vec<u8>,
    /// `Link` with `rel="next"`, or none when there is no such header at all.
    pub(super) has_next: Option<bool>,
    request: String,
}

impl Answer {
    /// Reads the body.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| {
            GitHubError::unexpected(format!(
                "GitHub's answer to {} is not what its documentation says ({error}); \
                 if a proxy stands between, look at what it answers",
                self.request
            ))
        })
    }
}

/// Sends a request once. Nothing is repeated here: whoever calls knows whether that is harmless.
pub(super) async fn send(client: &Octocrab, request: &Request, name: Name) -> Result<Answer> {
    let route = request.route.as_str();
    let exchange = async {
        let response = match request.verb {
            Verb::Get => client._get(route).await,
            Verb::Post => client._post(route, request.body.as_ref()).await,
            Verb::Patch => client._patch(route, request.body.as_ref()).await,
            Verb::Delete => client._delete(route, request.body.as_ref()).await,
        }
        .map_err(|error| unreachable_error(request, &error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await.map_err(|error| {
            GitHubError::unavailable(format!("GitHub's answer to {} broke off: {error}", request.name()))
        })?;
        Ok((head, body.to_bytes().to_vec()))
    };
    let (head, body) = tokio::time::timeout(WHOLE_TIMEOUT, exchange).await.map_err(|_| {
        GitHubError::unavailable(format!(
            "GitHub did not answer {} within {} seconds",
            request.name(),
            WHOLE_TIMEOUT.as_secs()
        ))
    })??;
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    if head.status.is_success() {
        let has_next = header("link").map(|link| link.contains("rel=\"next\""));
        return Ok(Answer { body, has_next, request: request.name() });
    }
    let refusal = Refusal {
        status: head.status.as_u16(),
        retry_after: header("retry-after").and_then(|seconds| seconds.trim().parse().ok()),
        remaining: header("x-ratelimit-remaining").and_then(|count| count.trim().parse().ok()),
        reset: header("x-ratelimit-reset").and_then(|time| time.trim().parse().ok()),
        words: words_of(&body),
    };
    Err(refusal.error(&request.name(), name))
}

fn unreachable_error(request: &Request, error: &octocrab::Error) -> GitHubError {
    // The outermost error says only that a service failed; the reason is the innermost one.
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    GitHubError::unavailable(format!(
        "GitHub could not be reached for {} ({innermost}); if this stays, look at github.api_url and the network",
        request.name()
    ))
}

struct Refusal {
    status: u16,
    retry_after: Option<u64>,
    remaining: Option<u64>,
    reset: Option<i64>,
    words: String,
}

impl Refusal {
    fn limit(&self) -> Option<Duration> {
        let lower = self.words.to_lowercase();
        let named = lower.contains("rate limit") || lower.contains("abuse detection");
        let limited = self.status == 429
            || (self.status == 403 && (self.retry_after.is_some() || self.remaining == Some(0) || named));
        if !limited {
            return None;
        }
        let until_reset = || {
            let seconds = self.reset?.saturating_sub(Utc::now().timestamp());
            (self.remaining == Some(0)).then(|| u64::try_from(seconds).unwrap_or(0).max(1))
        };
        let wait = self.retry_after.or_else(until_reset).map_or(SECONDARY_LIMIT_WAIT, Duration::from_secs);
        Some(wait.min(LONGEST_WAIT))
    }

    fn error(&self, request: &str, name: Name) -> GitHubError {
        let Self { status, words, .. } = self;
        if let Some(wait) = self.limit() {
            return GitHubError::new(
                ErrorKind::Unavailable { retry_after: Some(wait) },
                format!(
                    "GitHub limits our requests; the next is due in {} seconds ({words})",
                    wait.as_secs()
                ),
            );
        }
        let said = format!("GitHub answered {request} with {status}: {words}");
        match status {
            401 => {
                let look = match name {
                    Name::App => {
                        "look at github.app_id and github.private_key_path, and at this machine's clock"
                    }
                    Name::Installation(_) => {
                        "a freshly made token was refused: look at github.api_url, and whether the App's \
                         installation was suspended"
                    }
                };
                GitHubError::new(ErrorKind::Unauthorized, format!("{said}; {look}"))
            }
            403 => {
                let look = match name {
                    Name::App => "the App may be suspended: look at its page on GitHub".to_owned(),
                    Name::Installation(permissions) => format!(
                        "this takes the App's permission \"{}\": grant it on the App's page, then have the \
                         installation accept it",
                        permissions.words()
                    ),
                };
                GitHubError::new(ErrorKind::Forbidden, format!("{said}; {look}"))
            }
            404 | 410 => GitHubError::new(ErrorKind::NotFound, said),
            409 => GitHubError::new(ErrorKind::Conflict, said),
            400 | 413 | 415 | 422 => GitHubError::new(ErrorKind::Invalid, said),
            408 | 500..=599 => {
                let retry_after =
                    self.retry_after.map(Duration::from_secs).map(|wait| wait.min(LONGEST_WAIT));
                GitHubError::new(ErrorKind::Unavailable { retry_after }, said)
            }
            _ => GitHubError::unexpected(said),
        }
    }
}

/// GitHub's own words of why not: the message and what is said of each field, shortened.
fn words_of(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Wire {
        message: Option<String>,
        #[serde(default)]
        errors: Value,
    }
    const MOST: usize = 500;
    let Ok(wire) = serde_json::from_slice::<Wire>(body) else {
        // HTML of some proxy: its title or beginning would tell people little, and it may be long.
        return "no reason given".to_owned();
    };
    let mut words = vec![wire.message.unwrap_or_else(|| "no reason given".to_owned())];
    let errors = match wire.errors {
        Value::Array(errors) => errors,
        Value::Null => Vec::new(),
        one @ (Value::Object(_) | Value::String(_) | Value::Bool(_) | Value::Number(_)) => vec![one],
    };
    for error in errors.iter().take(5) {
        let of = |key: &str| error.get(key).and_then(Value::as_str);
        match (error.as_str(), of("message"), of("field"), of("code")) {
            (Some(text), ..) | (None, Some(text), ..) => words.push(text.to_owned()),
            (None, None, Some(field), Some(code)) => words.push(format!("{field}: {code}")),
            (None, None, None, Some(code)) => words.push(code.to_owned()),
            (None, None, _, None) => {}
        }
    }
    words.join("; ").chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, retry_after: Option<u64>, remaining: Option<u64>, words: &str) -> ErrorKind {
        let refusal = Refusal { status, retry_after, remaining, reset: None, words: words.to_owned() };
        refusal.error("GET /x", Name::Installation(Permissions::WriteIssues)).kind
    }

    #[test]
    fn every_status_says_what_to_do() {
        let wait = |seconds| ErrorKind::Unavailable { retry_after: Some(Duration::from_secs(seconds)) };
        for (status, retry_after, remaining, words, kind) in [
            (401, None, None, "Bad credentials", ErrorKind::Unauthorized),
            (403, None, None, "Resource not accessible by integration", ErrorKind::Forbidden),
            (403, Some(7), None, "wait", wait(7)),
            (403, None, Some(0), "API rate limit exceeded", wait(60)),
            (403, None, None, "You have exceeded a secondary rate limit", wait(60)),
            (429, None, None, "slow down", wait(60)),
            (429, Some(999_999), None, "slow down", wait(3_600)),
            (404, None, None, "Not Found", ErrorKind::NotFound),
            (410, None, None, "This issue was deleted", ErrorKind::NotFound),
            (409, None, None, "conflict", ErrorKind::Conflict),
            (422, None, None, "Validation Failed", ErrorKind::Invalid),
            (500, None, None, "", ErrorKind::Unavailable { retry_after: None }),
            (503, Some(3), None, "", wait(3)),
            (418, None, None, "", ErrorKind::Unexpected),
        ] {
            assert_eq!(refused(status, retry_after, remaining, words), kind, "{status} {words}");
        }
    }

    #[test]
    fn githubs_reasons_are_kept_and_a_proxys_page_is_not() {
        let body = br#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom",
            "message":"A pull request already exists for octo:b."},{"field":"head","code":"invalid"},"plain"]}"#;
        assert_eq!(
            words_of(body),
            "Validation Failed; A pull request already exists for octo:b.; head: invalid; plain"
        );
        assert_eq!(words_of(b"<html>502 Bad Gateway</html>"), "no reason given");
        assert_eq!(words_of(br#"{"message":"m","errors":"text"}"#), "m; text");
    }
}
