//! A receiver of notifications on loopback: answers the first request with 503, and records all.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A received request: headers in lower case, and the body.
#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    head: String,
    pub body: Vec<u8>,
}

impl ReceivedMessage {
    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Listens on loopback, and answers the first request with 503.
#[derive(Debug)]
pub struct MessageReceiver {
    pub url: String,
    came: Arc<Mutex<Vec<ReceivedMessage>>>,
}

impl MessageReceiver {
    /// Starts listening.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hooks/s3cret-of-the-address", listener.local_addr().unwrap());
        let came = Arc::<Mutex<Vec<ReceivedMessage>>>::default();
        let log = Arc::clone(&came);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let is_first = log.lock().unwrap().is_empty();
                let message = read(stream, is_first).await;
                log.lock().unwrap().push(message);
            }
        });
        Self { url, came }
    }

    /// The messages so far.
    pub fn came(&self) -> Vec<ReceivedMessage> {
        self.came.lock().unwrap().clone()
    }

    /// Waits for this many messages.
    pub async fn until(&self, count: usize) -> Vec<ReceivedMessage> {
        for _ in 0..1_500 {
            let came = self.came();
            if came.len() >= count {
                return came;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{count} expected: {:?}", self.came())
    }
}

async fn read(stream: TcpStream, is_first: bool) -> ReceivedMessage {
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
    ReceivedMessage { head, body }
}
