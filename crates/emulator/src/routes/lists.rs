//! Lists of what changed in a repository's issues and pull requests.

use chrono::{DateTime, Utc};

use super::parse_number;
use crate::auth::require;
use crate::reply::{EmulatedApiError, EmulatedApiResult};
use crate::request::EmulatedApiRequest;
use crate::state::{EmulatorState, PermissionLevel};

const ISSUES: [(&str, PermissionLevel); 1] = [("issues", PermissionLevel::Read)];
const PULLS: [(&str, PermissionLevel); 1] = [("pull_requests", PermissionLevel::Read)];

/// `issues`, `issues/comments` and `issues/N/events`; none for another route.
pub(crate) fn serve(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> Option<EmulatedApiResult> {
    if request.method != "GET" {
        return None;
    }
    match rest {
        ["issues"] => Some(threads(world, request, repository)),
        ["issues", "comments"] => Some(comments(world, request, repository)),
        ["issues", number, "events"] => Some(events(world, request, repository, number)),
        _ => None,
    }
}

fn since(request: &EmulatedApiRequest) -> DateTime<Utc> {
    request.query("since").and_then(|at| at.parse().ok()).unwrap_or_default()
}

fn threads(world: &EmulatorState, request: &EmulatedApiRequest, repository: &str) -> EmulatedApiResult {
    let (holder, found) = (request.holder()?, world.require_repository(repository)?);
    require(holder, found, &ISSUES)?;
    let sees_pulls = require(holder, found, &PULLS).is_ok();
    let (since, state) = (since(request), request.query("state").unwrap_or("open"));
    let mut threads: Vec<_> = found
        .threads
        .values()
        .filter(|thread| thread.updated_at >= since && (sees_pulls || thread.pull.is_none()))
        .filter(|thread| state == "all" || thread.state.as_str() == state)
        .collect();
    threads.sort_by_key(|thread| thread.updated_at);
    if request.query("direction") != Some("asc") {
        threads.reverse();
    }
    let list = threads.into_iter().map(|thread| world.issue_json(found, thread)).collect();
    Ok(request.page(world, list))
}

fn comments(world: &EmulatorState, request: &EmulatedApiRequest, repository: &str) -> EmulatedApiResult {
    let (holder, found) = (request.holder()?, world.require_repository(repository)?);
    require(holder, found, &[ISSUES, PULLS].concat())?;
    let since = since(request);
    let all = found.threads.values().flat_map(|thread| thread.comments.iter().map(move |one| (thread, one)));
    let mut all: Vec<_> = all.filter(|(_, comment)| comment.updated_at >= since).collect();
    all.sort_by_key(|(_, comment)| comment.updated_at);
    let list = all.into_iter().map(|(thread, comment)| world.comment_json(found, thread, comment)).collect();
    Ok(request.page(world, list))
}

fn events(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    number: &str,
) -> EmulatedApiResult {
    let (holder, found) = (request.holder()?, world.require_repository(repository)?);
    require(holder, found, &[ISSUES, PULLS].concat())?;
    let number = parse_number(number)?;
    let thread = world.thread(repository, number).map_err(|_| EmulatedApiError::not_found())?;
    let list = thread.events.iter().map(|one| world.event_json(one)).collect();
    Ok(request.page(world, list))
}
