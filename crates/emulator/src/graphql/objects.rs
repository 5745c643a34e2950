//! What GraphQL can be asked about: pull requests, their review threads and comments, and who wrote them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{FieldArguments, GraphQlCaller, GraphQlError};
use crate::auth::require;
use crate::json::time;
use crate::state::review_threads::{DiffPosition, EmulatedReviewComment, EmulatedReviewThread};
use crate::state::{
    DraftState, EmulatedAccountKind, EmulatedComment, EmulatedIssue, EmulatedIssueState, EmulatedPull,
    EmulatedRepository, EmulatedReview, EmulatorState, PermissionLevel,
};

/// Something that has fields.
#[derive(Clone)]
pub(crate) enum GraphQlObject<'w> {
    Query,
    Payload(&'w MutationPayload),
    Repository(&'w EmulatedRepository),
    Pull(PullNode<'w>),
    ReviewThread(PullNode<'w>, &'w EmulatedReviewThread),
    ReviewComment(PullNode<'w>, &'w EmulatedReviewThread, &'w EmulatedReviewComment),
    Review(PullNode<'w>, &'w EmulatedReview),
    IssueComment(&'w EmulatedRepository, &'w EmulatedIssue, &'w EmulatedComment),
    Actor(u64),
    Commit(&'w str),
    /// A part of a list, and how long the list is.
    Connection(Vec<GraphQlObject<'w>>, ConnectionSlice),
    PageInfo(ConnectionSlice),
}

/// What a mutation answers: one object that it changed.
pub(crate) struct MutationPayload {
    pub type_name: &'static str,
    /// The object's name in it.
    pub field: &'static str,
    /// The object's global id.
    pub node: String,
    pub client: Option<String>,
}

/// A pull request and where it is.
#[derive(Clone, Copy)]
pub(crate) struct PullNode<'w> {
    repository: &'w EmulatedRepository,
    thread: &'w EmulatedIssue,
    pull: &'w EmulatedPull,
}

/// Which part of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionSlice {
    from: usize,
    to: usize,
    of: usize,
}

/// What a field is.
pub(crate) enum FieldData<'w> {
    Leaf(Value),
    One(GraphQlObject<'w>),
    Many(Vec<GraphQlObject<'w>>),
}

/// A field; none when the type has no such field.
type FieldResult<'w> = Result<Option<FieldData<'w>>, GraphQlError>;

fn leaf<'w>(value: Value) -> FieldResult<'w> {
    Ok(Some(FieldData::Leaf(value)))
}

fn one<'w>(object: Option<GraphQlObject<'w>>) -> FieldResult<'w> {
    Ok(Some(object.map_or(FieldData::Leaf(Value::Null), FieldData::One)))
}

/// The pull request and its number in a repository, when whoever asks may read it.
pub(crate) fn pull<'w>(
    asking: &GraphQlCaller,
    repository: &'w EmulatedRepository,
    number: u64,
) -> Result<Option<PullNode<'w>>, GraphQlError> {
    require(&asking.holder, repository, &[("pull_requests", PermissionLevel::Read)])?;
    let found = repository.threads.get(&number);
    Ok(found.and_then(|thread| Some(PullNode { repository, thread, pull: thread.pull.as_ref()? })))
}

/// What has this id, when whoever asks may see it.
pub(crate) fn node<'w>(
    world: &'w EmulatorState,
    asking: &GraphQlCaller,
    id: &str,
) -> Result<GraphQlObject<'w>, GraphQlError> {
    let missing = || GraphQlError::no_node(id);
    let (kind, number) = id.split_once('_').ok_or_else(missing)?;
    let number: u64 = number.parse().map_err(|_| missing())?;
    if kind == "U" && world.accounts.contains_key(&number) {
        return Ok(GraphQlObject::Actor(number));
    }
    for repository in world.repositories.values() {
        let within = |number: u64| -> Result<PullNode<'w>, GraphQlError> {
            pull(asking, repository, number)?.ok_or_else(missing)
        };
        match kind {
            "PR" => {
                if let Some(thread) = repository.thread_of_pull(number) {
                    return Ok(GraphQlObject::Pull(within(thread.number)?));
                }
            }
            "PRRT" => {
                if let Some((thread, found)) = repository.review_thread(number) {
                    return Ok(GraphQlObject::ReviewThread(within(thread.number)?, found));
                }
            }
            "PRRC" => {
                if let Some((thread, of, found)) = repository.review_comment(number) {
                    return Ok(GraphQlObject::ReviewComment(within(thread.number)?, of, found));
                }
            }
            "IC" => {
                let comments =
                    repository.threads.values().flat_map(|of| of.comments.iter().map(move |one| (of, one)));
                if let Some((of, found)) = comments.into_iter().find(|(_, one)| one.id == number) {
                    let any = [("issues", PermissionLevel::Read), ("pull_requests", PermissionLevel::Read)];
                    require(&asking.holder, repository, &any)?;
                    return Ok(GraphQlObject::IssueComment(repository, of, found));
                }
            }
            _ => return Err(missing()),
        }
    }
    Err(missing())
}

