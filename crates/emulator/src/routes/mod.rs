//! Resolves a request's path to its object, and checks the permissions for it.

mod app;
mod read;
mod write;

use serde_json::Value;

use crate::auth::require;
use crate::reply::{ActResult, EmulatedApiError, EmulatedReplyBody};
use crate::repos;
use crate::request::EmulatedApiRequest;
use crate::state::checks::EmulatedCheckRun;
use crate::state::{EmulatedIssue, EmulatedRepository, EmulatorState, PermissionLevel};
use crate::{graphql, manifest, sign_in};

pub(crate) fn route(world: &mut EmulatorState, request: &EmulatedApiRequest) -> ActResult {
    let full_name;
    let mut segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    // A repository's id works whatever its current name.
    if let ["repositories", id, rest @ ..] = segments.as_slice() {
        let found = world.repositories.values().find(|one| one.id.to_string() == **id);
        full_name = found.ok_or_else(EmulatedApiError::not_found)?.full_name.clone();
        segments = ["repos"].into_iter().chain(full_name.split('/')).chain(rest.iter().copied()).collect();
    }
    if let ["repos", owner, name, rest @ ..] = segments.as_slice()
        && let Some(id) = world.moved.get(&format!("{owner}/{name}").to_ascii_lowercase())
    {
        let rest: String = rest.iter().map(|segment| format!("/{segment}")).collect();
        let location = Some(format!("{}/repositories/{id}{rest}", world.api()));
        return Err(EmulatedApiError { location, ..EmulatedApiError::new(301, "Moved Permanently") });
    }
    match segments.as_slice() {
        ["app-manifests", code, "conversions"] if request.method == "POST" => manifest::convert(world, code),
        ["user", ..] => sign_in::serve(world, request, &segments),
        ["graphql"] => graphql::serve(world, request),
        ["app" | "installation", ..] | ["repos", _, _, "installation"] => {
            app::serve(world, request, &segments)
        }
        ["repos", owner, name, rest @ ..] => of_repository(world, request, &format!("{owner}/{name}"), rest),
        _ => Err(EmulatedApiError::not_found()),
    }
}

/// A number in a path; 404 for anything else.
fn parse_number(text: &str) -> ActResult<u64> {
    text.parse().map_err(|_| EmulatedApiError::not_found())
}

fn of_repository(
    world: &mut EmulatorState,
    request: &EmulatedApiRequest,
    repository: &str,
    rest: &[&str],
) -> ActResult {
    let found = world.require_repository(repository)?;
    let is_look = request.method == "GET";
    let level = if is_look { PermissionLevel::Read } else { PermissionLevel::Write };
    let any_of: Vec<_> = permissions(found, rest).iter().map(|name| (*name, level)).collect();
    require(request.holder()?, found, &any_of)?;
    let leaves_something = matches!(rest, ["pulls", _] | ["actions", "jobs", _, "logs"]);
    let mut reply = if is_look && !leaves_something {
        read::serve(world, request, found, rest)?
    } else {
        write::serve(world, request, repository, rest)?
    };
    if request.accept.contains("full+json")
        && let EmulatedReplyBody::Json(Value::Object(fields)) = &mut reply.body
        && let Some(body) = fields.get("body").and_then(Value::as_str).map(str::to_owned)
    {
        fields.insert("body_html".to_owned(), world.body_html(repository, &body).into());
    }
    Ok(reply)
}

/// The permissions of a route, any one of which is enough.
fn permissions(found: &EmulatedRepository, rest: &[&str]) -> &'static [&'static str] {
    const OF_THREADS: &[&str] = &["issues", "pull_requests"];
    let is_issue = |is_it: &dyn Fn(&EmulatedIssue) -> bool| {
        found.threads.values().any(|thread| thread.pull.is_none() && is_it(thread))
    };
    match rest {
        ["git" | "contents", ..] => &["contents"],
        ["check-runs", ..] | ["commits", .., "check-runs"] => &["checks"],
        ["commits", .., "status"] => &["statuses"],
        ["actions", ..] => &["actions"],
        ["pulls", ..] => &["pull_requests"],
        ["issues"] => &["issues"],
        ["labels", ..] | ["issues", _, "events"] => OF_THREADS,
        // Comments on a pull request need either permission.
        ["issues", "comments", id, ..]
            if is_issue(&|of| of.comments.iter().any(|one| one.id.to_string() == **id)) =>
        {
            &["issues"]
        }
        ["issues", number, ..] if is_issue(&|of| of.number.to_string() == **number) => &["issues"],
        ["issues", ..] => OF_THREADS,
        _ => &["metadata"],
    }
}

/// Resolves a SHA or a branch to a commit.
fn commit(repository: &EmulatedRepository, reference: &str) -> ActResult<String> {
    let named = reference.strip_prefix("heads/").unwrap_or(reference);
    repos::resolve(&repository.git, named)
        .ok_or_else(|| EmulatedApiError::new(422, format!("No commit found for SHA: {reference}")))
}

/// A check run that is a job.
fn job<'a>(found: &'a EmulatedRepository, id: &str) -> ActResult<&'a EmulatedCheckRun> {
    let run = found.checks.run(parse_number(id)?).filter(|run| !run.by_app);
    run.ok_or_else(EmulatedApiError::not_found)
}
