//! Reads a repository: its facts, people, branches and files; its issues, pull requests and checks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{commit, job, parse_number};
use crate::auth::require;
use crate::json::label_json;
use crate::reply::{ActResult, EmulatedApiError, EmulatedApiReply};
use crate::repos::{self, ContentLookup};
use crate::request::EmulatedApiRequest;
use crate::state::checks::{ACTIONS_APP, EmulatedCheckRun, EmulatedCheckSuite};
use crate::state::{EmulatedIssue, EmulatedIssueState, EmulatedRepository, EmulatorState, PermissionLevel};

pub(super) fn serve(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    found: &EmulatedRepository,
    rest: &[&str],
) -> ActResult {
    let missing = EmulatedApiError::not_found;
    let list = |all: Vec<Value>| Ok(request.page(world, all));
    let value = match rest {
        [] => world.repository_json(found),
        ["collaborators", login, "permission"] => {
            let account = world.account_by_login(login).ok_or_else(missing)?;
            json!({"permission": found.role(account.id).permission(), "user": world.user_json(account.id)})
        }
        ["git", "ref", "heads", branch @ ..] => {
            json!({"object": {"sha": repos::head(&found.git, &branch.join("/")).ok_or_else(missing)?}})
        }
        ["contents", path @ ..] => contents(request, found, &path.join("/"))?,
        ["rules", "branches", branch @ ..] => {
            let branch = branch.join("/");
            let rules = found.rules_for(&branch).map(
                |rule| json!({"type": rule.kind, "ruleset_id": rule.ruleset, "parameters": rule.parameters}),
            );
            return list(rules.collect());
        }
        ["rulesets", id] => {
            let first = found.rules.rules.iter().find(|rule| rule.ruleset.to_string() == *id);
            let first = first.ok_or_else(missing)?;
            let can_bypass = if first.bypass { "always" } else { "never" };
            json!({"id": first.ruleset, "current_user_can_bypass": can_bypass})
        }
        ["labels", name] => {
            let label = found.labels.iter().find(|label| label.name.eq_ignore_ascii_case(name));
            label_json(label.ok_or_else(missing)?)
        }
        ["issues"] => return list(threads(world, request, found)?),
        ["issues", "comments"] => return list(comments(world, request, found)),
        ["issues", "comments", id] => {
            let id = parse_number(id)?;
            let mut all = found.threads.values().flat_map(|of| of.comments.iter().map(move |one| (of, one)));
            let (thread, comment) = all.find(|(_, one)| one.id == id).ok_or_else(missing)?;
            world.comment_json(found, thread, comment)
        }
        ["issues", number] => world.issue_json(found, thread(found, number)?),
        ["issues", number, "comments"] => {
            let of = thread(found, number)?;
            return list(of.comments.iter().map(|one| world.comment_json(found, of, one)).collect());
        }
        ["issues", number, "events"] => {
            return list(thread(found, number)?.events.iter().map(|one| world.event_json(one)).collect());
        }
        ["issues", number, "labels"] => return list(world.labels_json(found, thread(found, number)?)),
        ["pulls"] => return list(pulls(world, request, found)),
        ["pulls", number] => {
            let of = thread(found, number)?;
            world.pull_json(found, of, of.pull.as_ref().ok_or_else(missing)?)
        }
        ["pulls", number, "reviews"] => {
            let reviews = &thread(found, number)?.pull.as_ref().ok_or_else(missing)?.reviews;
            return list(reviews.iter().map(|one| world.review_of_api(one)).collect());
        }
        ["check-runs", id] => {
            world.check_run_json(found, found.checks.run(parse_number(id)?).ok_or_else(missing)?)
        }
        ["check-runs", id, "annotations"] => {
            let run = found.checks.run(parse_number(id)?).ok_or_else(missing)?;
            return list(run.annotations.iter().map(|one| json!(one)).collect());
        }
        ["commits", reference @ .., "check-runs"] => {
            let list = runs(world, request, found, &commit(found, &reference.join("/"))?);
            return Ok(request.counted(world, "check_runs", list));
        }
        ["commits", reference @ .., "status"] => {
            let statuses = found.checks.statuses_of(&commit(found, &reference.join("/"))?);
            let list = statuses.into_iter().map(|status| {
                json!({
                    "context": status.context, "state": status.state, "description": status.description,
                    "target_url": status.target_url,
                })
            });
            return Ok(request.counted(world, "statuses", list.collect()));
        }
        ["actions", "jobs", id] => {
            let job = job(found, id)?;
            let run = found.checks.suite(job.suite).map_or(0, |suite| suite.run);
            json!({"id": job.id, "run_id": run, "run_attempt": job.attempt})
        }
        ["actions", "runs", id] => {
            let id = parse_number(id)?;
            let mine = |suite: &&EmulatedCheckSuite| !suite.by_app && suite.run == id;
            let suite = found.checks.suites.iter().find(mine).ok_or_else(missing)?;
            json!({"id": suite.run, "run_attempt": suite.attempt})
        }
        _ => return Err(missing()),
    };
    Ok(EmulatedApiReply::ok(value))
}