/// The part of a list that the arguments name; they have to name one, of a hundred at most.
fn connection<'w>(name: &str, all: Vec<GraphQlObject<'w>>, arguments: &FieldArguments) -> FieldResult<'w> {
    let count = |key: &str| arguments.get(key).and_then(Value::as_u64);
    let after = |key: &str| {
        let bytes = STANDARD.decode(arguments.get(key)?.as_str()?).ok()?;
        String::from_utf8(bytes).ok()?.strip_prefix("cursor:")?.parse::<usize>().ok()
    };
    let (mut from, mut to) = (after("after").unwrap_or(0), after("before").unwrap_or(all.len() + 1) - 1);
    to = to.min(all.len());
    from = from.min(to);
    match (count("first"), count("last")) {
        (Some(wanted), _) | (None, Some(wanted)) if wanted > 100 => {
            return Err(GraphQlError::new(
                "EXCESSIVE_PAGINATION",
                format!(
                    "Requesting {wanted} records on the `{name}` connection exceeds the `first` limit of 100 records."
                ),
            ));
        }
        (Some(first), _) => to = to.min(from + usize::try_from(first).unwrap_or(100)),
        (None, Some(last)) => from = from.max(to.saturating_sub(usize::try_from(last).unwrap_or(100))),
        (None, None) => {
            return Err(GraphQlError::new(
                "MISSING_PAGINATION_BOUNDARIES",
                format!(
                    "You must provide a `first` or `last` value to properly paginate the `{name}` connection."
                ),
            ));
        }
    }
    let slice = ConnectionSlice { from, to, of: all.len() };
    let chosen = all.into_iter().skip(from).take(to - from).collect();
    one(Some(GraphQlObject::Connection(chosen, slice)))
}

