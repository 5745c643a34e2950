//! Requests to a real server on loopback, with a real store.

mod attestations;
mod hostile;
mod metrics;
mod ready;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};

use super::*;
use journeyman_order::{
    IssueText, JournalEvent, Move, MoveKey, OrderInput, OrderLimits, Person, Pipeline, RepositoryId,
    Requester, Signal, SignalKind, UserId,
};
use journeyman_store::{JournalStore, OpenOutcome};

const SECRET: &str = "s3cret-of-the-hook";
const TOKEN: &str = "a token of the API";

/// Opens orders like the application does, without calling GitHub.
struct TestWorkOrders {
    store: Store,
    arrived: AtomicUsize,
    refuses: Mutex<Option<OrderRequestError>>,
}

#[async_trait]
impl WorkOrders for TestWorkOrders {
    fn delivery_arrived(&self) {
        self.arrived.fetch_add(1, Ordering::SeqCst);
    }

    async fn open(
        &self,
        repository: RepositoryName,
        issue: IssueNumber,
        _request: OrderRequest,
    ) -> Result<OpenOrderResult, OrderRequestError> {
        let refusal = self.refuses.lock().unwrap().clone();
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let opened = opened(repository, issue);
        let order = opened.order;
        Ok(match self.store.open_order(opened, chrono::Utc::now(), None).await.unwrap() {
            OpenOutcome::Opened => OpenOrderResult::Opened(order),
            OpenOutcome::Active(order) => OpenOrderResult::AlreadyActive(order),
            OpenOutcome::DeliveryConcluded => unreachable!("there is no delivery"),
        })
    }

    async fn command(
        &self,
        order: OrderId,
        by: Requester,
        command: SlashCommand,
    ) -> Result<u64, OrderRequestError> {
        let refusal = self.refuses.lock().unwrap().clone();
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let kind = SignalKind::Commanded { comment: None, pull: None, command };
        let signal = Signal { by, kind };
        let entry = self.store.signal(order, signal, chrono::Utc::now()).await;
        entry.map(|entry| entry.seq).map_err(|error| OrderRequestError::NotFound(error.to_string()))
    }
}

fn opened(repository: RepositoryName, issue: IssueNumber) -> OrderInput {
    let yaml = "{name: p, version: 1, stages: [{name: plan, agent: developer, command: feature}]}";
    OrderInput {
        format: journeyman_order::journal::JOURNAL_FORMAT,
        order: OrderId(uuid::Uuid::now_v7()),
        repository,
        repository_id: RepositoryId(1),
        installation: None,
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: issue,
            title: "T".to_owned(),
            body: String::new(),
            url: String::new(),
            labels: Vec::new(),
        },
        by: Requester::Person(Person { login: "anna".to_owned(), id: UserId(1) }),
        pipeline: Pipeline::parse(yaml).unwrap(),
        agent: "claude".to_owned(),
        limits: OrderLimits { minutes: 1, usd: 1.0, ..OrderLimits::default() },
        roles: Default::default(),
        earlier: Vec::new(),
        request: Default::default(),
        comment: None,
        labeled_at: None,
        commented_at: None,
        change: None,
    }
}

/// A running server. It stops when the test's runtime ends.
struct HttpFixture {
    address: SocketAddr,
    store: Store,
    orders: Arc<TestWorkOrders>,
    client: Client,
    handle: actix_web::dev::ServerHandle,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
    _folder: tempfile::TempDir,
}

async fn http_fixture() -> HttpFixture {
    http_fixture_with(|state| state).await
}

