//! Orders: opened together with the first entry of their journal, and looked up by what their rows derive from it.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::deliveries::{DeliveryConclusion, conclude};
use super::journal::append;
use super::pool::{WriteTransaction, execute, fetch, read, reading, written};
use super::{Store, StoreError, from_column, from_micros, to_column, to_micros};
use journeyman_order::bounds::{LONGEST_LINE, LONGEST_NAME};
use journeyman_order::{
    BranchName, DeliveryGuid, IssueNumber, JournalEntry, JournalEvent, OrderId, OrderInput, PullNumber,
    RepositoryId, RepositoryName, Signal,
};

/// What an order's row says until the engine has looked at its journal.
const FIRST_STATE: &str = "opened";
/// What it says of one whose journal cannot be read.
const UNREADABLE: &str = "unreadable";
/// What it says of one whose pull request is not open any more: its word in `order::surfaces`.
pub(super) const PULL_ENDED: [&str; 2] = ["merged", "closed"];
/// And of one that waits for the default branch to be mended.
const UNPREPARED: &str = "unprepared";

/// There is an index of just these rows (`orders_waking`): the condition has to stand here as it stands there.
pub(super) const WAKING: &str = "SELECT id FROM orders WHERE active OR last_seq > rested_seq ORDER BY id";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRow {
    pub id: OrderId,
    /// The repository's name when it was opened.
    pub repository: RepositoryName,
    pub repository_id: RepositoryId,
    pub issue: IssueNumber,
    /// In a word, as the engine last derived it from the journal.
    pub state: String,
    /// Whether it holds the issue's one place.
    pub active: bool,
    pub branch: Option<BranchName>,
    /// Its pull request, once there is one.
    pub pull: Option<PullNumber>,
    pub opened_at: DateTime<Utc>,
    /// When its journal last grew.
    pub updated_at: DateTime<Utc>,
    /// The issue's title when it was opened, cut; empty where nobody kept it.
    pub title: String,
    /// The agent that was asked for, or the server's; empty where nobody kept it.
    pub agent: String,
    /// Whether nothing goes on before a person has said something.
    pub needs_person: bool,
    /// Rounds of work, as the engine last counted them.
    pub rounds: u32,
    /// What its agents cost, in millionths of a dollar.
    pub microusd: u64,
}

/// What the engine derives from a journal for lists and look-ups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderSummary {
    /// Whether it holds the issue's one place.
    pub active: bool,
    pub state: String,
    pub branch: Option<BranchName>,
    /// Its pull request, once there is one.
    pub pull: Option<PullNumber>,
    pub pull_at: Option<DateTime<Utc>>,
    /// Whether nothing goes on before a person has said something.
    pub needs_person: bool,
    pub verified: bool,
    pub rounds: u32,
    /// What its agents cost, in millionths of a dollar.
    pub microusd: u64,
}

/// What came of the wish to open an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenOutcome {
    /// It is open, and the delivery concluded.
    Opened,
    /// The issue has an active order; nothing was written, and the delivery still waits.
    Active(OrderId),
    /// The delivery was concluded before; nothing was written.
    DeliveryConcluded,
}

pub(super) type OrderColumns = (
    String,
    String,
    i64,
    i64,
    String,
    bool,
    Option<String>,
    Option<i64>,
    i64,
    i64,
    String,
    String,
    bool,
    i64,
    i64,
);

/// Reads orders: what follows `FROM orders`, how it is fetched, and what is bound.
macro_rules! select {
    ($store:expr, $fetch:ident, $rest:literal; $($bound:expr),+) => {
        reading!(&$store.pools, pool => {
            sqlx::query_as::<_, OrderColumns>(concat!(
                "SELECT id, repository, repository_id, issue, state, active, branch, pull, opened_at, updated_at, \
                 title, agent, needs_person, rounds, microusd FROM orders ",
                $rest,
            ))
            $(.bind($bound))+
            .$fetch(pool)
        })
    };
}

impl OrderRow {
    /// Whether it was said of it that its journal cannot be read.
    pub fn is_unreadable(&self) -> bool {
        self.state == UNREADABLE
    }
}

