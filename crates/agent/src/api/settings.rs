//! What the settings say of an agent on an API.

use url::Url;

use super::super::InvalidAgent;
use super::prices::Prices;
use journeyman_order::model_service::Provider;
use journeyman_order::names::is_variable_of_a_key;

/// `[agents.NAME]` with the runtime `api`.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiSettings {
    /// Whose dialect the service speaks.
    pub provider: Provider,
    /// Where it is; the dialect's path is added to it.
    pub base_url: Url,
    /// The model to ask.
    pub model: String,
    /// The name of the variable in our environment that holds the key; none: no key is sent.
    pub key_env: Option<String>,
    /// The most tokens of one answer.
    pub max_output_tokens: u32,
    pub prices: Prices,
}

/// Whether this is where a provider sells its models, rather than a service of one's own.
pub fn is_a_providers_own(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let is_below =
        |name: &str| host.strip_suffix(name).is_some_and(|above| above.is_empty() || above.ends_with('.'));
    ["anthropic.com", "claude.com", "openai.com"].into_iter().any(is_below)
}

/// Where the price of a model is set, in words.
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
        // Names are shown where a key is missing, and a key may have been put here: keys have small letters.
        if self.key_env.as_deref().is_some_and(|name| !is_variable_of_a_key(name)) {
            let problem = "that is not the name, in capitals, of a variable that holds the key";
            return Err(InvalidAgent::new(agent, "key_env", problem.into()));
        }
        Ok(())
    }

    /// The address of a path below the base.
    pub(super) fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.base_url.as_str().trim_end_matches('/'))
    }
}
