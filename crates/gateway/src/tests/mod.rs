//! A job at the gateway: real connections, with names that lead to the test's own listeners.

mod agents;
mod budgets;
mod limits;
mod models;
mod package_registries;
mod proxied;
mod service;
mod tunnels;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::names::AllowedHost;
use super::tunnel::Dialer;
use super::{EgressPolicy, EgressProxy, ProxyHandle, ProxyLimits};

/// Enough even on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// Every name resolves to these addresses.
fn leading_to(addresses: &[&str]) -> Dialer {
    let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Dialer {
        resolve: Arc::new(move |_| {
            let addresses = addresses.clone();
            Box::pin(async move { io::Result::Ok(addresses) })
        }),
        objection: AllowedHost::objection,
        proxy: None,
    }
}

/// Every name resolves to loopback, which is allowed.
fn leading_home() -> Dialer {
    Dialer { objection: |_, _| None, ..leading_to(&["127.0.0.1"]) }
}

fn names(entries: &[&str]) -> EgressPolicy {
    let names = entries.iter().map(|entry| AllowedHost::parse(entry).unwrap()).collect();
    EgressPolicy { names, setting: "network.setup in journeyman.toml".to_owned(), ..EgressPolicy::default() }
}

fn opened(access: EgressPolicy, reach: Dialer, limits: ProxyLimits) -> (SocketAddr, ProxyHandle) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = listener.local_addr().unwrap();
    (gateway, EgressProxy::with(access, reach, limits).serve(listener).unwrap())
}

/// Sends a request and reads the answer until the connection closes.
async fn say(gateway: SocketAddr, words: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    // A refused request may be closed before it is sent completely.
    let _ = stream.write_all(words.as_ref()).await;
    let mut heard = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut heard)).await.expect("the connection ends");
    String::from_utf8_lossy(&heard).into_owned()
}

/// Requests a tunnel; returns the answer's head and the connection.
async fn connect(gateway: SocketAddr, target: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    let words = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n");
    stream.write_all(words.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match timeout(LONG, stream.read_u8()).await.expect("an answer") {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    (String::from_utf8(head).unwrap(), stream)
}
