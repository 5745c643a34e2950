//! The egress of one job: what it may reach, and what it did.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

use super::effect_error::{never, soon};
use journeyman_agent::{ModelEndpoint, Prices};
use journeyman_gateway::{
    AllowedHost, EgressPolicy, GatewayBudget, HomeFile, ModelUpstream, ProxyHandle, RegistryUpstream,
};
use journeyman_order::network::NetworkRecord;
use journeyman_order::{EffectError, TestingSettings};
use journeyman_sandbox::{Sandbox, SandboxNetwork};

pub(super) struct JobEgress {
    proxy: Arc<Mutex<Option<ProxyHandle>>>,
    pub(super) environment: Vec<(String, String)>,
    home_files: Vec<HomeFile>,
}

impl JobEgress {
    pub(super) fn open(
        sandbox: &Sandbox,
        access: EgressPolicy,
    ) -> Result<(Self, SandboxNetwork), EffectError> {
        let gateway = journeyman_gateway::open(access);
        let guard: Arc<Mutex<Option<ProxyHandle>>> = Arc::default();
        let (serving, kept) = (gateway.clone(), Arc::clone(&guard));
        let runtime = tokio::runtime::Handle::current();
        let socket = sandbox.egress_socket(move |listener| {
            let _within = runtime.enter();
            match serving.serve(listener) {
                Ok(open) => *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(open),
                Err(error) => tracing::warn!("a job has no way to the network: {error}"),
            }
        })?;
        let environment = gateway.environment(socket.port());
        let home_files = gateway.home_files(socket.port());
        Ok((Self { proxy: guard, environment, home_files }, SandboxNetwork::Gateway(socket)))
    }

    pub(super) fn write_home_files(&self, home: &Path) -> Result<(), EffectError> {
        for file in &self.home_files {
            journeyman_sandbox::write_in_home(home, Path::new(file.path), file.text.as_bytes())
                .map_err(|error| soon(format!("cannot write {} into a job's home: {error}", file.path)))?;
        }
        Ok(())
    }

    pub(super) async fn close(self) -> NetworkRecord {
        let guard = self.proxy.lock().unwrap_or_else(PoisonError::into_inner).take();
        match guard {
            Some(guard) => guard.end().await,
            None => NetworkRecord::default(),
        }
    }
}

pub(super) fn allowed_hosts(entries: &[String], setting: &str) -> Result<Vec<AllowedHost>, EffectError> {
    let read = entries.iter().map(|entry| AllowedHost::parse(entry));
    read.collect::<Result<_, _>>().map_err(|error| never(format!("{setting}: {error}")))
}

pub(super) fn registries(settings: &TestingSettings) -> Result<Vec<RegistryUpstream>, EffectError> {
    let made = settings.registries.iter();
    made.map(|registry| RegistryUpstream::new(registry.clone(), settings.outgoing.clone()))
        .collect::<Result<_, _>>()
        .map_err(|error| never(error.to_string()))
}

pub(super) fn model_upstream(
    endpoint: &ModelEndpoint,
    usd: f64,
    prices: &Prices,
) -> Result<ModelUpstream, EffectError> {
    let base: Url = endpoint.base.parse().map_err(|error| never(format!("{:?}: {error}", endpoint.base)))?;
    let budget = GatewayBudget { usd: Some(usd), ..GatewayBudget::default() };
    let price = price(&base, prices);
    let upstream = ModelUpstream::new(base, endpoint.key.clone(), endpoint.provider, budget, price)
        .map_err(|error| never(format!("the agent's model: {error}")))?;
    Ok(upstream.explaining(journeyman_agent::how_to_price))
}

/// On a provider's own service an unknown price stays unknown. On another service it counts as zero.
fn price(base: &Url, prices: &Prices) -> journeyman_gateway::PriceLookup {
    let (prices, is_a_providers) = (prices.clone(), journeyman_agent::is_a_providers_own(base));
    Arc::new(move |model, tokens| {
        let usd = prices.dollars(model, *tokens);
        if is_a_providers { usd } else { Some(usd.unwrap_or(0.0)) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use journeyman_order::network::MeteredTokens;

    #[test]
    fn at_a_providers_own_service_a_model_without_a_price_has_none() {
        let tokens = MeteredTokens { input: 1_000_000, ..MeteredTokens::default() };
        for (base, unknown) in [
            ("https://api.anthropic.com", None),
            ("https://API.OpenAI.com./v1", None),
            ("https://eu.api.openai.com/v1", None),
            ("https://anthropic.com.example.org", Some(0.0)),
            ("https://notopenai.com", Some(0.0)),
            ("http://127.0.0.1:8080", Some(0.0)),
        ] {
            let price = price(&base.parse().unwrap(), &Prices::default());
            assert_eq!(price("claude-sonnet-99", &tokens), unknown, "{base}");
            assert_eq!(price("claude-sonnet-4-5", &tokens), Some(3.0), "{base}");
        }
        let words = journeyman_agent::how_to_price("x\"y");
        assert!(words.contains("[prices.\"x\\\"y\"]") && words.contains("journeyman.toml"), "{words}");
    }
}
