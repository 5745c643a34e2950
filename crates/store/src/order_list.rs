//! Lists of orders: each filter has an index, so a page is fast for any number of orders.

use sqlx::AssertSqlSafe;

use super::orders::{OrderColumns, OrderRow, order_row};
use super::pool::{read, reading};
use super::{Store, StoreError, to_column};
use journeyman_order::{IssueNumber, OrderId, RepositoryId, RepositoryName};

#[derive(Debug, Clone, Default)]
pub struct OrderFilter {
    /// Only orders that are, or are not, active.
    pub active: Option<bool>,
    /// Only orders that wait, or do not wait, for a person.
    pub needs_person: Option<bool>,
    pub state: Option<String>,
    /// Only orders of this repository, by its name when they were opened.
    pub repository: Option<RepositoryName>,
    /// Only orders of these repositories, by GitHub's ids.
    pub among: Option<Vec<RepositoryId>>,
    /// Only orders of the issue with this number.
    pub issue: Option<IssueNumber>,
    /// Only orders opened for this agent.
    pub agent: Option<String>,
    /// Only orders with this text in title, repository or `#issue`, ignoring case.
    pub text: Option<String>,
    /// Only orders opened before this one, the last of the previous page.
    pub before: Option<OrderId>,
    pub limit: u32,
}

/// Counts of orders that people look for first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderTally {
    pub active: u64,
    pub needs_person: u64,
}

const COLUMNS: &str = "id, repository, repository_id, issue, state, active, branch, pull, opened_at, updated_at, \
                       title, agent, needs_person, rounds, microusd, merge_group";

/// A bound value for `$1` and so on.
enum BoundValue {
    Text(String),
    Number(i64),
}

/// Conditions that must all hold, with their bound values.
#[derive(Default)]
struct ListConditions {
    sql: Vec<String>,
    bound: Vec<BoundValue>,
}

impl ListConditions {
    fn of(filter: &OrderFilter) -> Result<Self, StoreError> {
        let mut all = Self::default();
        // In the form that partial indexes use.
        all.sql.extend(filter.active.map(|is| if is { "active" } else { "NOT active" }.to_owned()));
        all.sql.extend(
            filter.needs_person.map(|is| if is { "needs_person" } else { "NOT needs_person" }.to_owned()),
        );
        all.sql.extend(filter.among.as_deref().map(is_among));
        all.holds("state =", filter.state.clone());
        all.holds("repository =", filter.repository.as_ref().map(ToString::to_string));
        all.holds("agent =", filter.agent.clone());
        if let Some(issue) = filter.issue {
            let number = to_column(issue.0, "an issue's number")?;
            let place = all.bind(BoundValue::Number(number));
            all.sql.push(format!("issue = {place}"));
        }
        if let Some(text) = &filter.text {
            let place = all.bind(BoundValue::Text(pattern(text)));
            all.sql.push(format!("words LIKE {place} ESCAPE '!'"));
        }
        all.holds("id <", filter.before.map(|order| order.to_string()));
        Ok(all)
    }

    fn holds(&mut self, condition: &str, value: Option<String>) {
        if let Some(value) = value {
            let place = self.bind(BoundValue::Text(value));
            self.sql.push(format!("{condition} {place}"));
        }
    }

    fn bind(&mut self, value: BoundValue) -> String {
        self.bound.push(value);
        format!("${}", self.bound.len())
    }

    fn page(mut self, limit: u32) -> (String, Vec<BoundValue>) {
        let limit = self.bind(BoundValue::Number(i64::from(limit)));
        let held = if self.sql.is_empty() { "TRUE".to_owned() } else { self.sql.join(" AND ") };
        // The inner query uses only an index; rows are read just for this page.
        let sql = format!(
            "SELECT {COLUMNS} FROM orders WHERE id IN \
             (SELECT id FROM orders WHERE {held} ORDER BY id DESC LIMIT {limit}) ORDER BY id DESC"
        );
        (sql, self.bound)
    }
}

/// Whether an order belongs to one of these repositories. The ids are numbers and need no binding.
pub(super) fn is_among(repositories: &[RepositoryId]) -> String {
    let ids: Vec<String> =
        repositories.iter().map(|id| i64::try_from(id.0).unwrap_or(-1).to_string()).collect();
    match ids.is_empty() {
        true => "FALSE".to_owned(),
        false => format!("repository_id IN ({})", ids.join(", ")),
    }
}

/// The `LIKE` pattern that finds this text literally.
fn pattern(text: &str) -> String {
    let mut pattern = "%".to_owned();
    for character in text.to_lowercase().chars().filter(|character| *character != '\0') {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

impl Store {
    pub async fn orders(&self, filter: &OrderFilter) -> Result<Vec<OrderRow>, StoreError> {
        let (sql, bound) = ListConditions::of(filter)?.page(filter.limit);
        let rows = reading!(&self.pools, pool => {
            // Contains only our own text; user input is bound.
            let mut query = sqlx::query_as::<_, OrderColumns>(AssertSqlSafe(sql));
            for value in bound {
                query = match value {
                    BoundValue::Text(text) => query.bind(text),
                    BoundValue::Number(number) => query.bind(number),
                };
            }
            query.fetch_all(pool)
        })?;
        rows.into_iter().map(order_row).collect()
    }

    /// How many orders are active and how many wait for a person, in all or these repositories.
    pub async fn tally(&self, among: Option<&[RepositoryId]>) -> Result<OrderTally, StoreError> {
        let among = among.map_or("TRUE".to_owned(), is_among);
        let sql = format!(
            "SELECT (SELECT COUNT(*) FROM orders WHERE active AND {among}), \
             (SELECT COUNT(*) FROM orders WHERE needs_person AND {among})"
        );
        // Contains only our own text and numbers.
        let (active, needs_person): (i64, i64) = read!(self, fetch_one, AssertSqlSafe(sql))?;
        Ok(OrderTally { active: active.unsigned_abs(), needs_person: needs_person.unsigned_abs() })
    }

    /// Numbers of orders, by their rows' state and whether they are active.
    pub async fn count_orders(&self) -> Result<Vec<(String, bool, u64)>, StoreError> {
        let rows: Vec<(String, bool, i64)> = read!(
            self,
            fetch_all,
            "SELECT state, active, COUNT(*) FROM orders GROUP BY state, active ORDER BY state, active"
        )?;
        Ok(rows.into_iter().map(|(state, active, count)| (state, active, count.unsigned_abs())).collect())
    }
}
