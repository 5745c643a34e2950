//! `/settings`: what holds, with where each setting comes from; and whether the server can do its work.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use chrono::Utc;

use journeyman_config::EffectiveSetting;

use super::DashboardState;
use super::answer::{DashboardFrame, shown};
use super::session::signed_in_by_token;
use super::text::{ago, line};

struct HealthLine {
    is_good: bool,
    about: &'static str,
    text: String,
}

#[derive(Template)]
#[template(path = "dashboard/settings.html")]
struct SettingsPage<'a> {
    health: Vec<HealthLine>,
    settings: &'a [EffectiveSetting],
    frame: DashboardFrame,
}

pub(crate) async fn show(request: HttpRequest, state: Data<DashboardState>) -> HttpResponse {
    let session = match signed_in_by_token(&request, &state).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let health = vec![writes(&state).await, waiting(&state).await];
    shown(&SettingsPage { health, settings: &state.settings, frame: session.frame("settings") })
}

async fn writes(state: &DashboardState) -> HealthLine {
    let about = "Database";
    match state.store.check_writes().await {
        Ok(()) => {
            HealthLine { is_good: true, about, text: format!("{} keeps what is written", state.store.kind()) }
        }
        Err(error) => HealthLine { is_good: false, about, text: line(&error.to_string(), 400) },
    }
}

async fn waiting(state: &DashboardState) -> HealthLine {
    let about = "Deliveries";
    match state.store.oldest_pending_delivery().await {
        Ok(None) => HealthLine { is_good: true, about, text: "none waits".to_owned() },
        Ok(Some(came)) => {
            let is_good = (Utc::now() - came).num_minutes() < 5;
            HealthLine {
                is_good,
                about,
                text: format!("the oldest that waits came {}", ago(came, Utc::now())),
            }
        }
        Err(error) => HealthLine { is_good: false, about, text: line(&error.to_string(), 400) },
    }
}
