//! The settings of agents on a model's HTTP API, and what models cost.

use std::collections::BTreeMap;

use url::{Host, Url};

use super::SettingsError;
use super::raw::{PRICE_KEYS, SettingKeys};
use journeyman_agent::{ApiSettings, Prices};
use journeyman_order::model_service::{Price, Provider};
use journeyman_order::names::VariableName;

/// Tokens of one answer, when nothing is said: most models can, and a file or two fits.
const OUTPUT_TOKENS: u64 = 32_000;
/// Dollars for a million tokens; more is a typing error.
const MOST_DOLLARS: f64 = 100_000.0;

/// Its own address, and the variable in which its key usually is.
fn service(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::Anthropic => ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        Provider::OpenAi => ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    }
}

/// `[agents.NAME]` with `runtime = "api"`.
pub(super) fn api(keys: &SettingKeys, name: &str, prices: &Prices) -> Result<ApiSettings, SettingsError> {
    let key = |key: &str| format!("agents.{name}.{key}");
    if let Some(other) = ["program", "env", "read"].into_iter().find(|other| keys.has(&key(other))) {
        let expected = "left out: the runtime `api` starts no program (its key is named by `key_env`)";
        return Err(keys.wrong(&key(other), expected));
    }
    let provider = match keys.text(&key("provider"))?.as_deref() {
        Some("anthropic") => Provider::Anthropic,
        Some("openai") => Provider::OpenAi,
        Some(_) | None => return Err(keys.wrong(&key("provider"), "\"anthropic\" or \"openai\"")),
    };
    let model = keys.text(&key("model"))?;
    let model =
        model.ok_or_else(|| keys.wrong(&key("model"), "given: the runtime `api` asks for a model"))?;
    let (service, usual_key) = service(provider);
    let own = keys.url(&key("base_url"))?;
    let named = keys.text(&key("key_env"))?;
    let key_env = if own.is_none() { named.or_else(|| Some(usual_key.to_owned())) } else { named };
    if key_env.as_deref().is_some_and(|name| !is_key_name(name)) {
        // The key itself is easily put here.
        let expected = "the name of a variable in capitals that holds the key, such as ANTHROPIC_API_KEY, and not \
                        the key; none of Journeyman's own";
        return Err(keys.wrong(&key("key_env"), expected));
    }
    let base_url = match own {
        None => Url::parse(service).map_err(|_| keys.wrong(&key("base_url"), "a URL"))?,
        Some(url) if url.query().is_some() || url.fragment().is_some() => {
            return Err(keys.wrong(&key("base_url"), "a URL without a query: the path is added to its end"));
        }
        Some(url) if url.scheme() == "https" || is_near(&url) => url,
        Some(_) => {
            let expected =
                "https://…: the key and the code go there (http on loopback and private addresses only)";
            return Err(keys.wrong(&key("base_url"), expected));
        }
    };
    let tokens = keys.integer(&key("max_output_tokens"), 1..=10_000_000)?.unwrap_or(OUTPUT_TOKENS);
    let max_output_tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    Ok(ApiSettings { provider, base_url, model, key_env, max_output_tokens, prices: prices.clone() })
}

/// Names are shown where a key is missing. Keys have small letters, so that none gets through as a name.
fn is_key_name(name: &str) -> bool {
    VariableName::parse(name).is_ok_and(|name| name.is_of_a_key())
}

/// On this machine or in a network of one's own. A name without a dot is one's own too, such as a container's.
fn is_near(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        Some(Host::Domain(name)) => {
            !name.contains('.') || [".localhost", ".local", ".internal"].iter().any(|end| name.ends_with(end))
        }
        None => false,
    }
}

/// `[prices."MODEL"]`.
pub(super) fn prices(keys: &SettingKeys) -> Result<BTreeMap<String, Price>, SettingsError> {
    keys.prices().into_iter().map(|model| Ok((model.clone(), price(keys, &model)?))).collect()
}

fn price(keys: &SettingKeys, model: &str) -> Result<Price, SettingsError> {
    let [input, output, cache_read, cache_write] = PRICE_KEYS.map(|key| format!("prices.{model}.{key}"));
    let given = |key: &str| keys.price(key, MOST_DOLLARS);
    let needed = |key: &str| {
        given(key)?
            .ok_or_else(|| keys.wrong(key, "given: dollars for a million tokens, 0 where they cost nothing"))
    };
    let (input, output) = (needed(&input)?, needed(&output)?);
    Ok(Price {
        input,
        output,
        cache_read: given(&cache_read)?.unwrap_or(input),
        cache_write: given(&cache_write)?.unwrap_or(input),
    })
}
