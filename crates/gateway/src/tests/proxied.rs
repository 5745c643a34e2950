//! Tunnels of a server that itself connects through a proxy.

use super::*;
use journeyman_order::{OutgoingProxy, RegistryCredential};

/// A proxy that opens one tunnel; its task returns the request that it got.
async fn proxy() -> (OutgoingProxy, tokio::task::JoinHandle<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        String::from_utf8(head).unwrap()
    });
    (
        OutgoingProxy { url, credential: RegistryCredential::None, bypass: vec![".near.example".to_owned()] },
        asked,
    )
}

/// Resolves no names.
fn unknowing(proxy: OutgoingProxy) -> Dialer {
    Dialer {
        resolve: Arc::new(|_| Box::pin(async { Err(io::Error::other("no such name")) })),
        objection: AllowedHost::objection,
        proxy: Some(proxy),
    }
}

#[tokio::test]
async fn behind_a_proxy_a_listed_name_goes_through_it_although_nobody_here_knows_the_name() {
    let (proxy, asked) = proxy().await;
    let (gateway, _open) = opened(names(&["registry.example"]), unknowing(proxy), ProxyLimits::default());
    let (head, _stream) = connect(gateway, "registry.example:443").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(asked.await.unwrap().starts_with("CONNECT registry.example:443 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn behind_a_proxy_the_list_holds_and_so_does_what_is_known_of_an_address() {
    let (proxy, asked) = proxy().await;
    let unlisted = opened(names(&["registry.example"]), unknowing(proxy.clone()), ProxyLimits::default());
    assert!(connect(unlisted.0, "other.example:443").await.0.starts_with("HTTP/1.1 403"));
    for address in ["127.0.0.1", "169.254.169.254", "10.0.0.1"] {
        let near = Dialer { proxy: Some(proxy.clone()), ..leading_to(&[address]) };
        let (gateway, _open) = opened(names(&["registry.example"]), near, ProxyLimits::default());
        assert!(connect(gateway, "registry.example:443").await.0.starts_with("HTTP/1.1 403"), "{address}");
    }
    // A host that bypasses the proxy is resolved here as usual.
    let (gateway, _open) = opened(names(&["a.near.example"]), unknowing(proxy), ProxyLimits::default());
    assert!(connect(gateway, "a.near.example:443").await.0.starts_with("HTTP/1.1 502"));
    assert!(!asked.is_finished(), "the proxy heard of none of it");
}
