//! One request, one answer: limits of time and size, and statuses turned into errors that say what to do.

use std::time::Duration;

use chrono::{DateTime, Utc};
use http::header::LINK;
use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connection::{GitHubApi, GitHubConnection, OutgoingRequest, RequestSender};
use super::error::{GitHubError, Result};
use super::gate::WritePriority;
use super::permissions::TokenPermissions;
use super::refusal::{GitHubErrorResponse, is_page};
use journeyman_metrics::metrics;

/// A request, on a route relative to the API's base.
#[derive(Debug, Clone)]
pub(super) struct GitHubRequest {
    api: GitHubApi,
    method: Method,
    pub(super) route: String,
    pub(super) body: Option<Value>,
    /// The priority of a write; `None` for a read.
    pub(super) writes: Option<WritePriority>,
    /// Whether only the caller may resend it, whatever the answer was.
    pub(super) is_once: bool,
}

impl GitHubRequest {
    pub(super) fn get(route: impl Into<String>) -> Self {
        Self { writes: None, ..Self::new(Method::GET, route, None) }
    }

    /// For `/graphql`. A read, unless [`Self::yielding`] is called.
    pub(super) fn graphql(document: &str, variables: Value) -> Self {
        let body = json!({"query": document, "variables": variables});
        Self { api: GitHubApi::GraphQl, writes: None, ..Self::post("/graphql", body) }
    }

    pub(super) fn post(route: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, route, Some(body))
    }

    pub(super) fn patch(route: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PATCH, route, Some(body))
    }

    pub(super) fn delete(route: impl Into<String>) -> Self {
        Self::new(Method::DELETE, route, None)
    }

    fn new(method: Method, route: impl Into<String>, body: Option<Value>) -> Self {
        let (api, writes) = (GitHubApi::Rest, Some(WritePriority::Important));
        Self { api, method, route: route.into(), body, writes, is_once: false }
    }

    /// Lets others overtake it: without this a write is important.
    pub(super) fn yielding(self, priority: WritePriority) -> Self {
        Self { writes: Some(priority), ..self }
    }

    /// Does not resend after a refused token: what it creates could exist twice.
    pub(super) fn once(self) -> Self {
        Self { is_once: true, ..self }
    }

    pub(super) fn name(&self) -> String {
        let path = self.route.split('?').next().unwrap_or_default();
        format!("{} {path}", self.method)
    }
}

pub(super) struct GitHubResponse {
    body: Vec<u8>,
    /// Whether `Link` has a next page; `None` without any page links.
    pub(super) has_next: Option<bool>,
    /// The cursor of the next page, for lists that use cursors.
    pub(super) next_cursor: Option<String>,
    /// By GitHub's clock.
    pub(super) answered_at: Option<DateTime<Utc>>,
    request: String,
}

impl GitHubResponse {
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

/// Sends a request once. Only the caller knows whether a repeat is harmless.
pub(super) async fn send(
    whole: Duration,
    connection: &dyn GitHubConnection,
    sender: RequestSender,
    request: &GitHubRequest,
    permissions: Option<TokenPermissions>,
) -> Result<GitHubResponse> {
    let exchange = connection.exchange(OutgoingRequest {
        sender,
        api: request.api,
        method: request.method.clone(),
        route: &request.route,
        body: request.body.as_ref(),
        name: request.name(),
    });
    let answer = tokio::time::timeout(whole, exchange).await.map_err(|_| {
        GitHubError::unavailable(format!(
            "GitHub did not answer {} within {} seconds",
            request.name(),
            whole.as_secs()
        ))
    });
    let answer = answer.flatten().inspect_err(|_| metrics().github_answered(0))?;
    let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
    count(answer.status, header);
    if (200..300).contains(&answer.status) {
        // Whoever sent it, the request may not have been carried out.
        if is_page(header) {
            return Err(GitHubError::unavailable(format!(
                "a page for people came in place of GitHub's answer to {}; if a proxy stands between, look at what it \
                 answers",
                request.name()
            )));
        }
        let links = page_links(&answer.headers);
        let has_next = has_next(&links);
        let next_cursor = next_cursor(&links);
        let answered_at = header("date").and_then(|date| DateTime::parse_from_rfc2822(date).ok());
        let answered_at = answered_at.map(|at| at.to_utc());
        let body = answer.body;
        return Ok(GitHubResponse { body, has_next, next_cursor, answered_at, request: request.name() });
    }
    Err(GitHubErrorResponse::read(answer.status, header, &answer.body).error(&request.name(), permissions))
}

fn count<'a>(status: u16, header: impl Fn(&str) -> Option<&'a str>) {
    metrics().github_answered(status);
    let number = |name: &str| header(name).and_then(|text| text.parse().ok());
    let limits = (number("x-ratelimit-limit"), number("x-ratelimit-remaining"));
    if let (Some(limit), Some(remaining)) = limits {
        let resource = header("x-ratelimit-resource").unwrap_or("core");
        metrics().github_rate(resource, limit, remaining);
    }
}

