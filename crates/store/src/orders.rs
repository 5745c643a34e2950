//! Orders: opened together with their journal's first entry, and found by data derived from the journal.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::deliveries::{DeliveryConclusion, conclude};
use super::journal::append;
use super::pool::{WriteTransaction, execute, fetch, read, reading, written};
use super::{Store, StoreError, from_column, from_micros, to_column, to_micros};
use journeyman_order::bounds::{LONGEST_LINE, LONGEST_NAME};
use journeyman_order::{
    BranchName, CommitSha, DeliveryGuid, GivenChange, IssueNumber, JournalEntry, JournalEvent, OrderId,
    OrderInput, PullNumber, RepositoryId, RepositoryName, Signal,
};

/// The state in an order's row until the engine has read its journal.
const FIRST_STATE: &str = "opened";
/// The state of an order with an unreadable journal.
const UNREADABLE: &str = "unreadable";
/// States of an order whose pull request is no longer open, as in `order::surfaces`.
pub(super) const PULL_ENDED: [&str; 2] = ["merged", "closed"];
/// The state of an order that waits for a fix on the default branch.
const UNPREPARED: &str = "unprepared";

/// The index `orders_waking` covers exactly these rows: both conditions must be identical.
pub(super) const WAKING: &str = "SELECT id FROM orders WHERE active OR last_seq > rested_seq ORDER BY id";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRow {
    pub id: OrderId,
    /// The repository's name when the order was opened.
    pub repository: RepositoryName,
    pub repository_id: RepositoryId,
    pub issue: IssueNumber,
    /// In one word, as the engine last derived it from the journal.
    pub state: String,
    /// Whether it is the issue's active order.
    pub active: bool,
    pub branch: Option<BranchName>,
    /// Its pull request, once there is one. `None` for a merge group.
    pub pull: Option<PullNumber>,
    /// The head of the merge group that it verifies, whose pull request has the number `issue`.
    pub merge_group: Option<CommitSha>,
    pub opened_at: DateTime<Utc>,
    /// When its journal last grew.
    pub updated_at: DateTime<Utc>,
    /// The issue's title when the order was opened, shortened; empty if not stored. A merge group's begins with that.
    pub title: String,
    /// The requested or default agent; empty if not stored.
    pub agent: String,
    /// Whether it waits for a person.
    pub needs_person: bool,
    /// Rounds of work, as the engine last counted.
    pub rounds: u32,
    /// Cost of its agents, in millionths of a dollar.
    pub microusd: u64,
}

/// Data that the engine derives from a journal for lists and lookups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderSummary {
    /// Whether it is the issue's active order.
    pub active: bool,
    pub state: String,
    pub branch: Option<BranchName>,
    /// Its pull request, once there is one.
    pub pull: Option<PullNumber>,
    pub pull_at: Option<DateTime<Utc>>,
    /// Whether it waits for a person.
    pub needs_person: bool,
    pub verified: bool,
    pub rounds: u32,
    /// Cost of its agents, in millionths of a dollar.
    pub microusd: u64,
}

/// The result of trying to open an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenOutcome {
    /// It is open, and the delivery is concluded.
    Opened,
    /// The issue has an active order. Nothing was written, and the delivery is still pending.
    Active(OrderId),
    /// The delivery was concluded before. Nothing was written.
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
    String,
);

/// Reads orders. Arguments: the fetch method, the SQL after `FROM orders`, and its bound values.
macro_rules! select {
    ($store:expr, $fetch:ident, $rest:literal; $($bound:expr),+) => {
        reading!(&$store.pools, pool => {
            sqlx::query_as::<_, OrderColumns>(concat!(
                "SELECT id, repository, repository_id, issue, state, active, branch, pull, opened_at, updated_at, \
                 title, agent, needs_person, rounds, microusd, merge_group FROM orders ",
                $rest,
            ))
            $(.bind($bound))+
            .$fetch(pool)
        })
    };
}

impl OrderRow {
    /// Whether its pull request is somebody else's, which is numbered like an issue: it verifies or mends it. Or whether
    /// it verifies a merge group.
    pub fn is_of_a_pull(&self) -> bool {
        self.merge_group.is_some() || self.pull.is_some_and(|pull| pull.0 == self.issue.0)
    }

