//! A client for one GitHub, and how its calls are authorized and retried.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use url::Url;

use super::connection::{AppCredentials, GitHubConnection, NetworkConnection, RequestSender, WHOLE_TIMEOUT};
use super::endpoints::{Endpoints, InstalledRepository};
use super::error::{ErrorKind, GitHubError, Result};
use super::gate::{WriteGate, WritePermit, WritePriority};
use super::permissions::TokenPermissions;
use super::token_cache::{InstallationToken, TokenCache};
use super::transport::{GitHubRequest, GitHubResponse, send};
use journeyman_order::{Backoff, OutgoingNetwork, RepositoryName, WriteLimits};

/// The largest page that GitHub returns.
pub(super) const PAGE: usize = 100;
/// Limit on the pages of a list: no issue has ten thousand comments.
pub(super) const MOST_PAGES: u32 = 100;

/// An App's registration: its permissions and events.
#[derive(Debug, Clone, Deserialize)]
pub struct AppRegistration {
    pub id: u64,
    /// The App's name in URLs: `slug[bot]` is our login, `@slug` mentions us.
    pub slug: String,
    /// Names of permissions, each with `read`, `write` or `admin`.
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    #[serde(default)]
    pub events: Vec<String>,
    pub html_url: Option<String>,
}

/// One GitHub, as the App sees it. Cheap to clone; clones share connections and tokens.
#[derive(Clone)]
pub struct GitHub(pub(super) Arc<GitHubInner>);

pub(super) struct GitHubInner {
    pub(super) app_id: u64,
    pub(super) outgoing: OutgoingNetwork,
    pub(super) endpoints: Endpoints,
    connection: Arc<dyn GitHubConnection>,
    pub(super) tokens: TokenCache,
    gate: WriteGate,
    turns: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// Created on first use, because it reads the machine's certificates.
    pub(super) logs: OnceLock<Result<reqwest::Client>>,
    pub(super) identity: OnceCell<AppRegistration>,
    pub(super) backoff: Backoff,
}

impl fmt::Debug for GitHub {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "GitHub({})", self.0.endpoints.rest)
    }
}

impl GitHub {
    /// Prepares the connection; sends nothing yet. Must be called in a Tokio runtime that outlives the handle, because
    /// a background task keeps the connections.
    pub fn new(settings: AppCredentials, limits: WriteLimits) -> Result<Self> {
        Self::with_backoff(settings, limits, Backoff::REQUEST)
    }

    /// Like [`GitHub::new`], with other pauses between retries.
    pub(super) fn with_backoff(
        settings: AppCredentials,
        limits: WriteLimits,
        backoff: Backoff,
    ) -> Result<Self> {
        let connection = NetworkConnection::new(&settings, &Endpoints::of(&settings.api_url)?)?;
        Self::over(Arc::new(connection), settings, limits, backoff)
    }

    /// Uses another connection than the network. That connection brings its own credentials if needed.
    pub fn over(
        connection: Arc<dyn GitHubConnection>,
        settings: AppCredentials,
        limits: WriteLimits,
        backoff: Backoff,
    ) -> Result<Self> {
        let endpoints = Endpoints::of(&settings.api_url)?;
        Ok(Self(Arc::new(GitHubInner {
            app_id: settings.app_id,
            outgoing: settings.outgoing,
            endpoints,
            connection,
            tokens: TokenCache::default(),
            gate: WriteGate::new(limits),
            turns: Mutex::default(),
            logs: OnceLock::new(),
            identity: OnceCell::new(),
            backoff,
        })))
    }

    /// The git URL of a repository. Never contains a credential.
    pub fn git_url(&self, repository: &RepositoryName) -> Url {
        self.0.endpoints.git(repository)
    }

    /// Sends a request in the App's own name.
    pub(super) async fn ask_as_app(&self, request: &GitHubRequest) -> Result<GitHubResponse> {
        self.repeating(|| self.send(RequestSender::App, request, None)).await
    }

    /// Sends a request once. `permissions` explain an error to people; requests in the App's own name have none.
    pub(super) async fn send(
        &self,
        sender: RequestSender,
        request: &GitHubRequest,
        permissions: Option<TokenPermissions>,
    ) -> Result<GitHubResponse> {
        send(WHOLE_TIMEOUT, &*self.0.connection, sender, request, permissions).await
    }

