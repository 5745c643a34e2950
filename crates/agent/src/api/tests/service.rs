//! A model's service on loopback: real sockets and HTTP, with the bytes that a test chooses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A received request.
#[derive(Debug, Clone)]
pub(super) struct ModelApiRequest {
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

#[derive(Debug, Clone)]
pub(super) struct FakeModelResponse {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    end: FakeModelResponseEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FakeModelResponseEnd {
    /// The response ends properly.
    Proper,
    /// The connection closes in the middle.
    Cut,
    /// Nothing more arrives, but the connection stays open.
    Silent,
}

impl FakeModelResponse {
    pub(super) fn events(events: &[Value]) -> Self {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        Self::stream(&body)
    }

    pub(super) fn stream(body: &str) -> Self {
        let headers = vec![("content-type", "text/event-stream; charset=utf-8".to_owned())];
        Self { status: 200, headers, body: body.as_bytes().to_vec(), end: FakeModelResponseEnd::Proper }
    }

    pub(super) fn error(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes(), end: FakeModelResponseEnd::Proper }
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Closes the connection after this part of the body.
    pub(super) fn cut(mut self) -> Self {
        self.end = FakeModelResponseEnd::Cut;
        self
    }

    pub(super) fn then_silence(mut self) -> Self {
        self.end = FakeModelResponseEnd::Silent;
        self
    }
}

/// Anthropic's events for a text in chunks of a few letters.
pub(super) fn anthropic(pieces: &[&str]) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 100, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 1000, "output_tokens": 1,
    });
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "ping" }),
    ];
    events.extend(pieces.iter().map(|piece| {
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece } })
    }));
    events.extend([
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ]);
    events
}

/// OpenAI's events, without the last.
pub(super) fn openai(pieces: &[&str]) -> Vec<Value> {
    let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }], "usage": null });
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    events.extend(pieces.iter().map(|piece| chunk(json!({ "content": piece }), Value::Null)));
    events.push(chunk(json!({}), json!("stop")));
    let usage = json!({
        "prompt_tokens": 1100, "completion_tokens": 20, "prompt_tokens_details": { "cached_tokens": 1000 },
    });
    events.push(json!({ "choices": [], "usage": usage }));
    events
}

/// The server. It answers each connection with the next response and repeats the last one.
pub(super) struct FakeModelApi {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<ModelApiRequest>>>,
}

impl FakeModelApi {
    pub(super) async fn start(says: Vec<FakeModelResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let url = format!("http://{}", listener.local_addr().expect("a bound port has an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut next = 0;
            while let Ok((socket, _)) = listener.accept().await {
                let say = says[next.min(says.len() - 1)].clone();
                next += 1;
                tokio::spawn(answer(socket, say, Arc::clone(&heard)));
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<ModelApiRequest> {
        self.asked.lock().expect("no holder panics").clone()
    }
}

async fn answer(mut socket: TcpStream, say: FakeModelResponse, heard: Arc<Mutex<Vec<ModelApiRequest>>>) {
    let Some(asked) = read(&mut socket).await else { return };
    heard.lock().expect("no holder panics").push(asked);
    let mut head =
        format!("HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\nconnection: close\r\n", say.status);
    for (name, value) in &say.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let mut wire = format!("{head}\r\n").into_bytes();
    // Chunks end in the middle of events and of characters.
    for piece in say.body.chunks(977) {
        wire.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        wire.extend_from_slice(piece);
        wire.extend_from_slice(b"\r\n");
    }
    if say.end == FakeModelResponseEnd::Proper {
        wire.extend_from_slice(b"0\r\n\r\n");
    }
    // The client may close the connection once it has enough.
    let _ = socket.write_all(&wire).await;
    if say.end == FakeModelResponseEnd::Silent {
        let _ = socket.read(&mut [0]).await;
    }
}

async fn read(socket: &mut TcpStream) -> Option<ModelApiRequest> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        match socket.read(&mut piece).await.ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&piece[..read]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    // A GET has no body.
    let length: usize = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    while bytes.len() < end + length {
        match socket.read(&mut piece).await.ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
    let body = if length == 0 { Value::Null } else { serde_json::from_slice(&bytes[end..]).ok()? };
    Some(ModelApiRequest { path, headers, body })
}
