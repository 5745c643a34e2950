//! Pages for repositories, issues and pull requests. Their forms are in `forms`.

pub(crate) mod forms;
mod markdown;
mod timeline;

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use serde_json::json;

use self::timeline::{TimelineEntry, entries};
use crate::diffs::{DiffSize, FileDiff};
use crate::reply::status;
use crate::state::checks::{CheckConclusion, EmulatedAnnotation, EmulatedCheckRun};
use crate::state::{
    EmulatedAccountKind, EmulatedIssue, EmulatedIssueState, EmulatedRepository, EmulatorState,
    RepositoryRole, SharedEmulatorState,
};
use crate::{diffs, repos};

/// The cookie that names the acting person; there are no passwords.
pub(crate) const ACTING: &str = "acting";

struct PageFrame {
    title: String,
    here: String,
    version: u64,
    acting: String,
    accounts: Vec<String>,
}

struct LabelChip {
    name: String,
    color: String,
    /// Black or white, whichever is readable on the colour.
    ink: &'static str,
}

struct ThreadLine {
    href: String,
    number: u64,
    title: String,
    badge: Badge,
    labels: Vec<LabelChip>,
    author: String,
    comments: usize,
}

#[derive(Clone, Copy)]
struct Badge {
    class: &'static str,
    text: &'static str,
}

struct RepositoryLine {
    full_name: String,
    issues: usize,
    pulls: usize,
}

#[derive(Template)]
#[template(path = "emulator/index.html")]
struct IndexPage {
    frame: PageFrame,
    repositories: Vec<RepositoryLine>,
}

#[derive(Template)]
#[template(path = "emulator/repository.html")]
struct RepositoryPage {
    frame: PageFrame,
    full_name: String,
    default_branch: String,
    git_url: String,
    branches: Vec<(String, String)>,
    issues: Vec<ThreadLine>,
    pulls: Vec<ThreadLine>,
}

struct CommitLine {
    short: String,
    title: String,
    author: String,
}

struct PullPart {
    head: String,
    base: String,
    head_sha: String,
    draft: bool,
    size: DiffSize,
    commits: Vec<CommitLine>,
    files: Vec<FileDiff>,
    checks: Vec<CheckPart>,
    /// People with a pending review request.
    requested: Vec<String>,
    /// Whether git cannot merge it.
    conflicts: bool,
}

/// A check run or a commit status on the head.
struct CheckPart {
    by_app: bool,
    name: String,
    mark: &'static str,
    word: String,
    title: String,
    html: String,
    annotations: Vec<EmulatedAnnotation>,
}

#[derive(Template)]
#[template(path = "emulator/thread.html")]
struct ThreadPage {
    frame: PageFrame,
    full_name: String,
    number: u64,
    title: String,
    badge: Badge,
    author: String,
    open: bool,
    merged: bool,
    may_triage: bool,
    may_close: bool,
    may_write: bool,
    labels: Vec<LabelChip>,
    other_labels: Vec<String>,
    entries: Vec<TimelineEntry>,
    pull: Option<PullPart>,
}

pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/", web::get().to(index))
        .route("/_version", web::get().to(version))
        .route("/{owner}/{name}", web::get().to(repository))
        .route("/{owner}/{name}/{kind:issues|pull}/{number}", web::get().to(thread));
}

/// The acting person: from the cookie, otherwise the owner of the first repository.
pub(crate) fn acting(world: &EmulatorState, request: &HttpRequest) -> u64 {
    let named = request.cookie(ACTING).and_then(|cookie| world.account_by_login(cookie.value()).cloned());
    match named {
        Some(account) if account.kind == EmulatedAccountKind::Person => account.id,
        Some(_) | None => world.repositories.values().next().map_or(0, |found| found.owner),
    }
}

fn frame(
    shared: &SharedEmulatorState,
    world: &EmulatorState,
    request: &HttpRequest,
    title: String,
) -> PageFrame {
    let people = world.accounts.values().filter(|account| account.kind == EmulatedAccountKind::Person);
    PageFrame {
        title,
        here: request.path().to_owned(),
        version: shared.version(),
        acting: world.login(acting(world, request)).to_owned(),
        accounts: people.map(|account| account.login.clone()).collect(),
    }
}

fn show(page: &impl Template) -> HttpResponse {
    show_with(
        page,
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; form-action 'self'",
    )
}

