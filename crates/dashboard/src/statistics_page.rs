//! `/statistics`: results of orders over time, as a drawing and a table.

use actix_web::HttpRequest;
use actix_web::web::Data;
use askama::Template;
use chrono::{DateTime, Datelike as _, NaiveTime, TimeDelta, Utc};

use journeyman_store::{ModelLine, StatementLine, StatisticsGrouping, StatisticsLine};

use super::DashboardState;
use super::answer::{DashboardFrame, PageResult, shown};
use super::day_view::{DayView, day_view};
use super::session::signed_in;
use super::text::{dollars, duration, line};

const WEEKS: i64 = 26;
/// In the drawing's own units.
const HEIGHT: u64 = 120;
const STRIDE: u64 = 24;

struct FigureLine {
    name: String,
    opened: u64,
    verified: String,
    rounds: String,
    false_greens: String,
    cost: String,
    time: String,
}

/// Figures of one agent with one model.
struct ModelFigures {
    name: String,
    runs: u64,
    usd: String,
    merged: u64,
    cost: String,
}

/// The outcomes of the statements by one agent with one model.
struct StatementFigures {
    name: String,
    all: u64,
    /// By outcome, in the order of the headings.
    shares: Vec<(&'static str, String)>,
}

/// Each outcome of a statement, with its heading.
const STATEMENT_VERDICTS: [(&str, &str); 5] = [
    ("holds", "Hold"),
    ("fails", "Do not hold"),
    ("disputed", "Disputed"),
    ("unconfirmed", "Not confirmed by the base"),
    ("dropped", "Dropped by people"),
];

struct WeekBar {
    name: String,
    x: u64,
    /// For all orders that ended, and for verified ones.
    ended_y: u64,
    ended_height: u64,
    verified_y: u64,
    verified_height: u64,
    told: String,
}

#[derive(Template)]
#[template(path = "dashboard/statistics.html")]
struct StatisticsPage {
    bars: Vec<WeekBar>,
    width: u64,
    most: u64,
    tables: Vec<(&'static str, &'static str, Vec<FigureLine>)>,
    models: Vec<ModelFigures>,
    statements: Vec<StatementFigures>,
    day: DayView,
    is_empty: bool,
    frame: DashboardFrame,
}

pub(crate) async fn show(request: HttpRequest, state: Data<DashboardState>) -> PageResult {
    let session = signed_in(&request, &state).await?;
    let now = Utc::now();
    let since = first_monday(now);
    let among = session.among();
    let among = among.as_deref();
    let weeks = state.store.statistics(StatisticsGrouping::Week, since, among).await?;
    let repositories = state.store.statistics(StatisticsGrouping::Repository, since, among).await?;
    let agents = state.store.statistics(StatisticsGrouping::Agent, since, among).await?;
    let models = state.store.model_statistics(since, among).await?;
    let statements = state.store.statement_statistics(since, among).await?;
    let most = weeks.iter().map(|week| week.ended).max().unwrap_or(0);
    let bars = (0_u64..).zip(weeks.iter().rev()).map(|(place, week)| bar(place, week, most.max(1)));
    let bars: Vec<WeekBar> = bars.collect();
    let figures = |lines: &[StatisticsLine]| lines.iter().map(figure_line).collect::<Vec<_>>();
    let by_week =
        weeks.iter().map(|week| FigureLine { name: begins(&week.group), ..figure_line(week) }).collect();
    Ok(shown(&StatisticsPage {
        width: STRIDE * u64::try_from(bars.len()).unwrap_or(0),
        is_empty: weeks.is_empty(),
        bars,
        most,
        models: models.iter().map(model_figures).collect(),
        statements: statements.iter().map(statement_figures).collect(),
        day: day_view(&state, &session, now).await?,
        tables: vec![
            ("Week of opening", "by-week", by_week),
            ("Repository", "by-repository", figures(&repositories)),
            ("Agent", "by-agent", figures(&agents)),
        ],
        frame: session.frame("statistics"),
    }))
}

/// The Monday that starts the first week shown; this week is the last.
fn first_monday(now: DateTime<Utc>) -> DateTime<Utc> {
    let since_monday = TimeDelta::days(i64::from(now.weekday().num_days_from_monday()));
    now.date_naive().and_time(NaiveTime::MIN).and_utc() - since_monday - TimeDelta::weeks(WEEKS - 1)
}

/// The Monday of a week, counted from the week of 1 January 1970, a Thursday.
fn begins(week: &str) -> String {
    let monday = |week: i64| DateTime::from_timestamp(week * 604_800 - 259_200, 0);
    let first = week.parse::<i64>().ok().and_then(monday);
    first.map_or(week.to_owned(), |first| first.format("%Y-%m-%d").to_string())
}

fn bar(place: u64, week: &StatisticsLine, most: u64) -> WeekBar {
    let height = |count: u64| count * HEIGHT / most;
    let (ended_height, verified_height) = (height(week.ended), height(week.verified.min(week.ended)));
    WeekBar {
        name: begins(&week.group),
        x: place * STRIDE + 3,
        ended_y: HEIGHT - ended_height,
        ended_height,
        verified_y: HEIGHT - verified_height,
        verified_height,
        told: format!("{}: {} of {} verified", begins(&week.group), week.verified, week.ended),
    }
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        _ => format!("{part} of {whole} ({} %)", part * 100 / whole),
    }
}

