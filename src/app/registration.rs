//! Whether GitHub knows the App by the settings' id and key, and whether it has the permissions of our manifest.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::AppManifest;
use crate::github::{AppRegistration, ErrorKind, GitHub};

/// Short, so that a fix on GitHub's page soon shows here.
const AGAIN: Duration = Duration::from_secs(60);
/// A key can be deleted or a permission withdrawn at any time.
const LATER: Duration = Duration::from_secs(600);
/// Failures in a row before an App that worked counts as unknown.
const SURE: u32 = 3;
/// GitHub did not answer.
const SOON: Duration = Duration::from_secs(10);

/// Why the App cannot work; `None` while no problem is known.
#[derive(Debug, Clone, Default)]
pub(super) struct AppProblem(Arc<Mutex<Option<String>>>);

impl AppProblem {
    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, problem: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Polls GitHub while the server runs, and records the problem.
    pub(super) async fn watch(self, github: GitHub) -> std::convert::Infallible {
        // One wrong answer from a proxy must not take a working server out of service.
        let (mut before, mut is_known, mut in_a_row) = (None, false, 0);
        loop {
            let found = AppCheck::ask(&github).await;
            let is_news = before.as_ref() != Some(&found);
            match &found {
                AppCheck::Well { .. } | AppCheck::Lacking(_) => (is_known, in_a_row) = (true, 0),
                AppCheck::Unknown(_) => in_a_row += 1,
                AppCheck::Unanswered(_) => {}
            }
            let pause = match &found {
                AppCheck::Well { slug } => {
                    self.set(None);
                    is_news.then(|| {
                        tracing::info!(
                            "GitHub knows the App as {slug}, with the permissions and events it needs"
                        );
                    });
                    LATER
                }
                AppCheck::Lacking(what) => {
                    self.set(None);
                    is_news.then(|| tracing::warn!("{what}"));
                    AGAIN
                }
                AppCheck::Unknown(why) => {
                    if !is_known || in_a_row >= SURE {
                        self.set(Some(why.clone()));
                    }
                    is_news.then(|| tracing::error!("{why}"));
                    AGAIN
                }
                AppCheck::Unanswered(why) => {
                    is_news.then(|| tracing::warn!("{why}"));
                    SOON
                }
            };
            before = Some(found);
            tokio::time::sleep(pause).await;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AppCheck {
    Well {
        slug: String,
    },
    /// It lacks permissions or events of the manifest.
    Lacking(String),
    /// GitHub does not know an App with this id and key.
    Unknown(String),
    /// GitHub gave no answer.
    Unanswered(String),
}

impl AppCheck {
    pub(super) async fn ask(github: &GitHub) -> Self {
        let error = match github.registration().await {
            Ok(found) => {
                return missing(&found).map_or(Self::Well { slug: found.slug }, Self::Lacking);
            }
            Err(error) => error,
        };
        match error.kind {
            ErrorKind::Unauthorized | ErrorKind::NotFound | ErrorKind::Forbidden => Self::Unknown(format!(
                "GitHub does not know the App: check github.app_id, github.private_key_path and github.api_url ({error})"
            )),
            ErrorKind::Unavailable { .. }
            | ErrorKind::Conflict
            | ErrorKind::Invalid
            | ErrorKind::Unexpected => {
                Self::Unanswered(format!("GitHub cannot be asked about the App: {error}"))
            }
        }
    }
}

/// What the App lacks of the manifest; `None` if it has everything.
fn missing(found: &AppRegistration) -> Option<String> {
    let manifest = AppManifest::shipped();
    let rank = |level: Option<&String>| match level.map(String::as_str) {
        Some("admin") => 3,
        Some("write") => 2,
        Some("read") => 1,
        Some(_) | None => 0,
    };
    let is_lacking =
        |(name, level): &(&String, &String)| rank(found.permissions.get(*name)) < rank(Some(level));
    let lacking = manifest.permissions.iter().filter(is_lacking);
    let permissions: Vec<String> = lacking.map(|(name, level)| format!("{name}: {level}")).collect();
    let events: Vec<&str> = manifest
        .events
        .iter()
        .map(String::as_str)
        .filter(|event| !found.events.iter().any(|known| known == event))
        .collect();
    let parts = [
        (!permissions.is_empty()).then(|| format!("the permissions {}", permissions.join(", "))),
        (!events.is_empty()).then(|| format!("the events {}", events.join(", "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| {
        format!(
            "the App {} lacks {}: add them on its page on GitHub (Permissions & events), and accept them where it is \
             installed",
            found.slug,
            parts.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_app_was_not_given_is_named() {
        let manifest = AppManifest::shipped();
        assert!(manifest.permissions.len() > 5 && manifest.events.len() > 8);
        let whole = AppRegistration {
            id: 7,
            slug: "journeyman".to_owned(),
            permissions: manifest.permissions,
            events: manifest.events,
            html_url: None,
        };
        assert_eq!(missing(&whole), None);
        let mut less = whole;
        less.permissions.insert("issues".to_owned(), "read".to_owned());
        less.permissions.remove("statuses");
        less.events.retain(|event| event != "push");
        let words = "the App journeyman lacks the permissions issues: write, statuses: read and the events push: add them";
        let said = missing(&less).unwrap();
        assert!(said.starts_with(words), "{said}");
    }
}