impl<'w> GraphQlObject<'w> {
    pub(crate) fn type_name(&self, world: &EmulatorState) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Payload(payload) => payload.type_name,
            Self::Repository(_) => "Repository",
            Self::Pull(_) => "PullRequest",
            Self::ReviewThread(..) => "PullRequestReviewThread",
            Self::ReviewComment(..) => "PullRequestReviewComment",
            Self::Review(..) => "PullRequestReview",
            Self::IssueComment(..) => "IssueComment",
            Self::Actor(id) => match world.accounts.get(id).map(|account| account.kind) {
                Some(EmulatedAccountKind::Bot) => "Bot",
                Some(EmulatedAccountKind::Person) | None => "User",
            },
            Self::Commit(_) => "Commit",
            Self::Connection(..) => "Connection",
            Self::PageInfo(_) => "PageInfo",
        }
    }

    /// Whether it is of this type, or of an interface that its type has.
    pub(crate) fn is_a(&self, world: &EmulatorState, name: &str) -> bool {
        let of = match self {
            Self::ReviewComment(..) | Self::IssueComment(..) => {
                ["Node", "Comment", "Minimizable", "Reactable"].as_slice()
            }
            Self::Review(..) => &["Node", "Comment", "Minimizable", "Reactable"],
            Self::Actor(_) => &["Node", "Actor"],
            Self::Repository(_) | Self::Pull(_) | Self::ReviewThread(..) | Self::Commit(_) => &["Node"],
            Self::Query | Self::Payload(_) | Self::Connection(..) | Self::PageInfo(_) => &[],
        };
        self.type_name(world) == name || of.contains(&name)
    }

    /// The value of a field; none when there is no such field.
    pub(crate) fn field(
        &self,
        world: &'w EmulatorState,
        asking: &GraphQlCaller,
        name: &str,
        arguments: &FieldArguments,
    ) -> FieldResult<'w> {
        if name == "__typename" {
            return leaf(json!(self.type_name(world)));
        }
        match self {
            Self::Query => query(world, asking, name, arguments),
            Self::Payload(payload) if name == "clientMutationId" => leaf(json!(payload.client)),
            Self::Payload(payload) if name == payload.field => one(Some(node(world, asking, &payload.node)?)),
            Self::Payload(_) => Ok(None),
            Self::Repository(found) => match name {
                "id" => leaf(json!(format!("R_{}", found.id))),
                "name" => leaf(json!(found.name)),
                "nameWithOwner" => leaf(json!(found.full_name)),
                "pullRequest" => {
                    let number = arguments.get("number").and_then(Value::as_u64).unwrap_or(0);
                    let found = pull(asking, found, number)?.ok_or_else(|| {
                        let message =
                            format!("Could not resolve to a PullRequest with the number of {number}.");
                        GraphQlError::new("NOT_FOUND", message)
                    })?;
                    one(Some(GraphQlObject::Pull(found)))
                }
                _ => Ok(None),
            },
            Self::Pull(of) => of.field(world, name, arguments),
            Self::ReviewThread(of, thread) => review_thread(*of, thread, name, arguments),
            Self::ReviewComment(of, thread, comment) => {
                review_comment(world, asking, *of, (thread, comment), name)
            }
            Self::Review(of, review) => match name {
                "id" => leaf(json!(format!("PRR_{}", review.id))),
                "fullDatabaseId" => leaf(json!(review.id.to_string())),
                "databaseId" => leaf(json!(review.id)),
                "body" => leaf(json!(review.body)),
                "state" => leaf(json!(review.state.as_str().to_ascii_uppercase())),
                "author" => one(Some(GraphQlObject::Actor(review.author))),
                "submittedAt" => leaf(json!(time(review.at))),
                "viewerDidAuthor" => leaf(json!(review.author == asking.by)),
                "pullRequest" => one(Some(GraphQlObject::Pull(*of))),
                _ => Ok(None),
            },
            Self::IssueComment(repository, thread, comment) => match name {
                "id" => leaf(json!(format!("IC_{}", comment.id))),
                "fullDatabaseId" => leaf(json!(comment.id.to_string())),
                "databaseId" => leaf(json!(comment.id)),
                "body" => leaf(json!(comment.body)),
                "author" => one(Some(GraphQlObject::Actor(comment.author))),
                "createdAt" => leaf(json!(time(comment.created_at))),
                "updatedAt" => leaf(json!(time(comment.updated_at))),
                "viewerDidAuthor" => leaf(json!(comment.author == asking.by)),
                "isMinimized" => leaf(json!(comment.minimized.is_some())),
                "minimizedReason" => leaf(json!(comment.minimized)),
                "url" => leaf(world.comment_json(repository, thread, comment)["html_url"].clone()),
                _ => Ok(None),
            },
            Self::Actor(id) => actor(world, *id, name),
            Self::Commit(sha) => match name {
                "oid" => leaf(json!(sha)),
                "abbreviatedOid" => leaf(json!(sha.get(..7))),
                _ => Ok(None),
            },
            Self::Connection(objects, slice) => match name {
                "nodes" => Ok(Some(FieldData::Many(objects.clone()))),
                "totalCount" => leaf(json!(slice.of)),
                "pageInfo" => one(Some(GraphQlObject::PageInfo(*slice))),
                _ => Ok(None),
            },
            Self::PageInfo(slice) => {
                // A cursor stands behind what it names.
                let cursor =
                    |at: usize| (slice.to > slice.from).then(|| STANDARD.encode(format!("cursor:{at}")));
                match name {
                    "hasNextPage" => leaf(json!(slice.to < slice.of)),
                    "hasPreviousPage" => leaf(json!(slice.from > 0)),
                    "endCursor" => leaf(json!(cursor(slice.to))),
                    "startCursor" => leaf(json!(cursor(slice.from + 1))),
                    _ => Ok(None),
                }
            }
        }
    }
}

