//! `/deliveries`: GitHub's deliveries and their effects.

use actix_web::HttpRequest;
use actix_web::web::{Data, Query};
use askama::Template;
use serde::Deserialize;

use journeyman_store::DeliveryRow;

use super::DashboardState;
use super::answer::{DashboardFrame, PageResult, misread, shown};
use super::session::signed_in_by_token;
use super::text::{MomentView, line};

const PAGE: u32 = 50;

#[derive(Deserialize)]
pub(crate) struct DeliveriesQuery {
    before: Option<i64>,
}

struct DeliveryLine {
    guid: String,
    event: String,
    received: MomentView,
    class: &'static str,
    conclusion: String,
    because: Option<String>,
    orders: Vec<String>,
}

#[derive(Template)]
#[template(path = "dashboard/deliveries.html")]
struct DeliveriesPage {
    deliveries: Vec<DeliveryLine>,
    older: Option<i64>,
    frame: DashboardFrame,
}

pub(crate) async fn show(
    request: HttpRequest,
    query: Result<Query<DeliveriesQuery>, actix_web::Error>,
    state: Data<DashboardState>,
) -> PageResult {
    let session = signed_in_by_token(&request, &state).await?;
    let query = query.map_err(|_| misread("The page of deliveries that was asked for is none."))?;
    let mut rows = state.store.deliveries(query.before.unwrap_or(i64::MAX), PAGE + 1).await?;
    let has_more = rows.len() > PAGE as usize;
    rows.truncate(PAGE as usize);
    let older = rows.last().map(|row| row.id).filter(|_| has_more);
    let deliveries = rows.into_iter().map(delivery_line).collect();
    Ok(shown(&DeliveriesPage { deliveries, older, frame: session.frame("deliveries") }))
}

fn delivery_line(row: DeliveryRow) -> DeliveryLine {
    let conclusion = row.conclusion.as_deref().unwrap_or("waits");
    DeliveryLine {
        class: match conclusion {
            "opened" | "signaled" => "good",
            "refused" => "bad",
            "waits" => "working",
            _ => "quiet",
        },
        conclusion: conclusion.to_owned(),
        guid: row.guid.to_string(),
        event: row.action.map_or(row.event.clone(), |action| format!("{}.{action}", row.event)),
        received: MomentView::of(row.received_at),
        because: row.because.as_deref().map(|because| line(because, 400)),
        orders: row.orders.iter().map(ToString::to_string).collect(),
    }
}
