//! A message to whoever the settings name, once for each time that an order comes to need a person, or is done.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use journeyman::order::{NotificationFormat, NotificationSettings};
use sha2::Sha256;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{MAINTAINER, Story, WELL, World};

const SECRET: &str = "a-secret-that-messages-are-signed-with";

/// What came: headers in lower case, and the body.
#[derive(Debug, Clone)]
struct Message {
    head: String,
    body: Vec<u8>,
}

impl Message {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// Listens on loopback, and answers the first request with 503.
struct Receiver {
    url: String,
    came: Arc<Mutex<Vec<Message>>>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url =
            format!("http://{}/hooks/s3cret-of-the-address", listener.local_addr().expect("an address"));
        let came = Arc::<Mutex<Vec<Message>>>::default();
        let log = Arc::clone(&came);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                let is_first = log.lock().expect("no panic").is_empty();
                let message = read(stream, is_first).await;
                log.lock().expect("no panic").push(message);
            }
        });
        Self { url, came }
    }

    async fn until(&self, count: usize) -> Vec<Message> {
        for _ in 0..1_500 {
            let came = self.came.lock().expect("no panic").clone();
            if came.len() >= count {
                return came;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{count} expected: {:?}", self.came.lock().expect("no panic"))
    }
}

async fn read(stream: TcpStream, is_first: bool) -> Message {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.expect("a line");
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.trim().split_once(": ") {
            let name = name.to_lowercase();
            if name == "content-length" {
                length = value.parse().expect("a number");
            }
            head += &format!("{name}: {value}\n");
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("the body");
    let status = if is_first { "503 Service Unavailable" } else { "200 OK" };
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.expect("it listens");
    Message { head, body }
}

/// There are no tests, so that a person has to look.
async fn unverified(receiver: &Receiver, format: NotificationFormat) -> World {
    let told = NotificationSettings { url: receiver.url.clone().into(), secret: Some(SECRET.into()), format };
    let story = Story::of(WELL).without("test.sh").without(".github/journeyman.yml");
    let world = story.settings(|settings| settings.notifications = Some(told)).labeled().await;
    assert_eq!(world.settled().await.word(), "unverified");
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_named_hears_once_that_a_person_is_needed_and_once_that_it_is_done() {
    let receiver = Receiver::start().await;
    let world = unverified(&receiver, NotificationFormat::Json).await;
    let came = receiver.until(2).await;
    let [refused, taken] = &came[..] else { panic!("{came:?}") };
    assert_eq!(refused.body, taken.body, "the same is tried again");
    let delivery = taken.header("x-journeyman-delivery");
    assert!(delivery.is_some() && refused.header("x-journeyman-delivery") == delivery, "under the same id");
    assert_eq!(taken.header("x-journeyman-event"), Some("needs_person"));
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    mac.update(&taken.body);
    let signed = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    assert_eq!(taken.header("x-hub-signature-256"), Some(signed.as_str()), "as GitHub signs");
    let said = taken.json();
    assert_eq!((&said["event"], &said["state"]), (&"needs_person".into(), &"unverified".into()), "{said}");
    assert_eq!(
        (&said["repository"], &said["issue"]),
        (&"acme/answers".into(), &world.issue.into()),
        "{said}"
    );
    assert!(said["pull_request_url"].as_str().is_some_and(|url| url.starts_with("http")), "{said}");

    world.comment(MAINTAINER, "/status").await;
    world.settled().await;
    world.comment(MAINTAINER, "/approve").await;
    assert_eq!(world.settled().await.word(), "approved");
    let came = receiver.until(3).await;
    assert_eq!(came.len(), 3, "once each: {came:?}");
    let said = came[2].json();
    assert_eq!((&said["event"], &said["state"]), (&"done".into(), &"approved".into()), "{said}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slack_gets_a_text() {
    let receiver = Receiver::start().await;
    let world = unverified(&receiver, NotificationFormat::Slack).await;
    let came = receiver.until(2).await;
    let said = came[1].json();
    let text = said["text"].as_str().expect("a text");
    assert!(text.contains("acme/answers#1>") && text.contains("|Pull request>"), "{text}");
    assert_eq!(said.as_object().map(serde_json::Map::len), Some(1), "and nothing else: {said}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_goes_on_where_nobody_listens() {
    let receiver = Receiver::start().await;
    let nobody = "http://127.0.0.1:9/nobody".to_owned();
    let world = unverified(&Receiver { url: nobody, came: receiver.came }, NotificationFormat::Json).await;
    world.comment(MAINTAINER, "/approve").await;
    assert_eq!(world.settled().await.word(), "approved");
    world.end().await;
}
