//! Check runs, annotations, commit statuses; jobs of Actions, their logs and their being run again.

use serde_json::json;

use super::check_fields::fields;
use super::parse_number;
use crate::auth::require;
use crate::mutations::checks::NewCheckRun;
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult, EmulatedReplyBody};
use crate::repos;
use crate::request::EmulatedApiRequest;
use crate::state::checks::{
    ACTIONS_APP, CheckRunMaker, CheckRunProgress, EmulatedCheckRun, EmulatedCheckSuite,
};
use crate::state::{EmulatedRepository, EmulatorState, PermissionLevel, SignedContent};

/// For how long the address of a log can be used, in seconds; as with GitHub.
const SIGNED_FOR: i64 = 60;

pub(crate) fn serve(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> EmulatedApiResult {
    let holder = request.holder()?.clone();
    let method = request.method.as_str();
    let level = if method == "GET" { PermissionLevel::Read } else { PermissionLevel::Write };
    let allow = |world: &EmulatorState, permission: &str| {
        require(&holder, world.require_repository(repository)?, &[(permission, level)])
    };
    match (method, rest) {
        ("POST", ["check-runs"]) => {
            allow(world, "checks")?;
            create(world, request, repository)
        }
        ("PATCH", ["check-runs", id]) => {
            allow(world, "checks")?;
            update(world, request, repository, parse_number(id)?)
        }
        ("GET", ["check-runs", id, "annotations"]) => {
            allow(world, "checks")?;
            let found = world.require_repository(repository)?;
            let run = found.checks.run(parse_number(id)?).ok_or_else(EmulatedApiError::not_found)?;
            let list =
                run.output.annotations.iter().map(
                    |one| json!({"path": one.path, "start_line": one.start_line, "message": one.message}),
                );
            let list = list.collect();
            Ok(request.page(world, list))
        }
        ("GET", ["commits", reference @ .., "check-runs"]) => {
            allow(world, "checks")?;
            let found = world.require_repository(repository)?;
            let sha = commit(found, &reference.join("/"))?;
            Ok(runs(world, request, (found, &sha)))
        }
        ("GET", ["commits", reference @ .., "status"]) => {
            allow(world, "statuses")?;
            let found = world.require_repository(repository)?;
            let statuses = found.checks.statuses_of(&commit(found, &reference.join("/"))?);
            let list = statuses.into_iter().map(|status| {
                json!({
                    "context": status.context, "state": status.state, "description": status.description,
                    "target_url": status.target_url,
                })
            });
            Ok(request.counted(world, "statuses", list.collect()))
        }
        ("GET", ["actions", "jobs", id]) => {
            allow(world, "actions")?;
            let found = world.require_repository(repository)?;
            let job = job(found, id)?;
            let run = found.checks.suite(job.suite).map_or(0, |suite| suite.run);
            Ok(EmulatedApiReply::ok(json!({"id": job.id, "run_id": run, "run_attempt": job.attempt})))
        }
        ("GET", ["actions", "jobs", id, "logs"]) => {
            allow(world, "actions")?;
            sign_log(world, repository, id)
        }
        ("POST", ["actions", "jobs", id, "rerun"]) => {
            allow(world, "actions")?;
            world.rerun_job(repository, parse_number(id)?)?;
            Ok(EmulatedApiReply::json(201, json!({})))
        }
        ("POST", ["actions", "runs", id, "rerun-failed-jobs"]) => {
            allow(world, "actions")?;
            world.rerun_failed(repository, parse_number(id)?)?;
            Ok(EmulatedApiReply::json(201, json!({})))
        }
        ("GET", ["actions", "runs", id]) => {
            allow(world, "actions")?;
            let (found, id) = (world.require_repository(repository)?, parse_number(id)?);
            let mine = |suite: &&EmulatedCheckSuite| suite.maker == CheckRunMaker::Actions && suite.run == id;
            let suite = found.checks.suites.iter().find(mine).ok_or_else(EmulatedApiError::not_found)?;
            Ok(EmulatedApiReply::ok(json!({"id": suite.run, "run_attempt": suite.attempt})))
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

/// The commit that a SHA or a branch names.
fn commit(repository: &EmulatedRepository, reference: &str) -> Result<String, EmulatedApiError> {
    let named = reference.strip_prefix("heads/").unwrap_or(reference);
    repos::resolve(&repository.git, named)
        .ok_or_else(|| EmulatedApiError::new(422, format!("No commit found for SHA: {reference}")))
}

fn check_run(world: &EmulatorState, repository: &str, id: u64, status: u16) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let run = found.checks.run(id).ok_or_else(EmulatedApiError::not_found)?;
    Ok(EmulatedApiReply::json(status, world.check_run_json(found, run)))
}

fn create(world: &mut EmulatorState, request: &EmulatedApiRequest, repository: &str) -> EmulatedApiResult {
    let name = request.text("name").unwrap_or_default();
    let head_sha = request.text("head_sha").unwrap_or_default();
    let head_sha = commit(world.require_repository(repository)?, &head_sha)?;
    let fields = fields(&request.body)?;
    let progress = fields.progress.unwrap_or(CheckRunProgress::Queued);
    let new = NewCheckRun { maker: CheckRunMaker::App, name, head_sha, progress };
    let id = world.create_check(repository, new, |run| fields.fill(run))?;
    check_run(world, repository, id, 201)
}

fn update(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    id: u64,
) -> EmulatedApiResult {
    let run = world.require_repository(repository)?.checks.run(id).ok_or_else(EmulatedApiError::not_found)?;
    if run.maker != CheckRunMaker::App {
        return Err(EmulatedApiError::forbidden());
    }
    let fields = fields(&request.body)?;
    world.update_check(repository, id, fields.progress, |run| fields.fill(run))?;
    check_run(world, repository, id, 200)
}

/// The check runs on a commit, the newest first; `filter` is `latest` unless asked.
fn runs(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    (found, sha): (&EmulatedRepository, &str),
) -> EmulatedApiReply {
    let app = request.query("app_id").and_then(|id| id.parse::<u64>().ok());
    let all = request.query("filter") == Some("all");
    let of_app = |maker: CheckRunMaker| match maker {
        CheckRunMaker::App => app.is_none_or(|app| app == world.app.id),
        CheckRunMaker::Actions => app.is_none_or(|app| app == ACTIONS_APP),
    };
    let suites = found.checks.suites.iter().filter(|suite| suite.head_sha == sha && of_app(suite.maker));
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
    let list = list.into_iter().map(|run| world.check_run_json(found, run)).collect();
    request.counted(world, "check_runs", list)
}

fn job<'a>(found: &'a EmulatedRepository, id: &str) -> Result<&'a EmulatedCheckRun, EmulatedApiError> {
    let run = found.checks.run(parse_number(id)?).filter(|run| run.maker == CheckRunMaker::Actions);
    run.ok_or_else(EmulatedApiError::not_found)
}

/// 302 to an address that anybody can read from for a minute, and nobody who brings credentials.
fn sign_log(world: &mut EmulatorState, repository: &str, id: &str) -> EmulatedApiResult {
    let log = job(world.require_repository(repository)?, id)?.log.clone();
    let log = log.ok_or_else(EmulatedApiError::not_found)?;
    let token = world.sign(SignedContent::Bytes(log.into_bytes()), SIGNED_FOR);
    let location = format!("{}/_logs?jwt={token}", world.origin);
    Ok(EmulatedApiReply { status: 302, body: EmulatedReplyBody::Redirect(location), link: None })
}
