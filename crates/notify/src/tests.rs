//! Messages to a real receiver on loopback.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::*;

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
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Listens on loopback, and answers the first request with 503.
struct Receiver {
    url: String,
    came: Arc<Mutex<Vec<Message>>>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hooks/s3cret-of-the-address", listener.local_addr().unwrap());
        let came = Arc::<Mutex<Vec<Message>>>::default();
        let log = Arc::clone(&came);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let message = {
                    let is_first = log.lock().unwrap().is_empty();
                    read(stream, is_first).await
                };
                log.lock().unwrap().push(message);
            }
        });
        Self { url, came }
    }

    fn came(&self) -> Vec<Message> {
        self.came.lock().unwrap().clone()
    }
}

async fn read(stream: TcpStream, is_first: bool) -> Message {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.trim().split_once(": ") {
            let name = name.to_lowercase();
            if name == "content-length" {
                length = value.parse().unwrap();
            }
            head += &format!("{name}: {value}\n");
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let status = if is_first { "503 Service Unavailable" } else { "200 OK" };
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    Message { head, body }
}

fn notifier(url: &str, format: NotificationFormat) -> Notifier {
    let settings = NotificationSettings { url: url.into(), secret: Some(SECRET.into()), format };
    Notifier::new(settings, &OutgoingNetwork::default()).unwrap()
}

fn escalated() -> Notification {
    Notification {
        event: NotificationEvent::NeedsPerson,
        order: "one".to_owned(),
        repository: "acme/app".to_owned(),
        issue: 7,
        title: "\"quoted\" & <b>".to_owned(),
        issue_url: "https://github.com/acme/app/issues/7".to_owned(),
        state: "escalated".to_owned(),
        headline: "Needs a person".to_owned(),
        because: None,
        pull_request_url: None,
    }
}

#[tokio::test]
async fn a_message_is_signed_as_github_signs_and_tried_again_under_the_same_id() {
    let receiver = Receiver::start().await;
    assert!(notifier(&receiver.url, NotificationFormat::Json).send(&escalated()).await);
    let came = receiver.came();
    let [refused, taken] = &came[..] else { panic!("{came:?}") };
    assert_eq!(refused.body, taken.body, "the same is tried again");
    let delivery = taken.header("x-journeyman-delivery");
    assert!(delivery.is_some() && refused.header("x-journeyman-delivery") == delivery, "under the same id");
    assert_eq!(taken.header("x-journeyman-event"), Some("needs_person"));
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&taken.body);
    let signed = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    assert_eq!(taken.header("x-hub-signature-256"), Some(signed.as_str()));
    let said = taken.json();
    assert_eq!(
        (&said["event"], &said["title"]),
        (&"needs_person".into(), &"\"quoted\" & <b>".into()),
        "{said}"
    );
    assert!(said.get("because").is_none(), "{said}");
}

#[tokio::test]
async fn slack_gets_a_text_and_nothing_else() {
    let receiver = Receiver::start().await;
    assert!(notifier(&receiver.url, NotificationFormat::Slack).send(&escalated()).await);
    let said = receiver.came()[1].json();
    let text = said["text"].as_str().unwrap();
    assert!(text.contains("|acme/app#7>") && text.contains("&lt;b&gt;"), "{text}");
    assert_eq!(said.as_object().map(serde_json::Map::len), Some(1), "{said}");
}

#[tokio::test]
async fn an_error_says_nothing_of_the_address() {
    let nobody = notifier("http://127.0.0.1:9/s3cret-of-the-address", NotificationFormat::Json);
    let because = nobody.try_once(b"{}", "done", Uuid::nil()).await.unwrap_err();
    assert!(!because.contains("s3cret") && !because.is_empty(), "{because}");
}
