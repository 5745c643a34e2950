//! `/settings`: what holds, with where each setting comes from; and whether the server can do its work.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use chrono::Utc;

use journeyman_config::{DoctorFinding, EffectiveSetting, FindingLevel};

use super::DashboardState;
use super::answer::{DashboardFrame, shown};
use super::session::signed_in_by_token;
use super::text::{MomentView, ago, line};

/// What the last look found.
struct ChecksView {
    can_look: bool,
    is_under_way: bool,
    at: Option<MomentView>,
    /// It took too long.
    is_given_up: bool,
    findings: Vec<DoctorFinding>,
}

#[derive(Template)]
#[template(path = "dashboard/settings.html")]
struct SettingsPage<'a> {
    health: Vec<DoctorFinding>,
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
    let shown = |one: &DoctorFinding| DoctorFinding {
        about: line(&one.about, 100),
        text: line(&one.text, 1_000),
        level: one.level,
    };
    ChecksView {
        can_look: state.checkup.is_some(),
        is_under_way: state.shared.checkup.is_under_way(),
        at: found.as_ref().map(|found| MomentView::of(found.at)),
        is_given_up: found.is_some() && findings.is_none(),
        findings: findings.iter().flat_map(|findings| findings.iter()).map(shown).collect(),
    }
}

async fn writes(state: &DashboardState) -> DoctorFinding {
    let about = "Database";
    match state.store.check_writes().await {
        Ok(()) => {
            let text = format!("{} keeps what is written", state.store.kind());
            DoctorFinding::new(about, text, FindingLevel::Good)
        }
        Err(error) => DoctorFinding::new(about, line(&error.to_string(), 400), FindingLevel::Problem),
    }
}

async fn waiting(state: &DashboardState) -> DoctorFinding {
    let about = "Deliveries";
    match state.store.oldest_pending_delivery().await {
        Ok(None) => DoctorFinding::new(about, "none waits", FindingLevel::Good),
        Ok(Some(came)) => {
            let is_good = (Utc::now() - came).num_minutes() < 5;
            let level = if is_good { FindingLevel::Good } else { FindingLevel::Problem };
            DoctorFinding::new(about, format!("the oldest that waits came {}", ago(came, Utc::now())), level)
        }
        Err(error) => DoctorFinding::new(about, line(&error.to_string(), 400), FindingLevel::Problem),
    }
}
