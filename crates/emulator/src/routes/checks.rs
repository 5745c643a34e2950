//! Check runs, suites, annotations, commit statuses; jobs of Actions, their logs and their being run again.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use chrono::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use super::check_fields::{CheckRunFields, fields};
use super::parse_number;
use crate::auth::require;
use crate::clock;
use crate::json::with;
use crate::mutations::checks::NewCheckRun;
use crate::pages::problem;
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult, EmulatedReplyBody, page};
use crate::repos;
use crate::request::{EmulatedApiRequest, header};
use crate::state::checks::{
    ACTIONS_APP, CheckRunMaker, CheckRunProgress, EmulatedCheckRun, EmulatedCheckSuite,
};
use crate::state::{EmulatedRepository, EmulatorState, PermissionLevel, SharedEmulatorState, TokenHolder};

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
    let address = format!("{}/repos/{repository}/{}", world.api(), rest.join("/"));
    match (method, rest) {
        ("POST", ["check-runs"]) => {
            allow(world, "checks")?;
            by_app(&holder)?;
            create(world, request, repository)
        }
        ("GET", ["check-runs", id]) => {
            allow(world, "checks")?;
            check_run(world, repository, parse_number(id)?, 200)
        }
        // GitHub takes POST for PATCH, and octocrab relies on it.
        ("PATCH" | "POST", ["check-runs", id]) => {
            allow(world, "checks")?;
            by_app(&holder)?;
            update(world, request, repository, parse_number(id)?)
        }
        ("GET", ["check-runs", id, "annotations"]) => {
            allow(world, "checks")?;
            let found = world.require_repository(repository)?;
            let run = found.checks.run(parse_number(id)?).ok_or_else(EmulatedApiError::not_found)?;
            let list =
                run.output.annotations.iter().map(|one| world.annotation_json(found, run, one)).collect();
            Ok(page(list, &address, &request.query))
        }
        ("GET", ["commits", reference @ .., "check-runs"]) => {
            allow(world, "checks")?;
            let found = world.require_repository(repository)?;
            let sha = commit(found, &reference.join("/"))?;
            let suites = found.checks.suites.iter().filter(|suite| suite.head_sha == sha);
            let ids: Vec<u64> = suites.map(|suite| suite.id).collect();
            Ok(runs(world, request, found, &ids, &address))
        }
        ("GET", ["check-suites", id, "check-runs"]) => {
            allow(world, "checks")?;
            let (found, id) = (world.require_repository(repository)?, parse_number(id)?);
            found.checks.suite(id).ok_or_else(EmulatedApiError::not_found)?;
            Ok(runs(world, request, found, &[id], &address))
        }
        ("GET", ["check-suites", id]) => {
            allow(world, "checks")?;
            let found = world.require_repository(repository)?;
            let suite = found.checks.suite(parse_number(id)?).ok_or_else(EmulatedApiError::not_found)?;
            Ok(EmulatedApiReply::ok(world.suite_json(found, suite)))
        }
        ("GET", ["commits", reference @ .., "check-suites"]) => {
            allow(world, "checks")?;
            let found = world.require_repository(repository)?;
            let sha = commit(found, &reference.join("/"))?;
            let app = request.query("app_id").and_then(|id| id.parse::<u64>().ok());
            let list = found.checks.suites.iter().filter(|suite| suite.head_sha == sha);
            let list = list.filter(|suite| app.is_none_or(|app| world.maker_id(suite.maker) == app));
            let list = list.map(|suite| world.suite_json(found, suite)).collect();
            Ok(within("check_suites", list, &address, &request.query))
        }
        ("GET", ["commits", reference @ .., kind @ ("status" | "statuses")]) => {
            allow(world, "statuses")?;
            statuses(world, request, repository, &reference.join("/"), (kind, &address))
        }
        ("POST", ["statuses", sha]) => {
            allow(world, "statuses")?;
            let by = request.actor(world)?;
            let sha = commit(world.require_repository(repository)?, sha)
                .map_err(|_| EmulatedApiError::new(422, format!("No commit found for SHA: {sha}")))?;
            let context = request.text("context").unwrap_or_else(|| "default".to_owned());
            let state = request.text("state").unwrap_or_default();
            let words = (request.text("description"), request.text("target_url"));
            let id = world.set_status(repository, by, (&sha, &context, &state), words)?;
            let found = world.require_repository(repository)?;
            let status = found.checks.statuses.iter().find(|status| status.id == id);
            let status = status.ok_or_else(EmulatedApiError::not_found)?;
            Ok(EmulatedApiReply::json(201, world.status_json(found, status)))
        }
        ("GET", ["actions", "jobs", id]) => {
            allow(world, "actions")?;
            let found = world.require_repository(repository)?;
            Ok(EmulatedApiReply::ok(world.job_json(found, job(found, id)?)))
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
            Ok(EmulatedApiReply::ok(world.workflow_run_json(found, suite)))
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

fn by_app(holder: &TokenHolder) -> Result<(), EmulatedApiError> {
    match holder {
        TokenHolder::Installation { .. } => Ok(()),
        TokenHolder::Person(_) => Err(EmulatedApiError::new(403, "You must authenticate via a GitHub App.")),
    }
}

impl EmulatorState {
    fn maker_id(&self, maker: CheckRunMaker) -> u64 {
        match maker {
            CheckRunMaker::App => self.app.id,
            CheckRunMaker::Actions => ACTIONS_APP,
        }
    }
}

fn check_run(world: &EmulatorState, repository: &str, id: u64, status: u16) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let run = found.checks.run(id).ok_or_else(EmulatedApiError::not_found)?;
    Ok(EmulatedApiReply::json(status, world.check_run_json(found, run)))
}

fn create(world: &mut EmulatorState, request: &EmulatedApiRequest, repository: &str) -> EmulatedApiResult {
    let missing = |field: &str| EmulatedApiError::invalid("CheckRun", field, "missing_field");
    let name = request.text("name").filter(|name| !name.is_empty()).ok_or_else(|| missing("name"))?;
    let sha = request.text("head_sha").ok_or_else(|| missing("head_sha"))?;
    let head_sha = commit(world.require_repository(repository)?, &sha)?;
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
        let message = format!(
            "Invalid app_id `{}` - check run can only be modified by the GitHub App that created it.",
            world.app.id
        );
        return Err(EmulatedApiError::new(403, message));
    }
    let name = request.text("name");
    let fields: CheckRunFields = fields(&request.body)?;
    world.update_check(repository, id, fields.progress, |run| {
        if let Some(name) = name {
            run.name = name;
        }
        fields.fill(run);
    })?;
    check_run(world, repository, id, 200)
}

