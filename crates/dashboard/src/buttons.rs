//! What a person can tell an order here: the same as over the API, after they were asked whether they mean it.

use actix_web::web::{Data, Form, Path};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use serde::Deserialize;

use journeyman_order::SlashCommand;
use journeyman_order::order_api::OrderRequestError;
use journeyman_store::JournalStore as _;

use super::DashboardState;
use super::answer::{DashboardFrame, conflict, nothing, of_store, refused, shown, to};
use super::order_page::{asks_for, row};
use super::parts::{buttons, projection};
use super::session::may_change;
use super::text::line;

const NOT_THEIRS: &str = "On GitHub you may read this repository and not write to it.";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Button {
    Cancel,
    Retry,
    Approve,
    Plan,
}

impl Button {
    fn of(path: &str) -> Option<Self> {
        match path {
            "cancel" => Some(Self::Cancel),
            "retry" => Some(Self::Retry),
            "approve" => Some(Self::Approve),
            "plan" => Some(Self::Plan),
            _ => None,
        }
    }

    fn explanation(self) -> &'static str {
        match self {
            Self::Cancel => {
                "The agent is stopped at once. What is there is kept, and the order can be retried."
            }
            Self::Retry => "A new set of rounds begins. The agent is given your advice.",
            Self::Approve => {
                "What waits for a person is accepted as it is. Of work that is not verified it is said everywhere that a \
                 person approved it, and that it is not verified."
            }
            Self::Plan => "The plan is made again, with your advice.",
        }
    }

    fn takes_advice(self) -> bool {
        match self {
            Self::Retry | Self::Plan => true,
            Self::Cancel | Self::Approve => false,
        }
    }

    fn command(self, advice: &str) -> SlashCommand {
        let guidance = Some(advice.trim().to_owned()).filter(|advice| !advice.is_empty());
        match self {
            Self::Cancel => SlashCommand::Cancel,
            Self::Retry => SlashCommand::Retry { guidance },
            Self::Approve => SlashCommand::Approve,
            Self::Plan => SlashCommand::Plan { guidance, until_code: true },
        }
    }
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
) -> HttpResponse {
    let (order, path) = path.into_inner();
    let (session, row) = match asks_for(&request, &state, &order).await {
        Ok(asked) => asked,
        Err(refused) => return *refused,
    };
    if !session.may_write(row.repository_id) {
        return refused(NOT_THEIRS);
    }
    let order = row.id;
    let Some(button) = Button::of(&path) else { return nothing("There is no such page.") };
    let journal = match state.store.journal(order).await {
        Ok(journal) => journal,
        Err(error) => return of_store(&error),
    };
    let offered = buttons(&projection(&journal)).into_iter().find(|offered| offered.path == path);
    let Some(offered) = offered else {
        return conflict("The order has gone on meanwhile, and this cannot be said to it now.");
    };
    shown(&ConfirmPage {
        name: offered.name,
        path: offered.path,
        explanation: button.explanation(),
        takes_advice: button.takes_advice(),
        is_danger: button == Button::Cancel,
        title: line(
            &format!(
                "{}#{}: {}",
                journal.opened().repository,
                journal.opened().issue.number,
                journal.task().title
            ),
            300,
        ),
        order: order.to_string(),
        frame: session.frame(""),
    })
}

/// Tells it, and shows what became of it.
pub(crate) async fn press(
    request: HttpRequest,
    path: Path<(String, String)>,
    form: Form<ButtonForm>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let session = match may_change(&request, &state, &form.word).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let (order, path) = path.into_inner();
    let row = match row(&state, &session, &order).await {
        Ok(row) => row,
        Err(nothing) => return *nothing,
    };
    if !session.may_write(row.repository_id) {
        return refused(NOT_THEIRS);
    }
    let order = row.id;
    let Some(button) = Button::of(&path) else { return nothing("There is no such page.") };
    match state.orders.command(order, session.requester(), button.command(&form.advice)).await {
        Ok(_) => to(&format!("/orders/{order}")),
        Err(OrderRequestError::NotFound(text)) => nothing(&text),
        Err(OrderRequestError::Refused(text) | OrderRequestError::Unavailable(text)) => refused(&text),
        Err(OrderRequestError::Conflict(text)) => conflict(&text),
    }
}
