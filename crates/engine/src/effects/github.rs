//! Moves that ask GitHub, or tell it something.

use std::sync::Arc;

use super::{Context, Tried, never, soon};
use crate::live_journal::Turn;
use crate::views;
use journeyman_github::{NewPull, render};
use journeyman_order::moves::ReviewNote;
use journeyman_order::{BranchName, Event, Outcome, Person, PullNumber};

impl Context {
    pub(super) async fn authorize(&self, person: &Person) -> Tried {
        let at = self.at().await?;
        Ok(Outcome::Authorized { allowed: self.parts.github.can_write(&at, person).await? })
    }

    pub(super) async fn open_pull(&self, branch: &BranchName, title: &str, summary: &str) -> Tried {
        let at = self.at().await?;
        let body = self.pull_body(summary)?;
        let base = self.opened().default_branch.clone();
        let new = NewPull { head: branch, base: &base, title, body: &body, draft: true };
        let pull = self.parts.github.open_pull(&at, new).await?;
        Ok(Outcome::PullOpened { number: pull.number, url: pull.url })
    }

    /// The last look before a pull request is said to be ready: its head has to be the commit that was tested.
    pub(super) async fn finish_pull(
        &self,
        number: PullNumber,
        title: &str,
        summary: &str,
        ready: bool,
    ) -> Tried {
        let at = self.at().await?;
        let github = &self.parts.github;
        let body = self.pull_body(summary)?;
        github.update_pull(&at, number, Some(title), &body).await?;
        if ready {
            let pull = github.pull(&at, number).await?;
            match &self.survey.trace.work {
                Some(work) if work.commit == pull.head_sha => github.mark_ready(&at, &pull).await?,
                Some(work) => {
                    return Err(soon(format!(
                        "the head of pull request #{number} is {}, and {} was tested",
                        pull.head_sha.short(),
                        work.commit.short()
                    )));
                }
                None => return Err(never("there is no tested commit")),
            }
        }
        Ok(Outcome::PullFinished)
    }

    pub(super) async fn show_status(&self) -> Tried {
        let at = self.at().await?;
        let issue = self.opened().issue.number;
        let github = &self.parts.github;
        let known = self.journal.entries().iter().rev().find_map(|entry| {
            let Event::Observed { outcome, .. } = &entry.event else { return None };
            if let Outcome::StatusShown { comment } = **outcome { comment } else { None }
        });
        let text = || async { self.status_text() };
        let comment = github.set_status_comment(&at, issue, self.order, known, text).await?;
        let survey = Arc::clone(&self.turns.borrow().survey);
        github.set_order_label(&at, issue, views::label(&survey)).await?;
        Ok(Outcome::StatusShown { comment: Some(comment) })
    }

    /// What the status is to say by now. It waits for its turn behind all that is more important.
    fn status_text(&self) -> String {
        let Turn { journal, survey } = self.turns.borrow().clone();
        render::status(&views::status(&journal, &survey, self.parts.rules.public_url.as_ref()))
    }

    pub(super) async fn show_review(&self, note: &ReviewNote) -> Tried {
        let at = self.at().await?;
        // The round before it can be told to its end by now.
        let before = views::earlier_reviews(&self.journal, note).pop();
        for note in [Some(note), before].into_iter().flatten() {
            let body = render::review(&views::review(&self.journal, &self.survey, note));
            let round = (note.stage.as_str(), note.round);
            self.parts.github.set_review_comment(&at, note.pull, self.order, round, &body).await?;
        }
        self.fold_old_comments(&at, note.pull).await?;
        Ok(Outcome::ReviewShown)
    }

    fn pull_body(&self, summary: &str) -> Result<String, journeyman_order::Trouble> {
        let view = views::pull(&self.journal, &self.survey, summary);
        view.map(|view| render::pull(&view)).ok_or_else(|| never("there is no work to publish"))
    }
}
