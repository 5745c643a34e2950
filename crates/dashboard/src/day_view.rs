//! Today's cost so far, beside the daily limits. People signed in with GitHub see their repositories and themselves;
//! the server's operators see all repositories together and everyone.

use chrono::{DateTime, Utc};

use journeyman_order::{BudgetLimits, Requester};
use journeyman_store::{DayGrouping, DayLine, StoreError};

use super::DashboardState;
use super::session::DashboardSession;
use super::text::{dollars, line};

pub(crate) struct DayView {
    pub(crate) date: String,
    pub(crate) lines: Vec<DayFigures>,
}

/// The figures of all, of a repository, or of a person.
pub(crate) struct DayFigures {
    pub(crate) name: String,
    pub(crate) figures: [MeterView; 3],
}

/// A number with its limit, if any.
pub(crate) struct MeterView {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    /// `None` without a limit.
    pub(crate) scale: Option<MeterScale>,
}

pub(crate) struct MeterScale {
    pub(crate) spent: f64,
    pub(crate) limit: f64,
    pub(crate) high: f64,
}

impl MeterView {
    pub(crate) fn of(
        name: &'static str,
        spent: f64,
        limit: Option<f64>,
        said: impl Fn(f64) -> String,
    ) -> Self {
        Self {
            name,
            text: limit.map_or_else(|| said(spent), |limit| format!("{} of {}", said(spent), said(limit))),
            scale: limit.map(|limit| MeterScale { spent: spent.min(limit), limit, high: limit * 0.8 }),
        }
    }
}

/// A number without decimals.
pub(crate) fn whole(number: f64) -> String {
    format!("{number:.0}")
}

pub(crate) async fn day_view(
    state: &DashboardState,
    session: &DashboardSession,
    now: DateTime<Utc>,
) -> Result<DayView, StoreError> {
    let limits = &state.day_limits;
    let among = session.among();
    let mut lines = Vec::new();
    if session.person().is_none() {
        for all in state.store.day_spending(DayGrouping::All, now, None).await? {
            lines.push(figures("All repositories".to_owned(), &all, &limits.all));
        }
    }
    for of in state.store.day_spending(DayGrouping::Repository, now, among.as_deref()).await? {
        let name = match of.order {
            Some(order) => state.store.order(order).await?.repository.to_string(),
            None => String::new(),
        };
        lines.push(figures(line(&name, 150), &of, &limits.repository));
    }
    if let Some(person) = session.person() {
        // Shown even if it is small: they should know what they have left.
        let own = state.store.day_spending(DayGrouping::OneSender(person.id), now, None).await?;
        let own = own.into_iter().next().unwrap_or(DayLine::NOTHING);
        lines.push(figures(format!("Counted against {}", line(&person.login, 100)), &own, &limits.sender));
    } else {
        for of in state.store.day_spending(DayGrouping::Sender, now, None).await? {
            let name = sender(state, &of).await?;
            lines.push(figures(format!("Counted against {}", line(&name, 100)), &of, &limits.sender));
        }
    }
    Ok(DayView { date: now.format("%Y-%m-%d").to_string(), lines })
}

/// The login of a line's person, if its order was opened by them or verifies their pull request.
async fn sender(state: &DashboardState, of: &DayLine) -> Result<String, StoreError> {
    let opened = match of.order {
        Some(order) => state.store.opened(order).await?,
        None => None,
    };
    let login = opened.and_then(|opened| {
        let change = opened.change.filter(|change| change.author_id == of.sender);
        let asker = match opened.by {
            Requester::Person(person) if of.sender == Some(person.id) => Some(person.login),
            Requester::Person(_) | Requester::ApiToken | Requester::Repository => None,
        };
        change.map(|change| change.author).or(asker)
    });
    let unnamed = || of.sender.map_or_else(String::new, |id| format!("the person with the id {id}"));
    Ok(login.unwrap_or_else(unnamed))
}

fn figures(name: String, spent: &DayLine, limits: &BudgetLimits) -> DayFigures {
    // Rounds down, so that a limit does not seem reached too early.
    let minutes = |minutes: f64| format!("{}", (minutes * 10.0).floor() / 10.0);
    let limit_minutes = limits.minutes.map(|limit| limit as f64);
    DayFigures {
        name,
        figures: [
            MeterView::of("Dollars", spent.usd, limits.usd, dollars),
            MeterView::of("Minutes of agents at work", spent.minutes, limit_minutes, minutes),
            MeterView::of("Runs of agents", spent.runs as f64, limits.runs.map(f64::from), whole),
        ],
    }
}
