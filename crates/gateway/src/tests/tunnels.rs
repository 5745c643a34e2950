//! Tunnels to hosts.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpListener;

use super::super::client_hello::tests::hello_to;
use super::*;

/// Accepts one connection, reads this many bytes and answers.
async fn host(hears: usize) -> (u16, tokio::task::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; hears];
        stream.read_exact(&mut heard).await.unwrap();
        stream.write_all(b"welcome").await.unwrap();
        stream.shutdown().await.unwrap();
        stream.read_to_end(&mut heard).await.unwrap();
        heard
    });
    (port, task)
}

/// A listener that must not be reached.
async fn tripwire() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, reached)
}

#[tokio::test]
async fn a_job_talks_with_a_host_that_is_allowed() {
    let (port, host) = host(hello_to("a.registry.example").len()).await;
    let (gateway, guard) =
        opened(names(&[&format!("*.registry.example:{port}")]), leading_home(), ProxyLimits::default());
    let (head, mut stream) = connect(gateway, &format!("A.Registry.example.:{port}")).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let hello = hello_to("a.registry.example");
    stream.write_all(&hello).await.unwrap();
    let mut heard = Vec::new();
    timeout(LONG, stream.read_to_end(&mut heard)).await.unwrap().unwrap();
    assert_eq!(heard, b"welcome");
    stream.write_all(b" and thanks").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(timeout(LONG, host).await.unwrap().unwrap(), [&hello[..], b" and thanks"].concat());
    let record = guard.end().await;
    assert_eq!(record.refused, []);
    let [reached] = &record.reached[..] else { panic!("{record:?}") };
    assert_eq!((reached.host.as_str(), reached.connections), (&*format!("a.registry.example:{port}"), 1));
    assert_eq!(reached.bytes, (hello.len() + b"welcome and thanks".len()) as u64);
}

