//! `/orders/{id}`: one order, rendered from its journal. An open page updates automatically.

use actix_web::HttpRequest;
use actix_web::web::{Data, Path};
use askama::Template;
use tokio::runtime::Handle;

use journeyman_order::{Journal, OrderId};
use journeyman_store::{AfterMergeFact, AfterMergeKind, JournalStore as _, OrderRow, StoreError};

use super::DashboardState;
use super::answer::{DashboardFrame, EarlyAnswer, PageResult, nothing, shown};
use super::parts::{PagePart, parts, projection, summary};
use super::session::{DashboardSession, signed_in};
use super::text::{MomentView, line};

#[derive(Template)]
#[template(path = "dashboard/order.html")]
struct OrderPage {
    title: String,
    summary: String,
    order: String,
    /// What happened after its pull request was merged.
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

/// Anyone who may push can write such a message, so the page names the author.
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

pub(crate) async fn asks_for(
    request: &HttpRequest,
    state: &DashboardState,
    order: &str,
) -> Result<(DashboardSession, OrderRow), EarlyAnswer> {
    let session = signed_in(request, state).await?;
    let row = row(state, &session, order).await?;
    Ok((session, row))
}

/// The order at an address, if the viewer may read its repository.
pub(crate) async fn row(
    state: &DashboardState,
    session: &DashboardSession,
    order: &str,
) -> Result<OrderRow, EarlyAnswer> {
    let order: OrderId = order.parse().map_err(|_| nothing("That is not the id of an order."))?;
    let row = state.store.order(order).await?;
    match session.may_read(row.repository_id) {
        true => Ok(row),
        false => Err(StoreError::NotFound { what: format!("order {order}") }.into()),
    }
}

pub(crate) async fn show(
    request: HttpRequest,
    path: Path<String>,
    state: Data<DashboardState>,
) -> PageResult {
    let (session, row) = asks_for(&request, &state, &path).await?;
    let turn = state.shared.renderings.turn().await?;
    let (shared, here) = (state.get_ref().clone(), Handle::current());
    let after = state.store.after_merge(row.id).await?;
    let made = turn.take(move || {
        // Reading a long journal takes time, too.
        let journal = here.block_on(shared.store.journal(row.id))?;
        Ok::<_, StoreError>(OrderPage::of(&journal, &shared, &session, &after))
    });
    let page = made.await??;
    Ok(shown(&page?))
}

impl OrderPage {
    fn of(
        journal: &Journal,
        state: &DashboardState,
        session: &DashboardSession,
        after: &[AfterMergeFact],
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
            after_merge: after.iter().map(after_merge_view).collect(),
            top: of("top"),
            steps: of("steps"),
            rest: of("rest"),
            seq: journal.last_seq(),
            frame: session.frame(""),
        })
    }
}
