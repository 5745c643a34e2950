//! The entry point of GraphQL: parses a document, runs its operation, and returns only the requested fields. Objects
//! are JSON with all fields that exist here. A list is a connection if part of it is requested.

use async_graphql_parser::parse_query;
use async_graphql_parser::types::{DocumentOperations, ExecutableDocument, Field, Selection, SelectionSet};
use serde_json::{Map, Value, json};

use crate::auth::require;
use crate::mutations::pulls::closing_references;
use crate::reply::{ActResult, EmulatedApiError, EmulatedApiReply};
use crate::request::EmulatedApiRequest;
use crate::state::{
    EmulatedAccountKind, EmulatedComment, EmulatedIssue, EmulatedPull, EmulatedRepository,
    EmulatedReviewThread, EmulatorState, PermissionLevel, TokenHolder,
};

/// An error rejects the whole request; 400 means that the document is wrong.
type GraphQlResult = ActResult<Value>;

fn undefined(name: &str, of: &str) -> EmulatedApiError {
    EmulatedApiError::new(400, format!("Field '{name}' doesn't exist on type '{of}'"))
}

fn error_json(error: &EmulatedApiError) -> Value {
    match error.status {
        400 => json!({"extensions": {"code": "undefinedField"}, "message": error.message}),
        403 => json!({"type": "FORBIDDEN", "message": error.message}),
        404 => json!({"type": "NOT_FOUND", "message": error.message}),
        _ => json!({"type": "UNPROCESSABLE", "message": error.message}),
    }
}

/// A field's arguments with variables substituted.
type FieldArguments = Map<String, Value>;

/// The context for selecting fields.
struct FieldSelector<'a> {
    holder: &'a TokenHolder,
    by: u64,
    document: &'a ExecutableDocument,
    variables: &'a Value,
}

/// What a global id refers to.
enum NodePlace<'w> {
    Pull(&'w EmulatedRepository, &'w EmulatedIssue, &'w EmulatedPull),
    Thread(&'w EmulatedRepository, &'w EmulatedIssue, &'w EmulatedPull, &'w EmulatedReviewThread),
}

pub(crate) fn serve(world: &mut EmulatorState, request: &EmulatedApiRequest) -> ActResult {
    let (holder, by) = (request.holder()?.clone(), request.actor(world)?);
    let told = match parse_query(request.text("query").unwrap_or_default()) {
        Ok(document) => {
            let variables = request.body.get("variables").unwrap_or(&Value::Null);
            FieldSelector { holder: &holder, by, document: &document, variables }.carry_out(world)
        }
        Err(error) => Err(EmulatedApiError::new(400, error.to_string())),
    };
    Ok(EmulatedApiReply::ok(match told {
        Ok(data) => json!({"data": data}),
        Err(error) => json!({"data": null, "errors": [error_json(&error)]}),
    }))
}

