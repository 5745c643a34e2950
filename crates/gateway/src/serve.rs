//! Accepts a job's connections and dispatches its requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ProxyState;
use super::egress_log::{TrafficCounter, harmless};
use super::names::ConnectTarget;
use super::refusal::{ProxyBody, forbidden, plain, whole};
use super::tunnel::{DialError, carry};
use journeyman_order::bounds::MOST_LISTED;

const HEADER_BYTES: usize = 64 << 10;

/// Accepts until the end; then closes all connections.
pub(super) async fn serve(inside: Arc<ProxyState>, listener: TcpListener, end: CancellationToken) {
    let mut connections = JoinSet::new();
    let room = Arc::new(Semaphore::new(inside.limits.connections));
    let address = listener.local_addr().ok();
    let accepting = async {
        while let Ok(place) = Arc::clone(&room).acquire_owned().await {
            while connections.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((stream, _)) => {
                    let inside = Arc::clone(&inside);
                    connections.spawn(async move {
                        connection(inside, stream, address).await;
                        drop(place);
                    });
                }
                // No free file descriptor, or closed before it was accepted: both are temporary.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = end.cancelled() => {}
    }
    connections.shutdown().await;
}

/// A CONNECT's target, carried once hyper releases the connection.
struct ConnectTunnel {
    job: OnUpgrade,
    host: TcpStream,
    target: ConnectTarget,
    tally: TrafficCounter,
}

type TunnelSlot = Arc<Mutex<Option<ConnectTunnel>>>;

pub(super) async fn connection(inside: Arc<ProxyState>, stream: TcpStream, address: Option<SocketAddr>) {
    let _ = stream.set_nodelay(true);
    let opened = TunnelSlot::default();
    let service = service_fn(|request| {
        let (inside, opened) = (Arc::clone(&inside), Arc::clone(&opened));
        async move { Ok::<_, Infallible>(inside.answer(request, address, &opened).await) }
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(inside.limits.headers)
        .max_headers(MOST_LISTED)
        .max_buf_size(HEADER_BYTES);
    // The job's own connection errors are not ours to report.
    let _ = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    let opened = opened.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(ConnectTunnel { job, host, target, tally }) = opened
        && let Ok(job) = job.await
        && let Err(why) = carry(TokioIo::new(job), host, &target, &tally, &inside.limits).await
    {
        inside.book.refuse(&target.to_string(), &why);
    }
}

impl ProxyState {
    async fn answer(
        &self,
        mut request: Request<Incoming>,
        address: Option<SocketAddr>,
        opened: &TunnelSlot,
    ) -> Response<ProxyBody> {
        if request.method() == Method::CONNECT {
            let job = hyper::upgrade::on(&mut request);
            return match self.connect(request.uri()).await {
                Ok((target, host)) => {
                    let tally = self.book.reach(target.to_string());
                    *opened.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(ConnectTunnel { job, host, target, tally });
                    Response::new(whole(Bytes::new()))
                }
                Err(refused) => refused,
            };
        }
        if request.uri().scheme().is_some() && !is_to(request.uri(), address) {
            let host = request.uri().host().unwrap_or_default();
            let what =
                format!("{} {}://{host}", request.method(), request.uri().scheme_str().unwrap_or_default());
            return self.refuse(&what, "only HTTPS passes, by CONNECT");
        }
        let (parts, body) = request.into_parts();
        if let Some(answered) = self.registry(&parts, address.map_or(0, |address| address.port())).await {
            return answered;
        }
        match &self.access.model {
            Some(model) => self.ask(model, parts, body).await,
            None => self.refuse(&format!("{} {}", parts.method, parts.uri.path()), "this job has no model"),
        }
    }

    async fn connect(&self, uri: &Uri) -> Result<(ConnectTarget, TcpStream), Response<ProxyBody>> {
        let asked = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let target = ConnectTarget::parse(asked).map_err(|why| self.refuse(asked, why))?;
        let what = target.to_string();
        let entry = self.access.names.iter().find(|entry| entry.allows(&target));
        let entry = entry.ok_or_else(|| self.refuse(&what, "it is not on the list"))?;
        match self.reach.connect(entry, &target, self.limits.connect).await {
            Ok(host) => Ok((target, host)),
            Err(DialError::Refused(why)) => Err(self.refuse(&what, &why)),
            Err(DialError::Failed(why)) => Err(plain(StatusCode::BAD_GATEWAY, format!("{why}\n"))),
        }
    }

    /// Records a refusal and returns its response.
    pub(super) fn refuse(&self, what: &str, why: &str) -> Response<ProxyBody> {
        self.book.refuse(what, why);
        forbidden(&harmless(what), why, &self.access.names, &self.access.setting)
    }
}

/// Whether a request is for the gateway itself: some programs use the proxy even to reach it.
fn is_to(uri: &Uri, address: Option<SocketAddr>) -> bool {
    let port = uri.port_u16().unwrap_or(80);
    uri.scheme_str() == Some("http")
        && matches!(uri.host(), Some("127.0.0.1" | "localhost"))
        && address.is_some_and(|address| address.port() == port)
}