async fn http_fixture_with(change: impl FnOnce(HttpState) -> HttpState) -> HttpFixture {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite://{}/journeyman.db", folder.path().display())).await.unwrap();
    let desk = Arc::new(TestWorkOrders {
        store: store.clone(),
        arrived: AtomicUsize::new(0),
        refuses: Mutex::new(None),
    });
    let state = change(HttpState {
        store: store.clone(),
        webhook_secrets: vec![SECRET.into(), "the one before".into()],
        api_token: Some(TOKEN.into()),
        orders: Arc::<TestWorkOrders>::clone(&desk),
        signer: Arc::new(attestations::TestSigner::new()),
        ready: Arc::new(|| Readiness::Ready { disk_free_bytes: Some(1 << 40), orders_wait_because: None }),
        limits: BodyLimits::default(),
        schemas: Arc::new([]),
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (handle, server) = start(listener, state, |_| ()).unwrap();
    let server = tokio::spawn(server);
    HttpFixture { address, store, orders: desk, client: Client::new(), handle, server, _folder: folder }
}

fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

impl HttpFixture {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends a delivery like GitHub. `changes` replaces headers, or removes those with an empty value.
    async fn deliver(&self, body: &[u8], changes: &[(&str, &str)]) -> Response {
        let signature = sign(SECRET, body);
        let mut headers = vec![
            ("content-type", "application/json"),
            ("x-github-event", "issues"),
            ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
            ("x-hub-signature-256", signature.as_str()),
        ];
        for (name, value) in changes {
            headers.retain(|(header, _)| header != name);
            if !value.is_empty() {
                headers.push((name, value));
            }
        }
        let mut request = self.client.post(self.url("/webhook")).body(body.to_vec());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.send().await.unwrap()
    }

    async fn ask(&self, method: Method, path: &str) -> Response {
        self.client.request(method, self.url(path)).bearer_auth(TOKEN).send().await.unwrap()
    }

    async fn wish(&self, body: &str) -> Response {
        let request = self.client.post(self.url("/api/v1/work-orders")).bearer_auth(TOKEN);
        request.body(body.to_owned()).send().await.unwrap()
    }

    async fn pending(&self) -> usize {
        self.store.pending_deliveries(0, 100).await.unwrap().len()
    }
}

async fn json_of(response: Response) -> Value {
    response.json().await.unwrap()
}

/// Checks that the response is a well-formed error, and returns its detail.
async fn problem(response: Response, status: u16) -> String {
    assert_eq!(response.status().as_u16(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem = json_of(response).await;
    assert_eq!(problem["status"], status);
    assert!(problem["type"].is_string() && problem["title"].is_string());
    problem["detail"].as_str().unwrap().to_owned()
}

const BODY: &[u8] = b"{\"action\":\"labeled\"}";

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_on_disk_before_github_hears_202_and_counts_once() {
    let house = http_fixture().await;
    let response = house.deliver(BODY, &[]).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(json_of(response).await, json!({"status": "accepted"}));
    let pending = house.store.pending_deliveries(0, 10).await.unwrap();
    assert_eq!((pending[0].event.as_str(), pending[0].body.as_slice()), ("issues", BODY));
    assert_eq!(house.orders.arrived.load(Ordering::SeqCst), 1);

    let response = house.deliver(b"{\"action\":\"closed\"}", &[]).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(json_of(response).await, json!({"status": "duplicate"}));
    assert_eq!(house.store.pending_deliveries(0, 10).await.unwrap()[0].body, BODY);
    assert_eq!(house.orders.arrived.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_github_is_turned_away_before_anything_is_kept() {
    let house = http_fixture().await;
    let other = sign("another secret", BODY);
    let reserialized = sign(SECRET, b"{\"action\": \"labeled\"}");
    let hex_alone = sign(SECRET, BODY).split_off(7);
    for signature in ["", "sha1=00", &other, &reserialized, &hex_alone, "sha256=\u{fc}"] {
        let response = house.deliver(BODY, &[("x-hub-signature-256", signature)]).await;
        let detail = problem(response, 401).await;
        assert!(!detail.contains(SECRET));
    }
    // 401 takes precedence over every other error.
    let broken = [("x-hub-signature-256", other.as_str()), ("x-github-event", ""), ("x-github-delivery", "")];
    problem(house.deliver(b"not json", &broken).await, 401).await;
    assert_eq!((house.pending().await, house.orders.arrived.load(Ordering::SeqCst)), (0, 0));

    let before = sign("the one before", BODY);
    let rotated = house.deliver(BODY, &[("x-hub-signature-256", &before)]).await;
    assert_eq!(rotated.status(), StatusCode::ACCEPTED, "during a rotation the secret before counts too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_delivery_needs_its_headers_and_a_body_that_is_json() {
    let house = http_fixture().await;
    for changes in [
        ("x-github-delivery", ""),
        ("x-github-delivery", "a b"),
        ("x-github-event", ""),
        ("x-github-event", "Issues; DROP"),
    ] {
        let detail = problem(house.deliver(BODY, &[changes]).await, 400).await;
        assert!(detail.contains("X-GitHub-"), "{detail}");
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    let detail = problem(house.deliver(b"payload=%7B%7D", &[form]).await, 415).await;
    assert!(detail.contains("application/json"), "{detail}");
    assert_eq!(house.pending().await, 0);

    let ping = house.deliver(b"{\"zen\":\"\"}", &[("x-github-event", "ping")]).await;
    assert_eq!((ping.status(), json_of(ping).await), (StatusCode::OK, json!({"status": "pong"})));
    assert_eq!(house.pending().await, 0);

    // The content is not checked here. It is stored, and later processing explains why it means nothing.
    assert_eq!(house.deliver(b"[1, 2", &[]).await.status(), StatusCode::ACCEPTED);
    assert_eq!(house.pending().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_cannot_be_kept_is_not_acknowledged() {
    let house = http_fixture().await;
    house.store.close().await;
    problem(house.deliver(BODY, &[]).await, 503).await;
    problem(house.client.get(house.url("/ready")).send().await.unwrap(), 503).await;
    assert_eq!(house.client.get(house.url("/health")).send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(house.orders.arrived.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_the_most_bytes_is_taken_and_one_byte_more_is_not() {
    assert_eq!(BodyLimits::default().bytes, 25 * 1024 * 1024);
    // A smaller limit: hashing 25 MiB without optimization takes seconds.
    let most = 300_000;
    let limits = BodyLimits { bytes: most, ..BodyLimits::default() };
    let house = http_fixture_with(|state| HttpState { limits, ..state }).await;
    assert_eq!(house.deliver(&vec![b' '; most], &[]).await.status(), StatusCode::ACCEPTED);
    let answer = raw(house.address, &format!("content-length: {}", most + 1), b"").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_an_announced_length_is_counted_as_it_comes() {
    let small = BodyLimits { bytes: 1000, ..BodyLimits::default() };
    let house = http_fixture_with(|state| HttpState { limits: small, ..state }).await;
    let chunk = format!("3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1001));
    let answer = raw(house.address, "transfer-encoding: chunked", chunk.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_is_cut_off() {
    let hurried = BodyLimits { deadline: Duration::from_millis(300), ..BodyLimits::default() };
    let house = http_fixture_with(|state| HttpState { limits: hurried, ..state }).await;
    let answer = raw(house.address, "content-length: 100", b"{").await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_bodies_together_have_so_much_memory_and_give_it_back() {
    let tight = BodyLimits { bytes_together: 2048, ..BodyLimits::default() };
    let house = http_fixture_with(|state| HttpState { limits: tight, ..state }).await;
    problem(house.deliver(&[b' '; 4096], &[]).await, 503).await;
    for number in 0..5 {
        let guid = format!("g{number}");
        let answer = house.deliver(&[b' '; 2000], &[("x-github-delivery", &guid)]).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    }
}

/// Sends a delivery's head and part of its body, then waits for the answer.
async fn raw(address: SocketAddr, header: &str, body: &[u8]) -> String {
    let body = body.to_vec();
    let head = format!(
        "POST /webhook HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: sha256={}\r\n{header}\r\n\r\n",
        "0".repeat(64)
    );
    tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap();
        let mut start = [0; 64];
        let length = stream.read(&mut start).unwrap();
        String::from_utf8_lossy(&start[..length]).into_owned()
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_token_the_api_shows_nothing() {
    let house = http_fixture().await;
    let order = OrderId(uuid::Uuid::now_v7());
    let one = format!("/api/v1/work-orders/{order}");
    for path in ["", "/steps", "/journal", "/receipt", "/attestation", "/artifacts/a"]
        .map(|end| format!("{one}{end}"))
    {
        for header in ["", "Bearer", "Bearer wrong", "Basic YTpi", &format!("Bearer {TOKEN}x")] {
            let request = house.client.get(house.url(&path)).header("authorization", header);
            let response = request.send().await.unwrap();
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            problem(response, 401).await;
        }
        problem(house.ask(Method::GET, &path).await, 404).await;
    }
    let post = house.client.post(house.url("/api/v1/work-orders")).body("nonsense");
    problem(post.send().await.unwrap(), 401).await;
    let list = house.client.get(house.url("/api/v1/work-orders?nonsense=1"));
    problem(list.send().await.unwrap(), 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_without_a_token_is_closed_and_says_how_to_open_it() {
    for token in [None, Some("".into())] {
        let house = http_fixture_with(|state| HttpState { api_token: token, ..state }).await;
        let detail = problem(house.ask(Method::GET, "/api/v1/work-orders").await, 503).await;
        assert!(detail.contains("server.api_token"), "{detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_order_is_opened_once_and_can_be_followed() {
    let house = http_fixture().await;
    let wish = r#"{"repository": "octo-org/sums", "issue": 7}"#;
    let response = house.wish(wish).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let url = response.headers()["location"].to_str().unwrap().to_owned();
    let order = json_of(response).await;
    assert_eq!((&order["repository"], &order["issue"]), (&json!("octo-org/sums"), &json!(7)));
    assert_eq!(url, format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap()));

    let again = house.wish(wish).await;
    assert_eq!(again.status(), StatusCode::OK);
    assert_eq!(json_of(again).await["id"], order["id"]);

    let id: OrderId = order["id"].as_str().unwrap().parse().unwrap();
    let intended =
        JournalEvent::Intended { key: MoveKey("prepare".to_owned()), r#move: Box::new(Move::Prepare) };
    house.store.append(id, intended, chrono::Utc::now()).await.unwrap();
    house.store.put_artifact(id, "page.html", "text/html", b"<script>").await.unwrap();

    let shown = json_of(house.ask(Method::GET, &url).await).await;
    assert_eq!(shown["artifacts"][0]["size"], 8);
    let steps = json_of(house.ask(Method::GET, &format!("{url}/steps")).await).await;
    assert_eq!(
        (&steps["steps"][0]["stage"], &steps["steps"][0]["success"]),
        (&json!("prepare"), &Value::Null)
    );
    let journal = json_of(house.ask(Method::GET, &format!("{url}/journal")).await).await;
    assert_eq!(journal["entries"][0]["event"], "opened");
    assert_eq!(journal["entries"][1]["seq"], 2);

    assert_eq!((&shown["budget"]["usd_limit"], &shown["budget"]["runs_spent"]), (&json!(1.0), &json!(0)));
    let receipt = shown["receipt_url"].as_str().unwrap();
    let none = problem(house.ask(Method::GET, receipt).await, 404).await;
    assert!(none.contains("no receipt yet"), "{none}");
    let kind = SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel };
    let cancel = Signal { by: Requester::ApiToken, kind };
    house.store.signal(id, cancel, chrono::Utc::now()).await.unwrap();
    let receipt = json_of(house.ask(Method::GET, receipt).await).await;
    assert_eq!((&receipt["outcome"], &receipt["verified"]), (&json!("cancelled"), &json!(false)));
    assert_eq!((&receipt["order"], &receipt["commit"]), (&order["id"], &Value::Null));

    let artifact = house.ask(Method::GET, shown["artifacts"][0]["url"].as_str().unwrap()).await;
    assert_eq!(artifact.headers()["content-disposition"], "attachment; filename=\"page.html\"");
    assert_eq!(artifact.headers()["x-content-type-options"], "nosniff");
    assert_eq!(artifact.bytes().await.unwrap().as_ref(), b"<script>");
    problem(house.ask(Method::GET, &format!("{url}/artifacts/none")).await, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_orders_are_listed_in_pages() {
    let house = http_fixture().await;
    for issue in 1..=3 {
        house.wish(&format!(r#"{{"repository": "octo-org/sums", "issue": {issue}}}"#)).await;
    }
    let issues = |page: &Value| -> Vec<u64> {
        page["work_orders"].as_array().unwrap().iter().map(|order| order["issue"].as_u64().unwrap()).collect()
    };
    let first = json_of(house.ask(Method::GET, "/api/v1/work-orders?limit=2").await).await;
    assert_eq!(issues(&first), [3, 2]);
    let next = format!("/api/v1/work-orders?limit=2&before={}", first["before"].as_str().unwrap());
    let second = json_of(house.ask(Method::GET, &next).await).await;
    assert_eq!((issues(&second), &second["before"]), (vec![1], &Value::Null));
    let none = json_of(house.ask(Method::GET, "/api/v1/work-orders?active=false").await).await;
    assert!(issues(&none).is_empty());
    for query in ["limit=0", "limit=1000", "limit=x", "before=x", "repository=x", "active=x", "what=1"] {
        problem(house.ask(Method::GET, &format!("/api/v1/work-orders?{query}")).await, 400).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_is_said_as_a_problem() {
    let house = http_fixture().await;
    let deep = "[".repeat(10_000);
    for (body, status) in [
        ("", 400),
        ("{", 400),
        ("[]", 400),
        (deep.as_str(), 400),
        (r#"{"repository": "octo-org/sums"}"#, 400),
        (r#"{"repository": "octo-org", "issue": 1}"#, 400),
        (r#"{"repository": "../..", "issue": 1}"#, 400),
        (r#"{"repository": "octo-org/sums", "issue": -1}"#, 400),
        (r#"{"repository": "octo-org/sums", "issue": "1"}"#, 400),
        (r#"{"repository": "octo-org/sums", "issue": 1, "what": 1}"#, 400),
        (r#"{"repository": "octo-org/sums", "issue": 0}"#, 422),
        (r#"{"repository": "octo-org/sums", "issue": 18446744073709551615}"#, 422),
    ] {
        problem(house.wish(body).await, status).await;
    }
    problem(house.wish(&" ".repeat(70_000)).await, 413).await;
    for (refusal, status) in [
        (OrderRequestError::NotFound("no such issue".to_owned()), 404),
        (OrderRequestError::Refused("the issue is closed".to_owned()), 422),
        (OrderRequestError::Unavailable("GitHub does not answer".to_owned()), 503),
    ] {
        *house.orders.refuses.lock().unwrap() = Some(refusal.clone());
        let detail =
            problem(house.wish(r#"{"repository": "octo-org/sums", "issue": 1}"#).await, status).await;
        assert_eq!(detail, refusal.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_methods_that_are_not_there_are_problems_too() {
    let house = http_fixture().await;
    for path in ["/nowhere", "/api/v1/work-orders/x", "/api/v1/work-orders/x/y", "/api", "/webhook/"] {
        problem(house.ask(Method::GET, path).await, 404).await;
    }
    for (method, path) in [
        (Method::GET, "/webhook"),
        (Method::POST, "/health"),
        (Method::DELETE, "/api/v1/work-orders"),
        (Method::PUT, "/api/v1/work-orders/x/steps"),
    ] {
        let response = house.ask(method, path).await;
        assert!(response.headers().contains_key("allow"));
        problem(response, 405).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_when_it_is_told_although_somebody_keeps_a_connection() {
    let house = http_fixture().await;
    house.client.get(house.url("/health")).send().await.unwrap();
    let _silent = TcpStream::connect(house.address).unwrap();
    let begun = std::time::Instant::now();
    house.handle.stop(true).await;
    house.server.await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
    assert!(TcpStream::connect(house.address).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_told_what_the_tokens_holder_says() {
    let house = http_fixture().await;
    let order = opened("octo/hello".parse().unwrap(), IssueNumber(7));
    let id = order.order;
    house.store.open_order(order, chrono::Utc::now(), None).await.unwrap();
    let tell = async |path: &str, body: &'static str| {
        let request = house.client.post(house.url(&format!("/api/v1/work-orders/{path}"))).bearer_auth(TOKEN);
        request.body(body).send().await.unwrap()
    };
    for (word, body, command, answer, because) in [
        (
            "retry",
            "{\"guidance\": \" look at parse() \"}",
            json!({"command": "retry", "guidance": "look at parse()"}),
            "ignored",
            json!("the work is already running"),
        ),
        (
            "retry",
            "",
            json!({"command": "retry", "guidance": null}),
            "ignored",
            json!("the work is already running"),
        ),
        ("cancel", "{}", json!({"command": "cancel"}), "taken", Value::Null),
    ] {
        let response = tell(&format!("{id}/{word}"), body).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED, "{word}");
        assert_eq!(response.headers()["location"].to_str().unwrap(), format!("/api/v1/work-orders/{id}"));
        let view = json_of(response).await;
        assert_eq!(view["id"], id.to_string());
        assert_eq!(
            (&view["signal"]["answer"], &view["signal"]["because"]),
            (&json!(answer), &because),
            "{view}"
        );
        let journal = house.store.journal(id).await.unwrap();
        let last = serde_json::to_value(journal.entries().last().unwrap()).unwrap();
        assert_eq!(view["signal"]["entry"], last["seq"]);
        let signal = &last["signal"];
        assert_eq!((&signal["command"], &signal["by"]), (&command, &json!({"by": "api_token"})), "{last}");
    }
    let planned = tell(&format!("{id}/plan"), "{\"guidance\": \"in two steps\"}").await;
    assert_eq!(planned.status(), StatusCode::ACCEPTED);
    let journal = house.store.journal(id).await.unwrap();
    let last = serde_json::to_value(journal.entries().last().unwrap()).unwrap();
    assert_eq!(
        last["signal"]["command"],
        json!({"command": "plan", "guidance": "in two steps", "until_code": true})
    );
    let entries = journal.entries().len();
    for (path, body, status) in [
        (format!("{id}/retry"), "{\"guidence\": \"x\"}", 400),
        (format!("{id}/retry"), "[", 400),
        (format!("{id}/approve"), "{\"guidance\": \"x\"}", 400),
        (format!("{}/cancel", OrderId(uuid::Uuid::now_v7())), "", 404),
        ("nothing/cancel".to_owned(), "", 404),
    ] {
        problem(tell(&path, body).await, status).await;
    }
    let path = house.url(&format!("/api/v1/work-orders/{id}/approve"));
    problem(house.client.post(&path).send().await.unwrap(), 401).await;
    problem(house.ask(Method::GET, &format!("/api/v1/work-orders/{id}/approve")).await, 405).await;
    *house.orders.refuses.lock().unwrap() =
        Some(OrderRequestError::Conflict("order x has taken its place".to_owned()));
    assert_eq!(problem(tell(&format!("{id}/approve"), "").await, 409).await, "order x has taken its place");
    assert_eq!(
        house.store.journal(id).await.unwrap().entries().len(),
        entries,
        "nothing was written for these"
    );
}
