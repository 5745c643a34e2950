//! Pull requests.

use serde_json::Value;

use super::{parse_number, reviews};
use crate::auth::require;
use crate::mutations::IssueEdit;
use crate::mutations::pulls::NewPull;
use crate::mutations::reactions::ReactionSubject;
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult};
use crate::request::EmulatedApiRequest;
use crate::state::{EmulatedIssueState, EmulatorState, PermissionLevel};

pub(crate) fn serve(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> EmulatedApiResult {
    let level = if request.method == "GET" { PermissionLevel::Read } else { PermissionLevel::Write };
    require(request.holder()?, world.require_repository(repository)?, &[("pull_requests", level)])?;
    let by = request.actor(world)?;
    match (request.method.as_str(), rest) {
        ("GET", ["pulls"]) => list(world, request, repository),
        ("POST", ["pulls"]) => {
            let needed = |field: &str| {
                request
                    .text(field)
                    .ok_or_else(|| EmulatedApiError::invalid("PullRequest", field, "missing_field"))
            };
            let draft = request.body.get("draft").and_then(Value::as_bool).unwrap_or(false);
            let new = NewPull {
                title: needed("title")?,
                body: request.text("body").unwrap_or_default(),
                head: needed("head")?,
                base: needed("base")?,
                draft,
            };
            let number = world.open_pull(repository, by, new)?;
            pull(world, repository, number, 201)
        }
        ("GET", ["pulls", number]) => {
            let number = parse_number(number)?;
            let answer = pull(world, repository, number, 200);
            world.weigh(repository, number);
            answer
        }
        ("PATCH", ["pulls", number]) => {
            let number = parse_number(number)?;
            pull(world, repository, number, 200)?;
            let edit = IssueEdit { title: request.text("title"), body: request.text("body") };
            world.edit(repository, number, edit, by)?;
            pull(world, repository, number, 200)
        }
        (_, ["pulls", "comments", id, "reactions"]) => {
            reviews::reactions(world, request, repository, ReactionSubject::ReviewComment(parse_number(id)?))
        }
        (_, ["pulls", number, rest @ ..]) if !rest.is_empty() => {
            reviews::of_pull(world, request, repository, parse_number(number)?, rest)
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

fn pull(world: &EmulatorState, repository: &str, number: u64, status: u16) -> EmulatedApiResult {
    let (found, thread) = (world.require_repository(repository)?, world.thread(repository, number)?);
    let pull = thread.pull.as_ref().ok_or_else(EmulatedApiError::not_found)?;
    Ok(EmulatedApiReply::json(status, world.pull_json(found, thread, pull)))
}

/// Those that are open, newest first; `head` counts only with its owner, as with GitHub.
fn list(world: &EmulatorState, request: &EmulatedApiRequest, repository: &str) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let owner = world.login(found.owner);
    let head = request.query("head").and_then(|head| head.split_once(':'));
    let list = found
        .threads
        .values()
        .rev()
        .filter(|thread| thread.state == EmulatedIssueState::Open)
        .filter_map(|thread| thread.pull.as_ref().map(|pull| (thread, pull)))
        .filter(|(_, pull)| {
            head.is_none_or(|(login, branch)| login.eq_ignore_ascii_case(owner) && pull.head == branch)
        })
        .map(|(thread, pull)| world.pull_in_short_json(found, thread, pull))
        .collect();
    Ok(request.page(world, list))
}
