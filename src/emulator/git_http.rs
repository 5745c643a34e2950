//! git over smart HTTP: `git upload-pack` and `git receive-pack` as children, one request each.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio_util::io::ReaderStream;

use super::api::{Arrived, carry_out, header};
use super::auth::require;
use super::events::{Moved, NO_SHA};
use super::faults::Caller;
use super::repos;
use super::state::{Holder, Level, Shared, Visibility};

/// The most that an inflated request may hold, in bytes; git compresses only negotiations, which are small.
const MOST_INFLATED: u64 = 64 * 1024 * 1024;

/// git's settings for the children; nobody else's settings are read.
const SETTINGS: &str = "[safe]\n\tdirectory = *\n[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n\
                        [receive]\n\tfsckObjects = true\n\tautogc = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// Writes what the children read.
pub(crate) fn prepare(place: &Path) -> anyhow::Result<()> {
    std::fs::write(place.join("gitconfig"), SETTINGS).context("git's settings could not be written")?;
    Ok(())
}

/// git with an environment of our own and nothing inherited but the way to programs.
pub(crate) fn git(place: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()))
        .env("HOME", place)
        .env("GIT_CONFIG_GLOBAL", place.join("gitconfig"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// What git wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    Fetch,
    Push,
}

impl Service {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "git-upload-pack" => Some(Self::Fetch),
            "git-receive-pack" => Some(Self::Push),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fetch => "upload-pack",
            Self::Push => "receive-pack",
        }
    }
}

/// A repository that the caller may use as asked.
struct Granted {
    full_name: String,
    git: std::path::PathBuf,
    receiving: Arc<tokio::sync::Mutex<()>>,
    by: u64,
    workflows: bool,
}

fn text(code: u16, message: &str) -> HttpResponse {
    let mut response = HttpResponse::build(super::reply::status(code));
    if code == 401 {
        response.insert_header(("WWW-Authenticate", "Basic realm=\"GitHub\""));
    }
    response.insert_header(("Content-Type", "text/plain; charset=utf-8")).body(format!("{message}\n"))
}

