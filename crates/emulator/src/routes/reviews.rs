//! Reviews, their comments and threads, who is asked for one, and reactions.

use serde_json::{Value, json};

use super::parse_number;
use crate::mutations::reactions::ReactionSubject;
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult};
use crate::request::EmulatedApiRequest;
use crate::state::EmulatorState;

/// What of `/repos/…/pulls/{number}/…` is about reviews; the permission was asked before.
pub(crate) fn of_pull(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    number: u64,
    rest: &[&str],
) -> EmulatedApiResult {
    let by = request.actor(world)?;
    if world.thread(repository, number)?.pull.is_none() {
        return Err(EmulatedApiError::not_found());
    }
    match (request.method.as_str(), rest) {
        ("GET", ["reviews"]) => {
            let reviews = world.thread(repository, number)?.pull.iter().flat_map(|pull| &pull.reviews);
            let list = reviews.map(|one| world.review_of_api(one)).collect();
            Ok(request.page(world, list))
        }
        ("POST", ["comments", id, "replies"]) => {
            let body = request.text("body").unwrap_or_default();
            let id = world.reply(repository, number, parse_number(id)?, by, &body)?;
            Ok(EmulatedApiReply::json(201, json!({"id": id})))
        }
        ("POST", ["requested_reviewers"]) => {
            let names = request.body.get("reviewers").and_then(Value::as_array).into_iter().flatten();
            let logins: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
            world.request_review(repository, number, &logins, by)?;
            Ok(EmulatedApiReply::json(201, json!({"number": number})))
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

/// `…/reactions` of whatever carries them.
pub(crate) fn reactions(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    on: ReactionSubject,
) -> EmulatedApiResult {
    if request.method != "POST" {
        return Err(EmulatedApiError::not_found());
    }
    let (by, content) = (request.actor(world)?, request.text("content").unwrap_or_default());
    let is_new = world.react(repository, on, &content, by)?;
    Ok(EmulatedApiReply::json(if is_new { 201 } else { 200 }, json!({"content": content})))
}
