//! `/orders/{id}/runs/{run}`: what an agent said and did in a run, also when it is long over; `/orders/{id}/files/{name}`:
//! what is kept of an order, as it is.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use journeyman_store::StoreError;

use super::DashboardState;
use super::answer::{DashboardFrame, of_store, shown};
use super::order_page::asks_for;
use super::text::line;
use super::transcript::{MOST_ITEMS, html, read};

#[derive(Template)]
#[template(path = "dashboard/run.html")]
struct RunPage {
    run: String,
    order: String,
    html: Option<String>,
    left_out: usize,
    frame: DashboardFrame,
}

pub(crate) async fn show(
    request: HttpRequest,
    path: Path<(String, String)>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let (order, run) = path.into_inner();
    let (session, order) = match asks_for(&request, &state, &order).await {
        Ok((session, row)) => (session, row.id),
        Err(refused) => return *refused,
    };
    let artifact = match state.store.artifact(order, &format!("{run}.jsonl")).await {
        Ok(artifact) => Some(artifact),
        Err(StoreError::NotFound { .. }) => None,
        Err(error) => return of_store(&error),
    };
    let mut items = artifact.map(|artifact| read(&String::from_utf8_lossy(&artifact.content)));
    let left_out = items.as_ref().map_or(0, |items| items.len().saturating_sub(MOST_ITEMS));
    if let Some(items) = &mut items {
        items.drain(..left_out);
    }
    shown(&RunPage {
        run: line(&run, 200),
        order: order.to_string(),
        html: items.map(|items| html(&items)),
        left_out,
        frame: session.frame(""),
    })
}

pub(crate) async fn download(
    request: HttpRequest,
    path: Path<(String, String)>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let (order, name) = path.into_inner();
    let order = match asks_for(&request, &state, &order).await {
        Ok((_, row)) => row.id,
        Err(refused) => return *refused,
    };
    let artifact = match state.store.artifact(order, &name).await {
        Ok(artifact) => artifact,
        Err(error) => return of_store(&error),
    };
    // An agent wrote it: a browser is to save it, and never to run it.
    let disposition = format!("attachment; filename=\"{}\"", artifact.info.name);
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/octet-stream"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"))
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .body(artifact.content)
}
