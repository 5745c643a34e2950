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
        let id = self.opened().repository_id;
        let because = match whereabouts::find(&self.parts.github, id).await {
            Ok(Some(now)) if tried_at.as_ref() != Some(&now) => {
                return match whereabouts::learn(&self.parts.store, id, &now.repository, now.installation)
                    .await
                {
                    Ok(()) => EffectError { retry: Retry::Soon, ..error },
                    Err(unkept) => unkept.into(),
                };
            }
            Ok(Some(_)) => return error,
            Ok(None) => error.message,
            Err(unasked) => unasked.message,
        };
        EffectError {
            message: format!(
                "no installation of the App includes the repository, or lets Journeyman in: install it there, or lift its \
                 suspension ({because})"
            ),
            retry: Retry::Outage,
        }
    }
}
