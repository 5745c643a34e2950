//! `/settings`: the effective settings, each with its source.

use actix_web::HttpRequest;
use actix_web::web::Data;
use askama::Template;

use journeyman_config::EffectiveSetting;

use super::DashboardState;
use super::answer::{DashboardFrame, PageResult, shown};
use super::session::signed_in_by_token;

#[derive(Template)]
#[template(path = "dashboard/settings.html")]
struct SettingsPage<'a> {
    settings: &'a [EffectiveSetting],
    frame: DashboardFrame,
}

pub(crate) async fn show(request: HttpRequest, state: Data<DashboardState>) -> PageResult {
    let session = signed_in_by_token(&request, &state).await?;
    Ok(shown(&SettingsPage { settings: &state.settings, frame: session.frame("settings") }))
}
