//! Reviews, their comments and threads, who is asked for one, and reactions.

use serde_json::{Value, json};

use super::parse_number;
use crate::lines::DiffSide;
use crate::mutations::reactions::ReactionSubject;
use crate::mutations::reviews::{NewReview, NewReviewComment};
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult, page};
use crate::request::EmulatedApiRequest;
use crate::state::reactions::EmulatedReaction;
use crate::state::{EmulatorState, ReviewState};

/// What of `/repos/…/pulls/{number}/…` is about reviews; the permission was asked before.
pub(crate) fn of_pull(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    number: u64,
    rest: &[&str],
) -> EmulatedApiResult {
    let by = request.actor(world)?;
    let address = format!("{}/{}", world.api(), request.segments.join("/"));
    if world.thread(repository, number)?.pull.is_none() {
        return Err(EmulatedApiError::not_found());
    }
    match (request.method.as_str(), rest) {
        ("GET", ["reviews"]) => {
            let (found, thread) = (world.require_repository(repository)?, world.thread(repository, number)?);
            let reviews = thread.pull.iter().flat_map(|pull| &pull.reviews);
            let list = reviews.map(|one| world.review_of_api(found, thread, one)).collect();
            Ok(page(list, &address, &request.query))
        }
        ("POST", ["reviews"]) => {
            let id = world.review(repository, number, by, new_review(&request.body)?)?;
            review(world, repository, number, &id.to_string())
        }
        ("GET", ["reviews", id]) => review(world, repository, number, id),
        ("GET", ["reviews", id, "comments"]) => {
            let review = parse_number(id)?;
            let list = comments(world, repository, number, |of| of == review)?;
            Ok(page(list, &address, &request.query))
        }
        ("GET", ["comments"]) => {
            let list = comments(world, repository, number, |_| true)?;
            Ok(page(list, &address, &request.query))
        }
        ("POST", ["comments"]) => {
            let id = match request.body.get("in_reply_to").and_then(Value::as_u64) {
                Some(to) => world.reply(repository, number, to, by, &body_of(request))?,
                None => {
                    let commit = request.text("commit_id").unwrap_or_default();
                    let head = world.pull_mut(repository, number)?.head_sha.clone();
                    if commit != head {
                        return Err(EmulatedApiError::invalid(
                            "PullRequestReviewComment",
                            "commit_id",
                            "invalid",
                        ));
                    }
                    world.comment_on_line(repository, number, by, new_comment(&request.body)?)?
                }
            };
            comment(world, repository, id, 201)
        }
        ("POST", ["comments", id, "replies"]) => {
            let id = world.reply(repository, number, parse_number(id)?, by, &body_of(request))?;
            comment(world, repository, id, 201)
        }
        ("GET", ["requested_reviewers"]) => {
            let asked = world.pull_mut(repository, number)?.requested.clone();
            let users: Vec<Value> = asked.into_iter().map(|one| world.user_json(one)).collect();
            Ok(EmulatedApiReply::ok(json!({"users": users, "teams": []})))
        }
        (method @ ("POST" | "DELETE"), ["requested_reviewers"]) => {
            let names = request.body.get("reviewers").and_then(Value::as_array).cloned().unwrap_or_default();
            let logins: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if method == "POST" {
                world.request_review(repository, number, &logins, by)?;
            } else {
                world.unrequest_review(repository, number, &logins, by)?;
            }
            let (found, thread) = (world.require_repository(repository)?, world.thread(repository, number)?);
            let pull = thread.pull.as_ref().ok_or_else(EmulatedApiError::not_found)?;
            let status = if method == "POST" { 201 } else { 200 };
            Ok(EmulatedApiReply::json(status, world.pull_in_short_json(found, thread, pull)))
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

/// `/repos/…/pulls/comments/{id}`; the permission was asked before.
pub(crate) fn of_comment(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    id: u64,
    rest: &[&str],
) -> EmulatedApiResult {
    let by = request.actor(world)?;
    world.review_comment_mut(repository, id)?;
    match (request.method.as_str(), rest) {
        ("GET", []) => comment(world, repository, id, 200),
        ("PATCH" | "POST", []) => {
            world.edit_review_comment(repository, id, &body_of(request), by)?;
            comment(world, repository, id, 200)
        }
        ("DELETE", []) => {
            world.delete_review_comment(repository, id, by)?;
            Ok(EmulatedApiReply::no_content())
        }
        (_, ["reactions", rest @ ..]) => {
            reactions(world, request, repository, ReactionSubject::ReviewComment(id), rest)
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
    rest: &[&str],
) -> EmulatedApiResult {
    let by = request.actor(world)?;
    match (request.method.as_str(), rest) {
        ("GET", []) => {
            let given: Vec<EmulatedReaction> = world.reactions_mut(repository, on)?.clone();
            let wanted = request.query("content");
            let list = given.iter().filter(|one| wanted.is_none_or(|content| one.content == content));
            let list = list.map(|one| world.reaction_json(one)).collect();
            Ok(page(list, &format!("{}/{}", world.api(), request.segments.join("/")), &request.query))
        }
        ("POST", []) => {
            let content = request.text("content").unwrap_or_default();
            let (is_new, given) = world.react(repository, on, &content, by)?;
            Ok(EmulatedApiReply::json(if is_new { 201 } else { 200 }, world.reaction_json(&given)))
        }
        ("DELETE", [id]) => {
            let id = parse_number(id)?;
            let all = world.reactions_mut(repository, on)?;
            let at = all.iter().position(|one| one.id == id && one.by == by);
            all.remove(at.ok_or_else(EmulatedApiError::not_found)?);
            Ok(EmulatedApiReply::no_content())
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

fn body_of(request: &EmulatedApiRequest) -> String {
    request.text("body").unwrap_or_default()
}

fn review(world: &EmulatorState, repository: &str, number: u64, id: &str) -> EmulatedApiResult {
    let id = parse_number(id)?;
    let (found, thread) = (world.require_repository(repository)?, world.thread(repository, number)?);
    let review = thread.pull.iter().flat_map(|pull| &pull.reviews).find(|one| one.id == id);
    let review = review.ok_or_else(EmulatedApiError::not_found)?;
    Ok(EmulatedApiReply::ok(world.review_of_api(found, thread, review)))
}

fn comment(world: &EmulatorState, repository: &str, id: u64, status: u16) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let (thread, of, comment) = found.review_comment(id).ok_or_else(EmulatedApiError::not_found)?;
    Ok(EmulatedApiReply::json(status, world.review_comment_json(found, thread, of, comment)))
}

/// The comments of a pull request's reviews, oldest first.
fn comments(
    world: &EmulatorState,
    repository: &str,
    number: u64,
    wanted: impl Fn(u64) -> bool,
) -> Result<Vec<Value>, EmulatedApiError> {
    let (found, thread) = (world.require_repository(repository)?, world.thread(repository, number)?);
    let pull = thread.pull.as_ref().ok_or_else(EmulatedApiError::not_found)?;
    let all = pull.review_threads.iter().flat_map(|of| of.comments.iter().map(move |one| (of, one)));
    let mut all: Vec<_> = all.filter(|(_, one)| wanted(one.review)).collect();
    all.sort_by_key(|(_, one)| one.id);
    Ok(all.into_iter().map(|(of, one)| world.review_comment_json(found, thread, of, one)).collect())
}

fn new_review(body: &Value) -> Result<NewReview, EmulatedApiError> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let state = match text("event") {
        Some("APPROVE") => ReviewState::Approved,
        Some("REQUEST_CHANGES") => ReviewState::ChangesRequested,
        Some("COMMENT") => ReviewState::Commented,
        // Without an event GitHub keeps it as a draft of its author's; there are no drafts here.
        Some(_) | None => return Err(EmulatedApiError::invalid("PullRequestReview", "event", "invalid")),
    };
    let comments = body.get("comments").and_then(Value::as_array).into_iter().flatten();
    let comments = comments.map(new_comment).collect::<Result<_, _>>()?;
    Ok(NewReview { state, body: text("body").unwrap_or_default().to_owned(), comments })
}

fn new_comment(body: &Value) -> Result<NewReviewComment, EmulatedApiError> {
    let kind = "PullRequestReviewComment";
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let needed = |name: &str| {
        text(name).map(str::to_owned).ok_or_else(|| EmulatedApiError::invalid(kind, name, "missing_field"))
    };
    let line = body.get("line").and_then(Value::as_u64);
    if line.is_none() && text("subject_type") != Some("file") {
        return Err(EmulatedApiError::invalid(kind, "line", "missing_field"));
    }
    let side = DiffSide::parse(text("side").unwrap_or("RIGHT"));
    Ok(NewReviewComment {
        path: needed("path")?,
        body: needed("body")?,
        side: side.ok_or_else(|| EmulatedApiError::invalid(kind, "side", "invalid"))?,
        start: body.get("start_line").and_then(Value::as_u64),
        line,
    })
}