fn thread<'a>(found: &'a EmulatedRepository, number: &str) -> ActResult<&'a EmulatedIssue> {
    found.threads.get(&parse_number(number)?).ok_or_else(EmulatedApiError::not_found)
}

fn contents(request: &EmulatedApiRequest, found: &EmulatedRepository, path: &str) -> ActResult<Value> {
    let reference = request.query("ref").unwrap_or(&found.default_branch);
    match repos::find(&found.git, reference, path) {
        ContentLookup::NoSuchRef => {
            Err(EmulatedApiError::new(404, format!("No commit found for the ref {reference}")))
        }
        ContentLookup::NoSuchPath => Err(EmulatedApiError::not_found()),
        ContentLookup::File(bytes) => {
            Ok(json!({"type": "file", "content": STANDARD.encode(&bytes), "encoding": "base64"}))
        }
        ContentLookup::Folder => Ok(json!([])),
    }
}

fn since(request: &EmulatedApiRequest) -> DateTime<Utc> {
    request.query("since").and_then(|at| at.parse().ok()).unwrap_or_default()
}

/// Issues and pull requests by last change; pull requests only for callers who may read them.
fn threads(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    found: &EmulatedRepository,
) -> ActResult<Vec<Value>> {
    let pulls = [("pull_requests", PermissionLevel::Read)];
    let sees_pulls = require(request.holder()?, found, &pulls).is_ok();
    let (since, state) = (since(request), request.query("state").unwrap_or("open"));
    let mut threads: Vec<_> = found
        .threads
        .values()
        .filter(|thread| thread.updated_at >= since && (sees_pulls || thread.pull.is_none()))
        .filter(|thread| state == "all" || json!(thread.state) == state)
        .collect();
    threads.sort_by_key(|thread| thread.updated_at);
    if request.query("direction") != Some("asc") {
        threads.reverse();
    }
    Ok(threads.into_iter().map(|thread| world.issue_json(found, thread)).collect())
}

/// All comments on issues and pull requests by last change.
fn comments(world: &EmulatorState, request: &EmulatedApiRequest, found: &EmulatedRepository) -> Vec<Value> {
    let since = since(request);
    let all = found.threads.values().flat_map(|thread| thread.comments.iter().map(move |one| (thread, one)));
    let mut all: Vec<_> = all.filter(|(_, comment)| comment.updated_at >= since).collect();
    all.sort_by_key(|(_, comment)| comment.updated_at);
    all.into_iter().map(|(thread, comment)| world.comment_json(found, thread, comment)).collect()
}

/// Open pull requests, newest first. As on GitHub, `head` needs its owner to take effect.
fn pulls(world: &EmulatorState, request: &EmulatedApiRequest, found: &EmulatedRepository) -> Vec<Value> {
    let owner = world.login(found.owner);
    let head = request.query("head").and_then(|head| head.split_once(':'));
    let open = found.threads.values().rev().filter(|thread| thread.state == EmulatedIssueState::Open);
    open.filter_map(|thread| thread.pull.as_ref().map(|pull| (thread, pull)))
        .filter(|(_, pull)| {
            head.is_none_or(|(login, branch)| login.eq_ignore_ascii_case(owner) && pull.head == branch)
        })
        .map(|(thread, pull)| world.pull_in_short_json(found, thread, pull))
        .collect()
}

/// The check runs on a commit, newest first; `filter` defaults to `latest`.
fn runs(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    found: &EmulatedRepository,
    sha: &str,
) -> Vec<Value> {
    let app = request.query("app_id").and_then(|id| id.parse::<u64>().ok());
    let all = request.query("filter") == Some("all");
    let maker = |suite: &EmulatedCheckSuite| if suite.by_app { world.app.id } else { ACTIONS_APP };
    let suites = found.checks.suites.iter().filter(|suite| suite.head_sha == sha);
    let suites = suites.filter(|suite| app.is_none_or(|app| app == maker(suite)));
    let mut list: Vec<&EmulatedCheckRun> = suites
        .flat_map(|suite| -> Vec<_> {
            if all {
                found.checks.runs.iter().filter(|run| run.suite == suite.id).collect()
            } else {
                found.checks.latest(suite).collect()
            }
        })
        .filter(|run| request.query("check_name").is_none_or(|name| run.name == name))
        .collect();
    list.sort_by_key(|run| std::cmp::Reverse(run.id));
    list.into_iter().map(|run| world.check_run_json(found, run)).collect()
}
