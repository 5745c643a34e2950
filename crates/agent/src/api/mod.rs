//! The runtime `api`: calls a model's HTTP API from our own process. One call, one answer; no tools, no memory.
//!
//! May know: the providers' dialects, server-sent events, prices.
//! Must never know: what the answer is for, where it is kept, when the same is asked again.
//!
//! A call is a single attempt. The failure says whether to retry ([`AgentFailureKind::Unavailable`]) and how long the
//! service asks to wait; the order decides.

mod answer;
mod anthropic;
mod exchange;
mod key;
mod openai;
mod prices;
mod refusal;
mod settings;
mod sse;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::InvalidAgent;
use answer::{ModelAnswer, StopReason};
use journeyman_order::agent_run::{AgentFailure, AgentFailureKind};
use journeyman_order::model_service::Provider;
use journeyman_order::{AgentRun, AgentUsage, OutgoingNetwork};

pub use key::ModelApiKey;
pub use prices::Prices;
use prices::dollars;
pub use settings::{ApiSettings, how_to_price, is_a_providers_own};

/// Limits on time and size. The task's timeout covers the whole call.
#[derive(Debug, Clone, Copy)]
struct ApiLimits {
    /// To connect.
    connect: Duration,
    /// Without any byte. A thinking model may be silent for minutes; the services send keep-alives meanwhile.
    idle: Duration,
    /// Bytes of an answer's text.
    text: usize,
    /// Bytes on the wire of any kind: 8 MB of text in chunks of a few letters each needs this much.
    wire: usize,
}

const LIMITS: ApiLimits = ApiLimits {
    connect: Duration::from_secs(10),
    idle: Duration::from_secs(300),
    text: 8_000_000,
    wire: 512 << 20,
};

/// An agent that calls a model's API.
pub struct ModelApi {
    agent: String,
    settings: ApiSettings,
    limits: ApiLimits,
    outgoing: OutgoingNetwork,
    /// Created on the first call, because it reads the machine's certificates.
    client: OnceLock<Result<reqwest::Client, String>>,
}

/// A call to make.
#[derive(Debug, Clone, Copy)]
pub struct ModelCall<'a> {
    /// The system prompt.
    pub system: Option<&'a str>,
    pub prompt: &'a str,
    /// Overrides the model of the settings.
    pub model: Option<&'a str>,
    /// Timeout for the whole call.
    pub timeout: Duration,
}

/// Records a call for people who want to inspect it. Never contains the key.
pub trait CallRecorder: Send {
    /// The body of the request, as JSON.
    fn request(&mut self, body: &str);

    /// One line of the response, as JSON: first `{"status": …}`, then the answer's events in order.
    fn line(&mut self, line: &str);
}

impl ModelApi {
    /// Creates a client that reaches its service over this network.
    pub(super) fn new(
        agent: &str,
        settings: ApiSettings,
        outgoing: OutgoingNetwork,
    ) -> Result<Self, InvalidAgent> {
        settings.hold_to_rules(agent)?;
        Ok(Self { agent: agent.to_owned(), settings, limits: LIMITS, outgoing, client: OnceLock::new() })
    }

    pub(super) fn model(&self) -> &str {
        &self.settings.model
    }

    pub(super) fn provider(&self) -> Provider {
        self.settings.provider
    }

    /// The key to call with, from our environment. Reads only the variable that the settings name.
    pub fn key(&self, lookup_env: &dyn Fn(&str) -> Option<String>) -> ModelApiKey {
        ModelApiKey::find(self.settings.key_env.as_deref(), lookup_env)
    }

    /// Makes one call. The run's failure reports any error; usage up to then is counted.
    pub async fn call(
        &self,
        call: ModelCall<'_>,
        key: &ModelApiKey,
        record: &mut dyn CallRecorder,
    ) -> AgentRun {
        let begun = Instant::now();
        let model = call.model.unwrap_or(&self.settings.model);
        // A repository may choose the model, but not to evade the budget; and no model that a provider sells is free.
        let may_be_free = model == self.settings.model && !is_a_providers_own(&self.settings.base_url);
        if !may_be_free && self.settings.prices.of(model).is_none() {
            let message = format!(
                "the price of the model {model:?} is not known, so no budget could be enforced; {}",
                how_to_price(model)
            );
            let failure = Some(AgentFailure::new(AgentFailureKind::Misconfigured, message));
            return AgentRun { failure, ..AgentRun::default() };
        }
        let mut answer = ModelAnswer::default();
        let exchange = self.exchange(&call, key, &mut answer, record);
        let ended = tokio::time::timeout(call.timeout, exchange).await.unwrap_or_else(|_| {
            Err(AgentFailure::new(
                AgentFailureKind::LimitReached,
                "its time was up before its answer was whole",
            ))
        });
        let mut run = AgentRun { duration_seconds: begun.elapsed().as_secs_f64(), ..AgentRun::default() };
        answer.estimate_missing_usage(&call);
        let used = answer.tokens;
        run.usage = AgentUsage { input_tokens: used.read(), output_tokens: used.output, usd: 0.0 };
        match self.settings.prices.of(model) {
            Some(price) => run.usage.usd = dollars(&price, used),
            None if used.all() == 0 => {}
            None => answer.warnings.push(format!(
                "what {model:?} costs is not known, so that this run counts as $0; {}",
                how_to_price(model)
            )),
        }
        run.warnings = answer.warnings;
        let text = (!answer.text.is_empty()).then(|| key.redact(&answer.text));
        let failed = |kind, message: String| Some(AgentFailure::new(kind, message));
        (run.result, run.failure) = match (ended, answer.stop) {
            // Text up to a limit is the model's own; text before a failure is incomplete and dropped.
            (Err(failure), _) if failure.kind == AgentFailureKind::LimitReached => (text, Some(failure)),
            (Err(failure), _) => (None, Some(failure)),
            (Ok(()), Some(StopReason::Limit(what))) => {
                (text, failed(AgentFailureKind::LimitReached, what.to_owned()))
            }
            (Ok(()), Some(StopReason::Refused(why))) => {
                let why = refusal::legible(&why);
                let words = if why.is_empty() { String::new() } else { format!(": {why}") };
                (None, failed(AgentFailureKind::Ended, format!("the model refused to answer{words}")))
            }
            (Ok(()), Some(StopReason::End | StopReason::Other(_)) | None)
                if answer.text.trim().is_empty() =>
            {
                (None, failed(AgentFailureKind::Ended, "the model's answer has no text".to_owned()))
            }
            (Ok(()), Some(StopReason::Other(reason))) => {
                let reason = refusal::legible(&reason);
                run.warnings.push(format!("the model stopped for a reason that is not known here: {reason}"));
                (text, None)
            }
            (Ok(()), Some(StopReason::End) | None) => (text, None),
        };
        if let Some(failure) = &mut run.failure {
            failure.message = key.redact(&failure.message);
        }
        run.warnings.iter_mut().for_each(|warning| *warning = key.redact(warning));
        run
    }
}

#[cfg(test)]
mod tests;