fn query<'w>(
    world: &'w EmulatorState,
    asking: &GraphQlCaller,
    name: &str,
    arguments: &FieldArguments,
) -> FieldResult<'w> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "repository" => {
            let name = format!("{}/{}", text("owner"), text("name"));
            let missing = || {
                GraphQlError::new(
                    "NOT_FOUND",
                    format!("Could not resolve to a Repository with the name '{name}'."),
                )
            };
            let found = world.repository(&name).ok_or_else(missing)?;
            // Whoever may not see it is not told that it is there.
            require(&asking.holder, found, &[("metadata", PermissionLevel::Read)]).map_err(|_| missing())?;
            one(Some(GraphQlObject::Repository(found)))
        }
        "node" => one(Some(node(world, asking, text("id"))?)),
        "nodes" => {
            let ids = arguments.get("ids").and_then(Value::as_array).into_iter().flatten();
            let ids = ids.filter_map(Value::as_str);
            Ok(Some(FieldData::Many(ids.map(|id| node(world, asking, id)).collect::<Result<_, _>>()?)))
        }
        _ => Ok(None),
    }
}

impl<'w> PullNode<'w> {
    pub(crate) fn repository(self) -> &'w EmulatedRepository {
        self.repository
    }

    pub(crate) fn number(self) -> u64 {
        self.thread.number
    }

    fn field(self, world: &'w EmulatorState, name: &str, arguments: &FieldArguments) -> FieldResult<'w> {
        let Self { repository, thread, pull } = self;
        match name {
            "id" => leaf(json!(format!("PR_{}", pull.id))),
            "databaseId" => leaf(json!(pull.id)),
            "fullDatabaseId" => leaf(json!(pull.id.to_string())),
            "number" => leaf(json!(thread.number)),
            "title" => leaf(json!(thread.title)),
            "body" => leaf(json!(thread.body)),
            "url" => leaf(json!(world.thread_page(repository, thread))),
            "isDraft" => leaf(json!(pull.draft == DraftState::Yes)),
            "headRefOid" => leaf(json!(pull.head_sha)),
            "headRefName" => leaf(json!(pull.head)),
            "baseRefName" => leaf(json!(pull.base)),
            "state" => leaf(json!(match (&pull.merged, thread.state) {
                (Some(_), _) => "MERGED",
                (None, EmulatedIssueState::Open) => "OPEN",
                (None, EmulatedIssueState::Closed) => "CLOSED",
            })),
            "mergeable" => leaf(json!(match world.mergeable(repository, thread, pull).0 {
                Some(true) => "MERGEABLE",
                Some(false) => "CONFLICTING",
                None => "UNKNOWN",
            })),
            "author" => one(Some(GraphQlObject::Actor(thread.author))),
            "repository" => one(Some(GraphQlObject::Repository(repository))),
            "reviewThreads" => {
                let all = pull.review_threads.iter().map(|found| GraphQlObject::ReviewThread(self, found));
                connection(name, all.collect(), arguments)
            }
            _ => Ok(None),
        }
    }
}

