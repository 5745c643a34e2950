//! Whether GitHub knows the App by the settings' id and key, and whether it may do what our manifest says.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::AppManifest;
use crate::github::{AppRegistration, ErrorKind, GitHub};

/// A person mends it on GitHub's page, and then sees here that it is mended.
const AGAIN: Duration = Duration::from_secs(60);
/// GitHub was not there.
const SOON: Duration = Duration::from_secs(10);

/// Why the App cannot work; nothing as long as nobody knows of anything.
#[derive(Debug, Clone, Default)]
pub(super) struct AppProblem(Arc<Mutex<Option<String>>>);

impl AppProblem {
    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, problem: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Asks GitHub until all is well, and remembers what is not.
    pub(super) async fn watch(self, github: GitHub) {
        let mut said = None;
        loop {
            let (problem, missing, pause) = match github.registration().await {
                Ok(found) => {
                    let missing = missing(&found);
                    if missing.is_none() {
                        self.set(None);
                        tracing::info!(
                            "GitHub knows the App as {}, with the permissions and events it needs",
                            found.slug
                        );
                        return;
                    }
                    (None, missing, AGAIN)
                }
                Err(error) => match error.kind {
                    ErrorKind::Unauthorized | ErrorKind::NotFound | ErrorKind::Forbidden => {
                        let problem = format!(
                            "GitHub does not know the App: check github.app_id, github.private_key_path and \
                             github.api_url ({error})"
                        );
                        (Some(problem), None, AGAIN)
                    }
                    ErrorKind::Unavailable { .. }
                    | ErrorKind::Conflict
                    | ErrorKind::Invalid
                    | ErrorKind::Unexpected => {
                        let missing = format!("GitHub cannot be asked about the App: {error}");
                        (self.get(), Some(missing), SOON)
                    }
                },
            };
            let now = problem.clone().or_else(|| missing.clone());
            if now != said {
                match (&problem, &missing) {
                    (_, Some(missing)) => tracing::warn!("{missing}"),
                    (Some(problem), None) => tracing::error!("{problem}"),
                    (None, None) => {}
                }
                said = now;
            }
            self.set(problem);
            tokio::time::sleep(pause).await;
        }
    }
}

/// What of the manifest the App was not given; none where that is all of it.
pub(super) fn missing(found: &AppRegistration) -> Option<String> {
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
