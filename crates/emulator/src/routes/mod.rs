//! The way from a request's path to what it is about.

mod app;
mod check_fields;
mod checks;
mod issues;
mod lists;
mod pulls;
mod repositories;
mod reviews;
mod rules;

use crate::reply::{EmulatedApiError, EmulatedApiResult};
use crate::request::EmulatedApiRequest;
use crate::state::EmulatorState;
use crate::{graphql, manifest, sign_in};

pub(crate) fn route(world: &mut EmulatorState, request: &EmulatedApiRequest) -> EmulatedApiResult {
    let full_name;
    let mut segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    // By its id a repository is found under every name.
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
        ["repos", owner, name, rest @ ..] => {
            let repository = format!("{owner}/{name}");
            if let Some(list) = lists::serve(world, request, &repository, rest) {
                return list;
            }
            let serve = match rest {
                ["issues" | "labels", ..] => issues::serve,
                ["pulls", ..] => pulls::serve,
                ["check-runs" | "actions", ..] | ["commits", .., "check-runs" | "status"] => checks::serve,
                ["rules" | "rulesets", ..] | ["git", "refs", ..] => rules::serve,
                _ => repositories::serve,
            };
            serve(world, request, &repository, rest)
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

/// A number in a path; what is none leads nowhere.
fn parse_number(text: &str) -> Result<u64, EmulatedApiError> {
    text.parse().map_err(|_| EmulatedApiError::not_found())
}