fn review_thread<'w>(
    of: PullNode<'w>,
    found: &'w EmulatedReviewThread,
    name: &str,
    arguments: &FieldArguments,
) -> FieldResult<'w> {
    let today = || match found.current_position(of.repository, of.pull) {
        DiffPosition::Line { start, line, .. } => (start, Some(line)),
        DiffPosition::File | DiffPosition::Outdated => (None, None),
    };
    match name {
        "id" => leaf(json!(format!("PRRT_{}", found.id))),
        "path" => leaf(json!(found.path)),
        "isResolved" => leaf(json!(found.resolved_by.is_some())),
        "isOutdated" => leaf(json!(found.current_position(of.repository, of.pull) == DiffPosition::Outdated)),
        "line" => leaf(json!(today().1)),
        "startLine" => leaf(json!(today().0)),
        "originalLine" => leaf(json!(found.location.map(|place| place.line))),
        "originalStartLine" => leaf(json!(found.location.and_then(|place| place.start))),
        "diffSide" => leaf(json!(found.location.map_or("RIGHT", |place| place.side.as_str()))),
        "subjectType" => leaf(json!(if found.location.is_some() { "LINE" } else { "FILE" })),
        "resolvedBy" => one(found.resolved_by.map(GraphQlObject::Actor)),
        "pullRequest" => one(Some(GraphQlObject::Pull(of))),
        "repository" => one(Some(GraphQlObject::Repository(of.repository))),
        "comments" => {
            let all = found.comments.iter().map(|comment| GraphQlObject::ReviewComment(of, found, comment));
            connection(name, all.collect(), arguments)
        }
        _ => Ok(None),
    }
}

fn review_comment<'w>(
    world: &'w EmulatorState,
    asking: &GraphQlCaller,
    of: PullNode<'w>,
    (thread, comment): (&'w EmulatedReviewThread, &'w EmulatedReviewComment),
    name: &str,
) -> FieldResult<'w> {
    let rest =
        |field: &str| world.review_comment_json(of.repository, of.thread, thread, comment)[field].clone();
    match name {
        "id" => leaf(json!(format!("PRRC_{}", comment.id))),
        "databaseId" => leaf(json!(comment.id)),
        "fullDatabaseId" => leaf(json!(comment.id.to_string())),
        "body" => leaf(json!(comment.body)),
        "path" => leaf(json!(thread.path)),
        "diffHunk" => leaf(json!(thread.hunk)),
        "line" | "url" | "originalLine" => leaf(rest(match name {
            "url" => "html_url",
            "line" => "line",
            _ => "original_line",
        })),
        "outdated" => leaf(json!(thread.current_position(of.repository, of.pull) == DiffPosition::Outdated)),
        "author" => one(Some(GraphQlObject::Actor(comment.author))),
        "viewerDidAuthor" => leaf(json!(comment.author == asking.by)),
        "createdAt" => leaf(json!(time(comment.created_at))),
        "updatedAt" => leaf(json!(time(comment.updated_at))),
        "isMinimized" => leaf(json!(comment.minimized.is_some())),
        "minimizedReason" => leaf(json!(comment.minimized)),
        "originalCommit" => one(Some(GraphQlObject::Commit(&thread.commit))),
        "pullRequest" => one(Some(GraphQlObject::Pull(of))),
        "pullRequestReview" => {
            let review = of.pull.reviews.iter().find(|review| review.id == comment.review);
            one(review.map(|review| GraphQlObject::Review(of, review)))
        }
        "replyTo" => {
            let first = thread.comments.first().filter(|first| first.id != comment.id);
            one(first.map(|first| GraphQlObject::ReviewComment(of, thread, first)))
        }
        _ => Ok(None),
    }
}

fn actor<'w>(world: &EmulatorState, id: u64, name: &str) -> FieldResult<'w> {
    let is_bot = world.accounts.get(&id).is_some_and(|account| account.kind == EmulatedAccountKind::Bot);
    match name {
        // Here a bot's name has no "[bot]" behind it.
        "login" if is_bot => leaf(json!(world.login(id).trim_end_matches("[bot]"))),
        "login" => leaf(json!(world.login(id))),
        "id" => leaf(json!(format!("U_{id}"))),
        "databaseId" => leaf(json!(id)),
        "url" => leaf(world.user_json(id)["html_url"].clone()),
        _ => Ok(None),
    }
}