impl Store {
    /// Opens an order: its row, the first entry of its journal and the delivery's conclusion in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it may succeed later; [`StoreError::Refused`] when the id is taken.
    pub async fn open_order(
        &self,
        opened: OrderInput,
        at: DateTime<Utc>,
        delivery: Option<&DeliveryGuid>,
    ) -> Result<OpenOutcome, StoreError> {
        let order = opened.order;
        let mut tx = self.pools.begin("an order").await?;
        if let Some(guid) = delivery
            && !conclude(&mut tx, guid, &DeliveryConclusion::Opened { order }).await?
        {
            return Ok(OpenOutcome::DeliveryConcluded);
        }
        if !insert(&mut tx, &opened, at).await? {
            return active_order(&mut tx, &opened).await.map(OpenOutcome::Active);
        }
        append(&mut tx, order, &JournalEvent::Opened(Box::new(opened)), at).await?;
        tx.commit().await?;
        Ok(OpenOutcome::Opened)
    }

    /// Tells an order what came without a delivery.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such order.
    pub async fn signal(
        &self,
        order: OrderId,
        signal: Signal,
        at: DateTime<Utc>,
    ) -> Result<JournalEntry, StoreError> {
        let mut tx = self.pools.begin("a signal").await?;
        let event = JournalEvent::Signaled { signal, delivery: None };
        let entry = append(&mut tx, order, &event, at).await?;
        tx.commit().await?;
        Ok(entry)
    }

    /// Tells orders what a delivery said: the entries of all and the delivery's conclusion in one transaction, so that
    /// none hears it twice and none is left out. None when the delivery was concluded before; then nothing is written.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such delivery or one of the orders is missing;
    /// [`StoreError::Refused`] when there is no order to tell.
    pub async fn signal_each(
        &self,
        orders: &[OrderId],
        signal: &Signal,
        delivery: &DeliveryGuid,
        at: DateTime<Utc>,
    ) -> Result<Option<Vec<JournalEntry>>, StoreError> {
        // Each once, and always in the same sequence: two that tell the same orders cannot wait for one another.
        let orders: Vec<OrderId> =
            orders.iter().copied().collect::<BTreeSet<OrderId>>().into_iter().collect();
        if orders.is_empty() {
            return Err(StoreError::refused(format!("delivery {delivery}"), "there is no order to tell"));
        }
        let mut tx = self.pools.begin("signals").await?;
        let conclusion = DeliveryConclusion::Signaled { orders: orders.clone() };
        if !conclude(&mut tx, delivery, &conclusion).await? {
            return Ok(None);
        }
        let event = JournalEvent::Signaled { signal: signal.clone(), delivery: Some(delivery.clone()) };
        let mut entries = Vec::with_capacity(orders.len());
        for order in orders {
            entries.push(append(&mut tx, order, &event, at).await?);
        }
        tx.commit().await?;
        Ok(Some(entries))
    }

    /// The order of that id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is none.
    pub async fn order(&self, order: OrderId) -> Result<OrderRow, StoreError> {
        let row = select!(self, fetch_optional, "WHERE id = $1"; order.to_string())?;
        row.map(order_row).transpose()?.ok_or_else(|| StoreError::not_found(format!("order {order}")))
    }

    /// The order of an issue that was opened last, active or not. One that an outsider asked for in vain comes after all
    /// others: nobody's word is kept from the order that it is about by whoever may only comment.
    pub async fn latest_order(
        &self,
        repository: RepositoryId,
        issue: IssueNumber,
    ) -> Result<Option<OrderRow>, StoreError> {
        let row = select!(self, fetch_optional,
            "WHERE repository_id = $1 AND issue = $2 \
             ORDER BY CASE WHEN state = 'refused' THEN 1 ELSE 0 END, id DESC LIMIT 1";
            to_column(repository.0, "a repository's id")?, to_column(issue.0, "an issue's number")?)?;
        row.map(order_row).transpose()
    }