/// The targets of links with one of their relations. A proxy may add links that have nothing to do with pages.
fn page_links(headers: &HeaderMap) -> Vec<(&str, String)> {
    let mut links = Vec::new();
    for mut rest in headers.get_all(LINK).into_iter().filter_map(|value| value.to_str().ok()) {
        while let Some((_, begun)) = rest.split_once('<')
            && let Some((to, after)) = begun.split_once('>')
        {
            let mut is_quoted = false;
            let end = after.find(|c: char| {
                is_quoted ^= c == '"';
                c == ',' && !is_quoted
            });
            let (parameters, others) = after.split_at(end.unwrap_or(after.len()));
            let named = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
            for (_, relations) in named.filter(|(name, _)| name.trim().eq_ignore_ascii_case("rel")) {
                let relations = relations.trim().trim_matches('"').split_whitespace();
                links.extend(relations.map(|relation| (to, relation.to_ascii_lowercase())));
            }
            rest = others;
        }
    }
    links
}

fn has_next(links: &[(&str, String)]) -> Option<bool> {
    let is_there = |relation: &str| links.iter().any(|(_, known)| known == relation);
    let is_of_pages = ["next", "prev", "first", "last"].into_iter().any(is_there);
    is_of_pages.then(|| is_there("next"))
}

/// The `cursor` of the link to the next page, unchanged.
fn next_cursor(links: &[(&str, String)]) -> Option<String> {
    let (to, _) = links.iter().find(|(_, relation)| relation == "next")?;
    let (_, query) = to.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("cursor=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::NetworkConnection;
    use crate::endpoints::Endpoints;
    use crate::{AppCredentials, ErrorKind};

    #[test]
    fn the_next_page_of_a_list_by_cursors_is_found() {
        let link = "<https://api.github.com/app/hook/deliveries?per_page=1&cursor=v1_12>; rel=\"next\", <x>; rel=\"last\"";
        let cursor = |link| next_cursor(&page_links(&linked(&[link])));
        assert_eq!(cursor(link).as_deref(), Some("v1_12"));
        assert_eq!(
            cursor("<https://x/y?a=1,2&cursor=v1_3>; title=\"a, b\"; REL=next").as_deref(),
            Some("v1_3")
        );
        assert_eq!(cursor("<https://x/y?page=2>; rel=\"next\""), None);
        assert_eq!(cursor("<https://x/y?cursor=1>; rel=\"prev\""), None);
    }

    fn linked(links: &[&str]) -> HeaderMap {
        links.iter().map(|link| (LINK, link.parse().unwrap())).collect()
    }

    #[test]
    fn only_a_link_of_pages_says_whether_there_is_another_page() {
        let deprecation = "<https://x/deprecated>; rel=\"deprecation\"; type=\"text/html\"";
        for (links, has) in [
            (&[][..], None),
            (&[deprecation][..], None),
            (&["<https://x/next>; rel=\"describedby\"; title=\"rel=next\"", "nothing", "<x"][..], None),
            (&[deprecation, "<https://x?page=2>; rel=next"][..], Some(true)),
            (&["<https://x?page=2>; rel=\"last Next\", <https://x/d>; rel=deprecation"][..], Some(true)),
            (&["<https://x?page=1>; rel=\"prev\"", deprecation][..], Some(false)),
            (&["<https://x?page=1>; rel=\"first\""][..], Some(false)),
        ] {
            assert_eq!(has_next(&page_links(&linked(links))), has, "{links:?}");
        }
    }

    #[tokio::test]
    async fn a_server_that_never_answers_is_unavailable() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let settings = AppCredentials {
            api_url: base.parse().unwrap(),
            app_id: 1,
            private_key_pem: crate::tests::scripted::KEY.clone().into(),
            outgoing: Default::default(),
        };
        let silent = NetworkConnection::new(&settings, &Endpoints::of(&settings.api_url).unwrap()).unwrap();
        let (by, request) = (RequestSender::App, GitHubRequest::get("/x"));
        let error = send(Duration::from_millis(50), &silent, by, &request, None).await;
        let error = error.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
        assert!(error.message.contains("did not answer GET /x"), "{error}");
    }
}
