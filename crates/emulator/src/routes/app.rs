//! The App itself: its installation, its tokens, its webhook's deliveries.

use serde_json::json;

use crate::auth::Credentials;
use crate::json::delivery_json;
use crate::reply::{ActResult, EmulatedApiError, EmulatedApiReply};
use crate::request::EmulatedApiRequest;
use crate::state::{AppStage, EmulatorState, TokenHolder};

pub(crate) fn serve(world: &mut EmulatorState, request: &EmulatedApiRequest, segments: &[&str]) -> ActResult {
    if let ["installation", rest @ ..] = segments {
        return installation(world, request, rest);
    }
    match request.credentials {
        Credentials::App => {}
        Credentials::Nobody | Credentials::Token { .. } => {
            return Err(EmulatedApiError::new(401, "A JSON web token could not be decoded"));
        }
    }
    // Empty if nobody has a repository yet.
    let is_installed = world.app.stage == AppStage::Installed;
    let owners = world.owners(world.repositories.values().filter(|_| is_installed));
    let owner_of = |installation: &str| {
        owners.iter().copied().find(|owner| world.installation_of(*owner).to_string() == installation)
    };
    match (request.method.as_str(), segments) {
        ("GET", ["app"]) => Ok(EmulatedApiReply::ok(world.app_json())),
        ("GET", ["app", "installations"]) => {
            let list = owners.iter().map(|owner| world.installation_json(*owner)).collect();
            Ok(request.page(world, list))
        }
        ("POST", ["app", "installations", id, "access_tokens"]) => {
            let owner = owner_of(id).ok_or_else(EmulatedApiError::not_found)?;
            world.issue_token(world.installation_of(owner), &request.body)
        }
        ("GET", ["repos", login, name, "installation"]) => {
            let owner = world.require_repository(&format!("{login}/{name}"))?.owner;
            if !is_installed {
                return Err(EmulatedApiError::not_found());
            }
            Ok(EmulatedApiReply::ok(world.installation_json(owner)))
        }
        ("GET", ["app", "hook", "config"]) => Ok(EmulatedApiReply::ok(json!({"url": world.webhook_url}))),
        ("GET", ["app", "hook", "deliveries"]) => {
            let list = world.deliveries.iter().rev().map(|one| delivery_json(one, false)).collect();
            Ok(request.page_by_cursor(world, list))
        }
        ("GET", ["app", "hook", "deliveries", id]) => {
            let found = world.deliveries.iter().find(|one| one.id.to_string() == *id);
            found
                .map(|one| EmulatedApiReply::ok(delivery_json(one, true)))
                .ok_or_else(EmulatedApiError::not_found)
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

fn installation(world: &mut EmulatorState, request: &EmulatedApiRequest, rest: &[&str]) -> ActResult {
    match (request.method.as_str(), rest, &request.credentials) {
        ("DELETE", ["token"], Credentials::Token { text, .. }) => {
            world.tokens.remove(text);
            Ok(EmulatedApiReply::no_content())
        }
        (
            "GET",
            ["repositories"],
            Credentials::Token { holder: TokenHolder::Installation { id, repositories, .. }, .. },
        ) => {
            let reached = |id: u64| repositories.as_ref().is_none_or(|ids| ids.contains(&id));
            let included = |owner: u64| world.installation_of(owner) == *id;
            let list = world.repositories.values().filter(|one| reached(one.id) && included(one.owner));
            let list = list.map(|one| world.repository_json(one)).collect();
            Ok(request.counted(world, "repositories", list))
        }
        (_, _, Credentials::Nobody | Credentials::App) => {
            Err(EmulatedApiError::new(401, "Requires authentication"))
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}