/// Basic credentials: an installation's token with the name `x-access-token`, a person's with any name.
fn holder(shared: &Shared, authorization: &str) -> Result<Option<Holder>, HttpResponse> {
    if authorization.is_empty() {
        return Ok(None);
    }
    let refused = || {
        text(401, "Invalid username or token. Password authentication is not supported for Git operations.")
    };
    let pair = authorization
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
        .and_then(|(_, encoded)| STANDARD.decode(encoded.trim()).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((name, token)) = pair.as_deref().and_then(|pair| pair.split_once(':')) else {
        return Err(refused());
    };
    let found = shared.look().valid_token(token).map(|token| token.holder.clone());
    match found {
        Some(Holder::Installation { .. }) if name != "x-access-token" => Err(refused()),
        Some(holder) => Ok(Some(holder)),
        None => Err(refused()),
    }
}

fn grant(
    shared: &Shared,
    full_name: &str,
    service: Service,
    holder: Option<&Holder>,
) -> Result<Granted, HttpResponse> {
    let world = shared.look();
    let unknown = || text(404, "Repository not found.");
    let Some(found) = world.repository(full_name) else {
        // Whoever is nobody is asked for credentials first, so that names cannot be probed.
        return Err(if holder.is_some() { unknown() } else { text(401, "Repository not found.") });
    };
    let (by, workflows) = match holder {
        None => match (service, found.visibility) {
            (Service::Fetch, Visibility::Public) => (0, false),
            (Service::Fetch, Visibility::Private) | (Service::Push, _) => {
                return Err(text(401, "No anonymous write access."));
            }
        },
        Some(holder) => {
            let level = match service {
                Service::Fetch => Level::Read,
                Service::Push => Level::Write,
            };
            if let Err(refused) = require(holder, found, &[("contents", level)]) {
                return Err(if refused.status == 404 {
                    unknown()
                } else {
                    text(403, "Write access to repository not granted.")
                });
            }
            match holder {
                Holder::Installation { permissions, .. } => {
                    (world.app.bot, permissions.get("workflows") == Some(&Level::Write))
                }
                Holder::Person(id) => (*id, true),
            }
        }
    };
    Ok(Granted {
        full_name: found.full_name.clone(),
        git: found.git.clone(),
        receiving: Arc::clone(&found.receiving),
        by,
        workflows,
    })
}

/// What both kinds of request begin with: who calls, what is granted.
fn enter(
    shared: &Shared,
    request: &HttpRequest,
    (owner, name): &(String, String),
    service: Option<Service>,
) -> (Arrived, Result<(Granted, Service), HttpResponse>) {
    let found = holder(shared, &header(request.headers(), "authorization"));
    let caller = match &found {
        Ok(Some(Holder::Installation { .. })) => Caller::Installation,
        Ok(Some(Holder::Person(id))) => Caller::Person(shared.look().login(*id).to_owned()),
        Ok(None) | Err(_) => Caller::Nobody,
    };
    let arrived = Arrived {
        method: request.method().to_string(),
        path: request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(),
        caller,
        user_agent: header(request.headers(), "user-agent"),
        body: String::new(),
    };
    let granted = match service {
        None => Err(text(403, "Please upgrade your git client: dumb HTTP is not supported.")),
        Some(service) => found.and_then(|holder| {
            grant(shared, &format!("{owner}/{name}"), service, holder.as_ref())
                .map(|granted| (granted, service))
        }),
    };
    (arrived, granted)
}

/// `GET …/info/refs?service=…`
pub(crate) async fn info_refs(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    shared: web::Data<Arc<Shared>>,
) -> HttpResponse {
    let service = url::form_urlencoded::parse(request.query_string().as_bytes())
        .find(|(key, _)| key == "service")
        .and_then(|(_, name)| Service::parse(&name));
    let (arrived, granted) = enter(&shared, &request, &path, service);
    let apply = async {
        match granted {
            Ok((granted, service)) => {
                advertise(&shared, &granted, service, &request).await.unwrap_or_else(broken)
            }
            Err(refused) => refused,
        }
    };
    carry_out(&shared, arrived, apply).await
}

/// `POST …/git-upload-pack` and `POST …/git-receive-pack`
pub(crate) async fn exchange(
    request: HttpRequest,
    path: web::Path<(String, String, String)>,
    body: web::Payload,
    shared: web::Data<Arc<Shared>>,
) -> HttpResponse {
    let (owner, name, service) = path.into_inner();
    let (arrived, granted) = enter(&shared, &request, &(owner, name), Service::parse(&service));
    let apply = async {
        match granted {
            Ok((granted, Service::Fetch)) => {
                upload(&shared, &granted, &request, body).await.unwrap_or_else(broken)
            }
            Ok((granted, Service::Push)) => {
                receive(&shared, &granted, &request, body).await.unwrap_or_else(broken)
            }
            Err(refused) => refused,
        }
    };
    carry_out(&shared, arrived, apply).await
}

fn broken(error: anyhow::Error) -> HttpResponse {
    tracing::warn!("emulator: git failed: {error:#}");
    text(500, "git failed in the emulator")
}

fn child(shared: &Shared, granted: &Granted, service: Service, request: &HttpRequest) -> Command {
    let mut command = git(shared.place.path());
    command.arg(service.name()).arg("--stateless-rpc").stdin(Stdio::piped()).stdout(Stdio::piped());
    let protocol = header(request.headers(), "git-protocol");
    if !protocol.is_empty() && protocol.len() < 200 {
        command.env("GIT_PROTOCOL", protocol);
    }
    if !granted.workflows {
        command.env("EMULATOR_WORKFLOWS", "refused");
    }
    command
}

fn no_cache(service: Service, kind: &str) -> actix_web::HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .insert_header(("Content-Type", format!("application/x-git-{}-{kind}", service.name())))
        .insert_header(("Cache-Control", "no-cache, max-age=0, must-revalidate"));
    response
}

