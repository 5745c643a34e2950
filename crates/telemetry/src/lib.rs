//! Traces of orders for OpenTelemetry: turns journal entries into spans and sends them to a collector (OTLP over HTTP).
//!
//! May know: journals, OTLP, its naming conventions. Must never know: where journals are stored, and how much of
//! them was sent. Spans contain names and numbers only: no text of an issue, an agent or a test, and no error message.

mod attributes;
mod order_spans;
#[cfg(test)]
mod tests;

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use secrecy::ExposeSecret;

use journeyman_metrics::metrics;
use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::{OutgoingNetwork, TelemetrySettings};
use journeyman_outgoing::InvalidOutgoing;

pub use attributes::AgentFacts;
pub use order_spans::spans_since;

/// Timeout for a collector's answer.
const WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The collector accepted them, or never will.
    Over,
    /// The collector is unreachable or overloaded. Send them again, after `wait` if it asked for that.
    Later { because: String, wait: Option<Duration> },
}

/// Why OpenTelemetry's variables cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTelemetry {
    #[error(transparent)]
    Outgoing(#[from] InvalidOutgoing),
    #[error("OTEL_EXPORTER_OTLP_HEADERS: {0:?} is not a header, or its value is not one")]
    Header(String),
}

/// Sends spans to the configured collector. Cheap to clone.
#[derive(Clone)]
pub struct SpanExporter {
    settings: TelemetrySettings,
    client: Client,
}

impl SpanExporter {
    /// An exporter that uses this network.
    pub fn new(settings: TelemetrySettings, outgoing: &OutgoingNetwork) -> Result<Self, InvalidTelemetry> {
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let wrong = || InvalidTelemetry::Header(name.clone());
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::try_from(name).map_err(|_| wrong())?, value);
        }
        // Redirects are not followed: the headers are meant for the configured address only.
        let client = journeyman_outgoing::client(outgoing, |builder| {
            builder.default_headers(headers).timeout(WITHIN)
        })?;
        Ok(Self { settings, client })
    }

    /// Sends spans, and counts those accepted and lost.
    pub async fn send(&self, spans: Vec<Span>) -> ExportOutcome {
        let number = spans.len() as u64;
        let body = request(spans).encode_to_vec();
        let post = self.client.post(self.settings.endpoint.clone()).body(body);
        let answer = match post.header(CONTENT_TYPE, "application/x-protobuf").send().await {
            Ok(answer) => answer,
            Err(error) => {
                return ExportOutcome::Later { because: error.without_url().to_string(), wait: None };
            }
        };
        let because = format!("it answered {}", answer.status());
        match answer.status() {
            status if status.is_success() => {
                let left = left(answer).await.min(number);
                metrics().spans_sent(number - left, left);
                if left > 0 {
                    tracing::warn!(left, "the trace collector dropped spans");
                }
                ExportOutcome::Over
            }
            // OTLP or a person's fix makes a retry of these worthwhile. All other statuses are final.
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let wait = seconds.and_then(|text| text.parse().ok()).map(Duration::from_secs);
                ExportOutcome::Later { because, wait }
            }
            _ => {
                metrics().spans_sent(0, number);
                tracing::warn!(number, because, "the trace collector refused spans");
                ExportOutcome::Over
            }
        }
    }
}

/// How many spans the answer rejects. An unreadable answer counts as full acceptance.
async fn left(mut answer: Response) -> u64 {
    let mut body = Vec::new();
    while let Ok(Some(part)) = answer.chunk().await {
        body.extend_from_slice(&part);
        if body.len() > LARGEST_SETTINGS {
            return 0;
        }
    }
    let said = ExportTraceServiceResponse::decode(body.as_slice()).ok().and_then(|said| said.partial_success);
    said.map_or(0, |partial| u64::try_from(partial.rejected_spans).unwrap_or_default())
}

fn request(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let (name, version) = ("journeyman".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let about = vec![attributes::text("service.name", &name), attributes::text("service.version", &version)];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource { attributes: about, ..Resource::default() }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope { name, version, ..InstrumentationScope::default() }),
                spans,
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    }
}
