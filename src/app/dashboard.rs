//! What the dashboard asks of the engine and of GitHub: entries as they are written, what agents print, and who somebody is
//! who signs in.

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
use crate::order::{JournalEntry, MoveKey, OrderId};

struct EngineLive(Engine);

impl LiveWork for EngineLive {
    fn entries(&self) -> broadcast::Receiver<(OrderId, JournalEntry)> {
        self.0.watch()
    }

    fn transcript(&self, order: OrderId, key: &MoveKey, task: &AgentTask) -> Option<Box<dyn LiveTranscript>> {
        let stream = self.0.run_stream(order, key, task)?;
        Some(Box::new(EngineTranscript(stream)))
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

/// GitHub, by the App's client ID.
struct AppDoor {
    client: SignInClient,
    /// Where people come back to.
    back: Url,
}

#[async_trait]
impl GitHubDoor for AppDoor {
    fn page(&self, state: &str, challenge: &str) -> Url {
        self.client.page(&self.back, state, challenge)
    }

    async fn enter(&self, code: &str, verifier: &str) -> Result<EnteredPerson, GitHubDoorError> {
        let token =
            self.client.exchange(&self.back, code, verifier).await.map_err(|error| match error.kind {
                ErrorKind::Invalid => GitHubDoorError::Refused(error.message),
                ErrorKind::Unavailable { .. }
                | ErrorKind::Unauthorized
                | ErrorKind::Forbidden
                | ErrorKind::NotFound
                | ErrorKind::Conflict
                | ErrorKind::Unexpected => GitHubDoorError::Unavailable(error.message),
            })?;
        let person = self.client.person(&token.secret).await.map_err(of_token)?;
        Ok(EnteredPerson { person, token: token.secret, lasts: token.lasts })
    }

    async fn rights(&self, token: &SecretString) -> Result<GrantedRights, GitHubDoorError> {
        let readable = self.client.readable(token).await.map_err(of_token)?;
        let repositories = readable.repositories.iter().map(|one| (one.id, one.can_write)).collect();
        Ok(GrantedRights { repositories, requests: readable.requests })
    }
}

/// What was asked with a person's token.
fn of_token(error: GitHubError) -> GitHubDoorError {
    match error.kind {
        ErrorKind::Unauthorized => GitHubDoorError::Refused(error.message),
        ErrorKind::Unavailable { .. }
        | ErrorKind::Invalid
        | ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::Unexpected => GitHubDoorError::Unavailable(error.message),
    }
}

/// How people sign in as on GitHub: with the App's client ID, and where GitHub knows to send them back to.
pub(super) fn door(settings: &Settings) -> anyhow::Result<Option<Arc<dyn GitHubDoor>>> {
    let Some(client) = &settings.github.client else { return Ok(None) };
    let Some(public) = &settings.server.public_url else {
        tracing::info!("nobody signs in to the dashboard as on GitHub: that needs server.public_url");
        return Ok(None);
    };
    let back = format!("{}/sign-in/github/back", public.as_str().trim_end_matches('/')).parse()?;
    let (id, secret) = (client.id.clone(), client.secret.clone());
    let client = SignInClient::new(&settings.github.api_url, &settings.testing.outgoing, id, secret)?;
    Ok(Some(Arc::new(AppDoor { client, back })))
}

/// With the same store, token and ears as the API.
pub(super) fn dashboard(
    engine: &Engine,
    api: &HttpState,
    public_url: Option<Url>,
    door: Option<Arc<dyn GitHubDoor>>,
) -> DashboardState {
    DashboardState {
        door,
        people: Arc::default(),
        store: api.store.clone(),
        api_token: api.api_token.clone(),
        public_url,
        orders: api.orders.clone(),
        live: Arc::new(EngineLive(engine.clone())),
        settings: Arc::default(),
    }
}
