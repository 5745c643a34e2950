//! The batch API of Git LFS: asks a server where contents are, and downloads them.
//!
//! May know: HTTP, the App's token, the wanted contents. Must never know: which files they belong to.
//!
//! Only the repository's server gets the token. A content may be on another host: that request carries what the
//! server's answer specifies and none of our headers. Redirects are not followed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::near::{ElsewhereResolver, is_loopback, is_near};
use super::pointer::LargeFilePointer;
use super::store::LargeFileStore;
use crate::{GitError, GitErrorKind};
use journeyman_order::OutgoingNetwork;
use journeyman_order::bounds::{LARGEST_DOCUMENT, LONGEST_LINE, MOST_NAMED};
use journeyman_outgoing::innermost;

const MEDIA_TYPE: &str = "application/vnd.git-lfs+json";
/// Contents per request, as in git-lfs.
const AT_ONCE: usize = 100;
/// Parallel downloads.
const SIDE_BY_SIDE: usize = 4;
const CONNECT: Duration = Duration::from_secs(30);
/// Timeout without a single byte.
const SILENCE: Duration = Duration::from_secs(60);
/// Timeout for all files of a commit together.
const LONGEST: Duration = Duration::from_secs(20 * 60);
/// How often a waiting caller checks.
const LOOK: Duration = Duration::from_millis(100);
/// Headers that only the client may set.
const OUR_HEADERS: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "expect"];

pub(super) struct LargeFileServer<'a> {
    /// `https://HOST/OWNER/NAME.git/info/lfs`
    pub(super) url: Url,
    pub(super) token: Option<&'a SecretString>,
    pub(super) outgoing: &'a OutgoingNetwork,
    pub(super) is_given_up: &'a AtomicBool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotFetched {
    /// A retry would fail the same way.
    Never(String),
    /// The repository's server fails or is unreachable, or a content's server is overloaded: retry later.
    ForNow(String),
    /// Something on this machine is wrong.
    Broken(GitError),
}

impl NotFetched {
    /// Whether a retry helps depends on the status.
    fn of_status(status: u16, why: String) -> Self {
        let is_passing = GitErrorKind::of_status(status) == GitErrorKind::Unavailable;
        if is_passing { Self::ForNow(why) } else { Self::Never(why) }
    }
}

impl From<GitError> for NotFetched {
    fn from(error: GitError) -> Self {
        Self::Broken(error)
    }
}

type Fetched<T> = Result<T, NotFetched>;

#[derive(Deserialize)]
struct BatchAnswer {
    transfer: Option<String>,
    #[serde(default)]
    objects: Vec<BatchObject>,
}

#[derive(Deserialize)]
struct BatchObject {
    oid: String,
    size: u64,
    #[serde(default)]
    authenticated: bool,
    #[serde(default)]
    actions: Option<BatchActions>,
    error: Option<BatchProblem>,
}

#[derive(Deserialize)]
struct BatchActions {
    download: Option<DownloadLink>,
}

