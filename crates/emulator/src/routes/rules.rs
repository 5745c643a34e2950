//! Branches: what rules hold for them, and their being deleted.

use serde_json::json;

use crate::auth::require;
use crate::events::{NO_SHA, RefUpdate};
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult};
use crate::repos;
use crate::request::EmulatedApiRequest;
use crate::state::{EmulatorState, PermissionLevel};

pub(crate) fn serve(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let allow =
        |permission: &str, level: PermissionLevel| require(request.holder()?, found, &[(permission, level)]);
    match (request.method.as_str(), rest) {
        ("GET", ["rules", "branches", branch @ ..]) => {
            allow("metadata", PermissionLevel::Read)?;
            let branch = branch.join("/");
            let rules = found.rules_for(&branch).map(
                |rule| json!({"type": rule.kind, "ruleset_id": rule.ruleset, "parameters": rule.parameters}),
            );
            Ok(request.page(world, rules.collect()))
        }
        ("GET", ["rulesets", id]) => {
            allow("metadata", PermissionLevel::Read)?;
            let first = found.rules.rules.iter().find(|rule| rule.ruleset.to_string() == *id);
            let first = first.ok_or_else(EmulatedApiError::not_found)?;
            let can_bypass = if first.bypass { "always" } else { "never" };
            Ok(EmulatedApiReply::ok(json!({"id": first.ruleset, "current_user_can_bypass": can_bypass})))
        }
        ("DELETE", ["git", "refs", "heads", branch @ ..]) if !branch.is_empty() => {
            allow("contents", PermissionLevel::Write)?;
            let branch = branch.join("/");
            let git = found.git.clone();
            let Some(before) = repos::head(&git, &branch) else {
                return Err(EmulatedApiError::new(422, "Reference does not exist"));
            };
            let forbidden = found.rules_for(&branch).any(|rule| rule.kind == "deletion" && !rule.bypass);
            if found.is_protected(&branch) || forbidden || branch == found.default_branch {
                return Err(EmulatedApiError::new(422, "Cannot delete this branch"));
            }
            let by = request.actor(world)?;
            repos::delete(&git, &branch).map_err(EmulatedApiError::broken)?;
            let moved =
                RefUpdate { reference: format!("refs/heads/{branch}"), before, after: NO_SHA.to_owned() };
            world.pushed(repository, &[moved], by);
            Ok(EmulatedApiReply::no_content())
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}
