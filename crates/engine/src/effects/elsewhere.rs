//! What could not be done, because the repository is elsewhere by now, or out of our reach for a while.

use super::EffectContext;
use crate::whereabouts;
use journeyman_github::InstalledRepository;
use journeyman_order::EffectError;
use journeyman_order::moves::Retry;

impl EffectContext {
    /// Lets the effect retry if the repository has moved, or if no installation includes it at the moment.
    pub(super) async fn unless_elsewhere(
        &self,
        error: EffectError,
        tried_at: Option<InstalledRepository>,
    ) -> EffectError {
        let opened = self.opened();
        let id = opened.repository_id;
        let seen_at = tried_at.as_ref().map(|at| at.installation);
        let homes: Vec<_> = seen_at.into_iter().chain(opened.installation).collect();
        match whereabouts::find(&self.parts.github, id, &homes).await {
            Ok(Some(now)) if tried_at.as_ref() != Some(&now) => {
                match whereabouts::learn(&self.parts.store, id, &now.repository, now.installation).await {
                    Ok(_) => EffectError { retry: Retry::Soon, ..error },
                    Err(unkept) => unkept.into(),
                }
            }
            Ok(Some(_)) => error,
            Ok(None) => EffectError {
                message: format!(
                    "no installation of the App includes the repository: install it there, or lift its suspension \
                     ({})",
                    error.message
                ),
                retry: Retry::Outage,
            },
            // It may be where nobody could look: what was refused here is done there, once it is found.
            Err(unasked) => EffectError {
                message: format!(
                    "{}; whether the repository is elsewhere by now could not be found out ({unasked})",
                    error.message
                ),
                retry: Retry::Outage,
            },
        }
    }
}