/// A page of a list that is a field of an object, beside how many there are.
fn within(field: &str, list: Vec<Value>, address: &str, query: &[(String, String)]) -> EmulatedApiReply {
    let count = list.len();
    let EmulatedApiReply { status, body, link } = page(list, address, query);
    let EmulatedReplyBody::Json(list) = body else { return EmulatedApiReply { status, body, link } };
    EmulatedApiReply {
        status,
        body: EmulatedReplyBody::Json(json!({"total_count": count, field: list})),
        link,
    }
}

/// The check runs of some suites, the newest first; `filter` is `latest` unless asked.
fn runs(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    found: &EmulatedRepository,
    suites: &[u64],
    address: &str,
) -> EmulatedApiReply {
    let app = request.query("app_id").and_then(|id| id.parse::<u64>().ok());
    let all = request.query("filter") == Some("all");
    let mut list: Vec<_> = suites
        .iter()
        .filter_map(|id| found.checks.suite(*id))
        .filter(|suite| app.is_none_or(|app| world.maker_id(suite.maker) == app))
        .flat_map(|suite| -> Vec<_> {
            if all {
                found.checks.runs.iter().filter(|run| run.suite == suite.id).collect()
            } else {
                found.checks.latest(suite).collect()
            }
        })
        .filter(|run| request.query("check_name").is_none_or(|name| run.name == name))
        .filter(|run| request.query("status").is_none_or(|status| run.progress.status() == status))
        .collect();
    list.sort_by_key(|run| std::cmp::Reverse(run.id));
    let list = list.into_iter().map(|run| world.check_run_json(found, run)).collect();
    within("check_runs", list, address, &request.query)
}

