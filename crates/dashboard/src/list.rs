//! The list of orders: which are at work, what others wait for, how they ended. The URL contains the filters.

use actix_web::HttpRequest;
use actix_web::web::{Data, Query};
use askama::Template;
use chrono::Utc;
use serde::Deserialize;

use journeyman_order::{OrderId, OrderWait, RepositoryName, projection};
use journeyman_store::{JournalStore as _, OrderFilter, OrderRow, OrderTally, StoreError};

use super::DashboardState;
use super::answer::{DashboardFrame, PageResult, shown};
use super::session::signed_in;
use super::text::{MomentView, ago, dollars, line, query};

const PAGE: u32 = 30;

#[derive(Default, Deserialize)]
pub(crate) struct ListQuery {
    #[serde(default)]
    state: String,
    #[serde(default)]
    repository: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    before: String,
}

/// States to filter by, with their names in the list.
const STATES: [(&str, &str); 15] = [
    ("working", "at work"),
    ("person", "needs a person"),
    ("verified", "verified"),
    ("merged", "merged"),
    ("approved", "approved"),
    ("unverified", "unverified"),
    ("unproven", "passing, not proven"),
    ("escalated", "escalated"),
    ("blocked", "blocked"),
    ("failed", "failed"),
    ("unprepared", "waits for the repository"),
    ("cancelled", "cancelled"),
    ("closed", "closed"),
    ("refused", "refused"),
    ("unreadable", "unreadable"),
];

struct StateChoice {
    value: &'static str,
    name: &'static str,
    is_chosen: bool,
}

struct OrderLine {
    id: String,
    title: String,
    repository: String,
    issue: String,
    pull: Option<String>,
    agent: String,
    state: StateBadge,
    /// What it waits for, or since when nothing is to be done.
    waits: Option<String>,
    rounds: u32,
    cost: String,
    updated: MomentView,
    ago: String,
}

/// An order's state as a word and a color.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateBadge {
    pub(crate) class: &'static str,
    pub(crate) word: String,
}

impl StateBadge {
    pub(crate) fn of(state: &str, is_active: bool, needs_person: bool) -> Self {
        let class = match state {
            _ if is_active && needs_person => "person",
            _ if is_active => "working",
            "verified" | "merged" | "approved" => "good",
            "cancelled" | "closed" | "refused" => "quiet",
            _ if needs_person => "person",
            _ => "bad",
        };
        let word = STATES.iter().find(|(value, _)| *value == state).map_or(state, |(_, name)| name);
        Self { class, word: line(word, 60) }
    }
}

#[derive(Template)]
#[template(path = "dashboard/orders.html")]
struct OrdersPage {
    states: Vec<StateChoice>,
    query: ListQuery,
    is_filtered: bool,
    problem: Option<String>,
    tally: OrderTally,
    orders: Vec<OrderLine>,
    is_later_page: bool,
    first: String,
    older: Option<String>,
    frame: DashboardFrame,
}

