//! The resources that a job may use.

use tokio::net::TcpListener;

use super::super::client_hello::tests::hello_to;
use super::*;

/// A host that reads everything and never answers.
async fn silent_host() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move { tokio::io::copy(&mut stream, &mut tokio::io::sink()).await });
        }
    });
    port
}

async fn is_closed(stream: &mut TcpStream) {
    let mut heard = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut heard)).await.expect("the connection ends");
}

#[tokio::test]
async fn nothing_is_left_when_the_guard_is_dropped() {
    let port = silent_host().await;
    let (gateway, guard) =
        opened(names(&[&format!("a.example:{port}")]), leading_home(), ProxyLimits::default());
    let mut idle = TcpStream::connect(gateway).await.unwrap();
    let (_, mut tunnel) = connect(gateway, &format!("a.example:{port}")).await;
    tunnel.write_all(&hello_to("a.example")).await.unwrap();
    let (_, mut unspoken) = connect(gateway, &format!("a.example:{port}")).await;
    drop(guard);
    for stream in [&mut idle, &mut tunnel, &mut unspoken] {
        is_closed(stream).await;
    }
    assert!(TcpStream::connect(gateway).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_tunnel_ends_when_nothing_moves_or_too_much() {
    let port = silent_host().await;
    let entry = format!("a.example:{port}");
    let limits =
        ProxyLimits { idle: Duration::from_millis(300), tunnel_bytes: 100_000, ..ProxyLimits::default() };
    let (gateway, guard) = opened(names(&[&entry]), leading_home(), limits);
    let (_, mut quiet) = connect(gateway, &entry).await;
    quiet.write_all(&hello_to("a.example")).await.unwrap();
    is_closed(&mut quiet).await;
    assert_eq!(guard.record().refused, []);
    let (_, mut busy) = connect(gateway, &entry).await;
    busy.write_all(&hello_to("a.example")).await.unwrap();
    let _ = busy.write_all(&vec![7; 1 << 20]).await;
    is_closed(&mut busy).await;
    let record = guard.end().await;
    assert!(record.refused[0].why.contains("more than 100000 bytes"), "{record:?}");
}

#[tokio::test]
async fn whoever_says_little_is_not_waited_for() {
    let port = silent_host().await;
    let entry = format!("a.example:{port}");
    let short = Duration::from_millis(300);
    let limits = ProxyLimits { headers: short, hello: short, ..ProxyLimits::default() };
    let (gateway, guard) = opened(names(&[&entry]), leading_home(), limits);
    let mut slow = TcpStream::connect(gateway).await.unwrap();
    slow.write_all(b"CONNECT a.exam").await.unwrap();
    is_closed(&mut slow).await;
    let (_, mut tunnel) = connect(gateway, &entry).await;
    tunnel.write_all(&[22, 3]).await.unwrap();
    is_closed(&mut tunnel).await;
    assert!(guard.end().await.refused[0].why.contains("in time"));
}

#[tokio::test]
async fn no_more_connections_are_taken_at_once_than_there_is_room_for() {
    let limits = ProxyLimits { connections: 2, ..ProxyLimits::default() };
    let (gateway, guard) = opened(names(&[]), leading_home(), limits);
    let first = TcpStream::connect(gateway).await.unwrap();
    let _second = TcpStream::connect(gateway).await.unwrap();
    let mut third = TcpStream::connect(gateway).await.unwrap();
    third.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut byte = [0];
    let waits = timeout(Duration::from_millis(300), third.read(&mut byte)).await;
    assert!(waits.is_err(), "it was answered while two others were open");
    drop(first);
    assert_eq!(timeout(LONG, third.read(&mut byte)).await.unwrap().unwrap(), 1);
    drop(guard);
}