impl FieldSelector<'_> {
    /// Runs each field of the operation, then selects the requested fields of its result.
    fn carry_out(&self, world: &mut EmulatorState) -> GraphQlResult {
        let DocumentOperations::Single(operation) = &self.document.operations else {
            return Err(EmulatedApiError::new(400, "Which operation is meant?"));
        };
        let mut told = Map::new();
        for selection in &operation.node.selection_set.node.items {
            let Selection::Field(field) = &selection.node else { continue };
            let field = &field.node;
            let found = self.root(world, field.name.node.as_str(), &self.arguments(field))?;
            let value = self.select(world, &found, &field.selection_set.node)?;
            told.insert(field.response_key().node.to_string(), value);
        }
        Ok(Value::Object(told))
    }

    fn root(&self, world: &mut EmulatorState, name: &str, arguments: &FieldArguments) -> GraphQlResult {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        let input = |key: &str| {
            let input = arguments.get("input").and_then(|input| input.get(key));
            input.and_then(Value::as_str).unwrap_or_default()
        };
        match name {
            "repository" => {
                let name = format!("{}/{}", text("owner"), text("name"));
                let missing = || {
                    let message = format!("Could not resolve to a Repository with the name '{name}'.");
                    EmulatedApiError::new(404, message)
                };
                let found = world.repository(&name).ok_or_else(missing)?;
                // Hides its existence from callers who may not see it.
                self.may(found, "metadata", PermissionLevel::Read).map_err(|_| missing())?;
                Ok(json!({"__typename": "Repository", "nameWithOwner": found.full_name}))
            }
            "node" => self.node(world, text("id")),
            "markPullRequestReadyForReview" => {
                let id = input("pullRequestId");
                let (repository, number) = self.writable(world, id)?;
                world.mark_ready(&repository, number, self.by)?;
                Ok(json!({"pullRequest": self.node(world, id)?}))
            }
            "resolveReviewThread" => {
                let id = input("threadId");
                let (repository, _) = self.writable(world, id)?;
                world.resolve(&repository, number_of(id), true, self.by)?;
                Ok(json!({"thread": self.node(world, id)?}))
            }
            _ => Err(undefined(name, "Query or Mutation")),
        }
    }

    fn may(
        &self,
        repository: &EmulatedRepository,
        permission: &str,
        level: PermissionLevel,
    ) -> ActResult<()> {
        require(self.holder, repository, &[(permission, level)])
    }

    /// The repository and number of a pull request, or of a thread's pull request. Changing its state also requires
    /// write access to contents, as on GitHub.
    fn writable(&self, world: &EmulatorState, id: &str) -> ActResult<(String, u64)> {
        let (NodePlace::Pull(found, issue, _) | NodePlace::Thread(found, issue, ..)) = place(world, id)?;
        for name in ["pull_requests", "contents"] {
            self.may(found, name, PermissionLevel::Write)?;
        }
        Ok((found.full_name.clone(), issue.number))
    }

    /// The object with this id, if the caller may see it.
    fn node(&self, world: &EmulatorState, id: &str) -> GraphQlResult {
        match place(world, id)? {
            NodePlace::Pull(found, _, pull) => {
                self.may(found, "pull_requests", PermissionLevel::Read)?;
                Ok(json!({"__typename": "PullRequest", "id": id, "isDraft": pull.draft}))
            }
            NodePlace::Thread(found, issue, pull, of) => {
                self.may(found, "pull_requests", PermissionLevel::Read)?;
                Ok(self.thread(world, found, (issue.number, pull), of))
            }
        }
    }

    fn pull(&self, world: &EmulatorState, repository: &str, number: u64) -> GraphQlResult {
        let found = world.require_repository(repository)?;
        self.may(found, "pull_requests", PermissionLevel::Read)?;
        let issue = found.threads.get(&number);
        let Some((issue, pull)) = issue.and_then(|issue| Some((issue, issue.pull.as_ref()?))) else {
            let message = format!("Could not resolve to a PullRequest with the number of {number}.");
            return Err(EmulatedApiError::new(404, message));
        };
        let threads = pull.review_threads.iter().map(|of| self.thread(world, found, (number, pull), of));
        let threads: Vec<Value> = threads.collect();
        let closes = closing_references(&issue.body).into_iter();
        let closes =
            closes.filter_map(|number| found.threads.get(&number).filter(|issue| issue.pull.is_none()));
        let closes: Vec<Value> = closes
            .map(|issue| {
                let labels: Vec<Value> = issue.labels.iter().map(|name| json!({"name": name})).collect();
                json!({
                    "__typename": "Issue", "number": issue.number, "title": issue.title, "body": issue.body,
                    "url": world.thread_page(found, issue), "labels": labels,
                })
            })
            .collect();
        Ok(json!({
            "__typename": "PullRequest", "number": number, "reviewThreads": threads,
            "closingIssuesReferences": closes,
        }))
    }

    fn thread(
        &self,
        world: &EmulatorState,
        repository: &EmulatedRepository,
        (number, pull): (u64, &EmulatedPull),
        of: &EmulatedReviewThread,
    ) -> Value {
        let line = of.current_line(repository, pull);
        let comments: Vec<Value> = of.comments.iter().map(|one| self.comment(world, of, one)).collect();
        json!({
            "__typename": "PullRequestReviewThread", "id": format!("PRRT_{}", of.id), "path": of.path,
            "isResolved": of.resolved_by.is_some(), "line": line, "originalLine": of.line, "diffSide": "RIGHT",
            "pullRequest": {"number": number}, "comments": comments,
        })
    }

    fn comment(&self, world: &EmulatorState, of: &EmulatedReviewThread, comment: &EmulatedComment) -> Value {
        let author = world.accounts.get(&comment.author);
        let is_bot = author.is_some_and(|account| account.kind == EmulatedAccountKind::Bot);
        json!({
            "__typename": "PullRequestReviewComment", "fullDatabaseId": comment.id.to_string(),
            "body": comment.body, "viewerDidAuthor": comment.author == self.by, "diffHunk": of.hunk,
            "pullRequestReview": {"fullDatabaseId": comment.review.map(|id| id.to_string())},
            // In GraphQL, a bot's login has no "[bot]" suffix.
            "author": {
                "__typename": if is_bot { "Bot" } else { "User" },
                "login": world.login(comment.author).trim_end_matches("[bot]"), "databaseId": comment.author,
            },
        })
    }

    fn select(&self, world: &EmulatorState, of: &Value, set: &SelectionSet) -> GraphQlResult {
        if set.items.is_empty() || of.is_null() {
            return Ok(of.clone());
        }
        if let Value::Array(all) = of {
            return all.iter().map(|one| self.select(world, one, set)).collect();
        }
        let mut told = Map::new();
        self.fields(world, of, set, &mut told)?;
        Ok(Value::Object(told))
    }

    fn fields(
        &self,
        world: &EmulatorState,
        of: &Value,
        set: &SelectionSet,
        told: &mut Map<String, Value>,
    ) -> ActResult<()> {
        for selection in &set.items {
            let (on, within) = match &selection.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    let value = self.value(world, of, field)?;
                    let value = self.select(world, &value, &field.selection_set.node)?;
                    told.insert(field.response_key().node.to_string(), value);
                    continue;
                }
                Selection::InlineFragment(one) => {
                    let condition = one.node.type_condition.as_ref();
                    (condition.map(|on| on.node.on.node.as_str()), &one.node.selection_set.node)
                }
                Selection::FragmentSpread(one) => {
                    let name = one.node.fragment_name.node.as_str();
                    let found = self.document.fragments.get(name);
                    let found = found.ok_or_else(|| undefined(name, "the document"))?;
                    (Some(found.node.type_condition.node.on.node.as_str()), &found.node.selection_set.node)
                }
            };
            if on.is_none_or(|on| of["__typename"] == on) {
                self.fields(world, of, within, told)?;
            }
        }
        Ok(())
    }

    fn value(&self, world: &EmulatorState, of: &Value, field: &Field) -> GraphQlResult {
        let (name, arguments) = (field.name.node.as_str(), self.arguments(field));
        if let (Some(repository), "pullRequest") = (of["nameWithOwner"].as_str(), name) {
            let number = arguments.get("number").and_then(Value::as_u64).unwrap_or(0);
            return self.pull(world, repository, number);
        }
        match of.get(name) {
            Some(Value::Array(all)) if name != "nodes" => Ok(connection(all, &arguments)),
            Some(value) => Ok(value.clone()),
            None => Err(undefined(name, of["__typename"].as_str().unwrap_or_default())),
        }
    }

    /// A variable that was not given is null.
    fn arguments(&self, field: &Field) -> FieldArguments {
        let variable = |name: &str| self.variables.get(name).cloned().unwrap_or_default();
        let known = field.arguments.iter().filter_map(|(name, value)| {
            let value = value.node.clone().into_const_with(|one| variable(&one).try_into());
            Some((name.node.to_string(), value.ok()?.into_json().ok()?))
        });
        known.collect()
    }
}

