//! `GET /metrics`: current values from the store, in the OpenMetrics text format.
//!
//! May know: the store and what journals say. Must never know: names of issues and repositories. Each name would become
//! a series of its own.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::api::{ApiResult, readable};
use super::auth::require_token;
use super::problem::ProblemDetails;
use super::{HttpState, Readiness};
use journeyman_metrics::metrics;
use journeyman_order::OrderWait;
use journeyman_order::bounds::MOST_LOOKED_AT;
use journeyman_store::{OrderFilter, StoreError};

const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: String,
    active: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WaitLabels {
    /// `effect`, `attempt` or `person`.
    kind: &'static str,
    /// The kind of effect, such as `agent` or `tests`. Empty for the others.
    effect: String,
}

pub(super) async fn show(request: HttpRequest, state: Data<HttpState>) -> ApiResult {
    require_token(&request, &state)?;
    let registry = gather(&state, Utc::now()).await?;
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|error| ProblemDetails::unavailable(error.to_string()))?;
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, MEDIA_TYPE)).body(text))
}

async fn gather(state: &HttpState, now: DateTime<Utc>) -> Result<Registry, StoreError> {
    let mut registry = Registry::with_prefix("journeyman");
    let orders = Family::<StateLabels, Gauge>::default();
    registry.register("orders", "Orders, by how they stand", orders.clone());
    for (word, active, count) in state.store.count_orders().await? {
        // The state of an order at work contains its stage and round. Each would become a series.
        let word = if active { "at work".to_owned() } else { word };
        let labels = StateLabels { state: word, active: active.to_string() };
        orders.get_or_create(&labels).inc_by(gauge(count));
    }
    let waits = Family::<WaitLabels, Gauge>::default();
    registry.register("order_waits", "What orders at work wait for", waits.clone());
    let longest = Family::<WaitLabels, Gauge>::default();
    registry.register("order_wait_longest_seconds", "Since when the longest of them waits", longest.clone());
    let at_work = OrderFilter { active: Some(true), limit: MOST_LOOKED_AT as u32, ..OrderFilter::default() };
    for row in state.store.orders(&at_work).await? {
        let Some((journal, projection)) = readable(state, row.id).await? else { continue };
        for wait in OrderWait::of(&journal, &projection) {
            let (kind, effect, seconds) = match wait {
                OrderWait::Effect { key, since } => {
                    ("effect", effect_of(&key), (now - since).num_seconds().max(0))
                }
                OrderWait::Attempt { .. } => ("attempt", String::new(), 0),
                OrderWait::Person { .. } => ("person", String::new(), 0),
            };
            let labels = WaitLabels { kind, effect };
            waits.get_or_create(&labels).inc();
            if kind == "effect" {
                let longest = longest.get_or_create(&labels);
                longest.set(longest.get().max(seconds));
            }
        }
    }
    let oldest = Gauge::<i64>::default();
    let help = "For how long the oldest delivery waits to be taken in; 0: none waits";
    registry.register("oldest_pending_delivery_seconds", help, oldest.clone());
    let came = state.store.oldest_pending_delivery().await?;
    oldest.set(came.map_or(0, |came| (now - came).num_seconds().max(0)));
    let (ready, free) = (Gauge::<i64>::default(), Gauge::<i64>::default());
    registry.register("ready", "Whether the server can work, as /ready says", ready.clone());
    if let Readiness::Ready { disk_free_bytes, .. } = (state.ready)() {
        ready.set(1);
        if let Some(bytes) = disk_free_bytes {
            free.set(gauge(bytes));
            registry.register("disk_free_bytes", "Of the disk that has the least room", free);
        }
    }
    metrics().register(&mut registry);
    Ok(registry)
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The last part of an effect's name without a digit: `implement/1/agent` is `agent`.
fn effect_of(key: &str) -> String {
    let is_word = |part: &&str| !part.chars().any(|letter| letter.is_ascii_digit());
    key.rsplit('/').find(is_word).unwrap_or("other").to_owned()
}
