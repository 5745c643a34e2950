//! `/orders/{id}/runs/{run}`: an agent's output in a run, including finished ones; `/orders/{id}/files/{name}`: an
//! order's artifacts, unchanged.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use journeyman_store::{ArtifactEnd, StoreError};

use super::DashboardState;
use super::answer::{DashboardFrame, PageResult, shown};
use super::order_page::asks_for;
use super::text::{line, size};
use super::transcript::{MOST_ITEMS, html, read};

/// KiB read from the end of a transcript.
const MOST_READ: u16 = 1_024;

#[derive(Template)]
#[template(path = "dashboard/run.html")]
struct RunPage {
    run: String,
    order: String,
    transcript: Option<TranscriptView>,
    frame: DashboardFrame,
}

struct TranscriptView {
    file: String,
    html: String,
    /// The total size, if only the end was read.
    whole: Option<String>,
    read: String,
    /// Parts that were read but are not shown.
    left_out: usize,
}

impl TranscriptView {
    fn of(end: &ArtifactEnd) -> Self {
        let text = String::from_utf8_lossy(&end.content);
        let is_cut = end.left_out > 0;
        // A cut may start within a line.
        let lines = match is_cut {
            true => text.split_once('\n').map_or("", |(_, whole)| whole),
            false => &text,
        };
        let mut items = read(lines);
        let left_out = items.len().saturating_sub(MOST_ITEMS);
        items.drain(..left_out);
        Self {
            file: end.info.name.clone(),
            html: html(&items),
            whole: is_cut.then(|| size(end.info.size)),
            read: size(end.content.len() as u64),
            left_out,
        }
    }
}

pub(crate) async fn show(
    request: HttpRequest,
    path: Path<(String, String)>,
    state: Data<DashboardState>,
) -> PageResult {
    let (order, run) = path.into_inner();
    let (session, row) = asks_for(&request, &state, &order).await?;
    let turn = state.shared.transcripts.turn().await?;
    let transcript = match state.store.artifact_end(row.id, &format!("{run}.jsonl"), MOST_READ).await {
        Ok(end) => Some(turn.take(move || TranscriptView::of(&end)).await?),
        Err(StoreError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let (run, order) = (line(&run, 200), row.id.to_string());
    Ok(shown(&RunPage { run, order, transcript, frame: session.frame("") }))
}

pub(crate) async fn download(
    request: HttpRequest,
    path: Path<(String, String)>,
    state: Data<DashboardState>,
) -> PageResult {
    let (order, name) = path.into_inner();
    let (_, row) = asks_for(&request, &state, &order).await?;
    let artifact = state.store.artifact(row.id, &name).await?;
    // An agent wrote it: the browser must save it, never run it.
    let disposition = format!("attachment; filename=\"{}\"", artifact.info.name);
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/octet-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"))
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .body(artifact.content))
}
