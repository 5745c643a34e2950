//! Opens orders that verify somebody else's pull request: one for each commit.
//!
//! May know: signals, the store, GitHub's pull requests. Must never know: how a commit is verified.

use super::Engine;
use super::intake::{DeliveryIntake, IntakeResult, fault};
use super::intake_rules::{VERIFY_LABEL, asked_for};
use super::issue_history::HeardEvents;
use journeyman_github::ForeignPull;
use journeyman_order::conversation::PullSnapshotState;
use journeyman_order::{
    CommitSha, GivenChange, IssueNumber, IssueText, Journal, JournalEvent, OrderInput, PullNumber, SignalKind,
};
use journeyman_store::{OpenOutcome, OrderRow, StoreError, StoredDelivery};
use journeyman_webhook::RoutedSignal;

/// The pipeline of every verification. It is the server's: a change under test must not choose its judge.
const PIPELINE: &str = "verify";

impl Engine {
    /// Verifies a pull request that somebody asks for, or the next commit of one that was verified before. `last` is
    /// the newest verification.
    pub(super) async fn verify_for(
        &self,
        delivery: &StoredDelivery,
        incoming: &RoutedSignal,
        (pull, last): (PullNumber, Option<&OrderRow>),
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        let kind = &incoming.signal.kind;
        let pushed = if let SignalKind::PullPushed { head, .. } = kind { Some(head) } else { None };
        let before = match last {
            Some(last) => self.readable_journal(last.id).await?,
            None => None,
        };
        match (last.filter(|last| last.active), &before) {
            (Some(active), Some(journal)) => {
                if pushed.is_none_or(|head| is_of(journal, head)) {
                    return self.signal_orders(delivery, &[active.id], &incoming.signal, intake).await;
                }
                // The delivery stays pending: it opens the next order once this one has ended.
                if !was_told(journal, kind) {
                    let signal = incoming.signal.clone();
                    self.parts.store.signal(active.id, signal, self.parts.clock.now()).await?;
                    self.wake(&[active.id]);
                }
                return Ok(IntakeResult::Waiting);
            }
            (Some(_), None) => return Ok(IntakeResult::Waiting),
            (None, _) => {}
        }
        if pushed.is_some() && before.is_none() {
            return Ok(intake.ignore(delivery, "the pull request is not being verified"));
        }
        if let Some(journal) = &before {
            let mut heard = HeardEvents::default();
            heard.read(journal);
            if heard.has(&incoming.signal) {
                return Ok(intake.ignore(delivery, "an order of the pull request has heard of it"));
            }
        }
        let at = match self.at(incoming).await {
            Ok(at) => at,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        let found = match self.parts.github.foreign_pull(&at, pull).await {
            Ok(found) => found,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        let branch = match self.default_branch(incoming, &at).await {
            Ok(branch) => branch,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        if found.state != PullSnapshotState::Open {
            return Ok(intake.ignore(delivery, "the pull request is closed"));
        }
        // Who set the label asked for every commit, for as long as it is there.
        let by = match (&before, pushed) {
            (Some(journal), Some(_)) => {
                if !found.labels.iter().any(|label| label.eq_ignore_ascii_case(VERIFY_LABEL)) {
                    return Ok(intake.ignore(delivery, "the pull request was to be verified once"));
                }
                journal.opened().by.clone()
            }
            (_, _) => incoming.signal.by.clone(),
        };
        let opened = self.new_order(&at, incoming.repository_id, branch, task_of(pull, &found), by);
        let Some(pipeline) = self.parts.settings.pipelines.get(PIPELINE).cloned() else {
            return Ok(intake.ignore(delivery, "there is no pipeline of the name verify"));
        };
        let opened = OrderInput { pipeline, change: Some(given(pull, found)), ..opened };
        // The words of the command are no advice.
        let opened = OrderInput { request: Default::default(), ..asked_for(opened, incoming) };
        let order = opened.order;
        self.write_conclusions(intake).await?;
        match self.parts.store.open_order(opened, self.parts.clock.now(), Some(&delivery.guid)).await? {
            OpenOutcome::Opened => {
                tracing::info!(%order, repository = %incoming.repository, %pull, "verifies");
                self.wake(&[order]);
                Ok(IntakeResult::Done)
            }
            OpenOutcome::Active(_) => Ok(IntakeResult::Waiting),
            OpenOutcome::DeliveryConcluded => Ok(IntakeResult::Done),
        }
    }
}

fn is_of(journal: &Journal, head: &CommitSha) -> bool {
    journal.opened().change.as_ref().is_some_and(|change| change.head == *head)
}

fn was_told(journal: &Journal, kind: &SignalKind) -> bool {
    let is_it =
        |event: &JournalEvent| matches!(event, JournalEvent::Signaled { signal, .. } if signal.kind == *kind);
    journal.entries().iter().any(|entry| is_it(&entry.event))
}

/// The task: the issue that the pull request closes, or else its own words. Labels of both say what kind it is of.
fn task_of(pull: PullNumber, found: &ForeignPull) -> IssueText {
    let task = found.closes.as_ref();
    let mut labels = found.labels.clone();
    labels.extend(task.iter().flat_map(|task| task.labels.clone()));
    IssueText {
        number: IssueNumber(pull.0),
        title: task.map_or(&found.title, |task| &task.title).clone(),
        body: task.map_or(&found.body, |task| &task.body).clone(),
        url: found.url.clone(),
        labels,
    }
}

fn given(pull: PullNumber, found: ForeignPull) -> GivenChange {
    GivenChange {
        pull,
        url: found.url,
        head: found.head,
        base: found.base,
        author: found.author,
        closes: found.closes.map(|task| task.number),
    }
}
