//! What happens to an issue as a whole: locked.

use serde_json::json;

use crate::reply::EmulatedApiError;
use crate::state::{EmulatorState, RepositoryRole};

impl EmulatorState {
    /// Whether somebody may still say something here: in a locked conversation only people who may write can. An
    /// App is no person.
    pub(crate) fn check_open_to(
        &self,
        repository: &str,
        number: u64,
        author: u64,
    ) -> Result<(), EmulatedApiError> {
        let found = self.require_repository(repository)?;
        let locked = self.thread(repository, number)?.locked;
        if locked && (author == self.app.bot || found.role(author) < RepositoryRole::Write) {
            return Err(EmulatedApiError::new(403, "Unable to create comment because issue is locked."));
        }
        Ok(())
    }

    pub(crate) fn lock(
        &mut self,
        repository: &str,
        number: u64,
        locked: bool,
        by: u64,
    ) -> Result<(), EmulatedApiError> {
        let thread = self.thread_mut(repository, number)?;
        if thread.locked != locked {
            thread.locked = locked;
            let action = if locked { "locked" } else { "unlocked" };
            self.emit_thread(repository, number, action, by, json!({}));
        }
        Ok(())
    }
}
