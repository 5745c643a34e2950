//! The only gateway from a sandbox to a network: serves one job's listener, lets through what is allowed, counts it.
//!
//! May know: names, addresses, models' dialects as far as they say what was asked for and used, and
//! [`journeyman_order::network`], in which it tells what happened.
//! Must never know: sandboxes, orders, agents, GitHub, settings files. Whoever opens it says what is allowed.
//!
//! Whatever connects is hostile. Four kinds of requests come:
//! - `CONNECT name:443`: a name that is allowed, looked up here, to an address that was checked, TLS to that very
//!   name. Nobody looks inside.
//! - `POST /v1/messages` and its like: the model's endpoint, where the job has one. The job's credential is dropped
//!   and ours put in its place; tokens and dollars are counted.
//! - `GET /registries/NAME/…`: a registry of packages, where the job has one, with the credential put in here.
//! - Everything else: 403, and a line in the record.

mod addresses;
mod client_hello;
mod egress_log;
mod environment;
mod gradle;
mod meter;
mod model;
mod model_request;
mod names;
mod package_managers;
mod proxy;
mod refusal;
mod registry;
mod replace;
mod serve;
mod tunnel;
mod usage;

#[cfg(test)]
mod tests;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use environment::HomeFile;
pub use meter::{GatewayBudget, PriceLookup};
pub use model::{InvalidUpstream, ModelUpstream};
pub use names::{AllowedHost, InvalidAllowedHost};
pub use registry::{InvalidRegistry, RegistryUpstream};

use egress_log::EgressLog;
use journeyman_order::OutgoingNetwork;
use journeyman_order::network::{ModelUsageRecord, NetworkRecord};
use tunnel::Dialer;

/// What a job may reach.
#[derive(Debug, Clone, Default)]
pub struct EgressPolicy {
    pub names: Vec<AllowedHost>,
    pub model: Option<ModelUpstream>,
    /// Registries whose credentials it does not have.
    pub registries: Vec<RegistryUpstream>,
    /// How hosts are reached.
    pub outgoing: OutgoingNetwork,
    /// Where the names are set, for whoever is refused: `sandbox.setup_network in journeyman.toml`.
    pub setting: String,
}

/// The gateway of one job.
#[derive(Clone)]
pub struct EgressProxy {
    inside: Arc<ProxyState>,
}

/// Makes the gateway of one job. Nobody comes through before it serves a listener.
pub fn open(access: EgressPolicy) -> EgressProxy {
    let dialer = Dialer::of_this_machine(access.outgoing.proxy.clone());
    EgressProxy::with(access, dialer, ProxyLimits::default())
}

struct ProxyState {
    access: EgressPolicy,
    reach: Dialer,
    limits: ProxyLimits,
    book: Arc<EgressLog>,
    /// Bytes of requests that may be in memory at once.
    room: Semaphore,
}

/// What a job may take of this process.
#[derive(Debug, Clone, Copy)]
struct ProxyLimits {
    /// Connections at once; others wait to be accepted.
    connections: usize,
    /// For a request's headers.
    headers: Duration,
    /// For the body of a request to the model.
    body: Duration,
    /// To look up a name, and to connect.
    connect: Duration,
    /// For the beginning of TLS.
    hello: Duration,
    /// A tunnel through which nothing moves.
    idle: Duration,
    tunnel_bytes: u64,
    /// Of one request to the model.
    request_bytes: usize,
    /// Of all such requests at once.
    room: usize,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            headers: Duration::from_secs(30),
            body: Duration::from_secs(120),
            connect: Duration::from_secs(15),
            hello: Duration::from_secs(20),
            idle: Duration::from_secs(300),
            tunnel_bytes: 32 << 30,
            request_bytes: 32 << 20,
            room: 64 << 20,
        }
    }
}

impl EgressProxy {
    fn with(access: EgressPolicy, reach: Dialer, limits: ProxyLimits) -> Self {
        let room = Semaphore::new(limits.room);
        Self { inside: Arc::new(ProxyState { access, reach, limits, book: Arc::default(), room }) }
    }

    /// The variables that a job's programs need to come to the gateway at this port of its loopback.
    pub fn environment(&self, port: u16) -> Vec<(String, String)> {
        let model = self.inside.access.model.as_ref().map(|model| model.provider);
        let mut variables = environment::environment(port, model);
        variables.extend(package_managers::variables(port, &self.inside.access));
        variables
    }

    /// What package managers read in the home of a job that comes to the gateway at this port, for want of variables.
    pub fn home_files(&self, port: u16) -> Vec<HomeFile> {
        package_managers::home_files(port, &self.inside.access)
    }

    /// Serves whatever connects to the listener, until the guard is dropped or ended. Within tokio's runtime.
    ///
    /// # Errors
    /// When the listener cannot be waited on.
    pub fn serve(&self, listener: TcpListener) -> io::Result<ProxyHandle> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let end = CancellationToken::new();
        let task = tokio::spawn(serve::serve(Arc::clone(&self.inside), listener, end.clone()));
        Ok(ProxyHandle { inside: Arc::clone(&self.inside), end, task: Some(task) })
    }
}

/// Keeps a gateway open. Dropped, it ends all connections at once.
#[must_use = "dropped, it ends all connections"]
pub struct ProxyHandle {
    inside: Arc<ProxyState>,
    end: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl ProxyHandle {
    /// Ends all connections, and tells what happened.
    pub async fn end(mut self) -> NetworkRecord {
        self.end.cancel();
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
        self.record()
    }

    /// What happened so far.
    pub fn record(&self) -> NetworkRecord {
        NetworkRecord { metered: self.metered(), ..self.inside.book.record() }
    }

    /// What the model came to so far; none where the job has none.
    pub fn metered(&self) -> Option<ModelUsageRecord> {
        self.inside.access.model.as_ref().map(|model| model.meter.metered())
    }

    /// Waits until a request was refused because the budget is spent, and says which part of it. For a job without a
    /// model it waits for ever.
    pub async fn exhausted(&self) -> String {
        let Some(model) = &self.inside.access.model else { return std::future::pending().await };
        let mut watched: watch::Receiver<Option<String>> = model.meter.watch();
        match watched.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            // The meter lives as long as we do.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for ProxyHandle {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