/// Shows a page with another content security policy.
pub(crate) fn show_with(page: &impl Template, policy: &str) -> HttpResponse {
    match page.render() {
        Ok(html) => HttpResponse::Ok()
            .insert_header(("Content-Type", "text/html; charset=utf-8"))
            .insert_header(("Content-Security-Policy", policy))
            .body(html),
        Err(error) => problem(500, &format!("the page could not be made: {error}")),
    }
}

/// A short plain-text page about an error.
pub(crate) fn problem(code: u16, message: &str) -> HttpResponse {
    HttpResponse::build(status(code))
        .insert_header(("Content-Type", "text/plain; charset=utf-8"))
        .body(format!("{code}: {message}\n"))
}

/// The repository, if the visitor may see it.
pub(crate) fn visible<'a>(
    world: &'a EmulatorState,
    request: &HttpRequest,
    owner: &str,
    name: &str,
) -> Option<&'a EmulatedRepository> {
    let found = world.repository(&format!("{owner}/{name}"))?;
    (found.role(acting(world, request)) > RepositoryRole::None).then_some(found)
}

fn chips(repository: &EmulatedRepository, thread: &EmulatedIssue) -> Vec<LabelChip> {
    let named = |name: &String| repository.labels.iter().find(|label| &label.name == name);
    thread
        .labels
        .iter()
        .filter_map(named)
        .map(|label| {
            let part = |at: usize| {
                label.color.get(at..at + 2).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(0)
            };
            let light = part(0) * 299 + part(2) * 587 + part(4) * 114 > 140_000;
            LabelChip {
                name: label.name.clone(),
                color: label.color.clone(),
                ink: if light { "#1f2328" } else { "#ffffff" },
            }
        })
        .collect()
}

fn badge(thread: &EmulatedIssue) -> Badge {
    let (class, text) = match (&thread.pull, thread.state) {
        (Some(pull), _) if pull.merged.is_some() => ("merged", "Merged"),
        (Some(pull), EmulatedIssueState::Open) if pull.draft => ("draft", "Draft"),
        (_, EmulatedIssueState::Open) => ("open", "Open"),
        (Some(_), EmulatedIssueState::Closed) => ("closed", "Closed"),
        (None, EmulatedIssueState::Closed) => ("merged", "Closed"),
    };
    Badge { class, text }
}

fn line(world: &EmulatorState, repository: &EmulatedRepository, thread: &EmulatedIssue) -> ThreadLine {
    ThreadLine {
        href: href(repository, thread),
        number: thread.number,
        title: thread.title.clone(),
        badge: badge(thread),
        labels: chips(repository, thread),
        author: world.login(thread.author).to_owned(),
        comments: thread.comments.len(),
    }
}

fn href(repository: &EmulatedRepository, thread: &EmulatedIssue) -> String {
    let kind = if thread.pull.is_some() { "pull" } else { "issues" };
    format!("/{}/{kind}/{}", repository.full_name, thread.number)
}

/// The newest check run of each name, the App's own first; then commit statuses.
fn check_parts(repository: &EmulatedRepository, sha: &str) -> Vec<CheckPart> {
    let suites = repository.checks.suites.iter().filter(|suite| suite.head_sha == sha);
    let mut runs: Vec<&EmulatedCheckRun> = suites.flat_map(|suite| repository.checks.latest(suite)).collect();
    runs.sort_by_key(|run| (!run.by_app, run.id));
    let runs = runs.into_iter().map(|run| {
        let word = run.conclusion.map_or_else(|| json!(run.status), |one| json!(one));
        CheckPart {
            by_app: run.by_app,
            name: run.name.clone(),
            mark: match run.conclusion {
                None => "●",
                Some(CheckConclusion::Success) => "✓",
                Some(CheckConclusion::Neutral | CheckConclusion::Skipped | CheckConclusion::Cancelled) => "○",
                Some(CheckConclusion::ActionRequired) => "!",
                Some(CheckConclusion::Failure | CheckConclusion::TimedOut) => "✗",
            },
            word: word.as_str().unwrap_or_default().replace('_', " "),
            title: run.title.clone(),
            html: markdown::render(&run.summary, &repository.full_name),
            annotations: run.annotations.clone(),
        }
    });
    let statuses = repository.checks.statuses_of(sha).into_iter().map(|status| CheckPart {
        by_app: false,
        name: status.context.clone(),
        mark: match status.state.as_str() {
            "success" => "✓",
            "pending" => "●",
            _ => "✗",
        },
        word: status.state.clone(),
        title: status.description.clone(),
        html: String::new(),
        annotations: Vec::new(),
    });
    runs.chain(statuses).collect()
}

