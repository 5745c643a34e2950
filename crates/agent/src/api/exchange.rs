//! One request and its answer.

use std::time::Duration;

use chrono::Utc;
use futures_util::StreamExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::answer::ModelAnswer;
use super::key::ModelApiKey;
use super::refusal::{ApiRefusal, legible, retry_after};
use super::sse::SseParser;
use super::{ApiLimits, CallRecorder, ModelApi, ModelCall, anthropic, openai};
use journeyman_order::OutgoingNetwork;
use journeyman_order::agent_run::{AgentFailure, AgentFailureKind};
use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::json_values::has_too_many_values;
use journeyman_order::model_service::Provider;

type ModelApiResult<T> = Result<T, AgentFailure>;

impl ModelApi {
    /// Sends the call and reads the answer as it arrives. On an error, `answer` holds what came before.
    pub(super) async fn exchange(
        &self,
        call: &ModelCall<'_>,
        key: &ModelApiKey,
        answer: &mut ModelAnswer,
        record: &mut dyn CallRecorder,
    ) -> ModelApiResult<()> {
        let headers = self.headers(key)?;
        let body = self.body(call);
        // Recorded without the key, in case the prompt contains it; sent unchanged.
        record.request(&key.redact(&body.to_string()));
        let response = self.send(&body, headers).await?;
        let status = response.status();
        let id = response.headers().get("request-id").or(response.headers().get("x-request-id"));
        let id = id.and_then(|id| id.to_str().ok());
        record.line(&key.redact(&json!({ "status": status.as_u16(), "request_id": id }).to_string()));
        if status.is_success() {
            return self.read(response, key, answer, record).await;
        }
        let refusal = self.refusal(response, key, record).await;
        Err(self.refused(&refusal, key))
    }

    fn body(&self, call: &ModelCall<'_>) -> Value {
        let model = call.model.unwrap_or(&self.settings.model);
        let most = self.settings.max_output_tokens;
        match self.settings.provider {
            Provider::Anthropic => anthropic::body(call, model, most),
            Provider::OpenAi => openai::body(call, model, most, self.settings.base_url.host_str()),
        }
    }

