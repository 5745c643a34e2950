//! A registry that does what a test wants of it: lies, breaks off, sends without end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::ImageDigest;
use journeyman_test_support::archives::TestImage;

/// What was asked.
#[derive(Clone, Debug)]
pub(super) struct AskedRequest {
    /// `GET /v2/…`
    pub(super) line: String,
    headers: Vec<(String, String)>,
}

impl AskedRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn path(&self) -> &str {
        let address = self.line.split(' ').nth(1).unwrap_or_default();
        address.split('?').next().unwrap_or_default()
    }
}

/// What is answered.
#[derive(Clone, Default)]
pub(super) struct FakeAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    /// The length that is said, where it is not the body's.
    pub(super) length: Option<u64>,
    /// Spaces until nobody reads any more.
    pub(super) endless: bool,
}

impl FakeAnswer {
    pub(super) fn of(body: &[u8]) -> Self {
        Self { status: 200, body: body.to_vec(), ..Self::default() }
    }

    pub(super) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

pub(super) struct FakeRegistry {
    /// `127.0.0.1:PORT`
    pub(super) host: String,
    asked: Arc<Mutex<Vec<AskedRequest>>>,
}

impl FakeRegistry {
    pub(super) fn start(answer: impl Fn(&AskedRequest) -> FakeAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (into, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (into, answer) = (Arc::clone(&into), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    if let Some(request) = read(&mut stream) {
                        into.lock().unwrap().push(request.clone());
                        let _ = send(&mut stream, &answer(&request));
                    }
                });
            }
        });
        Self { host, asked }
    }

    /// Serves an image as it should be, but for what `otherwise` answers.
    pub(super) fn of(
        image: TestImage,
        otherwise: impl Fn(&AskedRequest) -> Option<FakeAnswer> + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |request| otherwise(request).unwrap_or_else(|| honest(&image, request)))
    }

    pub(super) fn asked(&self) -> Vec<AskedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

pub(super) fn honest(image: &TestImage, request: &AskedRequest) -> FakeAnswer {
    if request.path().contains("/manifests/") {
        return FakeAnswer::of(&image.manifest);
    }
    let wanted = image.blobs.iter().find(|blob| request.path().ends_with(&ImageDigest::of(blob).to_string()));
    wanted.map_or_else(|| FakeAnswer::status(404), |blob| FakeAnswer::of(blob))
}

fn read(stream: &mut TcpStream) -> Option<AskedRequest> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        // A greeting of TLS.
        if bytes.first() == Some(&0x16) {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, _) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    Some(AskedRequest { line, headers: lines.filter_map(header).collect() })
}

fn send(stream: &mut TcpStream, answer: &FakeAnswer) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !answer.endless {
        let length = answer.length.unwrap_or(answer.body.len() as u64);
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    stream.write_all(&answer.body)?;
    if answer.endless {
        loop {
            stream.write_all(&[b' '; 1 << 16])?;
        }
    }
    Ok(())
}
