//! What a sandbox sends to its gateway: bytes on a connection, accepted as a request or not. The gateway only reaches a
//! model's service, here our own, which echoes what it receives.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use journeyman::gateway::{EgressPolicy, GatewayBudget, ModelUpstream, open};
use journeyman::order::model_service::{Credential, Provider};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

pub const WORDS: &[&str] = &[
    "CONNECT registry.example:443 HTTP/1.1\r\n",
    "CONNECT 127.0.0.1:80 HTTP/1.1\r\n",
    "CONNECT [::1]:443 HTTP/1.1\r\n",
    "POST /v1/messages HTTP/1.1\r\n",
    "POST /v1/messages/../files HTTP/1.1\r\n",
    "POST //v1/messages HTTP/1.1\r\n",
    "GET /v1/models HTTP/1.1\r\n",
    "GET http://169.254.169.254/latest HTTP/1.1\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "Host: x\r\n",
    "Content-Length: 2\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: 18446744073709551615\r\n",
    "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Connection: upgrade\r\nUpgrade: websocket\r\n",
    "Expect: 100-continue\r\n",
    "x-api-key: mine\r\n",
    "authorization: Bearer mine\r\n",
    "Cookie: a=b\r\n",
    "Proxy-Authorization: x\r\n",
    "X-Forwarded-Host: x\r\n",
    "\r\n\r\n",
    "{\"model\":\"m\",\"messages\":[]}",
    "\"stream\":true",
    "\"tools\":[{\"type\":\"web_search_20250305\"}]",
    "\"mcp_servers\":[{\"url\":\"",
    "\"source\":{\"type\":\"url\",\"url\":\"https://example.org\"}",
    "\"max_tokens\":",
    "\u{16}\u{3}\u{1}",
];

const KEY: &str = "sk-real-0123456789abcdef";
/// Incomplete connections are closed at once, so nothing here waits longer.
const LONG: Duration = Duration::from_secs(15);

/// Requests that the service received: the request line and the headers.
type Heard = Arc<Mutex<Vec<(String, http::HeaderMap)>>>;

struct Service {
    runtime: Runtime,
    address: SocketAddr,
    heard: Heard,
}

/// Runs until the process ends.
static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Heard::default();
    let log = Arc::clone(&heard);
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let log = Arc::clone(&log);
            let service = service_fn(move |request: Request<Incoming>| {
                let log = Arc::clone(&log);
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                    let told = format!("{:?} {}", parts.headers.get("x-api-key"), body.escape_ascii());
                    let line = format!("{} {}", parts.method, parts.uri);
                    log.lock().unwrap_or_else(PoisonError::into_inner).push((line, parts.headers));
                    // Simulates a service that echoes the key it was given.
                    let answer = format!("{KEY} {told}");
                    Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from(answer))))
                }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    Service { runtime, address, heard }
});

/// Sends the bytes, closes the sending half, and reads the whole answer.
pub fn requests(bytes: &[u8]) {
    let Service { runtime, address, heard } = &*SERVICE;
    let model = ModelUpstream::new(
        format!("http://{address}/base").parse().unwrap(),
        Credential::ApiKey(KEY.into()),
        Provider::Anthropic,
        GatewayBudget::default(),
        Arc::new(|_, _| Some(0.0)),
    );
    let access = EgressPolicy {
        model: Some(model.unwrap()),
        setting: "network".to_owned(),
        ..EgressPolicy::default()
    };
    let (answer, record) = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gateway = listener.local_addr().unwrap();
        let guard = open(access).serve(listener).unwrap();
        let mut stream = TcpStream::connect(gateway).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let ended = tokio::time::timeout(LONG, stream.read_to_end(&mut answer)).await;
        assert!(ended.is_ok(), "the connection never ends");
        (answer, guard.end().await)
    });
    let holds = |needle: &[u8]| answer.windows(needle.len()).any(|window| window == needle);
    assert!(!holds(KEY.as_bytes()), "the key came in: {}", answer.escape_ascii());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{}", answer.escape_ascii());
    assert_eq!(record.reached, [], "it got somewhere");
    for refused in &record.refused {
        for told in [&refused.what, &refused.why] {
            assert!(told.chars().count() <= 600 && !told.chars().any(char::is_control), "{told:?}");
        }
    }
    for (line, headers) in heard.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let known = ["POST /base/v1/messages", "POST /base/v1/messages/count_tokens", "GET /base/v1/models"];
        assert!(known.contains(&line.as_str()), "the service was asked for {line}");
        let keys: Vec<_> = headers.get_all("x-api-key").iter().collect();
        assert_eq!(keys, [KEY], "with another key");
        for dropped in ["authorization", "cookie", "proxy-authorization", "x-forwarded-host", "upgrade"] {
            assert!(!headers.contains_key(dropped), "{dropped} was passed on");
        }
    }
}
