//! Branches: what rules hold for them, whether they are protected, and their being deleted.

use serde_json::{Value, json};

use crate::auth::require;
use crate::events::{NO_SHA, RefUpdate};
use crate::json::escape;
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult, page};
use crate::repos;
use crate::request::EmulatedApiRequest;
use crate::state::rules::RulesetRule;
use crate::state::{EmulatedRepository, EmulatorState, PermissionLevel};

pub(crate) fn serve(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let allow =
        |permission: &str, level: PermissionLevel| require(request.holder()?, found, &[(permission, level)]);
    let base = format!("{}/repos/{}", world.api(), found.full_name);
    match (request.method.as_str(), rest) {
        ("GET", ["rules", "branches", branch @ ..]) => {
            allow("metadata", PermissionLevel::Read)?;
            let list = found.rules_for(&branch.join("/")).map(|rule| rule_json(found, rule)).collect();
            Ok(page(list, &format!("{base}/rules/branches/{}", branch.join("/")), &request.query))
        }
        ("GET", ["rulesets", id]) => {
            allow("metadata", PermissionLevel::Read)?;
            let of_id = || found.rules.rules.iter().filter(|rule| rule.ruleset.to_string() == *id);
            let first = of_id().next().ok_or_else(EmulatedApiError::not_found)?;
            let rules: Vec<Value> =
                of_id().map(|rule| json!({"type": rule.kind, "parameters": rule.parameters})).collect();
            Ok(EmulatedApiReply::ok(json!({
                "id": first.ruleset, "name": "Branches", "target": "branch", "source_type": "Repository",
                "source": found.full_name, "enforcement": "active", "node_id": format!("RRS_{}", first.ruleset),
                "current_user_can_bypass": if first.bypass { "always" } else { "never" },
                "conditions": {"ref_name": {"include": [format!("refs/heads/{}", first.pattern)], "exclude": []}},
                "rules": rules, "created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-01T00:00:00Z",
                "_links": {"self": {"href": format!("{base}/rulesets/{}", first.ruleset)}},
            })))
        }
        ("GET", ["branches", branch @ ..]) if !branch.is_empty() => {
            allow("contents", PermissionLevel::Read)?;
            let branch = branch.join("/");
            let sha = repos::head(&found.git, &branch)
                .ok_or_else(|| EmulatedApiError::new(404, "Branch not found"))?;
            let protected = found.is_protected(&branch) || found.rules_for(&branch).next().is_some();
            let url = format!("{base}/branches/{}", escape(&branch));
            Ok(EmulatedApiReply::ok(json!({
                "name": branch, "commit": {"sha": sha, "url": format!("{base}/commits/{sha}")},
                "_links": {"self": url, "html": format!("{}/{}/tree/{branch}", world.origin, found.full_name)},
                "protected": protected,
                "protection": {"enabled": found.is_protected(&branch), "required_status_checks":
                    {"enforcement_level": "off", "contexts": [], "checks": []}},
                "protection_url": format!("{url}/protection"),
            })))
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

fn rule_json(of: &EmulatedRepository, rule: &RulesetRule) -> Value {
    let mut value = json!({
        "type": rule.kind, "ruleset_source_type": "Repository", "ruleset_source": of.full_name,
        "ruleset_id": rule.ruleset,
    });
    if let (Some(fields), false) = (value.as_object_mut(), rule.parameters.is_null()) {
        fields.insert("parameters".to_owned(), rule.parameters.clone());
    }
    value
}
