//! Settings of agents that use a model's HTTP API, and prices of models.

use std::collections::BTreeMap;

use url::{Host, Url};

use super::SettingsError;
use super::known;
use super::raw::{SettingKeys, SettingReader};
use journeyman_agent::{ApiSettings, Prices};
use journeyman_order::model_service::{Price, Provider};
use journeyman_order::names::is_variable_of_a_key;

/// The provider's address, and the usual variable for its key.
fn service(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::Anthropic => ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        Provider::OpenAi => ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    }
}

/// `[agents.NAME]` with `runtime = "api"`.
pub(super) fn api(keys: SettingReader<'_>, prices: &Prices) -> Result<ApiSettings, SettingsError> {
    if let Some(other) = [known::PROGRAM, known::ENV, known::READ].into_iter().find(|other| keys.has(*other))
    {
        let expected = "left out: the runtime `api` starts no program (its key is named by `key_env`)";
        return Err(keys.wrong(other, expected));
    }
    let provider = match keys.get::<String>(known::PROVIDER)?.as_deref() {
        Some("anthropic") => Provider::Anthropic,
        Some("openai") => Provider::OpenAi,
        Some(_) | None => return Err(keys.wrong(known::PROVIDER, known::PROVIDER.kind.expected())),
    };
    let model = keys.get(known::MODEL)?;
    let model = model.ok_or_else(|| keys.wrong(known::MODEL, "given: the runtime `api` asks for a model"))?;
    let (service, usual_key) = service(provider);
    let own: Option<Url> = keys.get(known::BASE_URL)?;
    let named: Option<String> = keys.get(known::KEY_ENV)?;
    let key_env = if own.is_none() { named.or_else(|| Some(usual_key.to_owned())) } else { named };
    if key_env.as_deref().is_some_and(|name| !is_variable_of_a_key(name)) {
        // People easily put the key itself here.
        let expected = "the name of a variable in capitals that holds the key, such as ANTHROPIC_API_KEY, and not \
                        the key; none of Journeyman's own";
        return Err(keys.wrong(known::KEY_ENV, expected));
    }
    let base_url = match own {
        None => Url::parse(service).map_err(|_| keys.wrong(known::BASE_URL, "a URL"))?,
        Some(url) if url.query().is_some() || url.fragment().is_some() => {
            return Err(keys.wrong(known::BASE_URL, "a URL without a query: the path is added to its end"));
        }
        Some(url) if url.scheme() == "https" || is_near(&url) => url,
        Some(_) => {
            let expected =
                "https://…: the key and the code go there (http on loopback and private addresses only)";
            return Err(keys.wrong(known::BASE_URL, expected));
        }
    };
    let max_output_tokens = keys.need(known::MAX_OUTPUT_TOKENS)?;
    Ok(ApiSettings { provider, base_url, model, key_env, max_output_tokens, prices: prices.clone() })
}

/// On this machine or in a private network. A name without a dot counts too, such as a container's.
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
pub(super) fn prices(given: &SettingKeys) -> Result<BTreeMap<String, Price>, SettingsError> {
    given.names("prices").into_iter().map(|model| Ok((model.clone(), price(given.of(&model))?))).collect()
}

fn price(keys: SettingReader<'_>) -> Result<Price, SettingsError> {
    let needed = |setting| {
        let missing = "given: dollars for a million tokens, 0 where they cost nothing";
        keys.get(setting)?.ok_or_else(|| keys.wrong(setting, missing))
    };
    let input = needed(known::PRICE_INPUT)?;
    Ok(Price {
        input,
        output: needed(known::PRICE_OUTPUT)?,
        cache_read: keys.get(known::PRICE_CACHE_READ)?.unwrap_or(input),
        cache_write: keys.get(known::PRICE_CACHE_WRITE)?.unwrap_or(input),
    })
}
