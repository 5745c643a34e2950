//! Changes a repository. Answers have the same form as reads.

use serde_json::{Value, json};

use super::{commit, job, parse_number, read};
use crate::events::{NO_SHA, RefUpdate};
use crate::mutations::IssueEdit;
use crate::mutations::pulls::NewPull;
use crate::reply::{ActResult, EmulatedApiError, EmulatedApiReply, EmulatedReplyBody};
use crate::repos;
use crate::request::EmulatedApiRequest;
use crate::state::checks::EmulatedCheckRun;
use crate::state::{EmulatorState, SignedContent};

/// Lifetime of a log's address in seconds, as on GitHub.
const SIGNED_FOR: i64 = 60;

pub(super) fn serve(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> ActResult {
    let by = request.actor(world)?;
    let text = |field: &str| request.text(field).unwrap_or_default();
    let texts = |field: &str| -> Vec<String> {
        let all = request.body.get(field).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let shown = |world: &EmulatorState, status: u16, rest: &[&str]| -> ActResult {
        let reply = read::serve(world, request, world.require_repository(repository)?, rest)?;
        Ok(EmulatedApiReply { status, ..reply })
    };
    match (request.method.as_str(), rest) {
        // Two reads with a side effect.
        ("GET", ["pulls", number]) => {
            let answer = shown(world, 200, rest);
            world.weigh(repository, parse_number(number)?);
            answer
        }
        ("GET", ["actions", "jobs", id, "logs"]) => sign_log(world, repository, id),
        ("POST", ["issues", number, "comments"]) => {
            let id = world.comment(repository, parse_number(number)?, by, &text("body"))?;
            shown(world, 201, &["issues", "comments", &id.to_string()])
        }
        ("PATCH", ["issues", "comments", id]) => {
            world.edit_comment(repository, parse_number(id)?, &text("body"), by)?;
            shown(world, 200, rest)
        }
        ("DELETE", ["issues", "comments", id]) => {
            world.delete_comment(repository, parse_number(id)?, by)?;
            Ok(EmulatedApiReply::no_content())
        }
        ("POST", ["issues" | "pulls", "comments", id, "reactions"]) => {
            let is_new = world.react(repository, parse_number(id)?, &text("content"), by)?;
            let content = json!({"content": text("content")});
            Ok(EmulatedApiReply::json(if is_new { 201 } else { 200 }, content))
        }
        ("POST", ["issues", number, "labels"]) => {
            world.add_labels(repository, parse_number(number)?, &texts("labels"), by)?;
            shown(world, 200, rest)
        }
        ("DELETE", ["issues", number, "labels", label]) => {
            world.remove_label(repository, parse_number(number)?, label, by)?;
            shown(world, 200, &["issues", number, "labels"])
        }
        ("POST", ["labels"]) => {
            world.create_label(repository, &text("name"), &text("color"))?;
            shown(world, 201, &["labels", &text("name")])
        }
        ("POST", ["pulls"]) => {
            let needed = |field: &str| {
                request
                    .text(field)
                    .ok_or_else(|| EmulatedApiError::invalid("PullRequest", field, "missing_field"))
            };
            let new = NewPull {
                title: needed("title")?,
                body: text("body"),
                head: needed("head")?,
                base: needed("base")?,
                draft: request.body["draft"].as_bool().unwrap_or(false),
            };
            let number = world.open_pull(repository, by, new)?;
            shown(world, 201, &["pulls", &number.to_string()])
        }
        ("PATCH", ["pulls", number]) => {
            let number = parse_number(number)?;
            world.pull_mut(repository, number)?;
            let edit = IssueEdit { title: request.text("title"), body: request.text("body") };
            world.edit(repository, number, edit, by)?;
            shown(world, 200, rest)
        }
        ("POST", ["pulls", number, "comments", id, "replies"]) => {
            let (number, id) = (parse_number(number)?, parse_number(id)?);
            let id = world.reply(repository, number, id, by, &text("body"))?;
            Ok(EmulatedApiReply::json(201, json!({"id": id})))
        }
        ("POST", ["pulls", number, "requested_reviewers"]) => {
            let number = parse_number(number)?;
            world.request_review(repository, number, &texts("reviewers"), by)?;
            Ok(EmulatedApiReply::json(201, json!({"number": number})))
        }
        ("POST", ["check-runs"]) => {
            let head_sha = commit(world.require_repository(repository)?, &text("head_sha"))?;
            let mut run = EmulatedCheckRun::queued(true, &text("name"), head_sha);
            run.say(&request.body)?;
            let id = world.put_check(repository, run)?;
            shown(world, 201, &["check-runs", &id.to_string()])
        }
        ("PATCH", ["check-runs", id]) => {
            let run = world.require_repository(repository)?.checks.run(parse_number(id)?);
            let mut run = run.ok_or_else(EmulatedApiError::not_found)?.clone();
            if !run.by_app {
                return Err(EmulatedApiError::forbidden());
            }
            run.say(&request.body)?;
            world.put_check(repository, run)?;
            shown(world, 200, rest)
        }
        ("POST", ["actions", "jobs", id, "rerun"]) => {
            world.rerun_job(repository, parse_number(id)?)?;
            Ok(EmulatedApiReply::json(201, json!({})))
        }
        ("POST", ["actions", "runs", id, "rerun-failed-jobs"]) => {
            world.rerun_failed(repository, parse_number(id)?)?;
            Ok(EmulatedApiReply::json(201, json!({})))
        }
        ("DELETE", ["git", "refs", "heads", branch @ ..]) => {
            delete_branch(world, repository, &branch.join("/"), by)
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

/// 302 to an address that is readable for a minute, without credentials only.
fn sign_log(world: &mut EmulatorState, repository: &str, id: &str) -> ActResult {
    let log = job(world.require_repository(repository)?, id)?.log.clone();
    let log = log.ok_or_else(EmulatedApiError::not_found)?;
    let token = world.sign(SignedContent::Bytes(log.into_bytes()), SIGNED_FOR);
    let location = format!("{}/_logs?jwt={token}", world.origin);
    Ok(EmulatedApiReply { status: 302, body: EmulatedReplyBody::Redirect(location), link: None })
}

fn delete_branch(world: &mut EmulatorState, repository: &str, branch: &str, by: u64) -> ActResult {
    let found = world.require_repository(repository)?;
    let git = found.git.clone();
    let Some(before) = repos::head(&git, branch) else {
        return Err(EmulatedApiError::new(422, "Reference does not exist"));
    };
    let forbidden = found.rules_for(branch).any(|rule| rule.kind == "deletion" && !rule.bypass);
    if forbidden || branch == found.default_branch {
        return Err(EmulatedApiError::new(422, "Cannot delete this branch"));
    }
    repos::delete(&git, branch).map_err(EmulatedApiError::broken)?;
    let moved = RefUpdate { reference: format!("refs/heads/{branch}"), before, after: NO_SHA.to_owned() };
    world.pushed(repository, &[moved], by);
    Ok(EmulatedApiReply::no_content())
}
