//! The pages' forms, submitted as the person the visitor chose, within that person's role.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::{HttpRequest, HttpResponse, web};

use super::{ACTING, acting, problem, visible};
use crate::mutations::reviews::{NewReview, NewReviewComment};
use crate::reply::{ActResult, EmulatedApiError};
use crate::request::header;
use crate::state::{EmulatedIssueState, EmulatorState, RepositoryRole, ReviewState, SharedEmulatorState};

type FormFields = web::Form<HashMap<String, String>>;

pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/_as", web::post().to(act_as))
        .route("/{owner}/{name}/issues", web::post().to(open))
        .route("/{owner}/{name}/{kind:issues|pull}/{number}/{act}", web::post().to(act));
}

/// Rejects forms that were not sent from our own pages.
pub(crate) fn foreign(request: &HttpRequest) -> bool {
    let site = header(request.headers(), "sec-fetch-site");
    let origin = header(request.headers(), "origin");
    let host = header(request.headers(), "host");
    !(site.is_empty() || site == "same-origin" || site == "none")
        || !(origin.is_empty() || origin == format!("http://{host}"))
}

pub(crate) fn refused() -> HttpResponse {
    problem(403, "this form was not sent from a page of the emulator")
}

fn see(location: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header(("Location", location)).finish()
}

async fn act_as(request: HttpRequest, fields: FormFields) -> HttpResponse {
    if foreign(&request) {
        return refused();
    }
    let login: String = fields
        .get("login")
        .into_iter()
        .flat_map(|text| text.chars())
        .filter(|c| c.is_ascii_graphic() && *c != ';')
        .collect();
    let back = fields
        .get("back")
        .filter(|back| back.starts_with('/') && !back.starts_with("//") && !back.contains('\\'));
    let cookie = Cookie::build(ACTING, login).path("/").same_site(SameSite::Strict).http_only(true).finish();
    HttpResponse::SeeOther()
        .insert_header(("Location", back.map_or("/", String::as_str)))
        .cookie(cookie)
        .finish()
}

async fn open(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    fields: FormFields,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    if foreign(&request) {
        return refused();
    }
    let field = |name: &str| fields.get(name).map_or("", String::as_str).replace("\r\n", "\n");
    let opened = shared.change(|world| {
        let by = acting(world, &request);
        let full_name = visible(world, &request, &path.0, &path.1)
            .ok_or_else(EmulatedApiError::not_found)?
            .full_name
            .clone();
        let number = world.open_issue(&full_name, by, &field("title"), &field("body"))?;
        Ok::<_, EmulatedApiError>(format!("/{full_name}/issues/{number}"))
    });
    match opened {
        Ok(location) => see(&location),
        Err(error) => problem(error.status, &error.to_string()),
    }
}

async fn act(
    request: HttpRequest,
    path: web::Path<(String, String, String, u64, String)>,
    fields: FormFields,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    if foreign(&request) {
        return refused();
    }
    let (owner, name, kind, number, act) = path.into_inner();
    let done = shared.change(|world| {
        let full_name = visible(world, &request, &owner, &name)
            .ok_or_else(EmulatedApiError::not_found)?
            .full_name
            .clone();
        let by = acting(world, &request);
        carry_out(world, &full_name, number, &act, by, &fields)
    });
    match done {
        Ok(()) => see(&format!("/{owner}/{name}/{kind}/{number}")),
        Err(error) => problem(error.status, &error.to_string()),
    }
}

fn carry_out(
    world: &mut EmulatorState,
    repository: &str,
    number: u64,
    act: &str,
    by: u64,
    fields: &HashMap<String, String>,
) -> ActResult<()> {
    let text = |name: &str| fields.get(name).map_or("", String::as_str).replace("\r\n", "\n");
    let role = world.require_repository(repository)?.role(by);
    let own = world.thread(repository, number)?.author == by;
    let needs = |least: RepositoryRole| {
        let message = "this person may not do that here";
        if role >= least { Ok(()) } else { Err(EmulatedApiError::new(403, message)) }
    };
    match act {
        "comment" => world.comment(repository, number, by, &text("body")).map(drop),
        "label" => {
            needs(RepositoryRole::Triage)?;
            world.add_labels(repository, number, &[text("label").trim().to_owned()], by)
        }
        "unlabel" => {
            needs(RepositoryRole::Triage)?;
            world.remove_label(repository, number, &text("label"), by)
        }
        "close" | "reopen" => {
            if !own {
                needs(RepositoryRole::Triage)?;
            }
            let state = if act == "close" { EmulatedIssueState::Closed } else { EmulatedIssueState::Open };
            world.set_state(repository, number, state, by)
        }
        "review" => {
            let state = match text("state").as_str() {
                "approve" => ReviewState::Approved,
                "request_changes" => ReviewState::ChangesRequested,
                _ => ReviewState::Commented,
            };
            world.review(repository, number, by, new_review(state, text)?).map(drop)
        }
        "reply" => {
            let to = text("to").parse().map_err(|_| EmulatedApiError::not_found())?;
            world.reply(repository, number, to, by, &text("body")).map(drop)
        }
        "resolve" | "unresolve" => {
            if !own {
                needs(RepositoryRole::Write)?;
            }
            let thread = text("thread").parse().map_err(|_| EmulatedApiError::not_found())?;
            world.resolve(repository, thread, act == "resolve", by)
        }
        "ready" => {
            needs(RepositoryRole::Write)?;
            world.mark_ready(repository, number, by)
        }
        "merge" => {
            needs(RepositoryRole::Write)?;
            world.merge(repository, number, by).map(drop)
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

/// The review in a form: its text, and a line comment if it names a line.
fn new_review(state: ReviewState, text: impl Fn(&str) -> String) -> ActResult<NewReview> {
    let note = text("note");
    let comments = if note.trim().is_empty() {
        Vec::new()
    } else {
        let line = text("line");
        let line =
            line.trim().parse().map_err(|_| EmulatedApiError::new(422, "which line is the note about?"))?;
        vec![NewReviewComment { path: text("path"), line, body: note }]
    };
    Ok(NewReview { state, body: text("body"), comments })
}
