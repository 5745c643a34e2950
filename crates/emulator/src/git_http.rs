//! git over smart HTTP: one `git upload-pack` or `git receive-pack` child per request.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use anyhow::Context as _;
use futures_util::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdout, Command};
use tokio_util::io::ReaderStream;

use super::api::{arrived, carry_out};
use super::events::{NO_SHA, RefUpdate};
use super::git_access::{GitGrant, GitService, enter, refused};
use super::git_child::git;
use super::reply::EmulatedApiError;
use super::repos;
use super::request::header;
use super::state::SharedEmulatorState;

/// The largest inflated request in bytes. git compresses only negotiations, which are small.
const MOST_INFLATED: u64 = 64 * 1024 * 1024;

/// `GET …/info/refs?service=…`
pub(crate) async fn info_refs(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let service = url::form_urlencoded::parse(request.query_string().as_bytes())
        .find(|(key, _)| key == "service")
        .and_then(|(_, name)| GitService::parse(&name));
    let (caller, granted) = enter(&shared, &request, &format!("{}/{}", path.0, path.1), service);
    let call = arrived(&request, caller, String::new());
    let apply = async {
        match granted {
            Ok(granted) => advertise(&shared, &granted, &request).await.unwrap_or_else(broken),
            Err(error) => refused(&error),
        }
    };
    carry_out(&shared, call, apply).await
}

/// `POST …/git-upload-pack` and `POST …/git-receive-pack`
pub(crate) async fn exchange(
    request: HttpRequest,
    path: web::Path<(String, String, String)>,
    body: web::Payload,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let (owner, name, service) = path.into_inner();
    let service = GitService::parse(&service);
    let (caller, granted) = enter(&shared, &request, &format!("{owner}/{name}"), service);
    let call = arrived(&request, caller, String::new());
    let apply = async {
        let granted = match granted {
            Ok(granted) => granted,
            Err(error) => return refused(&error),
        };
        let done = match granted.service {
            GitService::Fetch => upload(&shared, &granted, &request, body).await,
            GitService::Push => receive(&shared, &granted, &request, body).await,
        };
        done.unwrap_or_else(broken)
    };
    carry_out(&shared, call, apply).await
}

fn broken(error: anyhow::Error) -> HttpResponse {
    tracing::warn!("emulator: git failed: {error:#}");
    refused(&EmulatedApiError::new(500, "git failed in the emulator"))
}

fn child(shared: &SharedEmulatorState, granted: &GitGrant, request: &HttpRequest) -> Command {
    let mut command = git(shared.directory.path());
    // GitHub's packs are ready-made. Here, delta compression of loose objects for each clone would take longer than
    // sending them as they are.
    command.args(["-c", "pack.window=0"]);
    command.arg(granted.service.name()).arg("--stateless-rpc").stdin(Stdio::piped()).stdout(Stdio::piped());
    let protocol = header(request.headers(), "git-protocol");
    if !protocol.is_empty() && protocol.len() < 200 {
        command.env("GIT_PROTOCOL", protocol);
    }
    if !granted.workflows {
        command.env("EMULATOR_WORKFLOWS", "refused");
    }
    command.env("EMULATOR_RULES", &granted.rules);
    command
}

fn start(mut command: Command, granted: &GitGrant) -> anyhow::Result<(Child, ChildStdout)> {
    let mut child =
        command.arg(&granted.git).stderr(Stdio::null()).spawn().context("git could not be started")?;
    let stdout = child.stdout.take().context("git has no stdout")?;
    Ok((child, stdout))
}

fn no_cache(service: GitService, kind: &str) -> actix_web::HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .insert_header(("Content-Type", format!("application/x-git-{}-{kind}", service.name())))
        .insert_header(("Cache-Control", "no-cache, max-age=0, must-revalidate"));
    response
}

async fn advertise(
    shared: &SharedEmulatorState,
    granted: &GitGrant,
    request: &HttpRequest,
) -> anyhow::Result<HttpResponse> {
    let mut command = child(shared, granted, request);
    command.arg("--http-backend-info-refs").arg(&granted.git).stdin(Stdio::null());
    let done = command.output().await.context("git could not be started: is it installed?")?;
    anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let line = format!("# service=git-{}\n", granted.service.name());
    let mut body = format!("{:04x}{line}0000", line.len() + 4).into_bytes();
    body.extend_from_slice(&done.stdout);
    Ok(no_cache(granted.service, "advertisement").body(body))
}

/// Feeds the request to git, inflated if git compressed it.
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
            // git stops reading once it knows enough; the reason is in its output.
            if stdin.write_all(&chunk?).await.is_err() {
                break;
            }
        }
    }
    let _ = stdin.shutdown().await;
    Ok(())
}

async fn upload(
    shared: &SharedEmulatorState,
    granted: &GitGrant,
    request: &HttpRequest,
    body: web::Payload,
) -> anyhow::Result<HttpResponse> {
    let (mut child, stdout) = start(child(shared, granted, request), granted)?;
    feed(&mut child, request, body).await?;
    // The stream owns the child, so git ends when the client disconnects.
    let stream = ReaderStream::with_capacity(stdout, 64 * 1024).map(move |chunk| {
        let _ = &child;
        chunk
    });
    Ok(no_cache(granted.service, "result").streaming(stream))
}

async fn receive(
    shared: &SharedEmulatorState,
    granted: &GitGrant,
    request: &HttpRequest,
    body: web::Payload,
) -> anyhow::Result<HttpResponse> {
    let _one_at_a_time = granted.receiving.lock().await;
    let before = repos::heads(&granted.git);
    let (mut child, mut stdout) = start(child(shared, granted, request), granted)?;
    let mut report = Vec::new();
    let (fed, read) = tokio::join!(feed(&mut child, request, body), stdout.read_to_end(&mut report));
    fed?;
    read?;
    child.wait().await?;
    let moved = moves(&before, &repos::heads(&granted.git));
    if !moved.is_empty() {
        shared.change(|world| world.pushed(&granted.full_name, &moved, granted.by));
    }
    Ok(no_cache(granted.service, "result").body(report))
}

fn moves(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<RefUpdate> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let sha = |heads: &BTreeMap<String, String>, name: &String| {
        heads.get(name).cloned().unwrap_or_else(|| NO_SHA.to_owned())
    };
    names
        .into_iter()
        .map(|name| RefUpdate {
            reference: format!("refs/heads/{name}"),
            before: sha(before, name),
            after: sha(after, name),
        })
        .filter(|moved| moved.before != moved.after)
        .collect()
}
