//! The only way from a sandbox to a network: serves one job's listener, passes what is allowed, counts it.
//!
//! May know: names, addresses, models' dialects as far as needed to read request and usage, and
//! [`journeyman_order::network`], its report format.
//! Must never know: sandboxes, orders, agents, GitHub, settings files. Its caller decides what is allowed.
//!
//! Every client is hostile. There are four kinds of requests:
//! - `CONNECT name:443`: an allowed name, looked up here, to a checked address, TLS to that same name. Its content is
//!   not inspected.
//! - `POST /v1/messages` and similar: the model's endpoint, if the job has one. The gateway replaces the job's
//!   credential with ours and counts tokens and dollars.
//! - `GET /registries/NAME/…`: a package registry, if the job has one. The gateway adds its credential.
//! - Everything else: 403 and a line in the record.

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
    /// Registries whose credentials the gateway adds.
    pub registries: Vec<RegistryUpstream>,
    pub outgoing: OutgoingNetwork,
    /// The setting that lists the names, for refusal messages: `sandbox.setup_network in journeyman.toml`.
    pub setting: String,
}

/// The gateway of one job.
#[derive(Clone)]
pub struct EgressProxy {
    inside: Arc<ProxyState>,
}

/// Creates the gateway of one job. It passes nothing until it serves a listener.
pub fn open(access: EgressPolicy) -> EgressProxy {
    let dialer = Dialer::of_this_machine(access.outgoing.proxy.clone());
    EgressProxy::with(access, dialer, ProxyLimits::default())
}

struct ProxyState {
    access: EgressPolicy,
    reach: Dialer,
    limits: ProxyLimits,
    book: Arc<EgressLog>,
    /// Limits the bytes of requests in memory at once.
    room: Semaphore,
}

/// How much of this process a job may use.
#[derive(Debug, Clone, Copy)]
struct ProxyLimits {
    /// Concurrent connections; others wait to be accepted.
    connections: usize,
    /// Timeout for a request's headers.
    headers: Duration,
    /// Timeout for the body of a model request.
    body: Duration,
    /// Timeout to resolve a name, and to connect.
    connect: Duration,
    /// Timeout for the TLS ClientHello.
    hello: Duration,
    /// Timeout for a tunnel without traffic.
    idle: Duration,
    tunnel_bytes: u64,
    /// Size of one model request.
    request_bytes: usize,
    /// Size of all concurrent model requests together.
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

    /// The environment variables with which a job's programs use the gateway at this loopback port.
    pub fn environment(&self, port: u16) -> Vec<(String, String)> {
        let model = self.inside.access.model.as_ref().map(|model| model.provider);
        let mut variables = environment::environment(port, model);
        variables.extend(package_managers::variables(port, &self.inside.access));
        variables
    }

    /// Configuration files in the job's home, for package managers that variables cannot configure.
    pub fn home_files(&self, port: u16) -> Vec<HomeFile> {
        package_managers::home_files(port, &self.inside.access)
    }

    /// Serves every connection to the listener until the handle is dropped or ended. Needs a Tokio runtime.
    ///
    /// # Errors
    /// When the listener cannot be registered with Tokio.
    pub fn serve(&self, listener: TcpListener) -> io::Result<ProxyHandle> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let end = CancellationToken::new();
        let task = tokio::spawn(serve::serve(Arc::clone(&self.inside), listener, end.clone()));
        Ok(ProxyHandle { inside: Arc::clone(&self.inside), end, task: Some(task) })
    }
}

/// Keeps a gateway open. Dropping it ends all connections at once.
#[must_use = "dropped, it ends all connections"]
pub struct ProxyHandle {
    inside: Arc<ProxyState>,
    end: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl ProxyHandle {
    /// Ends all connections and returns the record.
    pub async fn end(mut self) -> NetworkRecord {
        self.end.cancel();
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
        self.record()
    }

    /// The record so far.
    pub fn record(&self) -> NetworkRecord {
        NetworkRecord { metered: self.metered(), ..self.inside.book.record() }
    }

    /// The model's usage so far; `None` if the job has no model.
    pub fn metered(&self) -> Option<ModelUsageRecord> {
        self.inside.access.model.as_ref().map(|model| model.meter.metered())
    }

    /// Waits until a request is refused because the budget is spent, and returns which part. Never returns for a job
    /// without a model.
    pub async fn exhausted(&self) -> String {
        let Some(model) = &self.inside.access.model else { return std::future::pending().await };
        let mut watched: watch::Receiver<Option<String>> = model.meter.watch();
        match watched.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            // The meter lives as long as this handle.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for ProxyHandle {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
