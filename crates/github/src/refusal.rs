//! Turns statuses and headers into errors that say what to do.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::error::{ErrorKind, GitHubError};
use super::permissions::TokenPermissions;
use journeyman_order::bounds::LONGEST_MESSAGE;

/// The wait that GitHub recommends after a secondary limit without a time.
const SECONDARY_LIMIT_WAIT: Duration = Duration::from_secs(60);
/// The longest wait, whatever a header says: GitHub renews its limits every hour.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// An answer that is not 2xx, with the parts that matter.
pub(super) struct GitHubErrorResponse {
    status: u16,
    retry_after: Option<u64>,
    remaining: Option<u64>,
    reset: Option<i64>,
    /// An HTML page, so not from the API.
    is_page: bool,
    words: String,
}

/// Whether an answer is an HTML page, for example a proxy's or a sign-in page.
pub(super) fn is_page<'a>(header: impl Fn(&str) -> Option<&'a str>) -> bool {
    header("content-type").is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

impl GitHubErrorResponse {
    /// Parses an answer; `header` returns a header's text.
    pub(super) fn read<'a>(status: u16, header: impl Fn(&str) -> Option<&'a str>, body: &[u8]) -> Self {
        Self {
            status,
            retry_after: header("retry-after").map(|text| seconds_of(text.trim())),
            remaining: header("x-ratelimit-remaining").and_then(|count| count.trim().parse().ok()),
            reset: header("x-ratelimit-reset").and_then(|time| time.trim().parse().ok()),
            is_page: is_page(&header),
            words: words_of(body),
        }
    }

    fn limit(&self) -> Option<Duration> {
        let lower = self.words.to_lowercase();
        let named = lower.contains("rate limit") || lower.contains("abuse detection");
        let limited = self.status == 429
            // GitHub reports content that comes too fast as a 422, like invalid content.
            || (self.status == 422 && lower.contains("submitted too quickly"))
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

    /// The error for a request with these permissions; `None`: a request in the App's own name.
    pub(super) fn error(&self, request: &str, permissions: Option<TokenPermissions>) -> GitHubError {
        let Self { status, words, .. } = self;
        if let Some(wait) = self.limit() {
            return GitHubError::limited(
                wait,
                format!(
                    "GitHub limits our requests; the next is due in {} seconds ({words})",
                    wait.as_secs()
                ),
            );
        }
        let said = format!("GitHub answered {request} with {status}: {words}");
        match status {
            401 => {
                let look = match permissions {
                    None => "look at github.app_id and github.private_key_path, and at this machine's clock",
                    Some(_) => {
                        "a freshly made token was refused: look at github.api_url, and whether the App's \
                         installation was suspended"
                    }
                };
                GitHubError::new(ErrorKind::Unauthorized, format!("{said}; {look}"))
            }
            // An HTML page is no statement by GitHub that something is missing or forbidden.
            403 | 404 | 410 if self.is_page => GitHubError::unavailable(format!(
                "{said}; it came as a page for people: if a proxy stands between, look at what it answers"
            )),
            // Only a caller with the repository's id can find its new place.
            300..=399 => GitHubError::moved(format!("{said}; it was renamed or moved")),
            // Blocked content still exists.
            451 => GitHubError::new(ErrorKind::Forbidden, format!("{said}; it is blocked")),
            403 => {
                let look = match permissions {
                    None => "the App may be suspended: look at its page on GitHub".to_owned(),
                    Some(permissions) => format!(
                        "this takes the App's permission \"{}\": grant it on the App's page, then have the \
                         installation accept it",
                        permissions.words()
                    ),
                };
                GitHubError::new(ErrorKind::Forbidden, format!("{said}; {look}"))
            }
            404 | 410 => GitHubError::new(
                ErrorKind::NotFound,
                format!("{said}; it is gone, or the App may not see it"),
            ),
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

/// A wait in seconds. A proxy may send a date instead; anything else still means a wait.
fn seconds_of(text: &str) -> u64 {
    let until = || Some((DateTime::parse_from_rfc2822(text).ok()?.to_utc() - Utc::now()).num_seconds());
    let seconds = text.parse().ok().or_else(|| u64::try_from(until()?.max(0)).ok());
    seconds.unwrap_or(SECONDARY_LIMIT_WAIT.as_secs())
}

/// GitHub's reasons: the message and the error of each field, shortened.
fn words_of(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Wire {
        message: Option<String>,
        #[serde(default)]
        errors: Value,
    }
    let Ok(wire) = serde_json::from_slice::<Wire>(body) else {
        // HTML of a proxy: its text may be long and would not help people.
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
    words.join("; ").chars().take(LONGEST_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, retry_after: Option<u64>, remaining: Option<u64>, words: &str) -> ErrorKind {
        let refusal = GitHubErrorResponse {
            status,
            retry_after,
            remaining,
            reset: None,
            is_page: false,
            words: words.to_owned(),
        };
        refusal.error("GET /x", Some(TokenPermissions::WriteIssues)).kind
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
            (301, None, None, "Moved Permanently", ErrorKind::Forbidden),
            (303, None, None, "", ErrorKind::Forbidden),
            (308, None, None, "", ErrorKind::Forbidden),
            (451, None, None, "Repository access blocked", ErrorKind::Forbidden),
            (404, None, None, "Not Found", ErrorKind::NotFound),
            (410, None, None, "This issue was deleted", ErrorKind::NotFound),
            (409, None, None, "conflict", ErrorKind::Conflict),
            (422, None, None, "Validation Failed", ErrorKind::Invalid),
            (422, None, None, "Validation Failed; body was submitted too quickly", wait(60)),
            (500, None, None, "", ErrorKind::Unavailable { retry_after: None }),
            (503, Some(3), None, "", wait(3)),
            (418, None, None, "", ErrorKind::Unexpected),
        ] {
            assert_eq!(refused(status, retry_after, remaining, words), kind, "{status} {words}");
        }
    }

    #[test]
    fn a_wait_is_understood_however_it_is_said() {
        let soon = (Utc::now() + chrono::TimeDelta::minutes(10)).to_rfc2822();
        for (text, least, most) in [
            ("7", 7, 7),
            (" 0 ", 0, 0),
            ("-5", 60, 60),
            ("tomorrow", 60, 60),
            ("99999999999999999999999", 60, 60),
            (soon.as_str(), 500, 600),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600, 3_600),
        ] {
            for status in [403, 429, 503] {
                let refusal =
                    GitHubErrorResponse::read(status, |name| (name == "retry-after").then_some(text), b"");
                let kind = refusal.error("POST /x", None).kind;
                let ErrorKind::Unavailable { retry_after: Some(wait) } = kind else {
                    panic!("{status} {text}: {kind:?}")
                };
                assert!((least..=most).contains(&wait.as_secs()), "{status} {text}: {wait:?}");
            }
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
