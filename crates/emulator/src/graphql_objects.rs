//! What GraphQL can be asked about: pull requests, their review threads and comments, and who wrote them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::auth::require;
use super::graphql::{Arguments, Asking, Refusal};
use super::graphql_mutations::Payload;
use super::json::time;
use super::review_threads::{ReviewComment, ReviewThread, Today};
use super::state::{AccountKind, Comment, Draft, Level, Pull, Repository, Review, State, Thread, World};

/// Something that has fields.
#[derive(Clone)]
pub(crate) enum Object<'w> {
    Query,
    Payload(&'w Payload),
    Repository(&'w Repository),
    Pull(OfPull<'w>),
    ReviewThread(OfPull<'w>, &'w ReviewThread),
    ReviewComment(OfPull<'w>, &'w ReviewThread, &'w ReviewComment),
    Review(OfPull<'w>, &'w Review),
    IssueComment(&'w Repository, &'w Thread, &'w Comment),
    Actor(u64),
    Commit(&'w str),
    /// A part of a list, and how long the list is.
    Connection(Vec<Object<'w>>, Slice),
    PageInfo(Slice),
}

/// A pull request and where it is.
#[derive(Clone, Copy)]
pub(crate) struct OfPull<'w> {
    repository: &'w Repository,
    thread: &'w Thread,
    pull: &'w Pull,
}

/// Which part of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    from: usize,
    to: usize,
    of: usize,
}

/// What a field is.
pub(crate) enum Data<'w> {
    Leaf(Value),
    One(Object<'w>),
    Many(Vec<Object<'w>>),
}

/// A field; none when the type has no such field.
type Field<'w> = Result<Option<Data<'w>>, Refusal>;

fn leaf<'w>(value: Value) -> Field<'w> {
    Ok(Some(Data::Leaf(value)))
}

fn one<'w>(object: Option<Object<'w>>) -> Field<'w> {
    Ok(Some(object.map_or(Data::Leaf(Value::Null), Data::One)))
}

/// The pull request and its number in a repository, when whoever asks may read it.
pub(crate) fn pull<'w>(
    asking: &Asking,
    repository: &'w Repository,
    number: u64,
) -> Result<Option<OfPull<'w>>, Refusal> {
    require(&asking.holder, repository, &[("pull_requests", Level::Read)])?;
    let found = repository.threads.get(&number);
    Ok(found.and_then(|thread| Some(OfPull { repository, thread, pull: thread.pull.as_ref()? })))
}

/// What has this id, when whoever asks may see it.
pub(crate) fn node<'w>(world: &'w World, asking: &Asking, id: &str) -> Result<Object<'w>, Refusal> {
    let missing = || Refusal::no_node(id);
    let (kind, number) = id.split_once('_').ok_or_else(missing)?;
    let number: u64 = number.parse().map_err(|_| missing())?;
    if kind == "U" && world.accounts.contains_key(&number) {
        return Ok(Object::Actor(number));
    }
    for repository in world.repositories.values() {
        let within = |number: u64| -> Result<OfPull<'w>, Refusal> {
            pull(asking, repository, number)?.ok_or_else(missing)
        };
        match kind {
            "PR" => {
                if let Some(thread) = repository.thread_of_pull(number) {
                    return Ok(Object::Pull(within(thread.number)?));
                }
            }
            "PRRT" => {
                if let Some((thread, found)) = repository.review_thread(number) {
                    return Ok(Object::ReviewThread(within(thread.number)?, found));
                }
            }
            "PRRC" => {
                if let Some((thread, of, found)) = repository.review_comment(number) {
                    return Ok(Object::ReviewComment(within(thread.number)?, of, found));
                }
            }
            "IC" => {
                let comments =
                    repository.threads.values().flat_map(|of| of.comments.iter().map(move |one| (of, one)));
                if let Some((of, found)) = comments.into_iter().find(|(_, one)| one.id == number) {
                    let any = [("issues", Level::Read), ("pull_requests", Level::Read)];
                    require(&asking.holder, repository, &any)?;
                    return Ok(Object::IssueComment(repository, of, found));
                }
            }
            _ => return Err(missing()),
        }
    }
    Err(missing())
}

