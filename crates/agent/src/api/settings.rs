//! The settings of an agent on an API.

use url::Url;

use super::super::InvalidAgent;
use super::prices::Prices;
use journeyman_order::model_service::Provider;
use journeyman_order::names::is_variable_of_a_key;

/// `[agents.NAME]` with the runtime `api`.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiSettings {
    /// The dialect that the service speaks.
    pub provider: Provider,
    /// Its address; the dialect's path is appended.
    pub base_url: Url,
    pub model: String,
    /// The variable of our environment that holds the key; `None`: no key is sent.
    pub key_env: Option<String>,
    /// Limit on the tokens of one answer.
    pub max_output_tokens: u32,
    pub prices: Prices,
}

/// Whether a provider sells its models at this address; otherwise it is a self-hosted service.
pub fn is_a_providers_own(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let is_below =
        |name: &str| host.strip_suffix(name).is_some_and(|above| above.is_empty() || above.ends_with('.'));
    ["anthropic.com", "claude.com", "openai.com"].into_iter().any(is_below)
}

/// How to set a model's price, for messages.
pub fn how_to_price(model: &str) -> String {
    format!(
        "say it in journeyman.toml: [prices.{model:?}] input = …, output = …, in dollars for a million tokens"
    )
}

impl ApiSettings {
    pub(super) fn hold_to_rules(&self, agent: &str) -> Result<(), InvalidAgent> {
        if self.model.trim().is_empty() {
            return Err(InvalidAgent::new(
                agent,
                "model",
                "the runtime `api` has no model of its own".into(),
            ));
        }
        if self.max_output_tokens == 0 {
            return Err(InvalidAgent::new(agent, "max_output_tokens", "no answer has no tokens".into()));
        }
        // The name is shown if the key is missing, and someone may have pasted a key here: keys contain small letters.
        if self.key_env.as_deref().is_some_and(|name| !is_variable_of_a_key(name)) {
            let problem = "that is not the name, in capitals, of a variable that holds the key";
            return Err(InvalidAgent::new(agent, "key_env", problem.into()));
        }
        Ok(())
    }

    pub(super) fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.base_url.as_str().trim_end_matches('/'))
    }
}
