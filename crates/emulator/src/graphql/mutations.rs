//! What can be done by GraphQL and not by REST: drafts made ready, threads settled, comments folded away.

use serde_json::Value;

use super::objects::{GraphQlObject, MutationPayload, node};
use super::{FieldArguments, GraphQlCaller, GraphQlError, undefined_mutation};
use crate::auth::require;
use crate::state::{DraftState, EmulatorState, PermissionLevel};

/// What may be minimized, and as what.
const CLASSIFIERS: [&str; 6] = ["ABUSE", "DUPLICATE", "OFF_TOPIC", "OUTDATED", "RESOLVED", "SPAM"];

pub(crate) fn mutate(
    world: &mut EmulatorState,
    asking: &GraphQlCaller,
    name: &str,
    arguments: &FieldArguments,
) -> Result<MutationPayload, GraphQlError> {
    let input = arguments.get("input").unwrap_or(&Value::Null);
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (type_name, field, node) = match name {
        "markPullRequestReadyForReview" | "convertPullRequestToDraft" => {
            let id = text("pullRequestId");
            let (draft, type_name) = if name == "markPullRequestReadyForReview" {
                (DraftState::No, "MarkPullRequestReadyForReviewPayload")
            } else {
                (DraftState::Yes, "ConvertPullRequestToDraftPayload")
            };
            let (repository, number, _) = writable(world, asking, &id, "PR")?;
            world.set_draft(&repository, number, draft, asking.by)?;
            (type_name, "pullRequest", id)
        }
        "resolveReviewThread" | "unresolveReviewThread" => {
            let id = text("threadId");
            let (resolved, type_name) = if name == "resolveReviewThread" {
                (true, "ResolveReviewThreadPayload")
            } else {
                (false, "UnresolveReviewThreadPayload")
            };
            let (repository, _, thread) = writable(world, asking, &id, "PRRT")?;
            world.resolve(&repository, thread, resolved, asking.by)?;
            (type_name, "thread", id)
        }
        "minimizeComment" | "unminimizeComment" => {
            let id = text("subjectId");
            let (why, type_name, field) = if name == "minimizeComment" {
                let classifier = text("classifier");
                if !CLASSIFIERS.contains(&classifier.as_str()) {
                    let message = format!("Argument 'classifier' has an invalid value ({classifier})");
                    return Err(GraphQlError::new("argumentLiteralsIncompatible", message));
                }
                let why = classifier.to_ascii_lowercase().replace('_', "-");
                (Some(why), "MinimizeCommentPayload", "minimizedComment")
            } else {
                (None, "UnminimizeCommentPayload", "unminimizedComment")
            };
            let (repository, comment) = minimizable(world, asking, &id)?;
            world.minimize(&repository, comment, why)?;
            (type_name, field, id)
        }
        _ => return Err(undefined_mutation(name)),
    };
    let client = input.get("clientMutationId").and_then(Value::as_str).map(str::to_owned);
    Ok(MutationPayload { type_name, field, node, client })
}

/// The repository, the pull request and the thread (or else 0) that an id names. What changes how a pull request
/// stands takes write access to contents, too, as an App finds out to its surprise.
fn writable(
    world: &EmulatorState,
    asking: &GraphQlCaller,
    id: &str,
    kind: &str,
) -> Result<(String, u64, u64), GraphQlError> {
    if id.split_once('_').is_none_or(|(found, _)| found != kind) {
        return Err(GraphQlError::no_node(id));
    }
    let (repository, number, thread) = match node(world, asking, id)? {
        GraphQlObject::Pull(of) => (of.repository(), of.number(), 0),
        GraphQlObject::ReviewThread(of, thread) => (of.repository(), of.number(), thread.id),
        GraphQlObject::Query
        | GraphQlObject::Payload(_)
        | GraphQlObject::Repository(_)
        | GraphQlObject::ReviewComment(..)
        | GraphQlObject::Review(..)
        | GraphQlObject::IssueComment(..)
        | GraphQlObject::Actor(_)
        | GraphQlObject::Commit(_)
        | GraphQlObject::Connection(..)
        | GraphQlObject::PageInfo(_) => return Err(GraphQlError::no_node(id)),
    };
    for name in ["pull_requests", "contents"] {
        require(&asking.holder, repository, &[(name, PermissionLevel::Write)])?;
    }
    Ok((repository.full_name.clone(), number, thread))
}

/// The repository of a comment, and the comment as [`EmulatorState::minimize`] names it.
fn minimizable(
    world: &EmulatorState,
    asking: &GraphQlCaller,
    id: &str,
) -> Result<(String, (bool, u64)), GraphQlError> {
    let (repository, any, comment) = match node(world, asking, id)? {
        GraphQlObject::ReviewComment(of, _, comment) => {
            (of.repository(), [("pull_requests", PermissionLevel::Write)].as_slice(), (true, comment.id))
        }
        GraphQlObject::IssueComment(repository, thread, comment) => {
            let any: &[_] = if thread.pull.is_some() {
                &[("issues", PermissionLevel::Write), ("pull_requests", PermissionLevel::Write)]
            } else {
                &[("issues", PermissionLevel::Write)]
            };
            (repository, any, (false, comment.id))
        }
        GraphQlObject::Query
        | GraphQlObject::Payload(_)
        | GraphQlObject::Repository(_)
        | GraphQlObject::Pull(_)
        | GraphQlObject::ReviewThread(..)
        | GraphQlObject::Review(..)
        | GraphQlObject::Actor(_)
        | GraphQlObject::Commit(_)
        | GraphQlObject::Connection(..)
        | GraphQlObject::PageInfo(_) => return Err(GraphQlError::no_node(id)),
    };
    require(&asking.holder, repository, any)?;
    Ok((repository.full_name.clone(), comment))
}
