//! What the dashboard asks of the engine: entries as they are written, and what agents print.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::dashboard::{DashboardState, LiveTranscript, LiveWork};
use crate::engine::{Engine, RunStream};
use crate::http::HttpState;
use crate::order::moves::AgentTask;
use crate::order::{JournalEntry, MoveKey, OrderId};
use url::Url;

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

/// With the same store, token and ears as the API.
pub(super) fn dashboard(engine: &Engine, api: &HttpState, public_url: Option<Url>) -> DashboardState {
    DashboardState {
        store: api.store.clone(),
        api_token: api.api_token.clone(),
        public_url,
        orders: api.orders.clone(),
        live: Arc::new(EngineLive(engine.clone())),
        settings: Arc::default(),
    }
}