async fn version(shared: web::Data<Arc<SharedEmulatorState>>) -> HttpResponse {
    HttpResponse::Ok().insert_header(("Cache-Control", "no-store")).body(shared.version().to_string())
}

async fn index(request: HttpRequest, shared: web::Data<Arc<SharedEmulatorState>>) -> HttpResponse {
    let world = shared.lock();
    let count = |found: &EmulatedRepository, pulls: bool| {
        found
            .threads
            .values()
            .filter(|one| one.state == EmulatedIssueState::Open && one.pull.is_some() == pulls)
            .count()
    };
    let repositories = world
        .repositories
        .values()
        .map(|one| RepositoryLine {
            full_name: one.full_name.clone(),
            issues: count(one, false),
            pulls: count(one, true),
        })
        .collect();
    show(&IndexPage { frame: frame(&shared, &world, &request, "Repositories".to_owned()), repositories })
}

async fn repository(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let world = shared.lock();
    let Some(found) = visible(&world, &request, &path.0, &path.1) else {
        return problem(404, "no such repository");
    };
    let lines = |pulls: bool| {
        let chosen = found.threads.values().rev().filter(|one| one.pull.is_some() == pulls);
        chosen.map(|one| line(&world, found, one)).collect()
    };
    show(&RepositoryPage {
        frame: frame(&shared, &world, &request, found.full_name.clone()),
        full_name: found.full_name.clone(),
        default_branch: found.default_branch.clone(),
        git_url: format!("{}/{}.git", world.origin, found.full_name),
        branches: repos::heads(&found.git)
            .into_iter()
            .map(|(name, sha)| (name, sha.chars().take(10).collect()))
            .collect(),
        issues: lines(false),
        pulls: lines(true),
    })
}

async fn thread(
    request: HttpRequest,
    path: web::Path<(String, String, String, u64)>,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let world = shared.lock();
    let (owner, name, kind, number) = path.into_inner();
    let Some(found) = visible(&world, &request, &owner, &name) else {
        return problem(404, "no such repository");
    };
    let Some(thread) = found.threads.get(&number) else {
        return problem(404, "no issue or pull request of this number");
    };
    if (kind == "pull") != thread.pull.is_some() {
        return HttpResponse::Found().insert_header(("Location", href(found, thread))).finish();
    }
    let visitor = acting(&world, &request);
    let role = found.role(visitor);
    let pull = thread.pull.as_ref().map(|pull| PullPart {
        head: pull.head.clone(),
        base: pull.base.clone(),
        head_sha: pull.head_sha.clone(),
        draft: pull.draft,
        size: diffs::size(&found.git, &pull.base_sha, &pull.head_sha).unwrap_or_default(),
        commits: repos::commits(&found.git, Some(&pull.base_sha), &pull.head_sha, 100)
            .into_iter()
            .map(|one| CommitLine {
                short: one.sha.chars().take(10).collect(),
                title: one.message.lines().next().unwrap_or_default().to_owned(),
                author: one.author,
            })
            .collect(),
        files: diffs::diff(&found.git, &pull.base_sha, &pull.head_sha),
        requested: pull.requested.iter().map(|one| world.login(*one).to_owned()).collect(),
        conflicts: repos::head(&found.git, &pull.base)
            .and_then(|base| repos::merges(&found.git, &base, &pull.head_sha))
            .is_some_and(|merges| !merges),
        checks: check_parts(found, &pull.head_sha),
    });
    let other_labels = found
        .labels
        .iter()
        .map(|label| label.name.clone())
        .filter(|name| !thread.labels.contains(name))
        .collect();
    show(&ThreadPage {
        frame: frame(&shared, &world, &request, format!("{} · {}#{number}", thread.title, found.full_name)),
        full_name: found.full_name.clone(),
        number,
        title: thread.title.clone(),
        badge: badge(thread),
        author: world.login(thread.author).to_owned(),
        open: thread.state == EmulatedIssueState::Open,
        merged: thread.pull.as_ref().is_some_and(|pull| pull.merged.is_some()),
        may_triage: role >= RepositoryRole::Triage,
        may_close: role >= RepositoryRole::Triage || thread.author == visitor,
        may_write: role >= RepositoryRole::Write,
        labels: chips(found, thread),
        other_labels,
        entries: entries(&world, found, thread),
        pull,
    })
}