/// The part of a list that the arguments name; they have to name one, of a hundred at most.
fn connection<'w>(name: &str, all: Vec<Object<'w>>, arguments: &Arguments) -> Field<'w> {
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
            return Err(Refusal::new(
                "EXCESSIVE_PAGINATION",
                format!(
                    "Requesting {wanted} records on the `{name}` connection exceeds the `first` limit of 100 records."
                ),
            ));
        }
        (Some(first), _) => to = to.min(from + usize::try_from(first).unwrap_or(100)),
        (None, Some(last)) => from = from.max(to.saturating_sub(usize::try_from(last).unwrap_or(100))),
        (None, None) => {
            return Err(Refusal::new(
                "MISSING_PAGINATION_BOUNDARIES",
                format!(
                    "You must provide a `first` or `last` value to properly paginate the `{name}` connection."
                ),
            ));
        }
    }
    let slice = Slice { from, to, of: all.len() };
    let chosen = all.into_iter().skip(from).take(to - from).collect();
    one(Some(Object::Connection(chosen, slice)))
}

impl<'w> Object<'w> {
    pub(crate) fn type_name(&self, world: &World) -> &'static str {
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
                Some(AccountKind::Bot) => "Bot",
                Some(AccountKind::Person) | None => "User",
            },
            Self::Commit(_) => "Commit",
            Self::Connection(..) => "Connection",
            Self::PageInfo(_) => "PageInfo",
        }
    }

    /// Whether it is of this type, or of an interface that its type has.
    pub(crate) fn is_a(&self, world: &World, name: &str) -> bool {
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
        world: &'w World,
        asking: &Asking,
        name: &str,
        arguments: &Arguments,
    ) -> Field<'w> {
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
                        Refusal::new("NOT_FOUND", message)
                    })?;
                    one(Some(Object::Pull(found)))
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
                "author" => one(Some(Object::Actor(review.author))),
                "submittedAt" => leaf(json!(time(review.at))),
                "viewerDidAuthor" => leaf(json!(review.author == asking.by)),
                "pullRequest" => one(Some(Object::Pull(*of))),
                _ => Ok(None),
            },
            Self::IssueComment(repository, thread, comment) => match name {
                "id" => leaf(json!(format!("IC_{}", comment.id))),
                "fullDatabaseId" => leaf(json!(comment.id.to_string())),
                "databaseId" => leaf(json!(comment.id)),
                "body" => leaf(json!(comment.body)),
                "author" => one(Some(Object::Actor(comment.author))),
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
                "nodes" => Ok(Some(Data::Many(objects.clone()))),
                "totalCount" => leaf(json!(slice.of)),
                "pageInfo" => one(Some(Object::PageInfo(*slice))),
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

fn query<'w>(world: &'w World, asking: &Asking, name: &str, arguments: &Arguments) -> Field<'w> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "repository" => {
            let name = format!("{}/{}", text("owner"), text("name"));
            let missing = || {
                Refusal::new(
                    "NOT_FOUND",
                    format!("Could not resolve to a Repository with the name '{name}'."),
                )
            };
            let found = world.repository(&name).ok_or_else(missing)?;
            // Whoever may not see it is not told that it is there.
            require(&asking.holder, found, &[("metadata", Level::Read)]).map_err(|_| missing())?;
            one(Some(Object::Repository(found)))
        }
        "node" => one(Some(node(world, asking, text("id"))?)),
        "nodes" => {
            let ids = arguments.get("ids").and_then(Value::as_array).into_iter().flatten();
            let ids = ids.filter_map(Value::as_str);
            Ok(Some(Data::Many(ids.map(|id| node(world, asking, id)).collect::<Result<_, _>>()?)))
        }
        _ => Ok(None),
    }
}

