//! `/settings`: what holds, with where each setting comes from; and whether the server can do its work.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use chrono::Utc;

use journeyman_config::EffectiveSetting;

use super::answer::{DashboardFrame, shown};
use super::session::signed_in_by_token;
use super::text::{MomentView, ago, line};
use super::{CheckupFinding, DashboardState};

struct HealthLine {
    is_good: bool,
    about: String,
    text: String,
}

/// What the last look found.
struct ChecksView {
    can_look: bool,
    is_under_way: bool,
    at: Option<MomentView>,
    /// It took too long.
    is_given_up: bool,
    findings: Vec<HealthLine>,
}

#[derive(Template)]
#[template(path = "dashboard/settings.html")]
struct SettingsPage<'a> {
    health: Vec<HealthLine>,
    checks: ChecksView,
    settings: &'a [EffectiveSetting],
    frame: DashboardFrame,
}

pub(crate) async fn show(request: HttpRequest, state: Data<DashboardState>) -> HttpResponse {
    let session = match signed_in_by_token(&request, &state).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let health = vec![writes(&state).await, waiting(&state).await];
    let checks = checks(&state);
    shown(&SettingsPage { health, checks, settings: &state.settings, frame: session.frame("settings") })
}

fn checks(state: &DashboardState) -> ChecksView {
    let found = state.shared.checkup.found();
    let findings = found.as_ref().and_then(|found| found.findings.clone());
    let shown = |one: &CheckupFinding| HealthLine {
        is_good: one.is_good,
        about: line(&one.about, 100),
        text: line(&one.text, 1_000),
    };
    ChecksView {
        can_look: state.checkup.is_some(),
        is_under_way: state.shared.checkup.is_under_way(),
        at: found.as_ref().map(|found| MomentView::of(found.at)),
        is_given_up: found.is_some() && findings.is_none(),
        findings: findings.iter().flat_map(|findings| findings.iter()).map(shown).collect(),
    }
}

async fn writes(state: &DashboardState) -> HealthLine {
    let about = "Database".to_owned();
    match state.store.check_writes().await {
        Ok(()) => {
            HealthLine { is_good: true, about, text: format!("{} keeps what is written", state.store.kind()) }
        }
        Err(error) => HealthLine { is_good: false, about, text: line(&error.to_string(), 400) },
    }
}

async fn waiting(state: &DashboardState) -> HealthLine {
    let about = "Deliveries".to_owned();
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
