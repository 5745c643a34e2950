//! git over smart HTTP on loopback: the real `git http-backend` behind a little HTTP, with tokens and faults.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine;
use url::Url;

pub const TOKEN: &str = "ghs_writer0123456789";
pub const READER: &str = "ghs_reader0123456789";

type BeforePush = Box<dyn FnMut() + Send>;

#[derive(Default)]
struct Faults {
    status: Option<u16>,
    elsewhere: Option<Url>,
    holds_packs: bool,
    before_push: Option<BeforePush>,
}

/// Serves the bare repositories of a folder until the process ends.
pub struct Server {
    pub root: tempfile::TempDir,
    port: u16,
    faults: Arc<Mutex<Faults>>,
    requests: Arc<Mutex<Vec<String>>>,
    logins: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (faults, requests) = (Arc::<Mutex<Faults>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let logins = Arc::<Mutex<Vec<String>>>::default();
        let (folder, shared) = (root.path().to_owned(), Arc::clone(&faults));
        let (log, seen) = (Arc::clone(&requests), Arc::clone(&logins));
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (folder, shared) = (folder.clone(), Arc::clone(&shared));
                let (log, seen) = (Arc::clone(&log), Arc::clone(&seen));
                std::thread::spawn(move || answer(stream, &folder, &shared, (&log, &seen)));
            }
        });
        Self { root, port, faults, requests, logins }
    }

    pub fn url(&self, repository: &str) -> Url {
        format!("http://127.0.0.1:{}/{repository}.git", self.port).parse().unwrap()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn path(&self, repository: &str) -> PathBuf {
        self.root.path().join(format!("{repository}.git"))
    }

    /// From now on, answers everything with this status.
    pub fn answer_with(&self, status: Option<u16>) {
        self.faults.lock().unwrap().status = status;
    }

    /// From now on, redirects requests to below this address, unless they are already there.
    pub fn lead_to(&self, elsewhere: Option<Url>) {
        self.faults.lock().unwrap().elsewhere = elsewhere;
    }

    /// From now on, sends half of the requested objects, then nothing until the client hangs up. That is recorded among
    /// the requests.
    pub fn hold_packs(&self, holds: bool) {
        self.faults.lock().unwrap().holds_packs = holds;
    }

    /// Runs this before the next push, after the client has read the branch.
    pub fn before_push(&self, act: impl FnMut() + Send + 'static) {
        self.faults.lock().unwrap().before_push = Some(Box::new(act));
    }

    /// Every request so far: method and target, with LIST as the method for a list of branches.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// All credentials used so far.
    pub fn logins(&self) -> Vec<String> {
        self.logins.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: TcpStream,
    root: &Path,
    faults: &Mutex<Faults>,
    (log, logins): (&Mutex<Vec<String>>, &Mutex<Vec<String>>),
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let body = read_body(&mut reader, &headers);
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    // In the newer protocol, requests for branch names look like those for objects.
    let lists = body.windows(15).any(|words| words == b"command=ls-refs");
    log.lock().unwrap().push(format!("{} {target}", if lists { "LIST" } else { method }));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pushes = target.contains("git-receive-pack");
    let user = headers.get("authorization").and_then(|value| value.strip_prefix("Basic ")).map(|encoded| {
        String::from_utf8(base64::engine::general_purpose::STANDARD.decode(encoded).unwrap()).unwrap()
    });
    logins.lock().unwrap().extend(user.clone());
    let elsewhere = faults.lock().unwrap().elsewhere.clone();
    if let Some(elsewhere) = elsewhere.filter(|at| {
        at.port() != stream.local_addr().ok().map(|own| own.port()) || !target.starts_with(at.path())
    }) {
        let there = elsewhere.as_str().trim_end_matches('/');
        let head = "HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\n";
        let _ = write!(stream, "{head}Location: {there}{target}\r\n\r\n");
        return;
    }
    let refusal = match user.as_deref() {
        _ if faults.lock().unwrap().status.is_some() => faults.lock().unwrap().status,
        None => Some(401),
        Some(login) if login == format!("x-access-token:{TOKEN}") => None,
        Some(login) if login == format!("x-access-token:{READER}") => pushes.then_some(403),
        Some(_) => Some(401),
    };
    if let Some(status) = refusal {
        let head = format!(
            "HTTP/1.1 {status} No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes());
        return;
    }
    if pushes && method == "POST" {
        let act = faults.lock().unwrap().before_push.take();
        if let Some(mut act) = act {
            act();
        }
    }
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        // Like GitHub, serves every commit by its SHA.
        .envs([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "uploadpack.allowAnySHA1InWant")])
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("REMOTE_USER", "x")
        .env("CONTENT_TYPE", headers.get("content-type").cloned().unwrap_or_default())
        .env("HTTP_CONTENT_ENCODING", headers.get("content-encoding").cloned().unwrap_or_default())
        .env("CONTENT_LENGTH", body.len().to_string())
        // Like GitHub, speaks the newer protocol on request.
        .env("GIT_PROTOCOL", headers.get("git-protocol").cloned().unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = backend.stdin.take().unwrap();
    std::thread::spawn(move || {
        let _ = stdin.write_all(&body);
    });
    let output = backend.wait_with_output().unwrap().stdout;
    let split = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..split]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let content = &output[split + 4..];
    let head = format!(
        "HTTP/1.1 {status}\r\n{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    if !pushes && !lists && method == "POST" && faults.lock().unwrap().holds_packs {
        let half = &content[..content.len() / 2];
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(half));
        let _ = reader.read(&mut [0]);
        log.lock().unwrap().push("hung up".to_owned());
        return;
    }
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(content));
}

fn read_body(reader: &mut impl BufRead, headers: &HashMap<String, String>) -> Vec<u8> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).unwrap();
            let size = u64::from_str_radix(size.trim(), 16).unwrap();
            reader.by_ref().take(size).read_to_end(&mut body).unwrap();
            reader.read_line(&mut String::new()).unwrap();
            if size == 0 {
                return body;
            }
        }
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    reader.take(length).read_to_end(&mut body).unwrap();
    body
}