impl<'w> OfPull<'w> {
    pub(crate) fn repository(self) -> &'w Repository {
        self.repository
    }

    pub(crate) fn number(self) -> u64 {
        self.thread.number
    }

    fn field(self, world: &'w World, name: &str, arguments: &Arguments) -> Field<'w> {
        let Self { repository, thread, pull } = self;
        match name {
            "id" => leaf(json!(format!("PR_{}", pull.id))),
            "databaseId" => leaf(json!(pull.id)),
            "fullDatabaseId" => leaf(json!(pull.id.to_string())),
            "number" => leaf(json!(thread.number)),
            "title" => leaf(json!(thread.title)),
            "body" => leaf(json!(thread.body)),
            "url" => leaf(json!(world.thread_page(repository, thread))),
            "isDraft" => leaf(json!(pull.draft == Draft::Yes)),
            "headRefOid" => leaf(json!(pull.head_sha)),
            "headRefName" => leaf(json!(pull.head)),
            "baseRefName" => leaf(json!(pull.base)),
            "state" => leaf(json!(match (&pull.merged, thread.state) {
                (Some(_), _) => "MERGED",
                (None, State::Open) => "OPEN",
                (None, State::Closed) => "CLOSED",
            })),
            "mergeable" => leaf(json!(match world.mergeable(repository, thread, pull).0 {
                Some(true) => "MERGEABLE",
                Some(false) => "CONFLICTING",
                None => "UNKNOWN",
            })),
            "author" => one(Some(Object::Actor(thread.author))),
            "repository" => one(Some(Object::Repository(repository))),
            "reviewThreads" => {
                let all = pull.review_threads.iter().map(|found| Object::ReviewThread(self, found));
                connection(name, all.collect(), arguments)
            }
            _ => Ok(None),
        }
    }
}

fn review_thread<'w>(
    of: OfPull<'w>,
    found: &'w ReviewThread,
    name: &str,
    arguments: &Arguments,
) -> Field<'w> {
    let today = || match found.today(of.repository, of.pull) {
        Today::Line { start, line, .. } => (start, Some(line)),
        Today::File | Today::Outdated => (None, None),
    };
    match name {
        "id" => leaf(json!(format!("PRRT_{}", found.id))),
        "path" => leaf(json!(found.path)),
        "isResolved" => leaf(json!(found.resolved_by.is_some())),
        "isOutdated" => leaf(json!(found.today(of.repository, of.pull) == Today::Outdated)),
        "line" => leaf(json!(today().1)),
        "startLine" => leaf(json!(today().0)),
        "originalLine" => leaf(json!(found.place.map(|place| place.line))),
        "originalStartLine" => leaf(json!(found.place.and_then(|place| place.start))),
        "diffSide" => leaf(json!(found.place.map_or("RIGHT", |place| place.side.as_str()))),
        "subjectType" => leaf(json!(if found.place.is_some() { "LINE" } else { "FILE" })),
        "resolvedBy" => one(found.resolved_by.map(Object::Actor)),
        "pullRequest" => one(Some(Object::Pull(of))),
        "repository" => one(Some(Object::Repository(of.repository))),
        "comments" => {
            let all = found.comments.iter().map(|comment| Object::ReviewComment(of, found, comment));
            connection(name, all.collect(), arguments)
        }
        _ => Ok(None),
    }
}

fn review_comment<'w>(
    world: &'w World,
    asking: &Asking,
    of: OfPull<'w>,
    (thread, comment): (&'w ReviewThread, &'w ReviewComment),
    name: &str,
) -> Field<'w> {
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
        "outdated" => leaf(json!(thread.today(of.repository, of.pull) == Today::Outdated)),
        "author" => one(Some(Object::Actor(comment.author))),
        "viewerDidAuthor" => leaf(json!(comment.author == asking.by)),
        "createdAt" => leaf(json!(time(comment.created_at))),
        "updatedAt" => leaf(json!(time(comment.updated_at))),
        "isMinimized" => leaf(json!(comment.minimized.is_some())),
        "minimizedReason" => leaf(json!(comment.minimized)),
        "originalCommit" => one(Some(Object::Commit(&thread.commit))),
        "pullRequest" => one(Some(Object::Pull(of))),
        "pullRequestReview" => {
            let review = of.pull.reviews.iter().find(|review| review.id == comment.review);
            one(review.map(|review| Object::Review(of, review)))
        }
        "replyTo" => {
            let first = thread.comments.first().filter(|first| first.id != comment.id);
            one(first.map(|first| Object::ReviewComment(of, thread, first)))
        }
        _ => Ok(None),
    }
}

fn actor<'w>(world: &World, id: u64, name: &str) -> Field<'w> {
    let is_bot = world.accounts.get(&id).is_some_and(|account| account.kind == AccountKind::Bot);
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
