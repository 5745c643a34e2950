//! The door of one job: what it may reach, and what came of it.

use std::sync::{Arc, Mutex, PoisonError};

use super::trouble::never;
use crate::agent::{Endpoint, EndpointKey, Prices, Provider};
use crate::gateway::{self, Access, AllowedName, Budget, Credential, Guard, ModelDoor};
use crate::order::Trouble;
use crate::order::network::Record;
use crate::sandbox::{Network, Sandbox};

/// A door that is open as long as this is.
pub(super) struct OpenDoor {
    guard: Arc<Mutex<Option<Guard>>>,
    /// What the job's programs have to be told.
    pub(super) environment: Vec<(String, String)>,
}

impl OpenDoor {
    /// Makes a door for one job, and the network that leads to it.
    pub(super) fn open(sandbox: &Sandbox, access: Access) -> Result<(Self, Network), Trouble> {
        let gateway = gateway::open(access);
        let guard: Arc<Mutex<Option<Guard>>> = Arc::default();
        let (serving, kept) = (gateway.clone(), Arc::clone(&guard));
        let runtime = tokio::runtime::Handle::current();
        let door = sandbox.door(move |listener| {
            let _within = runtime.enter();
            match serving.serve(listener) {
                Ok(open) => *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(open),
                Err(error) => tracing::warn!("a job has no way to the network: {error}"),
            }
        })?;
        let environment = gateway.environment(door.port());
        Ok((Self { guard, environment }, Network::Gateway(door)))
    }

    /// Closes it, and tells what happened.
    pub(super) async fn close(self) -> Record {
        let guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner).take();
        match guard {
            Some(guard) => guard.end().await,
            None => Record::default(),
        }
    }
}

/// Reads entries of the settings. `setting` is where they stand.
pub(super) fn names(entries: &[String], setting: &str) -> Result<Vec<AllowedName>, Trouble> {
    let read = entries.iter().map(|entry| AllowedName::parse(entry));
    read.collect::<Result<_, _>>().map_err(|error| never(format!("{setting}: {error}")))
}

/// The way to an agent's model, with what may be spent there.
pub(super) fn model(endpoint: &Endpoint, usd: f64, prices: &Prices) -> Result<ModelDoor, Trouble> {
    let base = endpoint.base.parse().map_err(|error| never(format!("{:?}: {error}", endpoint.base)))?;
    let credential = match &endpoint.key {
        EndpointKey::None => Credential::None,
        EndpointKey::ApiKey(key) => Credential::ApiKey(key.clone()),
        EndpointKey::Bearer(key) => Credential::Bearer(key.clone()),
    };
    let provider = match endpoint.provider {
        Provider::Anthropic => gateway::Provider::Anthropic,
        Provider::OpenAi => gateway::Provider::OpenAi,
    };
    let budget = Budget { usd: Some(usd), ..Budget::default() };
    let prices = prices.clone();
    // A model whose price is not known counts nothing, as it does where its service is asked directly.
    let price: gateway::Price = Arc::new(move |model, tokens| {
        Some(
            prices
                .dollars(model, tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
                .unwrap_or(0.0),
        )
    });
    ModelDoor::new(base, credential, provider, budget, price)
        .map_err(|error| never(format!("the agent's model: {error}")))
}
