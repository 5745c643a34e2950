//! The answer to whoever told an order something.

use actix_web::HttpResponse;
use actix_web::http::header;

use super::HttpState;
use super::problem::ProblemDetails;
use super::views::{OrderView, SignalView, order_url};
use journeyman_order::{OrderId, projection};
use journeyman_store::JournalStore;

/// The order, and what became of what it was told with this entry, as far as its journal tells.
pub(super) async fn told(
    order: OrderId,
    entry: u64,
    state: &HttpState,
) -> Result<HttpResponse, ProblemDetails> {
    let journal = state.store.journal(order).await?;
    let projection = projection(journal.pipeline(), &journal, chrono::Utc::now());
    let answer = projection.answers.iter().find(|answered| answered.signal == entry);
    let signal = SignalView::new(entry, answer.map(|answered| &answered.answer));
    let row = state.store.order(order).await?;
    Ok(HttpResponse::Accepted()
        .insert_header((header::LOCATION, order_url(order)))
        .json(OrderView::new(row).with_signal(signal)))
}
