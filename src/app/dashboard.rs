//! Connects the dashboard to the engine and GitHub: new journal entries, agents' output, and who signs in.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use secrecy::SecretString;
use tokio::sync::broadcast;
use url::Url;

use crate::config::Settings;
use crate::dashboard::{
    DashboardState, EnteredPerson, GitHubDoor, GitHubDoorError, GrantedRights, LiveTranscript, LiveWork,
};
use crate::engine::{Engine, RunStream};
use crate::github::{ErrorKind, GitHubError, SignInClient};
use crate::http::HttpState;
use crate::order::moves::AgentTask;
use crate::order::{JournalEntry, MoveKey, OrderId, is_loopback};

struct EngineLive(Engine);

impl LiveWork for EngineLive {
    fn entries(&self) -> broadcast::Receiver<(OrderId, JournalEntry)> {
        self.0.watch()
    }

    fn transcript(
        &self,
        order: OrderId,
        key: &MoveKey,
        attempt: usize,
        task: &AgentTask,
    ) -> Option<Box<dyn LiveTranscript>> {
        let stream = self.0.run_stream(order, key, attempt, task)?;
        Some(Box::new(EngineTranscript(stream)))
    }

    fn progress(&self, order: OrderId) -> Option<String> {
        let (what, since) = self.0.progress(order)?;
        Some(format!("{what} · since {} UTC", since.format("%H:%M:%S")))
    }

    fn is_stopping(&self) -> bool {
        self.0.is_stopping()
    }
}

struct EngineTranscript(RunStream);

impl LiveTranscript for EngineTranscript {
    fn read_on(&mut self) -> std::io::Result<String> {
        self.0.read_on()
    }
}

/// Sign-in with GitHub by the App's client ID.
struct AppDoor {
    client: SignInClient,
    /// Where GitHub sends people back to.
    back: Url,
}

#[async_trait]
impl GitHubDoor for AppDoor {
    fn page(&self, state: &str, challenge: &str) -> Url {
        self.client.page(&self.back, state, challenge)
    }

    async fn enter(&self, code: &str, verifier: &str) -> Result<EnteredPerson, GitHubDoorError> {
        let token = self.client.exchange(&self.back, code, verifier).await;
        let token = token.map_err(|error| door_error(error, ErrorKind::Invalid))?;
        let person = self.client.person(&token.secret).await.map_err(of_token)?;
        Ok(EnteredPerson { person, token: token.secret, lasts: token.lasts })
    }

    async fn rights(&self, token: &SecretString) -> Result<GrantedRights, GitHubDoorError> {
        let readable = self.client.readable(token).await.map_err(of_token)?;
        Ok(GrantedRights { repositories: readable.repositories, requests: readable.requests })
    }
}

/// Maps errors of requests made with a person's token.
fn of_token(error: GitHubError) -> GitHubDoorError {
    door_error(error, ErrorKind::Unauthorized)
}

/// Only `refusal` means that GitHub rejected this sign-in. Any other error is no answer.
fn door_error(error: GitHubError, refusal: ErrorKind) -> GitHubDoorError {
    match error.kind == refusal {
        true => GitHubDoorError::Refused(error.message),
        false => GitHubDoorError::Unavailable(error.message),
    }
}

/// Why GitHub cannot send people back to this address: the session could be intercepted, or the page not found.
fn no_door(public: &Url) -> Option<&'static str> {
    let is_here = public.host().is_some_and(|host| is_loopback(&host));
    match public.scheme() {
        "https" => {}
        _ if is_here => {}
        _ => return Some("is not https://, and a session would be read on the way"),
    }
    (public.path() != "/").then_some("has a path, and the dashboard is at the root of its address")
}

/// Signs people in with the App's client ID and the address that GitHub may send them back to.
pub(super) fn door(settings: &Settings) -> anyhow::Result<Option<Arc<dyn GitHubDoor>>> {
    let Some(client) = &settings.github.client else { return Ok(None) };
    let Some(public) = &settings.server.public_url else {
        tracing::info!("nobody signs in to the dashboard as on GitHub: that needs server.public_url");
        return Ok(None);
    };
    if let Some(because) = no_door(public) {
        tracing::warn!("nobody signs in to the dashboard as on GitHub: server.public_url {because}");
        return Ok(None);
    }
    let back = format!("{}/sign-in/github/back", public.as_str().trim_end_matches('/')).parse()?;
    let (id, secret) = (client.id.clone(), client.secret.clone());
    let client = SignInClient::new(&settings.github.api_url, &settings.testing.outgoing, id, secret)?;
    Ok(Some(Arc::new(AppDoor { client, back })))
}

/// Uses the same store, token and event streams as the API.
pub(super) fn dashboard(
    engine: &Engine,
    api: &HttpState,
    settings: &Settings,
    listens: SocketAddr,
    door: Option<Arc<dyn GitHubDoor>>,
) -> DashboardState {
    DashboardState {
        door,
        people: Arc::default(),
        shared: Arc::default(),
        store: api.store.clone(),
        api_token: api.api_token.clone(),
        listens,
        public_url: settings.server.public_url.clone(),
        orders: api.orders.clone(),
        live: Arc::new(EngineLive(engine.clone())),
        settings: Arc::default(),
        day_limits: settings.limits.per_day,
    }
}

#[cfg(test)]
mod tests {
    use super::no_door;

    #[test]
    fn people_come_back_from_github_to_an_address_that_nobody_reads_along() {
        for (address, may) in [
            ("https://bot.example.org", true),
            ("http://localhost:3000", true),
            ("http://127.0.0.1:3000/", true),
            ("http://[::1]:3000", true),
            ("http://bot.example.org", false),
            ("http://localhost.example.org", false),
            ("https://example.org/journeyman", false),
        ] {
            assert_eq!(no_door(&address.parse().expect("an address")).is_none(), may, "{address}");
        }
    }
}
