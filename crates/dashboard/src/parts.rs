//! The parts of an order's page: each is rendered separately, so that an open page replaces only what changed.

use askama::Template;
use chrono::Utc;
use url::Url;

use super::day_view::{MeterView, whole};
use super::list::{StateBadge, said};
use super::receipt_view::{ReceiptView, receipt_view};
use super::step_view::{StepView, step_views};
use super::text::{MomentView, count, dollars, line};
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::PendingApproval;
use journeyman_order::{
    AnsweredSignal, Journal, JournalEvent, Move, MoveKey, OrderWait, SignalAnswer, SignalKind, SlashCommand,
};

/// A named part of the page, with its HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagePart {
    pub(crate) id: String,
    /// Where to insert it if it is new.
    pub(crate) into: &'static str,
    pub(crate) html: String,
}

#[derive(Template)]
#[template(path = "dashboard/part_head.html")]
struct HeadPart {
    title: String,
    repository: String,
    issue: String,
    issue_url: Option<String>,
    pull: Option<(String, Option<String>)>,
    badge: StateBadge,
    headline: String,
    by: String,
    agent: String,
    opened: MomentView,
    problems: Vec<String>,
    because: Option<String>,
    waits: Vec<String>,
    buttons: Vec<ButtonView>,
    order: String,
}

pub(crate) struct ButtonView {
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
    class: &'static str,
}

#[derive(Template)]
#[template(path = "dashboard/part_budget.html")]
struct BudgetPart {
    meters: Vec<MeterView>,
}

#[derive(Template)]
#[template(path = "dashboard/part_step.html")]
struct StepPart {
    step: StepView,
    order: String,
}

#[derive(Template)]
#[template(path = "dashboard/part_said.html")]
struct SaidPart {
    said: Vec<SaidView>,
}

struct SaidView {
    at: MomentView,
    by: String,
    what: String,
    text: Option<String>,
    answer: String,
}

#[derive(Template)]
#[template(path = "dashboard/part_receipt.html")]
struct ReceiptPart {
    receipt: Option<ReceiptView>,
}

/// All parts in page order. Viewers without permission get no buttons.
pub(crate) fn parts(
    journal: &Journal,
    projection: &OrderProjection,
    address: &str,
    may_act: bool,
) -> Result<Vec<PagePart>, askama::Error> {
    let order = journal.opened().order.to_string();
    let html = head(journal, projection, may_act).render()?;
    let mut parts = vec![PagePart { id: "head".to_owned(), into: "top", html }];
    let mut add = |id: String, into: &'static str, html: String| parts.push(PagePart { id, into, html });
    // Above the steps, whose agents may claim anything.
    let receipt = receipt_view(journal, projection, address);
    add("receipt".to_owned(), "top", ReceiptPart { receipt }.render()?);
    add("budget".to_owned(), "top", budget(projection).render()?);
    for step in step_views(journal, projection.next.settled.is_none()) {
        let id = format!("step-{}", step.number);
        add(id, "steps", StepPart { step, order: order.clone() }.render()?);
    }
    add("said".to_owned(), "rest", SaidPart { said: said_views(journal, projection) }.render()?);
    Ok(parts)
}

pub(crate) fn runs_under_way(journal: &Journal, projection: &OrderProjection) -> Vec<MoveKey> {
    let is_run = |r#move: &Move| matches!(r#move, Move::RunAgent(_));
    let planned = projection.next.moves.iter().filter(|(_, planned)| is_run(planned));
    planned.map(|(key, _)| key).filter(|key| journal.is_under_way(key)).cloned().collect()
}

/// A web page's URL, if it is one.
fn page(url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok()?;
    matches!(parsed.scheme(), "https" | "http").then(|| parsed.to_string())
}

fn head(journal: &Journal, projection: &OrderProjection, may_act: bool) -> HeadPart {
    let opened = journal.opened();
    let shown = projection.surfaces();
    let is_active = projection.next.settled.is_none();
    let asks = projection.trace.asks.filter(|_| is_active);
    let state = match (projection.trace.running(), is_active) {
        (Some(stage), true) => stage
            .rounds
            .last()
            .map_or(stage.name.clone(), |round| format!("{}, round {}", stage.name, round.round)),
        (None, true) => "starting".to_owned(),
        (_, false) => shown.outcome.to_owned(),
    };
    let needs_person = asks.is_some() || shown.can_be_retried;
    let headline = match asks {
        Some(PendingApproval::Plan) => "The plan is waiting for approval".to_owned(),
        Some(PendingApproval::Answers) => "Waiting for answers before code is written".to_owned(),
        None => shown.headline.clone(),
    };
    let waits = OrderWait::of(journal, projection);
    HeadPart {
        title: line(&journal.task().title, 300),
        repository: opened.repository.to_string(),
        issue: opened.issue.number.to_string(),
        issue_url: page(&opened.issue.url),
        pull: projection.trace.pull.as_ref().map(|pull| (pull.number.to_string(), page(&pull.url))),
        badge: StateBadge::of(&state, is_active, needs_person),
        headline: line(&headline, 300),
        by: line(&opened.by.to_string(), 100),
        agent: line(opened.request.agent().unwrap_or(&opened.agent), 100),
        opened: MomentView::of(journal.opened_at()),
        problems: projection.trace.problems.iter().take(20).map(|text| line(text, 600)).collect(),
        because: shown.because.as_deref().map(|because| line(because, 1_500)),
        waits: waits.iter().map(|wait| line(&said(wait), 400)).collect(),
        buttons: if may_act { buttons(projection) } else { Vec::new() },
        order: opened.order.to_string(),
    }
}

