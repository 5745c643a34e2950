//! Sends journal entries as spans to a collector. Keeps how far each journal was sent, so an outage loses nothing.
//!
//! May know: which orders have entries that were not sent. Must never know: what a span looks like.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::sync::broadcast::error::RecvError;

use super::Engine;
use super::job::blocking;
use journeyman_agent::Agents;
use journeyman_order::Backoff;
use journeyman_order::model_service::Provider;
use journeyman_store::{StoreError, UntracedOrder};
use journeyman_telemetry::{AgentFacts, ExportOutcome, SpanExporter, spans_since};

/// Entries written within this time after the first are sent with it.
const TOGETHER: Duration = Duration::from_secs(1);
/// How often the store is read without a notification: writes of other processes are not announced here.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// Collectors refuse older spans, and hardly anyone looks for them.
const OLDEST: TimeDelta = TimeDelta::days(1);
/// Orders per batch.
const ORDERS: u32 = 50;
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

/// Why sending stopped, and how long the collector asked to wait.
struct Interrupted {
    because: String,
    wait: Option<Duration>,
}

impl From<StoreError> for Interrupted {
    fn from(error: StoreError) -> Self {
        Self { because: error.to_string(), wait: None }
    }
}

impl Engine {
    /// Sends spans as orders proceed, and those unsent before the start. Returns at once if no collector is configured.
    pub async fn export_traces_forever(&self) {
        let Some(exporter) = &self.parts.traces else { return };
        let mut written = self.watch();
        let mut failures = 0;
        loop {
            let pause = match self.export(exporter).await {
                Ok(()) => {
                    if failures > 0 {
                        tracing::info!("the trace collector accepts spans again");
                    }
                    failures = 0;
                    match tokio::time::timeout(LOOK_AGAIN, written.recv()).await {
                        Ok(Ok(_) | Err(RecvError::Lagged(_))) | Err(_) => TOGETHER,
                        Ok(Err(RecvError::Closed)) => return,
                    }
                }
                Err(Interrupted { because, wait }) => {
                    failures += 1;
                    // Logged once, not at each try: it may be away for days.
                    if failures == 1 {
                        tracing::warn!(because, "spans wait for the trace collector");
                    }
                    let pause = Backoff::UNTIL_IT_WORKS.pause(failures, None);
                    pause.unwrap_or(LONGEST_WAIT).max(wait.unwrap_or_default()).min(LONGEST_WAIT)
                }
            };
            tokio::time::sleep(pause).await;
            // What was announced meanwhile is in the store.
            written = written.resubscribe();
        }
    }

    /// Sends what it can now and leaves the rest; for a server's shutdown.
    pub async fn export_traces_once(&self) {
        if let Some(exporter) = &self.parts.traces {
            let _ = self.export(exporter).await;
        }
    }

    async fn export(&self, exporter: &SpanExporter) -> Result<(), Interrupted> {
        let since = self.parts.clock.now() - OLDEST;
        loop {
            let orders = self.parts.store.untraced_orders(since, ORDERS).await?;
            if orders.is_empty() {
                return Ok(());
            }
            for known in orders {
                self.export_order(exporter, known).await?;
            }
        }
    }

    async fn export_order(&self, exporter: &SpanExporter, known: UntracedOrder) -> Result<(), Interrupted> {
        let UntracedOrder { order, sent, last } = known;
        let Some(journal) = self.readable_journal(order).await? else {
            // That it is unreadable is reported elsewhere, and it will have no spans.
            return Ok(self.parts.store.set_traced(order, last).await?);
        };
        let oldest = (self.parts.clock.now() - OLDEST).timestamp_nanos_opt().unwrap_or_default();
        // A journal that lost its end has nothing more to send, and must not be read forever.
        let until = journal.last_seq().max(last);
        let agents = Arc::clone(&self.parts.agents);
        let spans = blocking(move || spans_since(&journal, sent, &|agent| facts(&agents, agent)));
        // Our bug is in the log. These spans are never sent.
        let spans = spans.await.inspect_err(|fault| tracing::error!(%order, "{}", fault.message));
        let mut spans = spans.unwrap_or_default();
        spans.retain(|span| i64::try_from(span.end_time_unix_nano).is_ok_and(|ended| ended >= oldest));
        if !spans.is_empty()
            && let ExportOutcome::Later { because, wait } = exporter.send(spans).await
        {
            return Err(Interrupted { because, wait });
        }
        Ok(self.parts.store.set_traced(order, until).await?)
    }
}

fn facts(agents: &Agents, agent: &str) -> AgentFacts {
    let provider = agents.provider(agent).map(|provider| match provider {
        Provider::Anthropic => "anthropic",
        Provider::OpenAi => "openai",
    });
    AgentFacts { provider, model: agents.model(agent).map(str::to_owned) }
}
