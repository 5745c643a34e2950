//! The dashboard: pages for people, of what the journals say. Made on the server, followed by server-sent events.
//!
//! May know: `order` and `store` to read, what a setting is, `http` for what an order can be told and for the API's token.
//! Must never know: the engine, agents, GitHub. It decides nothing: a button says what a comment would say, and what
//! becomes of that is the order's to say.

mod answer;
mod buttons;
mod delivery_page;
mod diff;
mod events;
mod findings;
mod list;
mod order_page;
mod parts;
mod receipt_view;
mod run_page;
mod session;
mod settings_page;
mod statistics_page;
mod step_view;
mod text;
mod transcript;

use std::sync::Arc;

use actix_web::web::{self, Data, ServiceConfig};
use secrecy::SecretString;
use tokio::sync::broadcast;
use url::Url;

use journeyman_config::EffectiveSetting;
use journeyman_http::WorkOrders;
use journeyman_order::moves::AgentTask;
use journeyman_order::{JournalEntry, MoveKey, OrderId};
use journeyman_store::Store;

/// What the pages need.
#[derive(Clone)]
pub struct DashboardState {
    pub store: Store,
    /// What people sign in with; without it nobody can.
    pub api_token: Option<SecretString>,
    /// Where people reach the server, if that is known.
    pub public_url: Option<Url>,
    /// Who hears what a person says with a button.
    pub orders: Arc<dyn WorkOrders>,
    pub live: Arc<dyn LiveWork>,
    /// The settings that hold; empty where nobody gave them.
    pub settings: Arc<Vec<EffectiveSetting>>,
}

/// The work while it happens; the composition root has one.
pub trait LiveWork: Send + Sync {
    /// Every journal entry from now on, as it is written.
    fn entries(&self) -> broadcast::Receiver<(OrderId, JournalEntry)>;

    /// What the agent of a run prints; none where there is nothing of it yet, or no more.
    fn transcript(&self, order: OrderId, key: &MoveKey, task: &AgentTask) -> Option<Box<dyn LiveTranscript>>;

    /// Whether the server is about to end.
    fn is_stopping(&self) -> bool;
}

/// What an agent prints, without secrets.
pub trait LiveTranscript: Send {
    /// Whole lines that came since the last call.
    ///
    /// # Errors
    /// When there is nothing more to read, such as when the run has ended.
    fn read_on(&mut self) -> std::io::Result<String>;
}

/// Adds the dashboard's routes.
pub fn configure(state: &DashboardState, config: &mut ServiceConfig) {
    config
        .app_data(Data::new(state.clone()))
        .app_data(web::FormConfig::default().limit(answer::LARGEST_FORM))
        .route("/", web::get().to(list::show))
        .route("/sign-in", web::get().to(session::ask))
        .route("/sign-in", web::post().to(session::sign_in))
        .route("/sign-out", web::post().to(session::sign_out))
        .route("/assets/dashboard.css", web::get().to(answer::style))
        .route("/assets/dashboard.js", web::get().to(answer::script))
        .route("/deliveries", web::get().to(delivery_page::show))
        .route("/deliveries/again", web::post().to(delivery_page::take_in_again))
        .route("/settings", web::get().to(settings_page::show))
        .route("/statistics", web::get().to(statistics_page::show))
        .route("/orders/{id}", web::get().to(order_page::show))
        .route("/orders/{id}/events", web::get().to(events::follow))
        .route("/orders/{id}/runs/{run}", web::get().to(run_page::show))
        .route("/orders/{id}/files/{name}", web::get().to(run_page::download))
        .route("/orders/{id}/{button}", web::get().to(buttons::confirm))
        .route("/orders/{id}/{button}", web::post().to(buttons::press));
}
