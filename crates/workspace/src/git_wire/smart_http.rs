//! git's smart HTTP over our own client: libgit2 makes the requests, and this carries them.
//!
//! May know: HTTP, the App's token, the limits of a conversation. Must never know: what is in a repository.
//!
//! Only the host of the address gets the token, and only after asking. libgit2 creates a transport from the address
//! alone, so a thread has one conversation at a time.

use std::cell::RefCell;
use std::future::Future;
use std::io::{Cursor, Read, Write};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream;
use git2::Oid;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream, Transport};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Body, Client, Response, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::runtime::Runtime;
use url::Url;

use super::{GitWire, WireFailure, WireLimits, plain};
use crate::{GitErrorKind, bounds};
use journeyman_order::bounds::{LARGEST_STREAM, LONGEST_MESSAGE, MOST_HOPS};
use journeyman_outgoing::innermost;

/// Servers recognise git by the first word.
const USER_AGENT: &str = "git/2.0 (journeyman)";
const CONNECT: Duration = Duration::from_secs(30);
/// How often to check whether a conversation must end.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes per chunk of a request body.
const PIECE: usize = 64 << 10;

thread_local! {
    static CONVERSATION: RefCell<Option<Arc<SmartHttp>>> = const { RefCell::new(None) };
}

/// Makes libgit2 use this for every server. Call once, before any fetch.
#[allow(unsafe_code)]
pub(crate) fn register() -> Result<(), git2::Error> {
    for scheme in ["http", "https"] {
        let of_thread = |remote: &git2::Remote<'_>| {
            let http = CONVERSATION.with_borrow(Option::clone);
            let http = http.ok_or_else(|| git2::Error::from_str("no conversation was begun"))?;
            Transport::smart(remote, true, SmartTransport(http))
        };
        // SAFETY: this writes a list that every connection of libgit2's reads. Whoever connects made a `Workspaces` first,
        // which comes through here, and `OnceLock` lets one thread in and the others wait.
        unsafe { git2::transport::register(scheme, of_thread)? };
    }
    Ok(())
}

pub(super) struct SmartHttp {
    client: Client,
    runtime: Runtime,
    url: Url,
    token: Option<SecretString>,
    limits: WireLimits,
    /// Where received data is written; its disk must keep some room.
    ours: PathBuf,
    is_given_up: Arc<AtomicBool>,
    until: Instant,
    /// The last time that data came or went.
    heard: Arc<Mutex<Instant>>,
    state: Mutex<ConversationState>,
}

struct ConversationState {
    /// The server's address after redirects: a repository may have been renamed.
    at: Url,
    wants_token: bool,
    /// The server's reference listing, unparsed.
    listing: Vec<u8>,
    /// The reason for the end when libgit2 does not know it.
    failure: Option<WireFailure>,
    looked: Instant,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unavailable(said: impl Into<String>) -> WireFailure {
    WireFailure { kind: GitErrorKind::Unavailable, said: said.into() }
}

impl SmartHttp {
    /// Runs a conversation on its own thread, because the caller may be inside an async runtime.
    pub(super) fn converse<T: Send>(
        wire: &GitWire<'_>,
        work: impl FnOnce(&Self) -> Result<T, WireFailure> + Send,
    ) -> Result<T, WireFailure> {
        let broken = |said: String| WireFailure { kind: GitErrorKind::Broken, said };
        let begin = || {
            let http = Arc::new(Self::new(wire).map_err(broken)?);
            http.go_on()?;
            CONVERSATION.set(Some(Arc::clone(&http)));
            let done = work(&http);
            CONVERSATION.take();
            done
        };
        let ended = std::thread::scope(|scope| scope.spawn(begin).join());
        ended.unwrap_or_else(|_| {
            Err(broken("a fault of Journeyman's own while it spoke with the server".to_owned()))
        })
    }

