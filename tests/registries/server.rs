//! A registry on loopback: files by path, protected by a password.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Nothing a job sees may contain it.
pub const PASSWORD: &str = "hunter2-corp-secret";
pub const USER: &str = "ada";
/// `ada:hunter2-corp-secret`.
pub const BASIC: &str = "YWRhOmh1bnRlcjItY29ycC1zZWNyZXQ=";

type FileMap = BTreeMap<String, (&'static str, Vec<u8>)>;

/// Serves until the process ends.
pub struct RegistryServer {
    pub port: u16,
    files: Arc<Mutex<FileMap>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl RegistryServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (files, requests) = (Arc::<Mutex<FileMap>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (served, log) = (Arc::clone(&files), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (served, log) = (Arc::clone(&served), Arc::clone(&log));
                std::thread::spawn(move || answer(stream, &served, &log));
            }
        });
        Self { port, files, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn serve(&self, path: &str, kind: &'static str, bytes: impl Into<Vec<u8>>) {
        self.files.lock().expect("no panic").insert(path.to_owned(), (kind, bytes.into()));
    }

    pub fn served(&self, path: &str) -> Vec<u8> {
        self.files.lock().expect("no panic")[path].1.clone()
    }

    /// Each request so far: its status and path.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic").clone()
    }
}

fn answer(stream: TcpStream, files: &Mutex<FileMap>, log: &Mutex<Vec<String>>) {
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut is_known = false;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            is_known |=
                name.eq_ignore_ascii_case("authorization") && value.trim() == format!("Basic {BASIC}");
        }
        let mut words = first.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split('?').next().unwrap_or_default().replace("%2f", "/").replace("%2F", "/");
        let file = files.lock().expect("no panic").get(&path).cloned();
        let (status, kind, bytes) = match file {
            _ if !is_known => ("401 Unauthorized", "text/plain", b"who are you?".to_vec()),
            Some((kind, bytes)) => ("200 OK", kind, bytes),
            None => ("404 Not Found", "text/plain", b"not found".to_vec()),
        };
        log.lock().expect("no panic").push(format!("{} {path}", &status[..3]));
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", bytes.len());
        let body = if method == "HEAD" { &[] } else { bytes.as_slice() };
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(body)).is_err() {
            return;
        }
    }
}
