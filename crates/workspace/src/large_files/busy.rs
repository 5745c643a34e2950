//! Whether a server only has too much to do, and how long it is waited for.
//!
//! May know: HTTP. Must never know: what is asked for.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How often the same is tried, and how long is waited before the second time; before the third twice as long.
pub(super) const TRIES: u32 = 3;
const FIRST: Duration = Duration::from_secs(1);
/// As long is waited where a server asks for it.
const LONGEST: Duration = Duration::from_secs(60);

/// Whether an answer of this status is another one after a while.
pub(super) fn is_passing(status: StatusCode) -> bool {
    (status.is_server_error() && !matches!(status.as_u16(), 501 | 505 | 507 | 509 | 511))
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        )
}

/// Whether a server was reached and did not get to an answer. One that is never reached may lie behind a firewall.
pub(super) fn was_reached(error: &reqwest::Error) -> bool {
    // A handshake is of connecting: some firewalls let that begin, and then reset it.
    !error.is_connect() && !error.is_builder()
}

/// How long is waited after the same was tried as often as this.
pub(super) fn pause(answer: Option<&HeaderMap>, tried: u32) -> Duration {
    let asked = answer.and_then(|headers| asked_for(headers, Utc::now()));
    asked.unwrap_or(FIRST * 2_u32.saturating_pow(tried.saturating_sub(1))).min(LONGEST)
}

/// In seconds, or until a moment.
fn asked_for(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let moment = DateTime::parse_from_rfc2822(text).ok()?;
            Some(moment.signed_duration_since(now).to_std().unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_waited_as_long_as_a_server_asks_for_and_never_longer_than_a_minute() {
        let asked = |text: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            pause(Some(&headers), 1).as_secs()
        };
        assert_eq!([asked("0"), asked("7"), asked("3600"), asked("18446744073709551615")], [0, 7, 60, 60]);
        assert_eq!([asked("Wed, 21 Oct 2015 07:28:00 GMT"), asked("Fri, 31 Dec 2100 23:59:59 GMT")], [0, 60]);
        assert_eq!([asked("soon"), asked("-1"), asked("")], [1, 1, 1]);
        assert_eq!([1, 2, 3].map(|tried| pause(None, tried).as_secs()), [1, 2, 4]);
    }
}