    /// Whether it was asked for without the right to.
    pub fn is_refused(&self) -> bool {
        self.state == "refused"
    }

    /// Whether its journal was marked unreadable.
    pub fn is_unreadable(&self) -> bool {
        self.state == UNREADABLE
    }
}

impl Store {
    /// Opens an order: its row, its journal's first entry and the delivery's conclusion, in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if a retry may succeed; [`StoreError::Refused`] if the id is taken.
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

    /// Adds a signal without a delivery to an order's journal.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such order.
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

    /// Adds a delivery's signal to orders: all entries and the delivery's conclusion in one transaction, so that each
    /// gets it exactly once. `None` if the delivery was concluded before; then nothing is written.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the delivery or one of the orders is missing; [`StoreError::Refused`] if `orders` is
    /// empty.
    pub async fn signal_each(
        &self,
        orders: &[OrderId],
        signal: &Signal,
        delivery: &DeliveryGuid,
        at: DateTime<Utc>,
    ) -> Result<Option<Vec<JournalEntry>>, StoreError> {
        // Each once and in a fixed order, so that two deliveries to the same orders cannot deadlock.
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

    /// The order with this id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if it is missing.
    pub async fn order(&self, order: OrderId) -> Result<OrderRow, StoreError> {
        let row = select!(self, fetch_optional, "WHERE id = $1"; order.to_string())?;
        row.map(order_row).transpose()?.ok_or_else(|| StoreError::not_found(format!("order {order}")))
    }

    /// The newest order of an issue or a pull request, or of the merge group with this head; active or not. An outsider's
    /// unsuccessful request comes after all others, so that a mere commenter cannot divert comments from the real order.
    pub async fn latest_order(
        &self,
        repository: RepositoryId,
        issue: IssueNumber,
        group: Option<&CommitSha>,
    ) -> Result<Option<OrderRow>, StoreError> {
        let row = select!(self, fetch_optional,
            "WHERE repository_id = $1 AND issue = $2 AND merge_group = $3 \
             ORDER BY CASE WHEN state = 'refused' THEN 1 ELSE 0 END, id DESC LIMIT 1";
            to_column(repository.0, "a repository's id")?, to_column(issue.0, "an issue's number")?,
            group.map_or("", CommitSha::as_str))?;
        row.map(order_row).transpose()
    }

    /// The orders of an issue or a pull request without those of its merge groups, the newest first, at most fifty. Older
    /// ones are finished.
    pub async fn orders_of_issue(
        &self,
        repository: RepositoryId,
        issue: IssueNumber,
    ) -> Result<Vec<OrderRow>, StoreError> {
        let rows = select!(self, fetch_all,
            "WHERE repository_id = $1 AND issue = $2 AND merge_group = '' ORDER BY id DESC LIMIT 50";
            to_column(repository.0, "a repository's id")?, to_column(issue.0, "an issue's number")?)?;
        rows.into_iter().map(order_row).collect()
    }

    /// The order with this pull request; the newest of several.
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

    /// The order with this branch; the newest of several.
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

    /// The orders of a repository whose pull request is neither merged nor closed as far as known; the oldest first.
    pub async fn orders_on_base(&self, repository: RepositoryId) -> Result<Vec<OrderRow>, StoreError> {
        // An unreadable order does not know its pull request.
        let [merged, closed] = PULL_ENDED;
        let rows = select!(self, fetch_all,
            "WHERE repository_id = $1 AND merge_group = '' \
             AND ((pull IS NOT NULL AND state NOT IN ($2, $3, $4)) OR state = $5) ORDER BY id";
            to_column(repository.0, "a repository's id")?, merged, closed, UNREADABLE, UNPREPARED)?;
        rows.into_iter().map(order_row).collect()
    }

    /// Ends an order with an unreadable journal: the issue is free again, and the row says so. Returns whether this is
    /// new.
    pub async fn end_unreadable(&self, order: OrderId, at: DateTime<Utc>) -> Result<bool, StoreError> {
        // The time for keeping its data starts now.
        let ended = written!(self, "the end of an order",
            "UPDATE orders SET active = FALSE, state = $2, updated_at = $3 WHERE id = $1 AND (active OR state <> $2)";
            order.to_string(), UNREADABLE, to_micros(at));
        Ok(ended > 0)
    }

    /// Leaves an unreadable order at rest: earlier signals need no response.
    pub async fn rest_unreadable(&self, order: OrderId) -> Result<(), StoreError> {
        written!(self, "an order at rest",
            "UPDATE orders SET rested_seq = last_seq WHERE id = $1 AND state = $2";
            order.to_string(), UNREADABLE);
        Ok(())
    }

    /// Orders that may have work, the oldest first: active, or with a journal that has grown since they were left at
    /// rest.
    pub async fn waking_orders(&self) -> Result<Vec<OrderId>, StoreError> {
        let rows: Vec<(String,)> = read!(self, fetch_all, WAKING)?;
        rows.into_iter().map(|(id,)| order_id(&id)).collect()
    }

    /// Updates an order's data for lists and lookups, and returns the earlier data. `rested` is the last journal entry
    /// when it was left at rest; `None` while it is being worked on.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if it should be active but the issue has another active order; [`StoreError::NotFound`]
    /// if there is no such order.
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

/// Inserts an order. Returns whether it became the issue's active order.
async fn insert(
    tx: &mut WriteTransaction,
    opened: &OrderInput,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let repository_id = to_column(opened.repository_id.0, "a repository's id")?;
    let issue = to_column(opened.issue.number.0, "an issue's number")?;
    // A fork's pull request that is mended gets no commit: one of ours will. A group's order is found by its head.
    let is_its_own = |change: &&GivenChange| {
        !change.merge_group && (change.continued.is_none() || change.adopted_branch().is_some())
    };
    let change = opened.change.as_ref().filter(is_its_own);
    let pull = change.map(|change| to_column(change.pull.0, "a pull request's number")).transpose()?;
    let beginning = |text: &str, most| text.chars().filter(|c| *c != '\0').take(most).collect::<String>();
    let kind = opened.merge_group().map_or("", |_| "Merge group: ");
    let title = beginning(&format!("{kind}{}", opened.issue.title), LONGEST_LINE);
    let agent = beginning(opened.request.agent().unwrap_or(&opened.agent), LONGEST_NAME);
    let words = format!("{title} {} #{issue}", opened.repository).to_lowercase();
    let inserted = execute!(tx,
        "INSERT INTO orders (id, repository, repository_id, issue, state, active, opened_at, updated_at, \
         last_seq, rested_seq, title, agent, words, pull, merge_group) \
         VALUES ($1, $2, $3, $4, $5, TRUE, $6, $6, 0, 0, $7, $8, $9, $10, $11) \
         ON CONFLICT (repository_id, issue, merge_group) WHERE active DO NOTHING";
        opened.order.to_string(), opened.repository.to_string(), repository_id, issue, FIRST_STATE,
        to_micros(at), title.as_str(), agent.as_str(), words.as_str(), pull, group_of(opened))?;
    Ok(inserted > 0)
}

/// The column `merge_group` of an order.
fn group_of(opened: &OrderInput) -> &str {
    opened.merge_group().map_or("", CommitSha::as_str)
}

async fn active_order(tx: &mut WriteTransaction, opened: &OrderInput) -> Result<OrderId, StoreError> {
    let row: Option<(String,)> = fetch!(tx, fetch_optional,
        "SELECT id FROM orders WHERE repository_id = $1 AND issue = $2 AND merge_group = $3 AND active";
        to_column(opened.repository_id.0, "a repository's id")?,
        to_column(opened.issue.number.0, "an issue's number")?, group_of(opened))?;
    // On PostgreSQL it may have been settled between the two statements.
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
        group,
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
        merge_group: (!group.is_empty()).then(|| group.parse().map_err(broken)).transpose()?,
        opened_at: from_micros(opened_at, &what)?,
        updated_at: from_micros(updated_at, &what)?,
        title,
        agent,
        needs_person: needs,
        rounds: u32::try_from(rounds).map_err(|error| StoreError::broken(what.clone(), error))?,
        microusd: from_column(cost, &what)?,
    })
}