#[tokio::test]
async fn what_is_not_on_the_list_is_refused_with_what_is_and_where_that_is_set() {
    let (port, reached) = tripwire().await;
    let (gateway, guard) = opened(names(&["registry.example"]), leading_home(), ProxyLimits::default());
    for _ in 0..2 {
        let target = format!("evil.example:{port}");
        let heard = say(gateway, format!("CONNECT {target} HTTP/1.1\r\nConnection: close\r\n\r\n")).await;
        assert!(heard.starts_with("HTTP/1.1 403"), "{heard}");
        for part in [&*target, "by HTTPS: registry.example.", "network.setup in journeyman.toml"] {
            assert!(heard.contains(part), "{heard}");
        }
    }
    let heard =
        say(gateway, format!("CONNECT registry.example:{port} HTTP/1.1\r\nConnection: close\r\n\r\n")).await;
    assert!(heard.starts_with("HTTP/1.1 403"), "another port is another entry: {heard}");
    for url in ["http://registry.example/simple/", "http://127.0.0.1/", "https://registry.example/"] {
        let heard = say(gateway, format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        assert!(heard.starts_with("HTTP/1.1 403") && heard.contains("only HTTPS passes"), "{heard}");
    }
    let heard = say(gateway, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 403") && heard.contains("no model"), "{heard}");
    let record = guard.end().await;
    assert_eq!(reached.load(Ordering::SeqCst), 0);
    assert_eq!(record.refused.len(), 6);
    assert_eq!(
        (record.refused[0].what.as_str(), record.refused[0].times),
        (&*format!("evil.example:{port}"), 2)
    );
    assert_eq!(record.reached, []);
}

#[tokio::test]
async fn a_name_that_leads_near_this_machine_is_refused() {
    let (port, reached) = tripwire().await;
    for addresses in [
        &["127.0.0.1"][..],
        &["::1"],
        &["0.0.0.0"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["10.0.0.1"],
        &["192.168.1.1"],
        &["100.64.0.1"],
        &["169.254.169.254"],
        &["fd00:ec2::254"],
        &["fe80::1"],
        // One good address does not excuse a bad one, in either order.
        &["1.1.1.1", "127.0.0.1"],
        &["127.0.0.1", "1.1.1.1"],
    ] {
        let access = names(&[&format!("allowed.example:{port}")]);
        let (gateway, guard) = opened(access, leading_to(addresses), ProxyLimits::default());
        let (head, _) = connect(gateway, &format!("allowed.example:{port}")).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{addresses:?}: {head}");
        let record = guard.end().await;
        assert!(record.refused[0].why.contains("leads to"), "{record:?}");
    }
    assert_eq!(reached.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn this_machine_is_not_reached_by_any_spelling() {
    let (port, reached) = tripwire().await;
    // The system's own resolver, and an entry that names it.
    let access = names(&[&format!("localhost:{port}")]);
    let (gateway, guard) = opened(access, Dialer::of_this_machine(None), ProxyLimits::default());
    let hosts = [
        "localhost", "LOCALHOST.", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1",
        "0177.0.0.1", "017700000001", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]",
        "0", "0.0.0.0", "localhost@registry.example", "169.254.169.254",
    ];
    let mut got_through = Vec::new();
    for host in hosts {
        let (head, _) = connect(gateway, &format!("{host}:{port}")).await;
        let refused = head.starts_with("HTTP/1.1 403") || head.starts_with("HTTP/1.1 400");
        got_through.extend((!refused).then(|| format!("{host}: {head}")));
    }
    journeyman_test_support::tally::tell(
        "spellings of addresses near this machine",
        hosts.len(),
        &got_through,
    );
    assert_eq!(guard.end().await.reached, []);
    assert_eq!(reached.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_the_address_that_was_checked_is_the_one() {
    let (port, host) = host(hello_to("allowed.example").len()).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // A rebinding name: allowed when checked, another address on later lookups.
    let reach = Dialer {
        resolve: Arc::new(move |_| {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            let address = if first { "127.0.0.1" } else { "127.0.0.2" };
            Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
        }),
        objection: |_, address| (address.to_string() != "127.0.0.1").then_some("is another"),
        proxy: None,
    };
    let (gateway, guard) =
        opened(names(&[&format!("allowed.example:{port}")]), reach, ProxyLimits::default());
    let (head, mut stream) = connect(gateway, &format!("allowed.example:{port}")).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    stream.write_all(&hello_to("allowed.example")).await.unwrap();
    stream.shutdown().await.unwrap();
    timeout(LONG, host).await.unwrap().unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let (head, _) = connect(gateway, &format!("allowed.example:{port}")).await;
    assert!(head.starts_with("HTTP/1.1 403"), "a new connection is a new question: {head}");
    drop(guard);
}

#[tokio::test]
async fn one_address_of_many_names_is_open_for_one_of_them() {
    for (begins, why) in [
        (hello_to("evil.example"), "asks for evil.example"),
        (b"GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n".to_vec(), "not TLS"),
        (b"\x16\x03\x01\x00\x05\x01".to_vec(), "not whole"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = tokio::spawn(async move {
            let mut heard = Vec::new();
            listener.accept().await.unwrap().0.read_to_end(&mut heard).await.unwrap();
            heard
        });
        let access = names(&[&format!("allowed.example:{port}")]);
        let (gateway, guard) = opened(access, leading_home(), ProxyLimits::default());
        let (_, mut stream) = connect(gateway, &format!("allowed.example:{port}")).await;
        stream.write_all(&begins).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut heard = Vec::new();
        let _ = timeout(LONG, stream.read_to_end(&mut heard)).await.unwrap();
        assert_eq!(heard, b"");
        assert_eq!(timeout(LONG, host).await.unwrap().unwrap(), b"", "the host heard nothing of it");
        let record = guard.end().await;
        assert!(record.refused[0].why.contains(why), "{record:?}");
    }
}
