//! A signed delivery until the 202 that confirms it is on disk. Compared with the signature alone, HTTP alone, and a
//! file written in place and flushed; with an empty store, and with one that has seen many orders.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use journeyman::attest::{Envelope, PublicKey, SigningError, SigningKey};
use journeyman::emulator::signature;
use journeyman::http::{self, BodyLimits, HttpState, Readiness, ReceiptAttester, WorkOrders};
use journeyman::order::next::OrderProjection;
use journeyman::order::order_api::{OpenOrderResult, OrderRequestError};
use journeyman::order::{
    IssueNumber, Journal, OrderId, OrderRequest, RepositoryName, Requester, SlashCommand,
};
use journeyman::store::Store;
use secrecy::SecretString;

use super::resume::{connected, execute, prepare};
use super::{heading, line, middle_and_tail, ratio, timed};

const SECRET: &str = "a secret for this measurement";
const PAYLOAD: &[u8] = include_bytes!("../../tests/fixtures/payloads/issues.labeled.1.json");
const CONNECTIONS: usize = 16;
const EACH: usize = 100;
/// Orders that the second store has seen, each with one delivery.
const ORDERS: u32 = 100_000;
const FLUSHES: usize = 400;

struct Nobody;

#[async_trait]
impl WorkOrders for Nobody {
    fn delivery_arrived(&self) {}

    async fn open(
        &self,
        _: RepositoryName,
        _: IssueNumber,
        _: OrderRequest,
    ) -> Result<OpenOrderResult, OrderRequestError> {
        Err(OrderRequestError::Refused("nobody is here".to_owned()))
    }

    async fn command(&self, _: OrderId, _: Requester, _: SlashCommand) -> Result<u64, OrderRequestError> {
        Err(OrderRequestError::Refused("nobody is here".to_owned()))
    }
}

/// This benchmark requests no receipts.
struct Unasked(SigningKey);

#[async_trait]
impl ReceiptAttester for Unasked {
    fn public_key(&self) -> PublicKey {
        *self.0.public()
    }

    async fn attest(&self, _: &Journal, _: &OrderProjection) -> Result<Envelope, SigningError> {
        unreachable!("no receipt is asked for")
    }
}

pub async fn measure() {
    heading(&format!(
        "webhook intake: {} KB, {CONNECTIONS} connections, a durable row each",
        PAYLOAD.len() / 1000
    ));
    let ((), hashed) = timed(|| {
        for _ in 0..1_000 {
            std::hint::black_box(signature(SECRET.as_bytes(), std::hint::black_box(PAYLOAD)));
        }
    });
    let hashed = hashed / 1_000;

    let folder = tempfile::tempdir().expect("a folder");
    let (flush, slowest_flush) = flushes(folder.path());
    let empty = IntakeCost::of(&folder.path().join("empty.db")).await;
    let full = folder.path().join("full.db");
    fill(&full).await;
    let full = IntakeCost::of(&full).await;

    line("HMAC-SHA256 alone", hashed, "");
    line("a flush of a file that is written in place", flush, "");
    line("  the slowest in a hundred", slowest_flush, "");
    line("an answer of HTTP alone (/health)", empty.health, "");
    line(
        "a delivery, from signature to disk",
        empty.delivery,
        &format!("{} HTTP alone", ratio(empty.delivery, empty.health)),
    );
    let each_second = 1.0 / empty.delivery.as_secs_f64();
    line("  the slowest in a hundred", empty.tail, &format!("{each_second:.0} deliveries a second in all"));
    println!("  {} the signature alone", ratio(empty.delivery, hashed));
    line(
        &format!("a delivery beside {ORDERS} orders"),
        full.delivery,
        &format!("{} an empty store", ratio(full.delivery, empty.delivery)),
    );
    line("  the slowest in a hundred", full.tail, "");
}

