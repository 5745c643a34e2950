//! `/orders/{id}`: one order, from its journal. What is new comes to the page by itself.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use tokio::runtime::Handle;

use journeyman_order::{Journal, OrderId};
use journeyman_store::{AfterMergeFact, AfterMergeKind, JournalStore as _, OrderRow, StoreError};

use super::DashboardState;
use super::answer::{DashboardFrame, broken, nothing, of_store, shown};
use super::parts::{PagePart, parts, projection, summary};
use super::session::{DashboardSession, signed_in};
use super::text::{MomentView, line};

#[derive(Template)]
#[template(path = "dashboard/order.html")]
struct OrderPage {
    title: String,
    summary: String,
    order: String,
    /// What happened once its pull request was merged.
    after_merge: Vec<AfterMergeView>,
    top: Vec<PagePart>,
    steps: Vec<PagePart>,
    rest: Vec<PagePart>,
    seq: u64,
    frame: DashboardFrame,
}

struct AfterMergeView {
    text: String,
    at: MomentView,
}

/// Whoever may push writes a message: the page says whose word it is.
fn after_merge_view(fact: &AfterMergeFact) -> AfterMergeView {
    let by = line(&fact.said_by, 100);
    let text = match fact.kind {
        AfterMergeKind::CommitReverted => format!("Reverted after merge: by {by}, as its message says"),
        AfterMergeKind::PullReverted => {
            format!("Reverted after merge: by pull request #{by}, as its text says")
        }
        AfterMergeKind::CheckFailed => format!("Failed after merge: {by}, on its merge commit"),
    };
    AfterMergeView { text, at: MomentView::of(fact.at) }
}

fn order_id(text: &str) -> Result<OrderId, Box<HttpResponse>> {
    text.parse().map_err(|_| Box::new(nothing("That is not the id of an order.")))
}

pub(crate) async fn asks_for(
    request: &HttpRequest,
    state: &DashboardState,
    order: &str,
) -> Result<(DashboardSession, OrderRow), Box<HttpResponse>> {
    let session = signed_in(request, state).await?;
    let row = row(state, &session, order).await?;
    Ok((session, row))
}

/// The order that an address names, to whoever may read its repository.
pub(crate) async fn row(
    state: &DashboardState,
    session: &DashboardSession,
    order: &str,
) -> Result<OrderRow, Box<HttpResponse>> {
    let order = order_id(order)?;
    let none = || StoreError::NotFound { what: format!("order {order}") };
    let row = state.store.order(order).await.map_err(|error| Box::new(of_store(&error)))?;
    match session.may_read(row.repository_id) {
        true => Ok(row),
        false => Err(Box::new(of_store(&none()))),
    }
}

pub(crate) async fn show(
    request: HttpRequest,
    path: Path<String>,
    state: Data<DashboardState>,
) -> HttpResponse {
    page(&request, &path, &state).await.unwrap_or_else(|refused| *refused)
}

async fn page(
    request: &HttpRequest,
    path: &str,
    state: &Data<DashboardState>,
) -> Result<HttpResponse, Box<HttpResponse>> {
    let (session, row) = asks_for(request, state, path).await?;
    let turn = state.shared.renderings.turn().await?;
    let (shared, here) = (state.get_ref().clone(), Handle::current());
    let after = state.store.after_merge(row.id).await.map_err(|error| Box::new(of_store(&error)))?;
    let made = turn.take(move || {
        // A long journal takes its time to be read, too.
        let journal = here.block_on(shared.store.journal(row.id)).map_err(PageFault::Store)?;
        let page = OrderPage::of(&journal, &shared, &session);
        let after_merge = after.iter().map(after_merge_view).collect();
        page.map(|page| OrderPage { after_merge, ..page }).map_err(PageFault::Template)
    });
    match made.await? {
        Ok(page) => Ok(shown(&page)),
        Err(PageFault::Store(error)) => Err(Box::new(of_store(&error))),
        Err(PageFault::Template(error)) => Err(Box::new(broken(&error.to_string()))),
    }
}

enum PageFault {
    Store(StoreError),
    Template(askama::Error),
}

impl OrderPage {
    fn of(
        journal: &Journal,
        state: &DashboardState,
        session: &DashboardSession,
    ) -> Result<Self, askama::Error> {
        let projection = projection(journal);
        let may_act = session.may_write(journal.opened().repository_id);
        let all = parts(journal, &projection, &state.address(), may_act)?;
        let of = |place: &str| all.iter().filter(|part| part.into == place).cloned().collect();
        Ok(Self {
            title: format!(
                "{}#{}",
                journal.opened().repository,
                line(&journal.opened().issue.number.to_string(), 20)
            ),
            summary: summary(&projection),
            order: journal.opened().order.to_string(),
            after_merge: Vec::new(),
            top: of("top"),
            steps: of("steps"),
            rest: of("rest"),
            seq: journal.last_seq(),
            frame: session.frame(""),
        })
    }
}