    /// Serializes calls that look first and then write about the same thing: two at once would both find nothing and
    /// create two. Calls about other things do not wait: the first may be waiting at the gate.
    pub(super) async fn turn(&self, about: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let known = turns.get(about).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                if turns.len() >= 1_000 {
                    turns.retain(|_, turn| turn.strong_count() > 0);
                }
                let new = Arc::new(tokio::sync::Mutex::new(()));
                turns.insert(about.to_owned(), Arc::downgrade(&new));
                new
            })
        };
        turn.lock_owned().await
    }

    pub(super) async fn pause(&self) {
        tokio::time::sleep(self.0.backoff.first).await;
    }

    /// Sends a read up to three times while GitHub is briefly unavailable.
    pub(super) async fn repeating<T, F: Future<Output = Result<T>>>(
        &self,
        once: impl Fn() -> F,
    ) -> Result<T> {
        let mut failures = 0;
        loop {
            let error = match once().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            failures += 1;
            let ErrorKind::Unavailable { retry_after } = error.kind else { return Err(error) };
            let Some(pause) = self.0.backoff.pause(failures, retry_after) else { return Err(error) };
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends a request in the installation's name. Reads are retried if GitHub is unavailable. Writes wait for their
    /// turn and are never retried: the caller checks whether one was made.
    pub(super) async fn call(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        request: &GitHubRequest,
    ) -> Result<GitHubResponse> {
        match request.writes {
            None => self.repeating(|| self.authorized(at, permissions, request, None)).await,
            Some(priority) => {
                let permit = self.permit(at, permissions, priority, &request.name()).await?;
                self.authorized(at, permissions, request, Some(permit)).await
            }
        }
    }

    /// Reads a route of the repository.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        route: &str,
    ) -> Result<T> {
        self.call(at, permissions, &GitHubRequest::get(at.route(route))).await?.json()
    }

    /// The first half of a write: waits for its turn. The caller can build the request afterwards, from the newest
    /// state. `name` is for the log.
    pub(super) async fn permit(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        priority: WritePriority,
        name: &str,
    ) -> Result<WritePermit> {
        // A missing token must not use up a turn.
        self.token(at, permissions, None).await?;
        self.0.gate.pass(at.installation, priority, name).await
    }

    /// Sends a write that must not happen twice. After a refusal it looks for the result first, and sends once more if
    /// there is none. If the answer was lost, it does not resend: the caller's next try looks first.
    pub(super) async fn create_once<T, F: Future<Output = Result<Option<T>>>>(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        request: GitHubRequest,
        made: impl Fn(GitHubResponse) -> Result<T>,
        look: impl Fn() -> F,
    ) -> Result<T> {
        let request = request.once();
        let mut written = self.call(at, permissions, &request).await;
        let is_refused =
            |error: &GitHubError| matches!(error.kind, ErrorKind::Unauthorized | ErrorKind::Forbidden);
        if written.as_ref().is_err_and(is_refused) {
            // By now there is a new token, or all servers know the current one.
            if let Some(found) = look().await? {
                return Ok(found);
            }
            written = self.call(at, permissions, &request).await;
        }
        written.and_then(made)
    }

    /// The second half of a write: sends it. A refused token is replaced once; one only seconds old gets a moment,
    /// because not all of GitHub's servers know it yet. GitHub does not carry out an unauthorized request, so this is
    /// harmless for most writes too.
    pub(super) async fn authorized(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        request: &GitHubRequest,
        permit: Option<WritePermit>,
    ) -> Result<GitHubResponse> {
        let token = self.token(at, permissions, None).await?;
        let error = match self.once(at, permissions, request, &token, permit).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (is_fresh, is_refused) = (token.is_fresh(), error.kind == ErrorKind::Unauthorized);
        if !(is_refused || is_fresh && error.kind == ErrorKind::Forbidden) {
            return Err(error);
        }
        if is_fresh {
            self.pause().await;
        }
        let again = if is_refused { self.token(at, permissions, Some(&token)).await? } else { token };
        if request.is_once {
            return Err(error);
        }
        let permit = match request.writes {
            Some(priority) => Some(self.permit(at, permissions, priority, &request.name()).await?),
            None => None,
        };
        self.once(at, permissions, request, &again, permit).await
    }

    async fn once(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        request: &GitHubRequest,
        token: &InstallationToken,
        permit: Option<WritePermit>,
    ) -> Result<GitHubResponse> {
        if permit.is_none() {
            self.0.gate.check_read(at.installation)?;
        }
        let sender = RequestSender::Token(token.secret());
        let answer = self.send(sender, request, Some(permissions)).await;
        // A rate-limited read counts like a write.
        if let Some(wait) = answer.as_ref().err().and_then(GitHubError::limit) {
            self.0.gate.hold(at.installation, wait);
        }
        // Dropped last, so that no write slips in between the answer and the hold.
        drop(permit);
        answer
    }

    /// Reads all pages of a list. `route` has no query, or ends in a complete parameter.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        route: &str,
    ) -> Result<Vec<T>> {
        let join = if route.contains('?') { '&' } else { '?' };
        let all = pages(MOST_PAGES, |page| async move {
            let request = GitHubRequest::get(format!("{route}{join}per_page={PAGE}&page={page}"));
            let answer = self.call(at, permissions, &request).await?;
            Ok((answer.json()?, answer.has_next))
        });
        let (all, is_whole) = all.await?;
        if is_whole {
            return Ok(all);
        }
        Err(GitHubError::unexpected(format!("{route} has more than {} entries", MOST_PAGES as usize * PAGE)))
    }
}

/// The first pages of a list, and whether they are all. A short page is not necessarily the last: GitHub leaves out
/// what the App may not see.
pub(super) async fn pages<T, F: Future<Output = Result<(Vec<T>, Option<bool>)>>>(
    most: u32,
    page_of: impl Fn(u32) -> F,
) -> Result<(Vec<T>, bool)> {
    let mut all = Vec::new();
    for page in 1..=most {
        let (list, has_next) = page_of(page).await?;
        let is_last = !has_next.unwrap_or(list.len() >= PAGE);
        all.extend(list);
        if is_last {
            return Ok((all, true));
        }
    }
    Ok((all, false))
}
