//! A repository: its facts, who may do what in it, its branches and files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::auth::require;
use crate::json::{escape, with};
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult, EmulatedReplyBody};
use crate::repos::{self, ContentLookup};
use crate::request::EmulatedApiRequest;
use crate::state::{EmulatedRepository, EmulatorState, PermissionLevel};

pub(crate) fn serve(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let allow = |permission: &str| require(request.holder()?, found, &[(permission, PermissionLevel::Read)]);
    match (request.method.as_str(), rest) {
        ("GET", []) => {
            allow("metadata")?;
            Ok(EmulatedApiReply::ok(world.repository_json(found)))
        }
        ("GET", ["collaborators", login, "permission"]) => {
            allow("metadata")?;
            let account = world.account_by_login(login).ok_or_else(EmulatedApiError::not_found)?;
            let role = found.role(account.id);
            let user = with(world.user_json(account.id), json!({"role_name": role.role_name()}));
            Ok(EmulatedApiReply::ok(
                json!({"permission": role.permission(), "role_name": role.role_name(), "user": user}),
            ))
        }
        ("GET", ["git", "ref", "heads", branch @ ..]) if !branch.is_empty() => {
            allow("contents")?;
            let branch = branch.join("/");
            let sha = repos::head(&found.git, &branch).ok_or_else(EmulatedApiError::not_found)?;
            let base = format!("{}/repos/{}/git", world.api(), found.full_name);
            Ok(EmulatedApiReply::ok(json!({
                "ref": format!("refs/heads/{branch}"), "node_id": format!("REF_{}_{branch}", found.id),
                "url": format!("{base}/refs/heads/{branch}"),
                "object": {"sha": sha, "type": "commit", "url": format!("{base}/commits/{sha}")},
            })))
        }
        ("GET", ["contents", path @ ..]) => {
            allow("contents")?;
            contents(world, request, found, &path.join("/"))
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

fn contents(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    repository: &EmulatedRepository,
    path: &str,
) -> EmulatedApiResult {
    let reference = request.query("ref").unwrap_or(&repository.default_branch);
    let base = format!("{}/repos/{}", world.api(), repository.full_name);
    let entry = |path: &str, kind: &str, sha: &str, size: usize| -> Value {
        let escaped = path.split('/').map(escape).collect::<Vec<_>>().join("/");
        let url = format!("{base}/contents/{escaped}?ref={}", escape(reference));
        let page = format!("{}/{}/blob/{}/{escaped}", world.origin, repository.full_name, escape(reference));
        let git = format!("{base}/git/blobs/{sha}");
        json!({
            "name": path.rsplit('/').next(), "path": path, "sha": sha, "size": size, "type": kind, "url": url,
            "html_url": page, "git_url": git, "download_url": null,
            "_links": {"self": url, "git": git, "html": page},
        })
    };
    match repos::find(&repository.git, reference, path) {
        ContentLookup::NoSuchRef => {
            Err(EmulatedApiError::new(404, format!("No commit found for the ref {reference}")))
        }
        ContentLookup::NoSuchPath => Err(EmulatedApiError::not_found()),
        ContentLookup::File { bytes, .. } if request.accept.contains("raw") => {
            Ok(EmulatedApiReply { status: 200, body: EmulatedReplyBody::Raw(bytes), link: None })
        }
        ContentLookup::File { sha, bytes } => {
            let mut content = String::new();
            for (at, character) in STANDARD.encode(&bytes).chars().enumerate() {
                if at > 0 && at % 60 == 0 {
                    content.push('\n');
                }
                content.push(character);
            }
            content.push('\n');
            let file = entry(path.trim_matches('/'), "file", &sha, bytes.len());
            Ok(EmulatedApiReply::ok(with(file, json!({"content": content, "encoding": "base64"}))))
        }
        ContentLookup::Folder(list) => {
            let inside = |name: &str| format!("{path}/{name}").trim_matches('/').to_owned();
            let list =
                list.iter().map(|(name, kind, sha)| entry(&inside(name), kind, sha, 0)).collect::<Vec<_>>();
            Ok(EmulatedApiReply::ok(Value::Array(list)))
        }
    }
}