#[derive(Deserialize)]
struct DownloadLink {
    href: String,
    #[serde(default)]
    header: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct BatchProblem {
    code: u16,
    #[serde(default)]
    message: String,
}

impl LargeFileServer<'_> {
    /// Downloads the wanted contents and records those that are unavailable. Blocks, even inside a runtime.
    pub(super) fn bring(&self, store: &LargeFileStore, wanted: &[LargeFilePointer]) -> Fetched<()> {
        let work = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| GitError::broken(format!("no runtime: {error}")))?;
            runtime.block_on(async {
                tokio::select! {
                    brought = self.bring_all(store, wanted) => brought,
                    () = self.given_up() => Err(NotFetched::ForNow("nobody waits for it any more".to_owned())),
                    () = tokio::time::sleep(LONGEST) => {
                        Err(NotFetched::Never("those of the commit could not be fetched in 20 minutes".to_owned()))
                    }
                }
            })
        };
        // A runtime must not block inside another one.
        std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|_| {
            Err(GitError::broken("a fault of Journeyman's own while large files were fetched").into())
        })
    }

    async fn given_up(&self) {
        while !self.is_given_up.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn bring_all(&self, store: &LargeFileStore, wanted: &[LargeFilePointer]) -> Fetched<()> {
        let clients = Clients::new(self).map_err(NotFetched::Never)?;
        for some in wanted.chunks(AT_ONCE) {
            let mut answers = match self.ask(&clients, some).await {
                Err(NotFetched::Never(why)) => {
                    some.iter().try_for_each(|pointer| store.note(&pointer.id, &why))?;
                    continue;
                }
                answers => answers?,
            };
            let mut all = futures_util::stream::iter(some)
                .map(|pointer| {
                    let answer = answers.remove(&(pointer.id.as_str().to_owned(), pointer.size));
                    self.bring_one(&clients, store, pointer, answer)
                })
                .buffer_unordered(SIDE_BY_SIDE);
            while let Some(brought) = all.next().await {
                brought?;
            }
        }
        Ok(())
    }

    async fn ask(
        &self,
        clients: &Clients,
        wanted: &[LargeFilePointer],
    ) -> Fetched<HashMap<(String, u64), BatchObject>> {
        let objects: Vec<_> =
            wanted.iter().map(|pointer| json!({"oid": pointer.id.as_str(), "size": pointer.size})).collect();
        let asked = json!({
            "operation": "download", "transfers": ["basic"], "objects": objects, "hash_algo": "sha256",
        });
        let request = clients.server.post(format!("{}/objects/batch", self.url));
        let request = request.header(ACCEPT, MEDIA_TYPE).header(CONTENT_TYPE, MEDIA_TYPE);
        let for_now = |why: String| NotFetched::ForNow(format!("its server {why}"));
        let response = self.with_token(request.body(asked.to_string())).send().await;
        let response = response
            .map_err(|error| for_now(format!("does not answer: {}", innermost(&error.without_url()))))?;
        let status = response.status();
        let body = read(response, LARGEST_DOCUMENT).await.map_err(for_now)?;
        if status.as_u16() != 200 {
            let why = format!("its server answers {status}{}", self.words(&body));
            return Err(NotFetched::of_status(status.as_u16(), why));
        }
        let unreadable = |_| NotFetched::Never("its server's answer is none of Git LFS".to_owned());
        let answer: BatchAnswer = serde_json::from_slice(&body).map_err(unreadable)?;
        if answer.transfer.as_ref().is_some_and(|transfer| transfer != "basic") {
            return Err(NotFetched::Never("its server gives it in a way that was not asked for".to_owned()));
        }
        Ok(answer.objects.into_iter().map(|object| ((object.oid.clone(), object.size), object)).collect())
    }

    async fn bring_one(
        &self,
        clients: &Clients,
        store: &LargeFileStore,
        pointer: &LargeFilePointer,
        answer: Option<BatchObject>,
    ) -> Fetched<()> {
        match self.read_one(clients, store, pointer, answer).await {
            Err(NotFetched::Never(why)) => store.note(&pointer.id, &why).map_err(NotFetched::from),
            brought => brought,
        }
    }

    async fn read_one(
        &self,
        clients: &Clients,
        store: &LargeFileStore,
        pointer: &LargeFilePointer,
        answer: Option<BatchObject>,
    ) -> Fetched<()> {
        let never = |why: &str| NotFetched::Never(why.to_owned());
        let answer = answer.ok_or_else(|| never("its server says nothing of it"))?;
        match answer.error {
            None => {}
            Some(BatchProblem { code: 404, .. }) => return Err(never("its server does not have it")),
            Some(BatchProblem { code, message }) => {
                let why = format!("its server answers {code} for it{}", self.words(message.as_bytes()));
                return Err(NotFetched::of_status(code, why));
            }
        }
        let link = answer.actions.and_then(|actions| actions.download);
        let link = link.ok_or_else(|| never("its server says nowhere to read it"))?;
        let url = self.allowed(&link.href).map_err(NotFetched::Never)?;
        let headers = headers(link.header.as_ref()).map_err(never)?;
        let is_own = url.origin() == self.url.origin();
        let host = url.host_str().unwrap_or_default().to_owned();
        let client = if is_own { &clients.server } else { &clients.elsewhere };
        let is_authenticated = answer.authenticated;
        let is_for_us = is_own && !is_authenticated && !headers.contains_key(AUTHORIZATION);
        let request = client.get(url).headers(headers);
        let request = if is_for_us { self.with_token(request) } else { request };
        let mut response = request.send().await.map_err(|error| {
            // Another host may be unreachable for good, for example because of a firewall.
            let is_for_ever = !is_own && (error.is_connect() || error.is_builder());
            let why = innermost(&error.without_url());
            match is_for_ever {
                true => NotFetched::Never(format!("{host} is not reached: {why}")),
                false => NotFetched::ForNow(format!("{host} does not answer: {why}")),
            }
        })?;
        let status = response.status();
        if status.as_u16() != 200 {
            return Err(NotFetched::of_status(status.as_u16(), format!("{host} answers {status}")));
        }
        let mut new = store.begin(pointer)?;
        let not_it = |why: &str| NotFetched::Never(format!("what {host} gives is not it: {why}"));
        let broke_off =
            |error: reqwest::Error| NotFetched::ForNow(format!("{host} broke off: {}", innermost(&error)));
        while let Some(piece) = response.chunk().await.map_err(broke_off)? {
            new.add(&piece)?.map_err(not_it)?;
        }
        new.finish()?.map_err(not_it)
    }

    /// The URL of a link, if we may read it: HTTPS, or plain HTTP on our server's origin or within this machine.
    fn allowed(&self, href: &str) -> Result<Url, String> {
        let refused = |why: &str| Err(format!("it is at an address that is not used: {why}"));
        let Ok(url) = Url::parse(href) else { return refused("it is none") };
        if !url.username().is_empty() || url.password().is_some() {
            return refused("there is a user in it");
        }
        let is_as_near = is_loopback(&self.url) && is_loopback(&url);
        match url.scheme() {
            "https" => {}
            "http" if is_as_near || url.origin() == self.url.origin() => {}
            _ => return refused("it is not HTTPS"),
        }
        if url.origin() != self.url.origin() && !is_loopback(&self.url) && is_near(&url) {
            return refused("it is on this machine or its own link");
        }
        Ok(url)
    }

    fn with_token(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match self.token {
            Some(token) => request.basic_auth("x-access-token", Some(token.expose_secret())),
            None => request,
        }
    }

    /// The text of a server's refusal, with the token removed in case it repeats it.
    fn words(&self, body: &[u8]) -> String {
        #[derive(Deserialize)]
        struct Said {
            message: String,
        }
        let text = match serde_json::from_slice::<Said>(body) {
            Ok(said) => said.message,
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
        let text = match self.token {
            Some(token) if !token.expose_secret().is_empty() => text.replace(token.expose_secret(), "…"),
            Some(_) | None => text,
        };
        let line = text.lines().next().unwrap_or_default();
        let plain: String =
            line.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).take(LONGEST_LINE).collect();
        if plain.trim().is_empty() { String::new() } else { format!(": {}", plain.trim()) }
    }
}

