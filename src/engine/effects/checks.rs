//! Our check run on a commit, and what the checks of others say of it.

use chrono::Utc;

use super::{Context, Tried};
use crate::engine::views;
use crate::github::{CheckButton, CheckRun, render};
use crate::order::conversation::CheckState;
use crate::order::next::Survey;
use crate::order::{CommitSha, Outcome, Settlement, survey};

impl Context {
    /// Brings our check run on a commit up to date with the journal.
    pub(super) async fn show_check(&self, head: &CommitSha, state: CheckState) -> Tried {
        let at = self.at().await?;
        let survey = survey(self.journal.pipeline(), &self.journal, Utc::now());
        let text = render::check(&views::check(&self.journal, &survey, head, state));
        let buttons = buttons(&survey);
        let details = self.parts.rules.public_url.as_ref();
        let run = CheckRun { head, order: self.order, state, text: &text, details, buttons: &buttons };
        self.parts.github.show_check(&at, run).await?;
        Ok(Outcome::Done)
    }
}

/// What can be asked for now by a button.
fn buttons(survey: &Survey) -> Vec<CheckButton> {
    let Some(settled) = &survey.next.settled else { return Vec::new() };
    let retry = settled.can_be_retried().then_some(CheckButton::Retry);
    let approve = match settled {
        Settlement::Unverified { .. } | Settlement::Escalated { .. } => Some(CheckButton::Approve),
        Settlement::Verified { .. }
        | Settlement::Approved { .. }
        | Settlement::Blocked { .. }
        | Settlement::Failed { .. }
        | Settlement::Cancelled { .. }
        | Settlement::Merged { .. }
        | Settlement::Closed { .. }
        | Settlement::Refused { .. } => None,
    };
    retry.into_iter().chain(approve).collect()
}
