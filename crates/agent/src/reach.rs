//! What an agent has to reach on a network, and which key stays outside the sandbox.
//!
//! If the program's model can have another address, its key is taken out of the environment: the gateway at that
//! address adds the key. Only one service's key is taken out, Anthropic's before OpenAI's. A subscription's token stays
//! inside and is listed.

use std::collections::BTreeMap;

use journeyman_order::model_service::{Credential, Provider};

#[derive(Debug, Clone, Default)]
pub struct AgentNetwork {
    /// Host names, as in the settings.
    pub hosts: Vec<String>,
    pub endpoint: Option<ModelEndpoint>,
    /// Variables with credentials that the program itself must hold.
    pub held_credentials: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    /// The dialect that it speaks.
    pub provider: Provider,
    /// Its address, from our environment or the provider's default.
    pub base: String,
    pub key: Credential,
}

const ANTHROPIC: &str = "https://api.anthropic.com";
const OPENAI: &str = "https://api.openai.com/v1";
/// A subscription's token: the program uses it beyond the model's service, so it must hold it.
const SUBSCRIPTION: &str = "CLAUDE_CODE_OAUTH_TOKEN";

/// Moves what an agent's model needs out of its environment.
pub(super) fn take(hosts: &[String], environment: &mut BTreeMap<String, String>) -> AgentNetwork {
    let mut reach = AgentNetwork { hosts: hosts.to_vec(), endpoint: None, held_credentials: Vec::new() };
    let (api_key, token) =
        (environment.remove("ANTHROPIC_API_KEY"), environment.remove("ANTHROPIC_AUTH_TOKEN"));
    let base = environment.remove("ANTHROPIC_BASE_URL");
    let anthropic = match (api_key, token, &base) {
        (Some(key), _, _) => Some(Credential::ApiKey(key.into())),
        (None, Some(token), _) => Some(Credential::Bearer(token.into())),
        (None, None, Some(_)) => Some(Credential::None),
        (None, None, None) => None,
    };
    if environment.contains_key(SUBSCRIPTION) {
        reach.held_credentials.push(SUBSCRIPTION.to_owned());
    }
    if let Some(key) = anthropic {
        let base = base.unwrap_or_else(|| ANTHROPIC.to_owned());
        reach.endpoint = Some(ModelEndpoint { provider: Provider::Anthropic, base, key });
        return reach;
    }
    if !reach.held_credentials.is_empty() {
        reach.hosts.extend(ANTHROPIC.strip_prefix("https://").map(str::to_owned));
        return reach;
    }
    let (key, base) = (environment.remove("OPENAI_API_KEY"), environment.remove("OPENAI_BASE_URL"));
    let key = match (key, &base) {
        (Some(key), _) => Credential::Bearer(key.into()),
        (None, Some(_)) => Credential::None,
        (None, None) => return reach,
    };
    let base = base.unwrap_or_else(|| OPENAI.to_owned());
    reach.endpoint = Some(ModelEndpoint { provider: Provider::OpenAi, base, key });
    reach
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn taken(variables: &[(&str, &str)]) -> (AgentNetwork, Vec<String>) {
        let mut environment: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let reach = take(&["docs.example".to_owned()], &mut environment);
        (reach, environment.into_keys().collect())
    }

    #[test]
    fn a_key_is_taken_out_and_what_must_stay_is_said() {
        let (reach, left) = taken(&[("ANTHROPIC_API_KEY", "sk-1"), ("LANG", "C")]);
        assert_eq!(left, ["LANG"]);
        assert!(!format!("{reach:?}").contains("sk-1"));
        let endpoint = reach.endpoint.unwrap();
        assert_eq!((endpoint.provider, endpoint.base.as_str()), (Provider::Anthropic, ANTHROPIC));
        assert!(matches!(endpoint.key, Credential::ApiKey(key) if key.expose_secret() == "sk-1"));

        let (reach, left) =
            taken(&[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")]);
        assert!(left.is_empty());
        let endpoint = reach.endpoint.unwrap();
        assert_eq!(endpoint.base, "http://127.0.0.1:1");
        assert!(matches!(endpoint.key, Credential::Bearer(_)));

        let (reach, left) = taken(&[("CLAUDE_CODE_OAUTH_TOKEN", "t")]);
        assert_eq!((left.len(), reach.held_credentials.len(), reach.hosts.len()), (1, 1, 2));
        assert!(reach.endpoint.is_none());

        let (reach, left) = taken(&[("OPENAI_API_KEY", "sk-2")]);
        assert!(left.is_empty() && reach.endpoint.is_some_and(|endpoint| endpoint.base == OPENAI));
        let (reach, _) = taken(&[("LANG", "C")]);
        assert!(reach.endpoint.is_none() && reach.hosts == ["docs.example"]);
    }
}
