//! The two mutations for which REST has nothing. This is no GraphQL engine: it finds the mutation by its name
//! and the pull request by its id, in the variables or in the text, and answers with a fixed choice of fields.

use regex::Regex;
use serde_json::{Value, json};

use super::api::Request;
use super::auth::require;
use super::reply::{Answer, ApiError, Reply};
use super::state::{Draft, Level, World};

const MUTATIONS: [(&str, Draft); 2] =
    [("markPullRequestReadyForReview", Draft::No), ("convertPullRequestToDraft", Draft::Yes)];

pub(crate) fn serve(world: &mut World, request: &Request) -> Answer {
    let holder = request.holder()?.clone();
    let by = request.actor(world)?;
    let query = request.text("query").unwrap_or_default();
    let Some((name, draft)) = MUTATIONS.into_iter().find(|(name, _)| query.contains(name)) else {
        return Ok(errors(None, "undefinedField", "The emulator does not know this query or mutation"));
    };
    let id = pull_id(&query, request.body.get("variables").unwrap_or(&Value::Null));
    let number_of = |id: &str| id.strip_prefix("PR_").and_then(|id| id.parse::<u64>().ok());
    let found = id.as_deref().and_then(number_of).and_then(|id| {
        world
            .repositories
            .values()
            .find_map(|repository| repository.thread_of_pull(id).map(|thread| (repository, thread)))
    });
    let Some((repository, thread)) = found else {
        let id = id.unwrap_or_default();
        return Ok(errors(
            Some(name),
            "NOT_FOUND",
            &format!("Could not resolve to a node with the global id of '{id}'"),
        ));
    };
    if let Err(refused) = require(&holder, repository, &[("pull_requests", Level::Write)]) {
        let kind = if refused.status == 404 { "NOT_FOUND" } else { "FORBIDDEN" };
        return Ok(errors(Some(name), kind, &refused.message));
    }
    let (full_name, number) = (repository.full_name.clone(), thread.number);
    world.set_draft(&full_name, number, draft, by)?;
    let (found, thread) = (world.found(&full_name)?, world.thread(&full_name, number)?);
    let pull = thread.pull.as_ref().ok_or_else(ApiError::not_found)?;
    let rest = world.pull_json(found, thread, pull);
    Ok(Reply::ok(json!({"data": {name: {"clientMutationId": null, "pullRequest": {
        "id": rest.get("node_id"), "number": number, "isDraft": pull.draft == Draft::Yes,
        "url": rest.get("html_url"), "title": thread.title, "headRefOid": pull.head_sha,
        "state": if pull.merged.is_some() { "MERGED".to_owned() } else { thread.state.as_str().to_ascii_uppercase() },
    }}}})))
}

fn errors(name: Option<&str>, kind: &str, message: &str) -> Reply {
    let mut error = json!({"type": kind, "message": message, "locations": [{"line": 1, "column": 1}]});
    let mut body = json!({});
    if let (Some(name), Some(error), Some(body)) = (name, error.as_object_mut(), body.as_object_mut()) {
        error.insert("path".to_owned(), json!([name]));
        body.insert("data".to_owned(), json!({name: null}));
    }
    if let Some(body) = body.as_object_mut() {
        body.insert("errors".to_owned(), json!([error]));
    }
    Reply::ok(body)
}

/// `pullRequestId: "…"`, `pullRequestId: $id`, or `input: $input` with the id inside.
fn pull_id(query: &str, variables: &Value) -> Option<String> {
    let find = |pattern: &str| {
        let found = Regex::new(pattern).ok()?.captures(query)?.get(1)?.as_str().to_owned();
        Some(found)
    };
    let variable = |name: &str| variables.get(name);
    find(r#"pullRequestId\s*:\s*"([^"]+)""#)
        .or_else(|| variable(&find(r"pullRequestId\s*:\s*\$(\w+)")?)?.as_str().map(str::to_owned))
        .or_else(|| {
            variable(&find(r"input\s*:\s*\$(\w+)")?)?.get("pullRequestId")?.as_str().map(str::to_owned)
        })
}
