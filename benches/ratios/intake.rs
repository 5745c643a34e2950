//! A signed delivery to the 202 that says it is on disk, beside the signature alone and beside HTTP alone.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use journeyman::attest::{Envelope, PublicKey, SigningError, SigningKey};
use journeyman::emulator::signature;
use journeyman::http::{self, BodyLimits, HttpState, Readiness, ReceiptAttester, WorkOrders};
use journeyman::order::next::OrderProjection;
use journeyman::order::order_api::{OpenOrderResult, OrderRequestError};
use journeyman::order::{IssueNumber, Journal, OrderId, OrderRequest, RepositoryName, SlashCommand};
use journeyman::store::Store;
use secrecy::SecretString;

use super::{heading, line, middle_and_tail, ratio, timed};

const SECRET: &str = "a secret for this measurement";
const PAYLOAD: &[u8] = include_bytes!("../../tests/fixtures/payloads/issues.labeled.1.json");
const CONNECTIONS: usize = 16;
const EACH: usize = 100;

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

    async fn command(&self, _: OrderId, _: SlashCommand) -> Result<u64, OrderRequestError> {
        Err(OrderRequestError::Refused("nobody is here".to_owned()))
    }
}

/// No receipt is asked for here.
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
    let url = format!("sqlite://{}/bench.db", folder.path().display());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let state = HttpState {
        store: Store::open(&url).await.expect("a store"),
        webhook_secrets: vec![SecretString::from(SECRET)],
        api_token: None,
        orders: Arc::new(Nobody),
        signer: Arc::new(Unasked(SigningKey::generate().expect("a key"))),
        ready: Arc::new(|| Readiness::Ready { disk_free_bytes: None }),
        limits: BodyLimits::default(),
    };
    let (handle, serving) = http::start(listener, state).expect("a server");
    tokio::spawn(serving);

    let (health, _) = load(move |client| client.get(format!("http://{address}/health")), 200).await;
    let signed = signature(SECRET.as_bytes(), PAYLOAD);
    let deliver = move |client: &reqwest::Client| {
        client
            .post(format!("http://{address}/webhook"))
            .header("x-github-event", "issues")
            .header("x-github-delivery", uuid::Uuid::new_v4().to_string())
            .header("x-hub-signature-256", signed.as_str())
            .header("content-type", "application/json")
            .body(PAYLOAD)
    };
    let (delivery, tail) = load(deliver, 202).await;
    handle.stop(false).await;

    line("HMAC-SHA256 alone", hashed, "");
    line("an answer of HTTP alone (/health)", health, "");
    line("a delivery, from signature to disk", delivery, &format!("{} HTTP alone", ratio(delivery, health)));
    let each_second = 1.0 / delivery.as_secs_f64();
    line("  the slowest in a hundred", tail, &format!("{each_second:.0} deliveries a second in all"));
    println!("  {} the signature alone", ratio(delivery, hashed));
}

/// Time for each request with all connections busy, and the 99th percentile of one connection's wait.
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