/// A store's minimum cost per group: overwrite as many bytes as a delivery has, and flush.
fn flushes(folder: &Path) -> (Duration, Duration) {
    let file = std::fs::File::create(folder.join("flushed")).expect("a file");
    file.write_all_at(&vec![1; PAYLOAD.len() * FLUSHES], 0).expect("bytes");
    file.sync_all().expect("a flush");
    let each = (0..FLUSHES).map(|number| {
        let begun = Instant::now();
        file.write_all_at(PAYLOAD, (number * PAYLOAD.len()) as u64).expect("bytes");
        file.sync_data().expect("a flush");
        begun.elapsed()
    });
    middle_and_tail(each.collect())
}

/// Inserts orders that have ended, and their first deliveries, whose bodies are already deleted.
async fn fill(file: &Path) {
    prepare(&format!("sqlite://{}", file.display()), file, 1, ORDERS).await;
    let mut filling = connected(file).await;
    let deliveries = format!(
        "WITH RECURSIVE numbers (number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM numbers WHERE number < {ORDERS}) \
         INSERT INTO deliveries (guid, event, action, body, received_at, conclusion) \
         SELECT lower(hex(randomblob(16))), 'issues', 'labeled', x'', number, 'ignored' FROM numbers"
    );
    execute(&mut filling, deliveries).await;
}

struct IntakeCost {
    health: Duration,
    delivery: Duration,
    tail: Duration,
}

impl IntakeCost {
    async fn of(file: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = HttpState {
            store: Store::open(&format!("sqlite://{}", file.display())).await.expect("a store"),
            webhook_secrets: vec![SecretString::from(SECRET)],
            api_token: None,
            orders: Arc::new(Nobody),
            signer: Arc::new(Unasked(SigningKey::generate().expect("a key"))),
            ready: Arc::new(|| Readiness::Ready { disk_free_bytes: None, orders_wait_because: None }),
            limits: BodyLimits::default(),
            schemas: Arc::new([]),
        };
        let (handle, serving) = http::start(listener, state, |_| {}).expect("a server");
        tokio::spawn(serving);
        let (health, _) = load(move |client| client.get(format!("http://{address}/health")), 200).await;
        let (delivery, tail) = load(deliver(address, SECRET), 202).await;
        handle.stop(false).await;
        Self { health, delivery, tail }
    }
}

/// A signed delivery about another label than ours.
pub fn deliver(
    address: SocketAddr,
    secret: &str,
) -> impl Fn(&reqwest::Client) -> reqwest::RequestBuilder + Clone + Send + Sync + 'static {
    let signed = signature(secret.as_bytes(), PAYLOAD);
    move |client| {
        client
            .post(format!("http://{address}/webhook"))
            .header("x-github-event", "issues")
            .header("x-github-delivery", uuid::Uuid::new_v4().to_string())
            .header("x-hub-signature-256", signed.as_str())
            .header("content-type", "application/json")
            .body(PAYLOAD)
    }
}

/// Time per request with all connections busy, and the 99th percentile of one connection's wait.
async fn load(
    request: impl Fn(&reqwest::Client) -> reqwest::RequestBuilder + Clone + Send + Sync + 'static,
    expected: u16,
) -> (Duration, Duration) {
    let begun = Instant::now();
    let workers = (0..CONNECTIONS).map(|_| {
        let request = request.clone();
        tokio::spawn(async move {
            let client = reqwest::Client::new();
            let mut waits = Vec::with_capacity(EACH);
            for _ in 0..EACH {
                let asked = Instant::now();
                let answer = request(&client).send().await.expect("an answer");
                assert_eq!(answer.status().as_u16(), expected);
                waits.push(asked.elapsed());
            }
            waits
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut waits = Vec::new();
    for worker in workers {
        waits.extend(worker.await.expect("a worker"));
    }
    let each = begun.elapsed() / (CONNECTIONS * EACH) as u32;
    (each, middle_and_tail(waits).1)
}