/// The name of an agent with its model in a table.
fn agent_name(agent: &str, model: &str) -> String {
    let agent = if agent.is_empty() { "(not kept)".to_owned() } else { line(agent, 100) };
    let model = if model.is_empty() { "no model named".to_owned() } else { line(model, 100) };
    format!("{agent}, {model}")
}

fn statement_figures(of: &StatementLine) -> StatementFigures {
    let all = of.counts.values().sum();
    let shares = STATEMENT_VERDICTS
        .map(|(verdict, heading)| (heading, share(of.counts.get(verdict).copied().unwrap_or(0), all)));
    StatementFigures { name: agent_name(&of.agent, &of.model), all, shares: shares.to_vec() }
}

fn figure_line(line_of: &StatisticsLine) -> FigureLine {
    let usd = line_of.microusd as f64 / 1e6;
    FigureLine {
        name: if line_of.group.is_empty() { "(not kept)".to_owned() } else { line(&line_of.group, 150) },
        opened: line_of.opened,
        verified: share(line_of.verified, line_of.ended),
        rounds: mean(line_of.rounds as f64, line_of.counted)
            .map_or("–".to_owned(), |mean| format!("{mean:.1}")),
        false_greens: match line_of.trusted {
            0 => "–".to_owned(),
            merged => format!("{} of {merged}", line_of.false_greens),
        },
        cost: mean(usd, line_of.merged).map_or_else(|| "– (none merged)".to_owned(), dollars),
        time: mean(line_of.pull_micros as f64 / 1e6, line_of.pulls).map_or("–".to_owned(), duration),
    }
}

fn model_figures(of: &ModelLine) -> ModelFigures {
    let usd = of.microusd as f64 / 1e6;
    ModelFigures {
        name: agent_name(&of.agent, &of.model),
        runs: of.runs,
        usd: dollars(usd),
        merged: of.merged,
        cost: mean(usd, of.merged).map_or_else(|| "– (none merged)".to_owned(), dollars),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_begins_on_its_monday_and_26_of_them_are_shown() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        for (now, first) in [
            ("2026-11-27T13:00:00Z", "2026-06-01"),
            ("2026-11-23T00:00:00Z", "2026-06-01"),
            ("2026-11-22T23:59:59Z", "2026-05-25"),
        ] {
            assert_eq!(first_monday(at(now)).to_rfc3339(), format!("{first}T00:00:00+00:00"), "{now}");
        }
        assert_eq!(["0", "1", "2969"].map(begins), ["1969-12-29", "1970-01-05", "2026-11-23"]);
    }
}
