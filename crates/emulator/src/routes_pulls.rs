//! Pull requests.

use serde_json::Value;

use super::acts::Edit;
use super::acts_pulls::NewPull;
use super::api::Request;
use super::auth::require;
use super::reply::{Answer, ApiError, Reply, page};
use super::routes_issues::state;
use super::routes_reviews;
use super::state::{Draft, Level, State, World};

pub(crate) fn serve(world: &mut World, request: &Request, segments: &[&str]) -> Answer {
    let ["repos", owner, name, "pulls", rest @ ..] = segments else { return Err(ApiError::not_found()) };
    let repository = format!("{owner}/{name}");
    let level = if request.method == "GET" { Level::Read } else { Level::Write };
    require(request.holder()?, world.found(&repository)?, &[("pull_requests", level)])?;
    let by = request.actor(world)?;
    match (request.method.as_str(), rest) {
        ("GET", []) => list(world, request, &repository),
        ("POST", []) => {
            let needed = |field: &str| {
                request.text(field).ok_or_else(|| ApiError::invalid("PullRequest", field, "missing_field"))
            };
            let draft = request.body.get("draft").and_then(Value::as_bool).unwrap_or(false);
            let new = NewPull {
                title: needed("title")?,
                body: request.text("body").unwrap_or_default(),
                head: needed("head")?,
                base: needed("base")?,
                draft: if draft { Draft::Yes } else { Draft::No },
            };
            let number = world.open_pull(&repository, by, new)?;
            pull(world, &repository, number, 201)
        }
        ("GET", [number]) => {
            let number = parse(number)?;
            let answer = pull(world, &repository, number, 200);
            world.weigh(&repository, number);
            answer
        }
        ("PATCH" | "POST", [number]) => {
            let number = parse(number)?;
            pull(world, &repository, number, 200)?;
            let edit = Edit {
                title: request.text("title"),
                body: request.text("body"),
                state: state(request, "PullRequest")?,
                base: request.text("base"),
            };
            world.edit(&repository, number, edit, by)?;
            pull(world, &repository, number, 200)
        }
        (_, ["comments", id, rest @ ..]) => {
            routes_reviews::of_comment(world, request, &repository, parse(id)?, rest)
        }
        (_, [number, rest @ ..]) if !rest.is_empty() => {
            routes_reviews::of_pull(world, request, &repository, parse(number)?, rest)
        }
        _ => Err(ApiError::not_found()),
    }
}

fn parse(number: &str) -> Result<u64, ApiError> {
    number.parse().map_err(|_| ApiError::not_found())
}

fn pull(world: &World, repository: &str, number: u64, status: u16) -> Answer {
    let (found, thread) = (world.found(repository)?, world.thread(repository, number)?);
    let pull = thread.pull.as_ref().ok_or_else(ApiError::not_found)?;
    Ok(Reply::json(status, world.pull_json(found, thread, pull)))
}

/// Newest first; `state` is open unless asked, `head` counts only with its owner, as with GitHub.
fn list(world: &World, request: &Request, repository: &str) -> Answer {
    let found = world.found(repository)?;
    let owner = world.login(found.owner);
    let state = match request.query("state").unwrap_or("open") {
        "all" => None,
        "closed" => Some(State::Closed),
        _ => Some(State::Open),
    };
    let head = request.query("head").and_then(|head| head.split_once(':'));
    let list = found
        .threads
        .values()
        .rev()
        .filter(|thread| state.is_none_or(|state| thread.state == state))
        .filter_map(|thread| thread.pull.as_ref().map(|pull| (thread, pull)))
        .filter(|(_, pull)| {
            head.is_none_or(|(login, branch)| login.eq_ignore_ascii_case(owner) && pull.head == branch)
        })
        .filter(|(_, pull)| request.query("base").is_none_or(|base| pull.base == base))
        .map(|(thread, pull)| world.pull_in_short_json(found, thread, pull))
        .collect();
    Ok(page(list, &format!("{}/repos/{repository}/pulls", world.api()), &request.query))
}
