//! Issues, their comments and labels. A pull request is an issue here as well.

use serde_json::Value;

use super::parse_number;
use super::reviews::reactions;
use crate::auth::require;
use crate::json::label_json;
use crate::mutations::reactions::ReactionSubject;
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult, EmulatedReplyBody};
use crate::request::EmulatedApiRequest;
use crate::state::{EmulatorState, PermissionLevel, TokenHolder};

fn access(
    world: &EmulatorState,
    holder: &TokenHolder,
    repository: &str,
    number: Option<u64>,
    level: PermissionLevel,
) -> Result<(), EmulatedApiError> {
    let found = world.require_repository(repository)?;
    let any_of = [("issues", level), ("pull_requests", level)];
    let on_pull = |number: u64| found.threads.get(&number).is_some_and(|thread| thread.pull.is_some());
    // Reading, and labels of the repository, go by either permission; a pull request's thread by either too.
    require(holder, found, if number.is_none_or(on_pull) { &any_of } else { &any_of[..1] })
}

pub(crate) fn serve(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> EmulatedApiResult {
    let mut reply = answer(world, request, repository, rest)?;
    if request.accept.contains("full+json")
        && let EmulatedReplyBody::Json(Value::Object(fields)) = &mut reply.body
        && let Some(body) = fields.get("body").and_then(Value::as_str).map(str::to_owned)
    {
        fields.insert("body_html".to_owned(), world.body_html(repository, &body).into());
    }
    Ok(reply)
}

fn answer(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> EmulatedApiResult {
    let holder = request.holder()?.clone();
    let by = request.actor(world)?;
    let level = if request.method == "GET" { PermissionLevel::Read } else { PermissionLevel::Write };
    let allow =
        |world: &EmulatorState, number: Option<u64>| access(world, &holder, repository, number, level);
    // The number of the thread that is asked for, when it may be.
    let allowed = |world: &EmulatorState, number: &str| {
        let number = parse_number(number)?;
        allow(world, Some(number)).map(|()| number)
    };
    match (request.method.as_str(), rest) {
        ("GET", ["issues", n]) => {
            let n = allowed(world, n)?;
            let (found, thread) = (world.require_repository(repository)?, world.thread(repository, n)?);
            Ok(EmulatedApiReply::ok(world.issue_json(found, thread)))
        }
        ("GET", ["issues", n, "comments"]) => {
            let n = allowed(world, n)?;
            let (found, thread) = (world.require_repository(repository)?, world.thread(repository, n)?);
            let list = thread.comments.iter().map(|one| world.comment_json(found, thread, one)).collect();
            Ok(request.page(world, list))
        }
        ("POST", ["issues", n, "comments"]) => {
            let n = allowed(world, n)?;
            let id = world.comment(repository, n, by, &request.text("body").unwrap_or_default())?;
            comment(world, repository, id, 201)
        }
        (method, ["issues", "comments", id, rest @ ..]) => {
            let id = parse_number(id)?;
            let n =
                world.require_repository(repository).and_then(|_| world.thread_of_comment(repository, id));
            allow(world, n.as_ref().ok().copied())?;
            n?;
            if let ["reactions"] = rest {
                return reactions(world, request, repository, ReactionSubject::Comment(id));
            }
            if !rest.is_empty() {
                return Err(EmulatedApiError::not_found());
            }
            match method {
                "GET" => comment(world, repository, id, 200),
                "PATCH" => {
                    world.edit_comment(repository, id, &request.text("body").unwrap_or_default(), by)?;
                    comment(world, repository, id, 200)
                }
                "DELETE" => {
                    world.delete_comment(repository, id, by)?;
                    Ok(EmulatedApiReply::no_content())
                }
                _ => Err(EmulatedApiError::not_found()),
            }
        }
        ("GET", ["issues", n, "labels"]) => {
            let n = allowed(world, n)?;
            Ok(request.page(world, labels(world, repository, n)?))
        }
        ("POST", ["issues", n, "labels"]) => {
            let n = allowed(world, n)?;
            let names = request.body.get("labels").and_then(Value::as_array).into_iter().flatten();
            let names: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
            world.add_labels(repository, n, &names, by)?;
            Ok(EmulatedApiReply::ok(labels(world, repository, n)?.into()))
        }
        ("DELETE", ["issues", n, "labels", label]) => {
            let n = allowed(world, n)?;
            world.remove_label(repository, n, label, by)?;
            Ok(EmulatedApiReply::ok(labels(world, repository, n)?.into()))
        }
        ("GET", ["labels", label]) => {
            allow(world, None)?;
            repository_label(world, repository, label, 200)
        }
        ("POST", ["labels"]) => {
            allow(world, None)?;
            let name = request.text("name").unwrap_or_default();
            world.create_label(repository, &name, &request.text("color").unwrap_or_default())?;
            repository_label(world, repository, &name, 201)
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

fn labels(world: &EmulatorState, repository: &str, number: u64) -> Result<Vec<Value>, EmulatedApiError> {
    let (found, thread) = (world.require_repository(repository)?, world.thread(repository, number)?);
    Ok(world.labels_json(found, thread))
}

fn comment(world: &EmulatorState, repository: &str, id: u64, status: u16) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let thread = world.thread(repository, world.thread_of_comment(repository, id)?)?;
    let comment = thread.comments.iter().find(|one| one.id == id).ok_or_else(EmulatedApiError::not_found)?;
    Ok(EmulatedApiReply::json(status, world.comment_json(found, thread, comment)))
}

fn repository_label(world: &EmulatorState, repository: &str, name: &str, status: u16) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let label = found.labels.iter().find(|label| label.name.eq_ignore_ascii_case(name));
    label
        .map(|label| EmulatedApiReply::json(status, label_json(label)))
        .ok_or_else(EmulatedApiError::not_found)
}