pub(crate) async fn show(
    request: HttpRequest,
    asked: Result<Query<ListQuery>, actix_web::Error>,
    state: Data<DashboardState>,
) -> PageResult {
    let session = signed_in(&request, &state).await?;
    let (asked, mut problem) = match asked {
        Ok(Query(asked)) => (asked, None),
        Err(_) => {
            (ListQuery::default(), Some("The address could not be read; this is the whole list.".to_owned()))
        }
    };
    let filter = filter(&asked).map_err(|because| problem = Some(because)).ok();
    let among = session.among();
    let mut rows = match filter {
        Some(filter) => state.store.orders(&OrderFilter { among: among.clone(), ..filter }).await?,
        None => Vec::new(),
    };
    let has_more = rows.len() > PAGE as usize;
    rows.truncate(PAGE as usize);
    let address = |before: Option<&str>| {
        query(&[
            ("state", Some(&asked.state)),
            ("repository", Some(&asked.repository)),
            ("agent", Some(&asked.agent)),
            ("text", Some(&asked.text)),
            ("before", before),
        ])
    };
    let last = rows.last().map(|row| row.id.to_string());
    let older = last.filter(|_| has_more).map(|last| address(Some(&last)));
    let mut orders = Vec::with_capacity(rows.len());
    for row in rows {
        let waits = if row.active { waits(&state, &row).await? } else { None };
        orders.push(order_line(row, waits));
    }
    let choice = |(value, name): &(&'static str, &'static str)| StateChoice {
        value,
        name,
        is_chosen: asked.state == *value,
    };
    Ok(shown(&OrdersPage {
        states: STATES.iter().map(choice).collect(),
        is_filtered: [&asked.state, &asked.repository, &asked.agent, &asked.text]
            .iter()
            .any(|text| !text.is_empty()),
        problem,
        tally: state.store.tally(among.as_deref()).await?,
        orders,
        is_later_page: !asked.before.is_empty(),
        first: address(None),
        older,
        frame: session.frame("orders"),
        query: asked,
    }))
}

fn filter(asked: &ListQuery) -> Result<OrderFilter, String> {
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let repository = given(&asked.repository).map(|name| {
        name.parse::<RepositoryName>().map_err(|_| "A repository is written owner/name.".to_owned())
    });
    let before = given(&asked.before)
        .map(|id| id.parse::<OrderId>().map_err(|_| "The page that was asked for is none.".to_owned()));
    let state = given(&asked.state);
    if let Some(state) = &state
        && !STATES.iter().any(|(value, _)| value == state)
    {
        return Err("There is no such state.".to_owned());
    }
    let is = |word: &str| state.as_deref() == Some(word);
    Ok(OrderFilter {
        active: is("working").then_some(true),
        needs_person: is("person").then_some(true),
        state: state.clone().filter(|_| !is("working") && !is("person")),
        repository: repository.transpose()?,
        among: None,
        issue: None,
        agent: given(&asked.agent),
        text: given(&asked.text),
        before: before.transpose()?,
        // One extra row shows whether there is another page.
        limit: PAGE + 1,
    })
}

fn order_line(row: OrderRow, waits: Option<String>) -> OrderLine {
    let title = if row.title.is_empty() { "(no title was kept)".to_owned() } else { line(&row.title, 200) };
    OrderLine {
        id: row.id.to_string(),
        title,
        repository: row.repository.to_string(),
        issue: row.issue.to_string(),
        pull: row.pull.map(|pull| pull.to_string()),
        agent: line(&row.agent, 60),
        state: StateBadge::of(&row.state, row.active, row.needs_person),
        waits,
        rounds: row.rounds,
        cost: dollars(row.microusd as f64 / 1e6),
        updated: MomentView::of(row.updated_at),
        ago: ago(row.updated_at, Utc::now()),
    }
}

/// What an active order waits for, in one line.
async fn waits(state: &DashboardState, row: &OrderRow) -> Result<Option<String>, StoreError> {
    match state.store.journal(row.id).await {
        Ok(journal) => {
            let projection = projection(journal.pipeline(), &journal, Utc::now());
            let waits = OrderWait::of(&journal, &projection);
            let waits: Vec<String> = waits.iter().map(said).collect();
            Ok((!waits.is_empty()).then(|| line(&waits.join(" · "), 300)))
        }
        Err(StoreError::UnreadableJournal { .. } | StoreError::NotFound { .. }) => {
            Ok(Some("its journal cannot be read by this version".to_owned()))
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn said(wait: &OrderWait) -> String {
    match wait {
        OrderWait::Effect { key, .. } => format!("at {key}"),
        OrderWait::Attempt { because, until } => {
            format!("next try at {} UTC: {because}", until.format("%H:%M:%S"))
        }
        OrderWait::Person { to } => format!("a person has to {to}"),
    }
}
