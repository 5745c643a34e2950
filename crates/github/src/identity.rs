//! Our identity on GitHub.

use serde::Deserialize;

use super::error::Result;
use super::service::{AppRegistration, GitHub};
use super::transport::GitHubRequest;
use journeyman_order::{Person, UserId};

/// A comment's author in REST. Some servers and proxies omit the App.
#[derive(Deserialize)]
pub(super) struct Writer {
    pub(super) user: Option<UserWire>,
    performed_via_github_app: Option<AppWire>,
}

#[derive(Debug, Deserialize)]
pub(super) struct UserWire {
    pub(super) login: String,
    pub(super) id: Option<UserId>,
    #[serde(default)]
    pub(super) r#type: String,
}

impl Writer {
    /// Their login; `ghost` if the account was deleted, as GitHub shows it.
    pub(super) fn login(&self) -> &str {
        self.user.as_ref().map_or("ghost", |user| user.login.as_str())
    }

    pub(super) fn is_bot(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.r#type == "Bot" || user.login.ends_with("[bot]"))
    }

    /// The person; `None` for a bot or a deleted account.
    pub(super) fn person(&self) -> Option<Person> {
        let user = self.user.as_ref().filter(|_| !self.is_bot())?;
        Some(Person { login: user.login.clone(), id: user.id? })
    }
}

/// The App that made something.
#[derive(Deserialize)]
pub(super) struct AppWire {
    pub(super) id: u64,
    pub(super) slug: Option<String>,
}

impl GitHub {
    /// Whether we wrote it: by our App's id, or without one by our bot's login, which no person can have.
    pub(super) async fn wrote(&self, writer: &Writer) -> Result<bool> {
        if let Some(app) = &writer.performed_via_github_app {
            return Ok(app.id == self.0.app_id);
        }
        let bot = writer.user.as_ref().filter(|user| user.r#type == "Bot");
        match bot.and_then(|user| user.login.strip_suffix("[bot]")) {
            Some(slug) => Ok(self.identity().await?.slug.eq_ignore_ascii_case(slug)),
            None => Ok(false),
        }
    }

    /// Our registration, cached: renaming the App requires a restart.
    ///
    /// # Errors
    /// As for every call; [`ErrorKind::Unauthorized`](super::ErrorKind::Unauthorized) when the key is not the App's.
    pub async fn identity(&self) -> Result<AppRegistration> {
        self.0.identity.get_or_try_init(|| self.registration()).await.cloned()
    }

    /// The App's current registration, not cached.
    ///
    /// # Errors
    /// As [`GitHub::identity`].
    pub async fn registration(&self) -> Result<AppRegistration> {
        self.ask_as_app(&GitHubRequest::get("/app")).await?.json()
    }
}
