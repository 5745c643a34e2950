//! The pages of the setup.

use std::net::{Ipv4Addr, SocketAddr};

use actix_web::HttpResponse;
use actix_web::http::header;
use askama::Template;
use journeyman_config::DoctorFinding;
use secrecy::ExposeSecret as _;

use crate::progress::SetupStep;
use crate::{ServicePlan, ServiceScope, SetupProgress};

pub(crate) const STYLE: &str = include_str!("../templates/setup/style.css");

/// The parts that all pages share.
pub(crate) struct SetupOutline {
    pub(crate) step: SetupStep,
    /// A problem to show first.
    pub(crate) problem: Option<String>,
    pub(crate) file: String,
}

impl SetupOutline {
    /// A step's state in the list of steps: done, current or later.
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

/// Shows what the App requests from GitHub.
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
    /// The number of repositories, and of those that still lack labels.
    pub(crate) all: usize,
    pub(crate) left: usize,
}

/// The configured App cannot be used.
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
    /// `None` while the checks are running.
    pub(crate) checks: Option<Vec<DoctorFinding>>,
    pub(crate) is_well: bool,
    /// Whether this user's systemd manager can run a service.
    pub(crate) has_manager: bool,
}

/// Waits for the server, then links to it.
#[derive(Template)]
#[template(path = "setup/start.html")]
pub(crate) struct StartPage {
    pub(crate) outline: SetupOutline,
    /// Why it is not ready yet.
    pub(crate) waits: String,
    /// The service that was created.
    pub(crate) service: Option<ServicePlan>,
    pub(crate) ready: Option<ReadyView>,
}

/// A ready server, and a person's first steps there.
pub(crate) struct ReadyView {
    pub(crate) dashboard: String,
    pub(crate) token: Option<String>,
    /// GitHub's form for a new issue with the label.
    pub(crate) first_issue: Option<String>,
    pub(crate) label: String,
}

impl ReadyView {
    /// `None` if the settings cannot be read.
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

/// `forms` lists further origins that forms may be sent to.
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
                // The address of these pages is a secret, so never send its path.
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
