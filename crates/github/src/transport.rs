//! One request, one answer: time limits, size limits, and statuses made into errors that say what to do.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{GitHubError, Result};
use super::gate::WritePriority;
use super::permissions::RequestAuth;
use super::refusal::GitHubErrorResponse;

/// How long a connection may take to be made.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take, its answer included.
pub(super) const WHOLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read. A page of a hundred comments of full length is 26 MB at most.
const LARGEST_ANSWER: usize = 32 * 1024 * 1024;
/// A request, on a route relative to the API's base. octocrab puts no authorization on routes with another
/// host than api.github.com, so that a route never names one.
#[derive(Debug, Clone)]
pub(super) struct GitHubRequest {
    pub(super) verb: HttpVerb,
    pub(super) route: String,
    pub(super) body: Option<Value>,
    /// Of a write: who may overtake it.
    pub(super) priority: WritePriority,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVerb {
    Get,
    Post,
    Patch,
    Delete,
}

impl HttpVerb {
    fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

impl GitHubRequest {
    pub(super) fn get(route: impl Into<String>) -> Self {
        Self::new(HttpVerb::Get, route, None)
    }

    pub(super) fn post(route: impl Into<String>, body: Value) -> Self {
        Self::new(HttpVerb::Post, route, Some(body))
    }

    pub(super) fn patch(route: impl Into<String>, body: Value) -> Self {
        Self::new(HttpVerb::Patch, route, Some(body))
    }

    pub(super) fn delete(route: impl Into<String>) -> Self {
        Self::new(HttpVerb::Delete, route, None)
    }

    fn new(verb: HttpVerb, route: impl Into<String>, body: Option<Value>) -> Self {
        Self { verb, route: route.into(), body, priority: WritePriority::Important }
    }

    /// Lets others overtake it: without this a write is important.
    pub(super) fn yielding(self, priority: WritePriority) -> Self {
        Self { priority, ..self }
    }

    pub(super) fn name(&self) -> String {
        let path = self.route.split('?').next().unwrap_or_default();
        format!("{} {path}", self.verb.word())
    }
}

/// A 2xx answer.
pub(super) struct GitHubResponse {
    body: Vec<u8>,
    /// `Link` with `rel="next"`, or none when there is no such header at all.
    pub(super) has_next: Option<bool>,
    /// Where the next page begins, of a list that is read by cursors.
    pub(super) next_cursor: Option<String>,
    request: String,
}

impl GitHubResponse {
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
pub(super) async fn send(
    client: &Octocrab,
    request: &GitHubRequest,
    name: RequestAuth,
) -> Result<GitHubResponse> {
    send_within(WHOLE_TIMEOUT, client, request, name).await
}

async fn send_within(
    whole: Duration,
    client: &Octocrab,
    request: &GitHubRequest,
    name: RequestAuth,
) -> Result<GitHubResponse> {
    let route = request.route.as_str();
    let exchange = async {
        let response = match request.verb {
            HttpVerb::Get => client._get(route).await,
            HttpVerb::Post => client._post(route, request.body.as_ref()).await,
            HttpVerb::Patch => client._patch(route, request.body.as_ref()).await,
            HttpVerb::Delete => client._delete(route, request.body.as_ref()).await,
        }
        .map_err(|error| unreachable_error(request, &error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await.map_err(|error| {
            GitHubError::unavailable(format!("GitHub's answer to {} broke off: {error}", request.name()))
        })?;
        Ok((head, body.to_bytes().to_vec()))
    };
    let (head, body) = tokio::time::timeout(whole, exchange).await.map_err(|_| {
        GitHubError::unavailable(format!(
            "GitHub did not answer {} within {} seconds",
            request.name(),
            whole.as_secs()
        ))
    })??;
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    if head.status.is_success() {
        let has_next = header("link").map(|link| link.contains("rel=\"next\""));
        let next_cursor = header("link").and_then(next_cursor);
        return Ok(GitHubResponse { body, has_next, next_cursor, request: request.name() });
    }
    Err(GitHubErrorResponse::read(head.status.as_u16(), header, &body).error(&request.name(), name))
}

/// The `cursor` of the link with `rel="next"`, as it stands there.
fn next_cursor(link: &str) -> Option<String> {
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    let (_, query) = next.split_once('<')?.1.split_once('>')?.0.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("cursor=")).map(str::to_owned)
}

fn unreachable_error(request: &GitHubRequest, error: &octocrab::Error) -> GitHubError {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn the_next_page_of_a_list_by_cursors_is_found() {
        let link = "<https://api.github.com/app/hook/deliveries?per_page=1&cursor=v1_12>; rel=\"next\", <x>; rel=\"last\"";
        assert_eq!(next_cursor(link).as_deref(), Some("v1_12"));
        assert_eq!(next_cursor("<https://x/y?page=2>; rel=\"next\""), None);
        assert_eq!(next_cursor("<https://x/y?cursor=1>; rel=\"prev\""), None);
    }

    #[tokio::test]
    async fn a_server_that_never_answers_is_unavailable() {
        let silent = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", silent.local_addr().unwrap());
        let client = Octocrab::builder().base_uri(base).unwrap().build().unwrap();
        let request = GitHubRequest::get("/x");
        let error =
            send_within(Duration::from_millis(50), &client, &request, RequestAuth::App).await.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
        assert!(error.message.contains("did not answer GET /x"), "{error}");
    }
}
