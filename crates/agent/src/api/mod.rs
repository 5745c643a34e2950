//! The runtime `api`: a model's HTTP API, asked from our own process. One call, one answer; no tools, no memory.
//!
//! May know: the providers' dialects, server-sent events, prices.
//! Must never know: what the answer is for, where it is kept, when the same is asked again.
//!
//! One call is one attempt. What asks for another one is said in the failure ([`AgentFailureKind::Unavailable`], and how
//! long the service wants us to wait); the order decides.

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

/// How long things may take and how large they may get. The whole time is the task's.
#[derive(Debug, Clone, Copy)]
struct ApiLimits {
    /// For making the connection.
    connect: Duration,
    /// Without a byte. A model that thinks may be silent for minutes; the services send signs of life meanwhile.
    idle: Duration,
    /// Bytes of an answer's text.
    text: usize,
    /// Bytes on the wire, whatever they are: 8 MB of text in pieces of a few letters each come to this.
    wire: usize,
}

const LIMITS: ApiLimits = ApiLimits {
    connect: Duration::from_secs(10),
    idle: Duration::from_secs(300),
    text: 8_000_000,
    wire: 512 << 20,
};

/// An agent on a model's API.
pub struct ModelApi {
    agent: String,
    settings: ApiSettings,
    limits: ApiLimits,
    outgoing: OutgoingNetwork,
    /// Made at the first call: it reads the machine's certificates.
    client: OnceLock<Result<reqwest::Client, String>>,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct ModelCall<'a> {
    /// What the model is to be.
    pub system: Option<&'a str>,
    /// What it is asked.
    pub prompt: &'a str,
    /// Another model than the settings name.
    pub model: Option<&'a str>,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// What is kept of a call, for people who look into it. The key is in none of it.
pub trait CallRecorder: Send {
    /// What was asked: the body of the request, JSON.
    fn request(&mut self, body: &str);

    /// A line of what came back, JSON: first `{"status": …}`, then the answer's events as they came.
    fn line(&mut self, line: &str);
}

impl ModelApi {
    /// One whose service is reached over this network.
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

    /// The key to call with, from our environment. Only the name that the settings give is asked for.
    pub fn key(&self, lookup_env: &dyn Fn(&str) -> Option<String>) -> ModelApiKey {
        ModelApiKey::find(self.settings.key_env.as_deref(), lookup_env)
    }

    /// Asks once. Whatever goes wrong is told by the run's failure; what it used until then is counted.
    pub async fn call(
        &self,
        call: ModelCall<'_>,
        key: &ModelApiKey,
        record: &mut dyn CallRecorder,
    ) -> AgentRun {
        let begun = Instant::now();
        let model = call.model.unwrap_or(&self.settings.model);
        // A repository may name the model, but must not get around the budget with it; and where models are sold, no model
        // costs nothing.
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
            // Up to the limit it is the model's own text; what broke is nobody's.
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