    fn new(wire: &GitWire<'_>) -> Result<Self, String> {
        let client = journeyman_outgoing::client(wire.outgoing, |builder| {
            builder.user_agent(USER_AGENT).connect_timeout(CONNECT)
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let now = Instant::now();
        Ok(Self {
            client: client.map_err(|error| error.to_string())?,
            runtime: runtime.map_err(|error| format!("no runtime: {error}"))?,
            url: wire.url.clone(),
            token: wire.token.cloned(),
            limits: wire.limits,
            ours: wire.ours.to_owned(),
            is_given_up: Arc::clone(wire.is_given_up),
            until: now + wire.limits.whole,
            heard: Arc::new(Mutex::new(now)),
            state: Mutex::new(ConversationState {
                at: wire.url.clone(),
                wants_token: false,
                listing: Vec::new(),
                failure: None,
                looked: now,
            }),
        })
    }

    pub(super) fn list(&self) -> Result<Vec<(String, Oid)>, WireFailure> {
        self.runtime.block_on(self.ask_listing("git-upload-pack"))?;
        self.listed()
    }

    /// The references that the server listed; annotated tags also with their commit.
    pub(super) fn listed(&self) -> Result<Vec<(String, Oid)>, WireFailure> {
        references(&locked(&self.state).listing)
    }

    /// Why libgit2 had to stop, if the reason is not its own.
    pub(super) fn failure(&self) -> Option<WireFailure> {
        locked(&self.state).failure.take()
    }

    /// Whether libgit2 may continue. It asks for each object; the check runs only now and then.
    pub(super) fn may_go_on(&self) -> bool {
        if locked(&self.state).looked.elapsed() < LOOK {
            return true;
        }
        let ended = self.go_on().err();
        let mut state = locked(&self.state);
        state.looked = Instant::now();
        state.failure = ended;
        state.failure.is_none()
    }

    /// An error if the conversation must end.
    fn go_on(&self) -> Result<(), WireFailure> {
        let WireLimits { whole, kept_free, .. } = self.limits;
        if self.is_given_up.load(Ordering::Relaxed) {
            return Err(unavailable("nobody waits for it any more"));
        }
        if Instant::now() >= self.until {
            return Err(unavailable(format!("it was not done after {} seconds", whole.as_secs())));
        }
        if kept_free > 0 && bounds::free_bytes(&self.ours).is_some_and(|free| free < kept_free) {
            return Err(unavailable(format!("less than {} MiB would be free on the disk", kept_free >> 20)));
        }
        Ok(())
    }

    /// Waits for the server as long as data flows.
    async fn wait<T>(&self, what: impl Future<Output = reqwest::Result<T>>) -> Result<T, WireFailure> {
        let mut what = pin!(what);
        *locked(&self.heard) = Instant::now();
        loop {
            match tokio::time::timeout(LOOK, &mut what).await {
                Ok(done) => return done.map_err(|error| unavailable(innermost(&error.without_url()))),
                Err(_) => self.go_on()?,
            }
            let silence = self.limits.silence;
            if locked(&self.heard).elapsed() >= silence {
                return Err(unavailable(format!(
                    "the server said nothing for {} seconds",
                    silence.as_secs()
                )));
            }
        }
    }

    /// Requests the listing for a service. After a redirect, all later requests use the new address.
    async fn ask_listing(&self, service: &str) -> Result<(), WireFailure> {
        let suffix = format!("/info/refs?service={service}");
        let mut url = below(&self.url, &suffix)?;
        let mut redirects = 0;
        let mut response = loop {
            let response = self.ask(&url, service, "advertisement", None).await?;
            if !response.status().is_redirection() {
                break response;
            }
            let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let next = location.and_then(|to| url.join(to).ok());
            redirects += 1;
            // The scheme must not change.
            let next = next.filter(|to| to.scheme() == url.scheme() && redirects <= MOST_HOPS);
            url = next.ok_or_else(|| unavailable("the server leads to where nothing is fetched"))?;
        };
        let at = url.as_str().strip_suffix(&suffix).and_then(|at| Url::parse(at).ok());
        locked(&self.state).at =
            at.ok_or_else(|| unavailable("the server leads to where no repository is"))?;
        let mut listing = Vec::new();
        while let Some(piece) = self.wait(response.chunk()).await? {
            if listing.len() + piece.len() > LARGEST_STREAM {
                return Err(WireFailure {
                    kind: GitErrorKind::Refused,
                    said: "it lists more than can be read".to_owned(),
                });
            }
            listing.extend_from_slice(&piece);
        }
        locked(&self.state).listing = listing;
        Ok(())
    }

    /// The server's answer, with the token sent if the server asked for it.
    async fn ask(
        &self,
        url: &Url,
        service: &str,
        answer: &str,
        body: Option<&[u8]>,
    ) -> Result<Response, WireFailure> {
        let expected = format!("application/x-{service}-{answer}");
        let token = self.token.as_ref().filter(|_| url.origin() == self.url.origin());
        loop {
            let mut request = match body {
                None => self.client.get(url.clone()),
                Some(body) => self
                    .client
                    .post(url.clone())
                    .header(CONTENT_TYPE, format!("application/x-{service}-request"))
                    .header(CONTENT_LENGTH, body.len())
                    .body(self.heard_of(body)),
            };
            let shown = token.filter(|_| locked(&self.state).wants_token);
            if let Some(token) = shown {
                request = request.basic_auth("x-access-token", Some(token.expose_secret()));
            }
            let response = self.wait(request.header(ACCEPT, &expected).send()).await?;
            let status = response.status();
            if status == StatusCode::UNAUTHORIZED && token.is_some() && shown.is_none() {
                locked(&self.state).wants_token = true;
                continue;
            }
            if status.is_redirection() && body.is_none() {
                return Ok(response);
            }
            if status != StatusCode::OK {
                return Err(self.refusal(response).await);
            }
            let kind = content_type(&response);
            if kind != expected {
                let said = format!(
                    "the answer is not git's but {kind:?}: if a proxy stands between, look at what it answers"
                );
                return Err(unavailable(said));
            }
            return Ok(response);
        }
    }

    /// A request body that records progress while it is sent.
    fn heard_of(&self, body: &[u8]) -> Body {
        let heard = Arc::clone(&self.heard);
        let pieces: Vec<Vec<u8>> = body.chunks(PIECE).map(<[u8]>::to_vec).collect();
        let pieces = pieces.into_iter().map(move |piece| {
            *locked(&heard) = Instant::now();
            Ok::<_, std::convert::Infallible>(piece)
        });
        Body::wrap_stream(stream::iter(pieces))
    }

    async fn refusal(&self, mut response: Response) -> WireFailure {
        let status = response.status().as_u16();
        let mut text = Vec::new();
        // An HTML page is for people.
        if content_type(&response) == "text/plain" {
            while let Ok(Some(piece)) = self.wait(response.chunk()).await {
                text.extend_from_slice(&piece);
                if text.len() > LONGEST_MESSAGE {
                    break;
                }
            }
        }
        let words = plain(&String::from_utf8_lossy(&text));
        let words = if words.is_empty() { words } else { format!(": {words}") };
        let said = format!("the server answers {status}{words}");
        WireFailure { kind: GitErrorKind::of_status(status), said }
    }
}

struct SmartTransport(Arc<SmartHttp>);

impl SmartSubtransport for SmartTransport {
    fn action(&self, _: &str, service: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let (service, lists) = match service {
            Service::UploadPackLs => ("git-upload-pack", true),
            Service::UploadPack => ("git-upload-pack", false),
            Service::ReceivePackLs => ("git-receive-pack", true),
            Service::ReceivePack => ("git-receive-pack", false),
        };
        let asked = Vec::new();
        Ok(Box::new(SmartStream { http: Arc::clone(&self.0), service, lists, asked, came: None }))
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// One request, sent when its answer is first read.
struct SmartStream {
    http: Arc<SmartHttp>,
    service: &'static str,
    /// Whether it only lists references.
    lists: bool,
    asked: Vec<u8>,
    came: Option<Came>,
}

/// The part that has arrived, and the source of the rest.
struct Came {
    read: Cursor<Vec<u8>>,
    rest: Option<Response>,
}

impl SmartStream {
    fn answer(&self) -> Result<Came, WireFailure> {
        let http = &*self.http;
        http.runtime.block_on(async {
            if self.lists {
                http.ask_listing(self.service).await?;
                return Ok(Came { read: Cursor::new(locked(&http.state).listing.clone()), rest: None });
            }
            let url = below(&locked(&http.state).at, &format!("/{}", self.service))?;
            let mut response = http.ask(&url, self.service, "result", Some(&self.asked)).await?;
            let first = http.wait(response.chunk()).await?.unwrap_or_default();
            // libgit2 ignores this error line.
            if let Some(said) = first.get(4..).and_then(|line| line.strip_prefix(b"ERR ")) {
                return Err(unavailable(format!("remote error: {}", plain(&String::from_utf8_lossy(said)))));
            }
            Ok(Came { read: Cursor::new(first.to_vec()), rest: Some(response) })
        })
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, WireFailure> {
        let came = match self.came.take() {
            Some(came) => came,
            None => self.answer()?,
        };
        let Came { read, rest } = self.came.insert(came);
        loop {
            let length = read.read(buffer).unwrap_or_default();
            let Some(response) = rest.as_mut().filter(|_| length == 0 && !buffer.is_empty()) else {
                return Ok(length);
            };
            match self.http.runtime.block_on(self.http.wait(response.chunk()))? {
                Some(piece) => *read = Cursor::new(piece.to_vec()),
                None => *rest = None,
            }
        }
    }
}

impl Read for SmartStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.read_some(buffer).map_err(|failure| {
            locked(&self.http.state).failure = Some(failure);
            // libgit2 keeps this text, and we keep the real reason.
            std::io::Error::other("the server's answer could not be read")
        })
    }
}

impl Write for SmartStream {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.asked.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A URL below the repository's address.
fn below(repository: &Url, path: &str) -> Result<Url, WireFailure> {
    let whole = format!("{}{path}", repository.as_str().trim_end_matches('/'));
    Url::parse(&whole).map_err(|error| unavailable(format!("no address below the repository's: {error}")))
}

fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The references in a server's listing: lines that begin with their length, each with an object and a name. The first
/// also lists the server's capabilities.
pub(super) fn references(listing: &[u8]) -> Result<Vec<(String, Oid)>, WireFailure> {
    let (mut rest, mut found) = (listing, Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length =
            std::str::from_utf8(length).ok().and_then(|length| usize::from_str_radix(length, 16).ok());
        let unreadable = || unavailable("the server lists what cannot be read");
        let length = length.ok_or_else(unreadable)?;
        let (line, next) = after.split_at_checked(length.saturating_sub(4)).ok_or_else(unreadable)?;
        rest = next;
        let text = String::from_utf8_lossy(line);
        let line = text.split('\0').next().unwrap_or_default().trim_end();
        if let Some(said) = line.strip_prefix("ERR ") {
            return Err(unavailable(format!("remote error: {}", plain(said))));
        }
        if let Some((id, name)) = line.split_once(' ')
            && id.len() == 40
            && let Ok(id) = Oid::from_str(id)
            && name != "capabilities^{}"
        {
            found.push((name.to_owned(), id));
        }
    }
    Ok(found)
}