    /// The orders of an issue, the latest first. Earlier ones than the last fifty are done with.
    pub async fn orders_of_issue(
        &self,
        repository: RepositoryId,
        issue: IssueNumber,
    ) -> Result<Vec<OrderRow>, StoreError> {
        let rows = select!(self, fetch_all,
            "WHERE repository_id = $1 AND issue = $2 ORDER BY id DESC LIMIT 50";
            to_column(repository.0, "a repository's id")?, to_column(issue.0, "an issue's number")?)?;
        rows.into_iter().map(order_row).collect()
    }

    /// The order whose pull request this is; the latest if several share it.
    pub async fn order_by_pull(
        &self,
        repository: RepositoryId,
        pull: PullNumber,
    ) -> Result<Option<OrderRow>, StoreError> {
        let row = select!(self, fetch_optional,
            "WHERE repository_id = $1 AND pull = $2 ORDER BY id DESC LIMIT 1";
            to_column(repository.0, "a repository's id")?, to_column(pull.0, "a pull request's number")?)?;
        row.map(order_row).transpose()
    }

    /// The order whose branch this is; the latest if several had it.
    pub async fn order_by_branch(
        &self,
        repository: RepositoryId,
        branch: &BranchName,
    ) -> Result<Option<OrderRow>, StoreError> {
        let row = select!(self, fetch_optional,
            "WHERE repository_id = $1 AND branch = $2 ORDER BY id DESC LIMIT 1";
            to_column(repository.0, "a repository's id")?, branch.as_str())?;
        row.map(order_row).transpose()
    }

    /// The orders of a repository whose pull request is neither merged nor closed, as far as they know; the oldest
    /// first.
    pub async fn orders_on_base(&self, repository: RepositoryId) -> Result<Vec<OrderRow>, StoreError> {
        // One that cannot be read has none that it knows of.
        let [merged, closed] = PULL_ENDED;
        let rows = select!(self, fetch_all,
            "WHERE repository_id = $1 AND ((pull IS NOT NULL AND state NOT IN ($2, $3, $4)) OR state = $5) ORDER BY id";
            to_column(repository.0, "a repository's id")?, merged, closed, UNREADABLE, UNPREPARED)?;
        rows.into_iter().map(order_row).collect()
    }

    /// Ends an order whose journal cannot be read: the issue's place is free, and its row says so. Whether it had not
    /// ended in this way before.
    pub async fn end_unreadable(&self, order: OrderId, at: DateTime<Utc>) -> Result<bool, StoreError> {
        // What is kept of it is kept from now on.
        let ended = written!(self, "the end of an order",
            "UPDATE orders SET active = FALSE, state = $2, updated_at = $3 WHERE id = $1 AND (active OR state <> $2)";
            order.to_string(), UNREADABLE, to_micros(at));
        Ok(ended > 0)
    }

    /// Leaves an order at rest that cannot be read: nothing is owed for what it was told until now.
    pub async fn rest_unreadable(&self, order: OrderId) -> Result<(), StoreError> {
        written!(self, "an order at rest",
            "UPDATE orders SET rested_seq = last_seq WHERE id = $1 AND state = $2";
            order.to_string(), UNREADABLE);
        Ok(())
    }

    /// Every order that may have something to do, the oldest first: it is active, or its journal has grown since
    /// it was left at rest.
    pub async fn waking_orders(&self) -> Result<Vec<OrderId>, StoreError> {
        let rows: Vec<(String,)> = read!(self, fetch_all, WAKING)?;
        rows.into_iter().map(|(id,)| order_id(&id)).collect()
    }