fn number_of(id: &str) -> u64 {
    id.split_once('_').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

fn place<'w>(world: &'w EmulatorState, id: &str) -> ActResult<NodePlace<'w>> {
    let (kind, number) = (id.split_once('_').map_or("", |(kind, _)| kind), number_of(id));
    let found = world.repositories.values().find_map(|found| match kind {
        "PR" => {
            let issue = found.thread_of_pull(number)?;
            Some(NodePlace::Pull(found, issue, issue.pull.as_ref()?))
        }
        "PRRT" => {
            let (issue, thread) = found.review_thread(number)?;
            Some(NodePlace::Thread(found, issue, issue.pull.as_ref()?, thread))
        }
        _ => None,
    });
    found.ok_or_else(|| {
        EmulatedApiError::new(404, format!("Could not resolve to a node with the global id of '{id}'"))
    })
}

/// The requested part of a list, at most a hundred. A cursor is the number of items before it.
fn connection(all: &[Value], arguments: &FieldArguments) -> Value {
    let count = |key: &str| {
        let wanted = arguments.get(key).and_then(Value::as_u64)?;
        usize::try_from(wanted.min(100)).ok()
    };
    let after = arguments.get("after").and_then(Value::as_str).and_then(|cursor| cursor.parse().ok());
    let (from, to) = match (count("first"), after.unwrap_or(0_usize)) {
        (Some(first), after) => (after, all.len().min(after + first)),
        (None, _) => (all.len().saturating_sub(count("last").unwrap_or(0)), all.len()),
    };
    let nodes: Vec<&Value> = all.iter().skip(from).take(to.saturating_sub(from)).collect();
    json!({"nodes": nodes, "pageInfo": {"hasNextPage": to < all.len(), "endCursor": to.to_string()}})
}