struct Clients {
    server: Client,
    /// For hosts that our server names, never this machine.
    elsewhere: Client,
}

impl Clients {
    fn new(server: &LargeFileServer<'_>) -> Result<Self, String> {
        let client = |is_far: bool| {
            let client = journeyman_outgoing::client(server.outgoing, |builder| {
                let builder = builder.user_agent("journeyman").connect_timeout(CONNECT).read_timeout(SILENCE);
                if is_far { builder.dns_resolver(Arc::new(ElsewhereResolver)) } else { builder }
            });
            client.map_err(|error| error.to_string())
        };
        Ok(Self { server: client(false)?, elsewhere: client(!is_loopback(&server.url))? })
    }
}

fn headers(said: Option<&BTreeMap<String, String>>) -> Result<HeaderMap, &'static str> {
    let mut headers = HeaderMap::new();
    for (name, value) in said.into_iter().flatten() {
        let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) else {
            return Err("its server wants a header that is none");
        };
        if headers.len() >= MOST_NAMED || OUR_HEADERS.contains(&name.as_str()) {
            return Err("its server wants headers that are not sent for others");
        }
        // The value can be a credential.
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

async fn read(mut response: Response, most: usize) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    while let Some(piece) =
        response.chunk().await.map_err(|error| format!("broke off: {}", innermost(&error)))?
    {
        if all.len() + piece.len() > most {
            return Err("answers without end".to_owned());
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked_at(url: &str, link: &str) -> Result<String, String> {
        let given_up = AtomicBool::new(false);
        let server = LargeFileServer {
            url: url.parse().unwrap(),
            token: None,
            outgoing: &OutgoingNetwork::default(),
            is_given_up: &given_up,
        };
        server.allowed(link).map(|url| url.to_string())
    }

    #[test]
    fn a_content_is_read_over_https_and_never_from_this_machine_unless_the_server_is_there() {
        let github = "https://github.com/octo/sums.git/info/lfs";
        for link in [
            "https://github-cloud.githubusercontent.com/alambic/x?y=z",
            "https://github.com/x",
            "https://10.0.0.1/x",
        ] {
            assert_eq!(asked_at(github, link), Ok(link.to_owned()));
        }
        for link in [
            "http://github-cloud.githubusercontent.com/x",
            "http://127.0.0.1/x",
            "https://127.0.0.1/x",
            "https://localhost/x",
            "https://a.localhost/x",
            "https://[::1]/x",
            "https://[::ffff:127.0.0.1]/x",
            "https://169.254.169.254/latest/meta-data",
            "https://0.0.0.0/x",
            "https://me:secret@github.com/x",
            "file:///etc/passwd",
            "/x",
            "",
        ] {
            assert!(asked_at(github, link).is_err(), "{link}");
        }
        let near = "http://127.0.0.1:3000/octo/sums.git/info/lfs";
        assert!(
            asked_at(near, "http://127.0.0.1:4000/x").is_ok() && asked_at(near, "http://x.example/").is_err()
        );
    }

    #[test]
    fn a_link_sets_no_header_that_says_how_the_request_is_read() {
        let of =
            |name: &str, value: &str| headers(Some(&BTreeMap::from([(name.to_owned(), value.to_owned())])));
        assert_eq!(of("Authorization", "RemoteAuth x").unwrap().len(), 1);
        for (name, value) in [("Host", "x"), ("content-length", "0"), ("X y", "z"), ("X", "a\r\nHost: b")] {
            assert!(of(name, value).is_err(), "{name}");
        }
    }
}
