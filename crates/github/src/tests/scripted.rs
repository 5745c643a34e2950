//! A server on loopback that answers by a script and records its requests. It speaks only enough HTTP for that, so that
//! it can also fail in ways a real server would not.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{AppCredentials, GitHub, InstalledRepository, WriteLimits};
use journeyman_order::{Backoff, InstallationId};

pub(crate) const APP: u64 = 4_711;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    /// Method and path with query, such as `GET /repos/octo/hello/issues/7`.
    pub(crate) call: String,
    pub(crate) authorization: String,
    pub(crate) user_agent: String,
    pub(crate) body: Value,
}

pub(crate) enum ScriptedReply {
    Json(u16, Value),
    With(u16, &'static [(&'static str, &'static str)], Value),
    /// Closes the connection without an answer.
    Cut,
}

pub(crate) fn ok(body: Value) -> ScriptedReply {
    ScriptedReply::Json(200, body)
}

pub(crate) fn refused(status: u16, message: &str) -> ScriptedReply {
    ScriptedReply::Json(status, json!({"message": message}))
}

pub(crate) fn not_found() -> ScriptedReply {
    refused(404, "Not Found")
}

/// The server, and a client connected to it.
pub(crate) struct ScriptedServer {
    pub(crate) github: GitHub,
    pub(crate) at: InstalledRepository,
    pub(crate) origin: String,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
}

type ReplyScript = Arc<dyn Fn(&RecordedRequest) -> ScriptedReply + Send + Sync>;

impl ScriptedServer {
    /// Answers by the script; the server itself issues numbered tokens, each for an hour.
    pub(crate) async fn start(
        script: impl Fn(&RecordedRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        let made = Mutex::new(0);
        Self::bare(move |seen| {
            if seen.call.ends_with("/access_tokens") {
                let mut made = made.lock().unwrap();
                *made += 1;
                ok(json!({"token": format!("ghs_secret{made}"), "expires_at": in_minutes(60)}))
            } else {
                script(seen)
            }
        })
        .await
    }

    /// Like [`Self::start`], but the script also answers token requests.
    pub(crate) async fn bare(
        script: impl Fn(&RecordedRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, record): (ReplyScript, _) = (Arc::new(script), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, record) = (Arc::clone(&script), Arc::clone(&record));
                tokio::spawn(async move { exchange(stream, &script, &record).await });
            }
        });
        let origin = format!("http://127.0.0.1:{port}");
        let github = github_at(&format!("{origin}/api/v3"));
        let at = InstalledRepository {
            repository: "octo/hello".parse().unwrap(),
            installation: InstallationId(5),
        };
        Self { github, at, origin, requests: seen }
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The number of calls that begin with this.
    pub(crate) fn count(&self, beginning: &str) -> usize {
        self.requests().iter().filter(|seen| seen.call.starts_with(beginning)).count()
    }

    /// Calls that write, except token requests.
    pub(crate) fn writes(&self) -> Vec<String> {
        let calls = self.requests().into_iter().map(|seen| seen.call);
        calls.filter(|call| !call.starts_with("GET ") && !call.ends_with("/access_tokens")).collect()
    }
}

pub(crate) fn github_at(api_url: &str) -> GitHub {
    limited_github_at(api_url, WriteLimits::NONE)
}

pub(crate) fn limited_github_at(api_url: &str, limits: WriteLimits) -> GitHub {
    let settings = AppCredentials {
        api_url: api_url.parse().unwrap(),
        app_id: APP,
        private_key_pem: SecretString::from(KEY.clone()),
        outgoing: Default::default(),
    };
    let backoff = Backoff { first: Duration::from_millis(10), ..Backoff::REQUEST };
    GitHub::with_backoff(settings, limits, backoff).unwrap()
}

pub(crate) fn in_minutes(minutes: i64) -> String {
    (chrono::Utc::now() + chrono::TimeDelta::minutes(minutes)).to_rfc3339()
}

/// A key for the tests, generated for each test run.
pub(crate) static KEY: LazyLock<String> = LazyLock::new(|| {
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&key).unwrap();
    let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
    for line in STANDARD.encode(der.as_ref()).as_bytes().chunks(64) {
        writeln!(pem, "{}", std::str::from_utf8(line).unwrap()).unwrap();
    }
    pem + "-----END PRIVATE KEY-----\n"
});

async fn exchange(mut stream: TcpStream, script: &ReplyScript, record: &Mutex<Vec<RecordedRequest>>) {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    };
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let call: Vec<&str> = head.lines().next().unwrap_or_default().split(' ').take(2).collect();
    let seen = RecordedRequest {
        call: call.join(" ").replacen(" /api/v3/", " /", 1),
        authorization: header("authorization").unwrap_or_default(),
        user_agent: header("user-agent").unwrap_or_default(),
        body: serde_json::from_slice(&bytes[head_end..]).unwrap_or(Value::Null),
    };
    record.lock().unwrap().push(seen.clone());
    let (status, headers, body) = match script(&seen) {
        ScriptedReply::Json(status, body) => (status, &[][..], body),
        ScriptedReply::With(status, headers, body) => (status, headers, body),
        ScriptedReply::Cut => return,
    };
    let body = if status == 204 { String::new() } else { body.to_string() };
    let mut answer =
        format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        write!(answer, "{name}: {value}\r\n").unwrap();
    }
    answer.push_str("\r\n");
    answer.push_str(&body);
    let _ = stream.write_all(answer.as_bytes()).await;
}