    /// Rewrites what lists and look-ups say of an order. `rested` is the last entry of the journal that it was left
    /// at rest with; none while it is at work.
    /// Answers what was said of it before.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when it is to be active and another order of the issue is;
    /// [`StoreError::NotFound`] when there is no such order.
    pub async fn set_summary(
        &self,
        order: OrderId,
        summary: &OrderSummary,
        rested: Option<u64>,
    ) -> Result<String, StoreError> {
        let rested = rested.map(|seq| to_column(seq, "an entry's number")).transpose()?;
        let pull = summary.pull.map(|pull| to_column(pull.0, "a pull request's number")).transpose()?;
        let cost = to_column(summary.microusd, "a cost")?;
        let mut tx = self.pools.begin("a summary").await?;
        let before: Option<(String,)> = fetch!(tx, fetch_optional,
            "SELECT state FROM orders WHERE id = $1";
            order.to_string())?;
        let (before,) = before.ok_or_else(|| StoreError::not_found(format!("order {order}")))?;
        execute!(tx,
            "UPDATE orders SET active = $2, state = $3, branch = $4, pull = $5, \
             rested_seq = COALESCE($6, rested_seq), needs_person = $7, verified = $8, rounds = $9, \
             microusd = $10, pull_at = $11 WHERE id = $1";
            order.to_string(), summary.active, summary.state.as_str(),
            summary.branch.as_ref().map(BranchName::as_str), pull, rested, summary.needs_person,
            summary.verified, i64::from(summary.rounds), cost, summary.pull_at.map(to_micros))?;
        tx.commit().await?;
        Ok(before)
    }
}

/// Whether the order got the issue's one place.
async fn insert(
    tx: &mut WriteTransaction,
    opened: &OrderInput,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let repository_id = to_column(opened.repository_id.0, "a repository's id")?;
    let issue = to_column(opened.issue.number.0, "an issue's number")?;
    let beginning = |text: &str, most| text.chars().filter(|c| *c != '\0').take(most).collect::<String>();
    let title = beginning(&opened.issue.title, LONGEST_LINE);
    let agent = beginning(opened.request.agent().unwrap_or(&opened.agent), LONGEST_NAME);
    let words = format!("{title} {} #{issue}", opened.repository).to_lowercase();
    let inserted = execute!(tx,
        "INSERT INTO orders (id, repository, repository_id, issue, state, active, opened_at, updated_at, \
         last_seq, rested_seq, title, agent, words) VALUES ($1, $2, $3, $4, $5, TRUE, $6, $6, 0, 0, $7, $8, $9) \
         ON CONFLICT (repository_id, issue) WHERE active DO NOTHING";
        opened.order.to_string(), opened.repository.to_string(), repository_id, issue, FIRST_STATE,
        to_micros(at), title.as_str(), agent.as_str(), words.as_str())?;
    Ok(inserted > 0)
}

async fn active_order(tx: &mut WriteTransaction, opened: &OrderInput) -> Result<OrderId, StoreError> {
    let row: Option<(String,)> = fetch!(tx, fetch_optional,
        "SELECT id FROM orders WHERE repository_id = $1 AND issue = $2 AND active";
        to_column(opened.repository_id.0, "a repository's id")?,
        to_column(opened.issue.number.0, "an issue's number")?)?;
    // On PostgreSQL it can have been settled between the two statements.
    let (id,) =
        row.ok_or_else(|| StoreError::unavailable("the issue's order was just settled; try again"))?;
    order_id(&id)
}

pub(super) fn order_id(id: &str) -> Result<OrderId, StoreError> {
    id.parse().map_err(|error| StoreError::broken(format!("order {id:?}"), error))
}

pub(super) fn order_row(row: OrderColumns) -> Result<OrderRow, StoreError> {
    let (
        id,
        repository,
        repository_id,
        issue,
        state,
        active,
        branch,
        pull,
        opened_at,
        updated_at,
        title,
        agent,
        needs,
        rounds,
        cost,
    ) = row;
    let what = format!("order {id}");
    let broken = |error: journeyman_order::ids::InvalidId| StoreError::broken(what.clone(), error);
    Ok(OrderRow {
        id: order_id(&id)?,
        repository: repository.parse().map_err(broken)?,
        repository_id: RepositoryId(from_column(repository_id, &what)?),
        issue: IssueNumber(from_column(issue, &what)?),
        state,
        active,
        branch: branch.map(|branch| branch.parse().map_err(broken)).transpose()?,
        pull: pull.map(|pull| from_column(pull, &what).map(PullNumber)).transpose()?,
        opened_at: from_micros(opened_at, &what)?,
        updated_at: from_micros(updated_at, &what)?,
        title,
        agent,
        needs_person: needs,
        rounds: u32::try_from(rounds).map_err(|error| StoreError::broken(what.clone(), error))?,
        microusd: from_column(cost, &what)?,
    })
}
