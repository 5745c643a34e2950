//! A tunnel to an allowed host: resolved by us, to a checked address, TLS to that same name.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::ProxyLimits;
use super::client_hello::{self, ClientHello};
use super::egress_log::TrafficCounter;
use super::names::{AllowedHost, ConnectTarget, HostName};
use journeyman_order::OutgoingProxy;
use journeyman_outgoing::connect_through;

/// No real program sends a longer ClientHello.
const LONGEST_HELLO: usize = 16 << 10;
const MOST_ADDRESSES: usize = 8;
const BUFFER: usize = 16 << 10;
/// Behind a proxy, many machines cannot resolve outside names and are slow to report it.
const LOOKUP_BESIDE_PROXY: Duration = Duration::from_secs(2);

type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves names and decides which addresses an entry may lead to. Tests replace it.
#[derive(Clone)]
pub(super) struct Dialer {
    pub(super) resolve: Arc<dyn Fn(&HostName) -> LookupFuture + Send + Sync>,
    pub(super) objection: fn(&AllowedHost, IpAddr) -> Option<&'static str>,
    /// The proxy for connections, unless it is bypassed.
    pub(super) proxy: Option<OutgoingProxy>,
}

impl Dialer {
    /// Uses the system's resolver, and only addresses that are public or that the entry allows.
    pub(super) fn of_this_machine(proxy: Option<OutgoingProxy>) -> Self {
        Self {
            resolve: Arc::new(|host| {
                let name = host.as_str().to_owned();
                Box::pin(async move {
                    let found = tokio::net::lookup_host((name, 0)).await?;
                    Ok(found.map(|address| address.ip()).collect())
                })
            }),
            objection: AllowedHost::objection,
            proxy,
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DialError {
    /// Not allowed.
    Refused(String),
    /// Allowed, but failed.
    Failed(String),
}

impl Dialer {
    /// Connects to a target that the entry allows.
    pub(super) async fn connect(
        &self,
        entry: &AllowedHost,
        target: &ConnectTarget,
        within: Duration,
    ) -> Result<TcpStream, DialError> {
        let failed = |why: &str| DialError::Failed(format!("{target} could not be reached: {why}"));
        let proxy = self.proxy.as_ref().filter(|proxy| !proxy.is_bypassed(target.host.as_str()));
        if let Some(proxy) = proxy {
            return self.connect_through(proxy, entry, target, within).await;
        }
        let found = timeout(within, (self.resolve)(&target.host)).await;
        let found = found.map_err(|_| failed("its name was not resolved in time"))?;
        let addresses = found.map_err(|_| failed("its name could not be resolved"))?;
        self.check(entry, &addresses)?;
        let mut why = "its name has no address".to_owned();
        for address in addresses.into_iter().take(MOST_ADDRESSES) {
            match timeout(within, TcpStream::connect(SocketAddr::new(address, target.port))).await {
                Ok(Ok(stream)) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => why = error.to_string(),
                Err(_) => why = "it does not answer".to_owned(),
            }
        }
        Err(failed(&why))
    }

    /// The proxy resolves the name itself, so it chooses the address. If the name also resolves here, its addresses are
    /// still checked.
    async fn connect_through(
        &self,
        proxy: &OutgoingProxy,
        entry: &AllowedHost,
        target: &ConnectTarget,
        within: Duration,
    ) -> Result<TcpStream, DialError> {
        if let Ok(Ok(addresses)) = timeout(LOOKUP_BESIDE_PROXY, (self.resolve)(&target.host)).await {
            self.check(entry, &addresses)?;
        }
        let connected = timeout(within, connect_through(proxy, target.host.as_str(), target.port)).await;
        let why = match connected {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the proxy does not answer".to_owned(),
        };
        Err(DialError::Failed(format!("{target} could not be reached: {why}")))
    }

    /// One bad address refuses them all: a name that mixes them in is an attack.
    fn check(&self, entry: &AllowedHost, addresses: &[IpAddr]) -> Result<(), DialError> {
        let objection = |address: &IpAddr| Some((*address, (self.objection)(entry, *address)?));
        match addresses.iter().find_map(objection) {
            Some((address, why)) => {
                Err(DialError::Refused(format!("its name leads to {address}, which {why}")))
            }
            None => Ok(()),
        }
    }
}

/// Passes bytes both ways until one side closes or the tunnel is idle.
///
/// # Errors
/// Returns why the gateway closed the tunnel.
pub(super) async fn carry<Job>(
    job: Job,
    host: TcpStream,
    target: &ConnectTarget,
    tally: &TrafficCounter,
    limits: &ProxyLimits,
) -> Result<(), String>
where
    Job: AsyncRead + AsyncWrite,
{
    let (mut from_job, mut to_job) = tokio::io::split(job);
    let (mut from_host, mut to_host) = host.into_split();
    let begun = match timeout(limits.hello, greeting(&mut from_job, target)).await {
        Ok(greeting) => greeting?,
        Err(_) => return Err("it did not begin to speak TLS in time".to_owned()),
    };
    if begun.is_empty() {
        return Ok(());
    }
    tally.add(begun.len());
    if to_host.write_all(&begun).await.is_err() {
        return Ok(());
    }
    let clock = IdleClock::new();
    let counts = |bytes| (clock.moved(), tally.add(bytes) <= limits.tunnel_bytes).1;
    let both = async {
        tokio::try_join!(
            pass(&mut from_job, &mut to_host, &counts),
            pass(&mut from_host, &mut to_job, &counts)
        )
    };
    tokio::select! {
        passed = both => passed.map(|_| ()).map_err(|TunnelLimitExceeded| {
            format!("more than {} bytes went through this job's tunnels", limits.tunnel_bytes)
        }),
        () = clock.rests(limits.idle) => Ok(()),
    }
}

/// The complete ClientHello, checked against the requested name.
async fn greeting(
    from_job: &mut (impl AsyncRead + Unpin),
    target: &ConnectTarget,
) -> Result<Vec<u8>, String> {
    let mut begun = Vec::new();
    loop {
        match client_hello::read(&begun) {
            ClientHello::To(name) => {
                let same = HostName::parse(&name).is_ok_and(|name| name == target.host);
                return if same { Ok(begun) } else { Err(format!("its TLS handshake asks for {name}")) };
            }
            ClientHello::Wrong(why) => return Err(why.to_owned()),
            ClientHello::Unfinished if begun.len() >= LONGEST_HELLO => {
                return Err("its TLS handshake is too long".to_owned());
            }
            ClientHello::Unfinished => {}
        }
        match from_job.read_buf(&mut begun).await {
            // Connected and closed again: browsers and load balancers do that, and nothing was sent.
            Ok(0) if begun.is_empty() => return Ok(begun),
            Ok(0) | Err(_) => return Err("its TLS handshake is not whole".to_owned()),
            Ok(_) => {}
        }
    }
}

struct TunnelLimitExceeded;

async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    counts: &impl Fn(usize) -> bool,
) -> Result<(), TunnelLimitExceeded> {
    let mut buffer = vec![0; BUFFER];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if !counts(read) {
            return Err(TunnelLimitExceeded);
        }
        if to.write_all(buffer.get(..read).unwrap_or_default()).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
    Ok(())
}

/// The time of the last traffic.
struct IdleClock {
    began: Instant,
    last: AtomicU64,
}

impl IdleClock {
    fn new() -> Self {
        Self { began: Instant::now(), last: AtomicU64::new(0) }
    }

    fn milliseconds(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn moved(&self) {
        self.last.store(self.milliseconds(), Ordering::Relaxed);
    }

    /// Returns when there was no traffic for this long.
    async fn rests(&self, idle: Duration) {
        loop {
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let end = self.began + last + idle;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}
