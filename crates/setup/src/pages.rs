//! The pages.

use std::net::{Ipv4Addr, SocketAddr};

use actix_web::HttpResponse;
use actix_web::http::header;
use askama::Template;
use journeyman_config::DoctorFinding;
use secrecy::ExposeSecret as _;

use crate::progress::SetupStep;
use crate::{ServicePlan, ServiceScope, SetupProgress};

pub(crate) const STYLE: &str = include_str!("../templates/setup/style.css");

/// What each page shows beside its own.
pub(crate) struct SetupOutline {
    pub(crate) step: SetupStep,
    /// What a person has to know first.
    pub(crate) problem: Option<String>,
    pub(crate) file: String,
}

impl SetupOutline {
    /// For the list of steps: what is done, what is next, what comes later.
    fn state(&self, step: u8) -> &'static str {
        match step.cmp(&(self.step as u8)) {
            std::cmp::Ordering::Less => "done",
            std::cmp::Ordering::Equal => "now",
            std::cmp::Ordering::Greater => "later",
        }
    }
}

#[derive(Template)]
#[template(path = "setup/app.html")]
pub(crate) struct AppPage {
    pub(crate) outline: SetupOutline,
    pub(crate) github: String,
    pub(crate) organization: String,
    pub(crate) name: String,
    pub(crate) public_url: String,
}

/// What GitHub will be asked for.
#[derive(Template)]
#[template(path = "setup/create.html")]
pub(crate) struct CreatePage {
    pub(crate) outline: SetupOutline,
    pub(crate) action: String,
    pub(crate) manifest: String,
    pub(crate) web: String,
    pub(crate) permissions: Vec<String>,
    pub(crate) events: Vec<String>,
}

#[derive(Template)]
#[template(path = "setup/install.html")]
pub(crate) struct InstallPage {
    pub(crate) outline: SetupOutline,
    pub(crate) slug: String,
    pub(crate) install: String,
    /// Repositories, and how many of them have no labels yet.
    pub(crate) all: usize,
    pub(crate) left: usize,
}

/// What is said of an App cannot be used.
#[derive(Template)]
#[template(path = "setup/trouble.html")]
pub(crate) struct TroublePage {
    pub(crate) outline: SetupOutline,
}

#[derive(Template)]
#[template(path = "setup/agent.html")]
pub(crate) struct AgentPage {
    pub(crate) outline: SetupOutline,
    pub(crate) progress: SetupProgress,
    pub(crate) variables: Vec<String>,
}

#[derive(Template)]
#[template(path = "setup/check.html")]
pub(crate) struct CheckPage {
    pub(crate) outline: SetupOutline,
    pub(crate) progress: SetupProgress,
    /// None as long as they are being looked at.
    pub(crate) checks: Option<Vec<DoctorFinding>>,
    pub(crate) is_well: bool,
    /// Whether this user can have a service.
    pub(crate) has_manager: bool,
}

/// Waits for the server, and leads to it.
#[derive(Template)]
#[template(path = "setup/start.html")]
pub(crate) struct StartPage {
    pub(crate) outline: SetupOutline,
    /// Why it is not ready yet.
    pub(crate) waits: String,
    /// The service that was made.
    pub(crate) service: Option<ServicePlan>,
    pub(crate) ready: Option<ReadyView>,
}

/// A server that is ready, and what a person does there first.
pub(crate) struct ReadyView {
    pub(crate) dashboard: String,
    pub(crate) token: Option<String>,
    /// GitHub's form for an issue with the label.
    pub(crate) first_issue: Option<String>,
    pub(crate) label: String,
}

impl ReadyView {
    /// Nothing without settings that can be read.
    pub(crate) fn of(progress: &SetupProgress, at: SocketAddr) -> Option<Self> {
        let settings = progress.settings.as_ref()?;
        let label = settings.defaults.label.clone();
        let first_issue =
            progress.app.as_ref().zip(progress.repositories.first()).map(|(app, repository)| {
                let mut issue = app.web.clone();
                issue.set_path(&format!("{}/{repository}/issues/new", app.web.path().trim_end_matches('/')));
                issue.query_pairs_mut().append_pair("labels", &label);
                issue.to_string()
            });
        let here = if at.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { at.ip() };
        let here = format!("http://{}/", SocketAddr::new(here, at.port()));
        Some(Self {
            dashboard: settings.server.public_url.as_ref().map_or(here, ToString::to_string),
            token: settings.server.api_token.as_ref().map(|token| token.expose_secret().to_owned()),
            first_issue,
            label,
        })
    }
}

#[derive(Template)]
#[template(path = "setup/end.html")]
pub(crate) struct EndPage {
    pub(crate) outline: SetupOutline,
    pub(crate) service: Option<ServicePlan>,
}

/// `forms` is where forms may be sent to beside here.
pub(crate) fn shown(page: &impl Template, forms: &str, refresh: Option<u8>) -> HttpResponse {
    let policy = format!(
        "default-src 'none'; style-src 'self'; form-action 'self'{forms}; frame-ancestors 'none'; base-uri 'none'"
    );
    match page.render() {
        Ok(html) => {
            let mut answer = HttpResponse::Ok();
            answer
                .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
                .insert_header((header::CONTENT_SECURITY_POLICY, policy))
                .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
                // The address of these pages is what opens them.
                .insert_header((header::REFERRER_POLICY, "origin"))
                .insert_header((header::CACHE_CONTROL, "no-store"));
            if let Some(seconds) = refresh {
                answer.insert_header((header::REFRESH, seconds.to_string()));
            }
            answer.body(html)
        }
        Err(error) => {
            HttpResponse::InternalServerError().body(format!("the page could not be made: {error}"))
        }
    }
}