/// The commands that a person can give in the current state.
pub(crate) fn buttons(projection: &OrderProjection) -> Vec<ButtonView> {
    let button = |path, name, class| ButtonView { path, name, class };
    let of = |command: &'static str| match (command, projection.trace.asks) {
        ("approve", Some(PendingApproval::Plan)) => button(command, "Approve the plan", ""),
        ("approve", Some(PendingApproval::Answers)) => button(command, "Continue without answers", ""),
        ("approve", None) => button(command, "Approve as it is", "plain"),
        ("plan", _) => button(command, "Plan again, with advice", "plain"),
        ("retry", _) => button(command, "Retry with advice", ""),
        (_, _) => button(command, "Cancel", "danger"),
    };
    projection.next_commands().into_iter().map(of).collect()
}

fn budget(projection: &OrderProjection) -> BudgetPart {
    let budget = &projection.budget;
    let (minutes, most) = (budget.minutes_spent as f64, budget.minutes_limit as f64);
    let runs = match budget.runs_limit {
        // The value if the settings have no limit.
        u32::MAX => {
            MeterView { name: "Agent runs", text: format!("{}, no limit", budget.runs_spent), scale: None }
        }
        most => MeterView::of("Agent runs", f64::from(budget.runs_spent), Some(f64::from(most)), whole),
    };
    BudgetPart {
        meters: vec![
            MeterView::of("Dollars", budget.usd_spent, Some(budget.usd_limit), dollars),
            MeterView::of("Minutes", minutes, Some(most), whole),
            runs,
        ],
    }
}

/// People's messages to the order, and their effects.
fn said_views(journal: &Journal, projection: &OrderProjection) -> Vec<SaidView> {
    projection.answers.iter().filter_map(|answered| said_view(journal, answered)).collect()
}

fn said_view(journal: &Journal, answered: &AnsweredSignal) -> Option<SaidView> {
    let place = usize::try_from(answered.signal.checked_sub(1)?).ok()?;
    let entry = journal.entries().get(place)?;
    let JournalEvent::Signaled { signal, .. } = &entry.event else { return None };
    let (what, text) = said_words(&signal.kind)?;
    let answer = match &answered.answer {
        SignalAnswer::Taken => "taken".to_owned(),
        SignalAnswer::Noted => "noted until the pull request is read".to_owned(),
        SignalAnswer::Asking => "it is being asked whether they may".to_owned(),
        SignalAnswer::NoRight(because) | SignalAnswer::Ignored(because) => {
            format!("no effect: {}", line(because, 400))
        }
    };
    Some(SaidView {
        at: MomentView::of(entry.at),
        by: line(&signal.by.to_string(), 100),
        what,
        text: text.map(|text| super::text::beginning(text, 4_000).0),
        answer,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "what people do elsewhere is told where it is done")]
fn said_words(kind: &SignalKind) -> Option<(String, Option<&str>)> {
    match kind {
        SignalKind::Commanded { command, .. } => {
            let text = match command {
                SlashCommand::Retry { guidance } | SlashCommand::Plan { guidance, .. } => guidance.as_deref(),
                SlashCommand::Start { request } => request.advice.as_deref(),
                SlashCommand::Cancel
                | SlashCommand::Approve
                | SlashCommand::DropStatement { .. }
                | SlashCommand::Status
                | SlashCommand::Help => None,
            };
            Some((format!("/{}", command.word()), text))
        }
        SignalKind::Labeled { label, .. } => Some((format!("the label {}", line(label, 60)), None)),
        _ => None,
    }
}

/// The counts in the page's head.
pub(crate) fn summary(projection: &OrderProjection) -> String {
    let rounds = projection.trace.worker_rounds();
    format!("{}, {}", count(rounds as u64, "round"), dollars(projection.trace.usage.usd))
}

pub(crate) fn projection(journal: &Journal) -> OrderProjection {
    journeyman_order::projection(journal.pipeline(), journal, Utc::now())
}
