//! The dashboard: pages for people, of what the journals say. Made on the server, followed by server-sent events.
//!
//! May know: `order` and `store` to read, what a setting is, `http` for what an order can be told and for the API's token.
//! Must never know: the engine, agents, GitHub. It decides nothing: a button says what a comment would say, and what
//! becomes of that is the order's to say.

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
    /// What people sign in with who run the server.
    pub api_token: Option<SecretString>,
    /// Where people reach the server, if that is known.
    pub public_url: Option<Url>,
    /// Where it listens; people reach it there where no other address is known.
    pub listens: SocketAddr,
    /// Who hears what a person says with a button.
    pub orders: Arc<dyn WorkOrders>,
    pub live: Arc<dyn LiveWork>,
    /// How people sign in as on GitHub; without it nobody does.
    pub door: Option<Arc<dyn GitHubDoor>>,
    /// Who has done so; nobody when the server starts.
    pub people: Arc<SignedInPeople>,
    /// What requests share beside the store; nothing when the server starts.
    pub shared: Arc<SharedWork>,
    /// The settings that hold; empty where nobody gave them.
    pub settings: Arc<Vec<EffectiveSetting>>,
    pub day_limits: DayLimits,
}

impl DashboardState {
    /// Where people reach it, without a slash at the end.
    pub(crate) fn address(&self) -> String {
        match &self.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.listens),
        }
    }
}

/// GitHub, as far as people sign in with it; the composition root has one.
#[async_trait]
pub trait GitHubDoor: Send + Sync {
    /// GitHub's page that asks a person who they are. It leads back with a code and this `state`; the code is worth
    /// something to whoever knows what `challenge` is the SHA-256 of.
    fn page(&self, state: &str, challenge: &str) -> Url;

    async fn enter(&self, code: &str, verifier: &str) -> Result<EnteredPerson, GitHubDoorError>;

    /// What the person with this token may do now.
    async fn rights(&self, token: &SecretString) -> Result<GrantedRights, GitHubDoorError>;
}

pub struct EnteredPerson {
    pub person: Person,
    pub token: SecretString,
    /// How long it holds, if it ends by itself.
    pub lasts: Option<Duration>,
}

pub struct GrantedRights {
    /// What they may read, each with whether they may write.
    pub repositories: BTreeMap<RepositoryId, bool>,
    pub requests: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHubDoorError {
    /// It does not take the code or the token.
    Refused(String),
    Unavailable(String),
}

/// The work while it happens; the composition root has one.
pub trait LiveWork: Send + Sync {
    /// Every journal entry from now on, as it is written.
    fn entries(&self) -> broadcast::Receiver<(OrderId, JournalEntry)>;

    /// What the agent of a run prints in this try, from 1; none where there is nothing of it yet, or no more.
    fn transcript(
        &self,
        order: OrderId,
        key: &MoveKey,
        attempt: usize,
        task: &AgentTask,
    ) -> Option<Box<dyn LiveTranscript>>;

    fn is_stopping(&self) -> bool;
}

/// What an agent prints, without secrets.
pub trait LiveTranscript: Send {
    /// Whole lines that came since the last call.
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
