//! A repository: its facts, who may do what in it, its branches and files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::auth::require;
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult};
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
            let permission = found.role(account.id).permission();
            Ok(EmulatedApiReply::ok(json!({"permission": permission, "user": world.user_json(account.id)})))
        }
        ("GET", ["git", "ref", "heads", branch @ ..]) if !branch.is_empty() => {
            allow("contents")?;
            let branch = branch.join("/");
            let sha = repos::head(&found.git, &branch).ok_or_else(EmulatedApiError::not_found)?;
            Ok(EmulatedApiReply::ok(json!({"object": {"sha": sha}})))
        }
        ("GET", ["contents", path @ ..]) => {
            allow("contents")?;
            contents(request, found, &path.join("/"))
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

fn contents(request: &EmulatedApiRequest, repository: &EmulatedRepository, path: &str) -> EmulatedApiResult {
    let reference = request.query("ref").unwrap_or(&repository.default_branch);
    match repos::find(&repository.git, reference, path) {
        ContentLookup::NoSuchRef => {
            Err(EmulatedApiError::new(404, format!("No commit found for the ref {reference}")))
        }
        ContentLookup::NoSuchPath => Err(EmulatedApiError::not_found()),
        ContentLookup::File(bytes) => {
            let content = STANDARD.encode(&bytes);
            Ok(EmulatedApiReply::ok(json!({"type": "file", "content": content, "encoding": "base64"})))
        }
        ContentLookup::Folder => Ok(EmulatedApiReply::ok(json!([]))),
    }
}
