//! Commands that a person can give an order: the same as in the API, after a confirmation.

use actix_web::HttpRequest;
use actix_web::web::{Data, Form, Path};
use askama::Template;
use serde::Deserialize;

use journeyman_order::SlashCommand;
use journeyman_order::order_api::OrderRequestError;
use journeyman_store::{JournalStore as _, OrderRow};

use super::DashboardState;
use super::answer::{DashboardFrame, EarlyAnswer, PageResult, conflict, nothing, refused, shown, to};
use super::order_page::{asks_for, row};
use super::parts::{buttons, projection};
use super::session::{DashboardSession, may_change};
use super::text::line;

/// A command, by the last part of its address.
struct OrderButton {
    path: &'static str,
    explanation: &'static str,
    takes_advice: bool,
    command: fn(Option<String>) -> SlashCommand,
}

const BUTTONS: [OrderButton; 4] = [
    OrderButton {
        path: "cancel",
        explanation: "The agent is stopped at once. What is there is kept, and the order can be retried.",
        takes_advice: false,
        command: |_| SlashCommand::Cancel,
    },
    OrderButton {
        path: "retry",
        explanation: "A new set of rounds begins. The agent is given your advice.",
        takes_advice: true,
        command: |guidance| SlashCommand::Retry { guidance },
    },
    OrderButton {
        path: "approve",
        explanation: "What waits for a person is accepted as it is. Of work that is not verified it is said everywhere \
                      that a person approved it, and that it is not verified.",
        takes_advice: false,
        command: |_| SlashCommand::Approve,
    },
    OrderButton {
        path: "plan",
        explanation: "The plan is made again, with your advice.",
        takes_advice: true,
        command: |guidance| SlashCommand::Plan { guidance, until_code: true },
    },
];

/// A button of an order, if the viewer may press it.
fn button(
    path: &str,
    row: &OrderRow,
    session: &DashboardSession,
) -> Result<&'static OrderButton, EarlyAnswer> {
    if !session.may_write(row.repository_id) {
        return Err(refused("On GitHub you may read this repository and not write to it.").into());
    }
    let named = BUTTONS.iter().find(|button| button.path == path);
    named.ok_or_else(|| nothing("There is no such page.").into())
}

#[derive(Template)]
#[template(path = "dashboard/confirm.html")]
struct ConfirmPage {
    name: &'static str,
    path: &'static str,
    explanation: &'static str,
    takes_advice: bool,
    is_danger: bool,
    title: String,
    order: String,
    frame: DashboardFrame,
}

#[derive(Deserialize)]
pub(crate) struct ButtonForm {
    #[serde(default)]
    word: String,
    #[serde(default)]
    advice: String,
}

pub(crate) async fn confirm(
    request: HttpRequest,
    path: Path<(String, String)>,
    state: Data<DashboardState>,
) -> PageResult {
    let (order, path) = path.into_inner();
    let (session, row) = asks_for(&request, &state, &order).await?;
    let button = button(&path, &row, &session)?;
    let journal = state.store.journal(row.id).await?;
    let offered = buttons(&projection(&journal)).into_iter().find(|offered| offered.path == path);
    let Some(offered) = offered else {
        return Ok(conflict("The order has gone on meanwhile, and this cannot be said to it now."));
    };
    Ok(shown(&ConfirmPage {
        name: offered.name,
        path: offered.path,
        explanation: button.explanation,
        takes_advice: button.takes_advice,
        is_danger: path == "cancel",
        title: line(
            &format!(
                "{}#{}: {}",
                journal.opened().repository,
                journal.opened().issue.number,
                journal.task().title
            ),
            300,
        ),
        order: row.id.to_string(),
        frame: session.frame(""),
    }))
}

/// Gives the command and shows its effect.
pub(crate) async fn press(
    request: HttpRequest,
    path: Path<(String, String)>,
    form: Form<ButtonForm>,
    state: Data<DashboardState>,
) -> PageResult {
    let session = may_change(&request, &state, &form.word).await?;
    let (order, path) = path.into_inner();
    let row = row(&state, &session, &order).await?;
    let button = button(&path, &row, &session)?;
    let guidance = Some(form.advice.trim().to_owned()).filter(|advice| !advice.is_empty());
    let told = state.orders.command(row.id, session.requester(), (button.command)(guidance)).await;
    Ok(match told {
        Ok(_) => to(&format!("/orders/{}", row.id)),
        Err(OrderRequestError::NotFound(text)) => nothing(&text),
        Err(OrderRequestError::Refused(text) | OrderRequestError::Unavailable(text)) => refused(&text),
        Err(OrderRequestError::Conflict(text)) => conflict(&text),
    })
}