async fn advertise(
    shared: &Shared,
    granted: &Granted,
    service: Service,
    request: &HttpRequest,
) -> anyhow::Result<HttpResponse> {
    let mut command = child(shared, granted, service, request);
    command.arg("--http-backend-info-refs").arg(&granted.git).stdin(Stdio::null());
    let done = command.output().await.context("git could not be started: is it installed?")?;
    anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let line = format!("# service=git-{}\n", service.name());
    let mut body = format!("{:04x}{line}0000", line.len() + 4).into_bytes();
    body.extend_from_slice(&done.stdout);
    Ok(no_cache(service, "advertisement").body(body))
}

/// Feeds the request to git: as it comes, or inflated when git compressed it.
async fn feed(child: &mut Child, request: &HttpRequest, mut body: web::Payload) -> anyhow::Result<()> {
    let mut stdin = child.stdin.take().context("git has no stdin")?;
    let encoding = header(request.headers(), "content-encoding");
    if encoding.contains("gzip") {
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await {
            bytes.extend_from_slice(&chunk?);
            anyhow::ensure!(bytes.len() as u64 <= MOST_INFLATED, "a compressed request is too large");
        }
        let mut plain = Vec::new();
        std::io::Read::read_to_end(
            &mut std::io::Read::take(flate2::read::MultiGzDecoder::new(bytes.as_slice()), MOST_INFLATED),
            &mut plain,
        )?;
        let _ = stdin.write_all(&plain).await;
    } else {
        while let Some(chunk) = body.next().await {
            // git stops reading when it has heard enough; what it says of that is on its stdout.
            if stdin.write_all(&chunk?).await.is_err() {
                break;
            }
        }
    }
    let _ = stdin.shutdown().await;
    Ok(())
}

async fn upload(
    shared: &Shared,
    granted: &Granted,
    request: &HttpRequest,
    body: web::Payload,
) -> anyhow::Result<HttpResponse> {
    let mut command = child(shared, granted, Service::Fetch, request);
    let mut child =
        command.arg(&granted.git).stderr(Stdio::null()).spawn().context("git could not be started")?;
    let stdout = child.stdout.take().context("git has no stdout")?;
    feed(&mut child, request, body).await?;
    // The child goes with the stream: when the client leaves, git ends.
    let stream = ReaderStream::with_capacity(stdout, 64 * 1024).map(move |chunk| {
        let _ = &child;
        chunk
    });
    Ok(no_cache(Service::Fetch, "result").streaming(stream))
}

async fn receive(
    shared: &Shared,
    granted: &Granted,
    request: &HttpRequest,
    body: web::Payload,
) -> anyhow::Result<HttpResponse> {
    let _one_at_a_time = granted.receiving.lock().await;
    let before = repos::heads(&granted.git);
    let mut command = child(shared, granted, Service::Push, request);
    let mut child =
        command.arg(&granted.git).stderr(Stdio::null()).spawn().context("git could not be started")?;
    let mut stdout = child.stdout.take().context("git has no stdout")?;
    let mut report = Vec::new();
    let (fed, read) = tokio::join!(feed(&mut child, request, body), stdout.read_to_end(&mut report));
    fed?;
    read?;
    child.wait().await?;
    let moved = moves(&before, &repos::heads(&granted.git));
    if !moved.is_empty() {
        shared.change(|world| world.pushed(&granted.full_name, &moved, granted.by));
    }
    Ok(no_cache(Service::Push, "result").body(report))
}

fn moves(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<Moved> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let sha = |heads: &BTreeMap<String, String>, name: &String| {
        heads.get(name).cloned().unwrap_or_else(|| NO_SHA.to_owned())
    };
    names
        .into_iter()
        .map(|name| Moved {
            reference: format!("refs/heads/{name}"),
            before: sha(before, name),
            after: sha(after, name),
        })
        .filter(|moved| moved.before != moved.after)
        .collect()
}