    fn headers(&self, key: &ModelApiKey) -> ModelApiResult<HeaderMap> {
        let mut headers = HeaderMap::new();
        if self.settings.provider == Provider::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        let value = match key {
            ModelApiKey::NotNeeded => return Ok(headers),
            ModelApiKey::Missing { .. } => {
                let message =
                    format!("there is no key for the model's service: {}", self.where_the_key_is(key));
                return Err(AgentFailure::new(AgentFailureKind::Misconfigured, message));
            }
            ModelApiKey::Given { value, .. } => value.expose_secret(),
        };
        let (name, value) = match self.settings.provider {
            Provider::Anthropic => ("x-api-key", HeaderValue::from_str(value)),
            Provider::OpenAi => ("authorization", HeaderValue::from_str(&format!("Bearer {value}"))),
        };
        let mut value = value.map_err(|_| {
            let message = format!("the key has characters that no key has; {}", self.where_the_key_is(key));
            AgentFailure::new(AgentFailureKind::Misconfigured, message)
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    /// Requests the list of models with the key, which is free. Returns what to do if the service refuses the key or
    /// there is none. A missing list, a timeout or a network error returns `None`: the call itself reports those.
    pub async fn refused_key(&self, key: &ModelApiKey, patience: Duration) -> Option<String> {
        let headers = match self.headers(key) {
            Ok(headers) => headers,
            Err(failure) => return Some(failure.message),
        };
        if matches!(key, ModelApiKey::NotNeeded) {
            return None;
        }
        let client = self.client().ok()?;
        let path = match self.settings.provider {
            Provider::Anthropic => "v1/models",
            Provider::OpenAi => "models",
        };
        let asked = client.get(self.settings.address(path)).headers(headers).timeout(patience);
        let is_refused = asked.send().await.ok()?.status() == StatusCode::UNAUTHORIZED;
        is_refused.then(|| {
            let at = &self.settings.base_url;
            format!("the model's service at {at} refuses the key; {}", self.where_the_key_is(key))
        })
    }

    fn client(&self) -> ModelApiResult<&Client> {
        let client = self.client.get_or_init(|| client(&self.outgoing, self.limits));
        client.as_ref().map_err(|error| {
            let message = format!("no HTTPS on this machine, are its root certificates there? {error}");
            AgentFailure::new(AgentFailureKind::Misconfigured, message)
        })
    }

    async fn send(&self, body: &Value, headers: HeaderMap) -> ModelApiResult<Response> {
        let client = self.client()?;
        let path = match self.settings.provider {
            Provider::Anthropic => anthropic::PATH,
            Provider::OpenAi => openai::PATH,
        };
        let sent = client.post(self.settings.address(path)).headers(headers).json(body).send();
        match tokio::time::timeout(self.limits.idle, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.unreachable(&journeyman_outgoing::innermost(&error))),
            Err(_) => Err(self.unreachable(&silence(self.limits.idle))),
        }
    }

    fn unreachable(&self, why: &str) -> AgentFailure {
        let base = &self.settings.base_url;
        let message = format!(
            "the model's service could not be reached at {base} ({why}); if this stays, look at \
             agents.{}.base_url and the network",
            self.agent
        );
        AgentFailure::new(AgentFailureKind::Unavailable, message)
    }

    async fn refusal(
        &self,
        response: Response,
        key: &ModelApiKey,
        record: &mut dyn CallRecorder,
    ) -> ApiRefusal {
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let wait = header("retry-after").and_then(|value| retry_after(value, Utc::now()));
        let elsewhere = header("location").filter(|_| (300..400).contains(&status)).map(str::to_owned);
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        // A body that cannot be read is not worth a separate error.
        while let Ok(Some(Ok(bytes))) = tokio::time::timeout(self.limits.idle, stream.next()).await {
            body.extend_from_slice(&bytes);
            if body.len() > LARGEST_SETTINGS {
                break;
            }
        }
        let body = key.redact(&String::from_utf8_lossy(&body));
        record.line(&json!({ "error": body, "retry_after_seconds": wait }).to_string());
        ApiRefusal::of_response(status, wait, elsewhere.as_deref().unwrap_or(&body))
    }

    async fn read(
        &self,
        response: Response,
        key: &ModelApiKey,
        answer: &mut ModelAnswer,
        record: &mut dyn CallRecorder,
    ) -> ModelApiResult<()> {
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if ["application/json", "text/html"].iter().any(|other| kind.starts_with(other)) {
            let message = format!(
                "what answers at {} sent {} and no stream of events; check agents.{}.base_url and provider",
                self.settings.base_url,
                legible(kind),
                self.agent
            );
            return Err(AgentFailure::new(AgentFailureKind::Misconfigured, message));
        }
        let mut events = SseParser::default();
        let mut stream = response.bytes_stream();
        let mut wire = 0_usize;
        loop {
            let why = match tokio::time::timeout(self.limits.idle, stream.next()).await {
                Ok(Some(Ok(bytes))) => {
                    wire = wire.saturating_add(bytes.len());
                    if events.feed(&bytes).is_err() || wire > self.limits.wire {
                        return Err(AgentFailure::new(
                            AgentFailureKind::Ended,
                            "the answer is an endless stream",
                        ));
                    }
                    while let Some(data) = events.next() {
                        self.event(&data, key, answer, record)?;
                        if answer.is_over {
                            return Ok(());
                        }
                    }
                    continue;
                }
                Ok(Some(Err(error))) => journeyman_outgoing::innermost(&error),
                Ok(None) => "the stream ended".to_owned(),
                Err(_) => silence(self.limits.idle),
            };
            // A last event may lack its empty line; an error here means that it was cut.
            if events.feed(b"\n\n").is_ok() {
                while let Some(data) = events.next() {
                    let _ = self.event(&data, key, answer, record);
                }
            }
            return self.broke_off(&why, answer);
        }
    }

    fn broke_off(&self, why: &str, answer: &mut ModelAnswer) -> ModelApiResult<()> {
        if answer.is_over {
            return Ok(());
        }
        if answer.stop.is_some() {
            answer
                .warnings
                .push(format!("the answer is whole, but the stream's last event is missing: {why}"));
            return Ok(());
        }
        if !answer.has_begun {
            return Err(self.unreachable(why));
        }
        // Not retryable as if nothing happened: the answer has cost money.
        Err(AgentFailure::new(AgentFailureKind::Ended, format!("the answer broke off: {why}")))
    }

    fn event(
        &self,
        data: &str,
        key: &ModelApiKey,
        answer: &mut ModelAnswer,
        record: &mut dyn CallRecorder,
    ) -> ModelApiResult<()> {
        if self.settings.provider == Provider::OpenAi && data.trim() == openai::DONE {
            answer.is_over = true;
            return Ok(());
        }
        let unreadable =
            || AgentFailure::new(AgentFailureKind::Ended, "an event of the answer cannot be read");
        let event = match has_too_many_values(data.as_bytes()) {
            true => None,
            false => serde_json::from_str::<Value>(data).ok(),
        };
        let Some(event) = event else {
            record.line(&key.redact(&json!({ "unreadable": legible(data) }).to_string()));
            return Err(unreadable());
        };
        // In JSON, any whitespace may replace a line break; a record must be one line.
        record.line(&key.redact(data).replace(['\n', '\r'], " "));
        let read = match self.settings.provider {
            Provider::Anthropic => anthropic::read(&event, answer),
            Provider::OpenAi => openai::read(&event, answer),
        };
        match read {
            Ok(None) => answer.has_begun = true,
            Ok(Some(refusal)) => return Err(self.refused(&refusal, key)),
            Err(anthropic::MalformedEvent) => return Err(unreadable()),
        }
        if answer.text.len() > self.limits.text {
            let message = format!("its answer is longer than {} bytes and was not read on", self.limits.text);
            return Err(AgentFailure::new(AgentFailureKind::LimitReached, message));
        }
        Ok(())
    }
}

fn client(outgoing: &OutgoingNetwork, limits: ApiLimits) -> Result<Client, String> {
    journeyman_outgoing::client(outgoing, |builder| {
        // Each request may cost money: the order decides when to retry.
        let once = builder.connect_timeout(limits.connect).retry(reqwest::retry::never());
        once.user_agent(concat!("journeyman/", env!("CARGO_PKG_VERSION")))
    })
    .map_err(|error| error.to_string())
}

fn silence(idle: Duration) -> String {
    format!("no sign of life for {} seconds", idle.as_secs_f64())
}
