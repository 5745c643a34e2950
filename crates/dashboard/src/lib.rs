//! The dashboard: pages for people that show the journals. Rendered on the server, updated by server-sent events.
//!
//! May know: `order` and `store` to read, settings, and from `http` the commands to an order and the API's token.
//! Must never know: the engine, agents, GitHub. It decides nothing: a button is like a command in a comment, and the
//! order decides the rest.

mod answer;
mod buttons;
mod day_view;
mod delivery_page;
mod diff;
mod events;
mod github_sign_in;
mod list;
mod order_page;
mod parts;
mod people;
mod receipt_view;
mod run_page;
mod session;
mod settings_page;
mod shared;
mod statistics_page;
mod step_view;
#[cfg(test)]
mod tests;
mod text;
mod transcript;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{self, Data, ServiceConfig};
use async_trait::async_trait;
use secrecy::SecretString;
use tokio::sync::broadcast;
use url::Url;

use journeyman_config::EffectiveSetting;
use journeyman_http::WorkOrders;
use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::moves::AgentTask;
use journeyman_order::{DayLimits, JournalEntry, MoveKey, OrderId, Person, RepositoryId};
use journeyman_store::Store;

pub use people::SignedInPeople;
pub use shared::SharedWork;

#[derive(Clone)]
pub struct DashboardState {
    pub store: Store,
    /// The token with which the server's operators sign in.
    pub api_token: Option<SecretString>,
    /// The server's public URL, if known.
    pub public_url: Option<Url>,
    /// The address it listens on; its URL if no other is known.
    pub listens: SocketAddr,
    /// Receives the commands of buttons.
    pub orders: Arc<dyn WorkOrders>,
    pub live: Arc<dyn LiveWork>,
    /// Sign-in with GitHub; without it nobody can sign in that way.
    pub door: Option<Arc<dyn GitHubDoor>>,
    /// The open sessions; empty when the server starts.
    pub people: Arc<SignedInPeople>,
    /// State that requests share besides the store; empty when the server starts.
    pub shared: Arc<SharedWork>,
    /// The effective settings; empty if none were given.
    pub settings: Arc<Vec<EffectiveSetting>>,
    pub day_limits: DayLimits,
}

impl DashboardState {
    /// Its URL, without a trailing slash.
    pub(crate) fn address(&self) -> String {
        match &self.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.listens),
        }
    }
}

/// Sign-in with GitHub, implemented by the composition root.
#[async_trait]
pub trait GitHubDoor: Send + Sync {
    /// GitHub's page that asks a person to sign in. It redirects back with a code and this `state`; using the code
    /// requires the verifier whose SHA-256 is `challenge`.
    fn page(&self, state: &str, challenge: &str) -> Url;

    async fn enter(&self, code: &str, verifier: &str) -> Result<EnteredPerson, GitHubDoorError>;

    /// The current rights of the token's owner.
    async fn rights(&self, token: &SecretString) -> Result<GrantedRights, GitHubDoorError>;
}

pub struct EnteredPerson {
    pub person: Person,
    pub token: SecretString,
    /// Its lifetime, if it expires.
    pub lasts: Option<Duration>,
}

pub struct GrantedRights {
    /// The repositories they may read, each with whether they may write.
    pub repositories: BTreeMap<RepositoryId, bool>,
    pub requests: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHubDoorError {
    /// It rejects the code or the token.
    Refused(String),
    Unavailable(String),
}

/// Work in progress, implemented by the composition root.
pub trait LiveWork: Send + Sync {
    /// Every journal entry from now on, as it is written.
    fn entries(&self) -> broadcast::Receiver<(OrderId, JournalEntry)>;

    /// The output of a run's agent in this try, counted from 1; `None` if there is none yet, or no longer.
    fn transcript(
        &self,
        order: OrderId,
        key: &MoveKey,
        attempt: usize,
        task: &AgentTask,
    ) -> Option<Box<dyn LiveTranscript>>;

    /// What runs now for an order, such as a run of its tests, and since when.
    fn progress(&self, order: OrderId) -> Option<String>;

    fn is_stopping(&self) -> bool;
}

/// An agent's output, without secrets.
pub trait LiveTranscript: Send {
    /// The complete lines since the last call.
    fn read_on(&mut self) -> std::io::Result<String>;
}

pub fn configure(state: &DashboardState, config: &mut ServiceConfig) {
    config
        .default_service(web::to(answer::nowhere))
        .app_data(Data::new(state.clone()))
        .app_data(web::FormConfig::default().limit(LARGEST_SETTINGS))
        .route("/", web::get().to(list::show))
        .route("/sign-in", web::get().to(session::ask))
        .route("/sign-in", web::post().to(session::sign_in))
        .route("/sign-in/github", web::get().to(github_sign_in::leave))
        .route("/sign-in/github/back", web::get().to(github_sign_in::come_back))
        .route("/sign-out", web::post().to(session::sign_out))
        .route("/assets/dashboard.css", web::get().to(answer::style))
        .route("/assets/dashboard.js", web::get().to(answer::script))
        .route("/deliveries", web::get().to(delivery_page::show))
        .route("/settings", web::get().to(settings_page::show))
        .route("/statistics", web::get().to(statistics_page::show))
        .route("/orders/{id}", web::get().to(order_page::show))
        .route("/orders/{id}/events", web::get().to(events::follow))
        .route("/orders/{id}/runs/{run}", web::get().to(run_page::show))
        .route("/orders/{id}/files/{name}", web::get().to(run_page::download))
        .route("/orders/{id}/{button}", web::get().to(buttons::confirm))
        .route("/orders/{id}/{button}", web::post().to(buttons::press));
}