fn statuses(
    world: &EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    reference: &str,
    (kind, address): (&str, &str),
) -> EmulatedApiResult {
    let found = world.require_repository(repository)?;
    let sha = commit(found, reference)?;
    if kind == "statuses" {
        let list = found.checks.statuses.iter().rev().filter(|status| status.sha == sha);
        let list = list.map(|status| world.status_json(found, status)).collect();
        return Ok(page(list, address, &request.query));
    }
    let latest = found.checks.statuses_of(&sha);
    let any = |states: &[&str]| latest.iter().any(|status| states.contains(&status.state.as_str()));
    let state = match (any(&["failure", "error"]), any(&["pending"]) || latest.is_empty()) {
        (true, _) => "failure",
        (false, true) => "pending",
        (false, false) => "success",
    };
    let list = latest.into_iter().map(|status| world.status_json(found, status)).collect();
    let EmulatedApiReply { status, body, link } = within("statuses", list, address, &request.query);
    let EmulatedReplyBody::Json(list) = body else { return Ok(EmulatedApiReply { status, body, link }) };
    let base = format!("{}/repos/{}", world.api(), found.full_name);
    let more = json!({
        "state": state, "sha": sha, "repository": world.repository_json(found),
        "commit_url": format!("{base}/commits/{sha}"), "url": format!("{base}/commits/{sha}/status"),
    });
    Ok(EmulatedApiReply { status, body: EmulatedReplyBody::Json(with(list, more)), link })
}

fn job<'a>(found: &'a EmulatedRepository, id: &str) -> Result<&'a EmulatedCheckRun, EmulatedApiError> {
    let run = found.checks.run(parse_number(id)?).filter(|run| run.maker == CheckRunMaker::Actions);
    run.ok_or_else(EmulatedApiError::not_found)
}

/// 302 to an address that anybody can read from for a minute, and nobody who brings credentials.
fn sign_log(world: &mut EmulatorState, repository: &str, id: &str) -> EmulatedApiResult {
    let run = job(world.require_repository(repository)?, id)?;
    if run.log.is_none() {
        return Err(EmulatedApiError::not_found());
    }
    let (id, token) = (run.id, Uuid::new_v4().simple().to_string());
    let until = clock::now() + Duration::seconds(SIGNED_FOR);
    let location = format!("{}/_logs/{token}", world.origin);
    world.require_repository_mut(repository)?.checks.signed.push((token, id, until));
    Ok(EmulatedApiReply { status: 302, body: EmulatedReplyBody::Redirect(location), link: None })
}

/// `GET /_logs/{token}`: as the storage service behind GitHub answers, which takes the address alone.
pub(crate) async fn log(
    request: HttpRequest,
    token: web::Path<String>,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    if !header(request.headers(), "authorization").is_empty() {
        return problem(400, "InvalidAuthenticationInfo: the address is signed, and no header is wanted");
    }
    let world = shared.lock();
    let log = world.repositories.values().find_map(|found| {
        let known = |(known, _, until): &&(String, u64, _)| known == token.as_str() && *until > clock::now();
        let (_, job, _) = found.checks.signed.iter().find(known)?;
        found.checks.run(*job)?.log.clone()
    });
    match log {
        Some(log) => HttpResponse::Ok().insert_header(("Content-Type", "text/plain")).body(log),
        None => problem(403, "AuthenticationFailed: the address is unknown, or its time is over"),
    }
}
