//! What happens to an issue as a whole: locked, transferred, deleted.

use serde_json::json;

use crate::reply::EmulatedApiError;
use crate::state::{EmulatorState, RemovedIssue, RepositoryRole};

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

    /// Deletes an issue. Its number is never used again.
    pub(crate) fn delete_issue(
        &mut self,
        repository: &str,
        number: u64,
        by: u64,
    ) -> Result<(), EmulatedApiError> {
        self.is_issue(repository, number)?;
        self.emit_thread(repository, number, "deleted", by, json!({}));
        let found = self.require_repository_mut(repository)?;
        found.threads.remove(&number);
        found.gone.insert(number, RemovedIssue::Deleted);
        Ok(())
    }

    /// Brings an issue into another repository; its number there.
    pub(crate) fn transfer(
        &mut self,
        repository: &str,
        number: u64,
        to: &str,
        by: u64,
    ) -> Result<u64, EmulatedApiError> {
        self.is_issue(repository, number)?;
        let thread = self.thread(repository, number)?.clone();
        let new = self.add_thread(to, thread.author, &thread.title, &thread.body)?;
        let moved = self.thread_mut(to, new)?;
        // Labels stay behind: the other repository has its own.
        (moved.state, moved.comments, moved.created_at) = (thread.state, thread.comments, thread.created_at);
        moved.changed();
        let (found, there) = (self.require_repository(to)?, self.thread(to, new)?);
        let gone = RemovedIssue::Transferred { repository: found.id, number: new };
        let changes = json!({"changes": {
            "new_issue": self.issue_json(found, there), "new_repository": self.repository_json(found),
        }});
        self.emit_thread(repository, number, "transferred", by, changes);
        let found = self.require_repository_mut(repository)?;
        found.threads.remove(&number);
        found.gone.insert(number, gone);
        Ok(new)
    }

    fn is_issue(&self, repository: &str, number: u64) -> Result<(), EmulatedApiError> {
        match self.thread(repository, number)?.pull {
            None => Ok(()),
            Some(_) => {
                Err(EmulatedApiError::new(422, "Pull requests can be neither deleted nor transferred"))
            }
        }
    }
}
