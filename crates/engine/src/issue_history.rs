//! An issue's earlier orders: an open pull request is continued, so that there is never a second one, unless its
//! order's journal is unreadable. And what the orders have heard: one event can arrive under two GUIDs.

use std::collections::BTreeSet;
use std::mem::discriminant;

use chrono::{DateTime, TimeDelta, Utc};

use super::Engine;
use journeyman_github::{GitHubError, InstalledRepository};
use journeyman_order::conversation::PullSnapshotState;
use journeyman_order::journal::EarlierPull;
use journeyman_order::{
    AnsweredSignal, EffectOutcome, IssueNumber, Journal, JournalEvent, OrderId, PullNumber, RepositoryId,
    Requester, Settlement, Signal, SignalAnswer, SignalKind, SlashCommand, TaskText, projection,
};
use journeyman_store::{OrderRow, StoreError};
use journeyman_webhook::{RoutedSignal, SignalSubject};

#[derive(Debug, Default)]
pub(super) struct IssueHistory {
    pub(super) open: Option<(OrderId, PullNumber)>,
    pub(super) earlier: Vec<EarlierPull>,
    pub(super) heard: HeardEvents,
}

#[derive(Debug, Default)]
pub(super) struct HeardEvents {
    labeled: Option<(DateTime<Utc>, Requester)>,
    /// When the last order opened that is not known to come from another label.
    opened: Option<DateTime<Utc>>,
    comments: BTreeSet<u64>,
    reviews: BTreeSet<u64>,
}

/// A delivery gives the time of its issue's last change in seconds, which can be a moment after the label.
const SAME_EVENT: TimeDelta = TimeDelta::milliseconds(999);
pub(super) const CLOCKS_DIFFER: TimeDelta = TimeDelta::minutes(1);

impl HeardEvents {
    pub(super) fn read(&mut self, journal: &Journal) {
        let opened = journal.opened();
        self.note(opened.labeled_at.map(|at| (at, &opened.by)), opened.comment);
        for entry in journal.entries() {
            let JournalEvent::Signaled { signal, .. } = &entry.event else { continue };
            if let SignalKind::Labeled { at: Some(at), .. } = &signal.kind {
                self.note(Some((*at, &signal.by)), None);
            }
            self.note(None, comment_of(&signal.kind));
            if let SignalKind::Reviewed { review, .. } = &signal.kind {
                self.reviews.insert(*review);
            }
        }
    }

    /// Notes an order about which only its time is known. An earlier label is its own, and so is one shortly after,
    /// because clocks differ.
    pub(super) fn note_opened(&mut self, at: DateTime<Utc>) {
        self.opened = self.opened.max(Some(at + CLOCKS_DIFFER));
    }

    fn note(&mut self, labeled: Option<(DateTime<Utc>, &Requester)>, comment: Option<u64>) {
        if let Some((at, by)) = labeled
            && self.labeled.as_ref().is_none_or(|(known, _)| *known <= at)
        {
            self.labeled = Some((at, by.clone()));
        }
        self.comments.extend(comment);
    }

    /// Whether this event or a later label was heard.
    pub(super) fn has(&self, signal: &Signal) -> bool {
        if let SignalKind::Labeled { at: Some(at), .. } = &signal.kind {
            let is_before = |(last, by): &(DateTime<Utc>, Requester)| {
                at < last || (*at <= *last + SAME_EVENT && *by == signal.by)
            };
            return self.labeled.as_ref().is_some_and(is_before)
                || self.opened.is_some_and(|opened| *at <= opened);
        }
        if let SignalKind::Reviewed { review, .. } = &signal.kind {
            return self.reviews.contains(review);
        }
        comment_of(&signal.kind).is_some_and(|comment| self.comments.contains(&comment))
    }
}

/// When an order was last asked for, by GitHub's clock. `None` if a version opened it that did not record that.
fn asked_at(journal: &Journal, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let opened = journal.opened();
    let mut heard = HeardEvents::default();
    heard.read(journal);
    let labeled = heard.labeled.map(|(at, _)| at);
    let taken = projection(journal.pipeline(), journal, now).answers;
    let gone_on = journal.entries().iter().rev().find(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => {
            let goes_on = matches!(
                signal.kind,
                SignalKind::Commanded {
                    command: SlashCommand::Start { .. } | SlashCommand::Retry { .. } | SlashCommand::Approve,
                    ..
                }
            );
            let is_taken =
                |known: &AnsweredSignal| known.signal == entry.seq && known.answer == SignalAnswer::Taken;
            goes_on && taken.iter().any(is_taken)
        }
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Observed { .. } => false,
    });
    let gone_on = gone_on.map(|entry| entry.at - CLOCKS_DIFFER);
    // The API reads the issue at that time and finds it open. Clocks differ.
    let over_the_api = (opened.by == Requester::ApiToken).then(|| journal.opened_at() - CLOCKS_DIFFER);
    labeled.max(opened.commented_at).max(over_the_api).max(gone_on)
}

/// Whether an order has since heard that its issue or pull request was closed, or that its label was removed.
pub(super) fn was_told_since(journal: &Journal, kind: &SignalKind, at: DateTime<Utc>) -> bool {
    let is_state = matches!(
        kind,
        SignalKind::IssueClosed | SignalKind::PullClosed { .. } | SignalKind::Unlabeled { .. }
    );
    let mut told = journal.entries().iter().rev().filter_map(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => Some((entry.at, &signal.kind)),
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Observed { .. } => None,
    });
    if let SignalKind::PullClosed { merged, .. } = kind {
        // It may have been reopened in between.
        let is_of_pull = |kind: &&SignalKind| {
            matches!(kind, SignalKind::PullClosed { .. } | SignalKind::PullReopened { .. })
        };
        let last = told.map(|(_, kind)| kind).find(is_of_pull);
        return matches!(last, Some(SignalKind::PullClosed { merged: known, .. }) if known == merged);
    }
    is_state && told.any(|(told_at, known)| told_at >= at && discriminant(known) == discriminant(kind))
}

/// The text an order works on, if the issue differs from it and the order heard of no edit since reading it.
pub(super) fn unheard_edit(journal: &Journal, title: &str, body: &str) -> Option<TaskText> {
    let text = journal.task();
    let is_edited = text.title != title || text.body != body;
    let told = journal.entries().iter().rev().find_map(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => (signal.kind == SignalKind::IssueEdited).then_some(true),
        JournalEvent::Observed { outcome, .. } => {
            matches!(**outcome, EffectOutcome::IssueRead { .. }).then_some(false)
        }
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } => None,
    });
    (is_edited && told != Some(true)).then_some(text)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other is a comment")]
fn comment_of(kind: &SignalKind) -> Option<u64> {
    match kind {
        SignalKind::Commanded { comment, .. } => *comment,
        SignalKind::Misspoken { comment, .. }
        | SignalKind::IssueCommented { comment, .. }
        | SignalKind::Remarked { comment, .. } => Some(*comment),
        _ => None,
    }
}

impl Engine {
    /// Asks GitHub about each pull request that is open by the journals: a delivery saying otherwise can be lost.
    pub(super) async fn issue_history(
        &self,
        at: &InstalledRepository,
        repository: RepositoryId,
        issue: IssueNumber,
    ) -> Result<Result<IssueHistory, GitHubError>, StoreError> {
        let mut history = IssueHistory::default();
        for order in self.parts.store.orders_of_issue(repository, issue).await? {
            let journal = self.readable_journal(order.id).await?;
            if let Some(journal) = &journal {
                history.heard.read(journal);
            }
            let (Some(pull), Some(branch)) = (order.pull, order.branch) else { continue };
            let settled = journal
                .as_ref()
                .and_then(|known| projection(known.pipeline(), known, self.parts.clock.now()).next.settled);
            let mut is_open = false;
            let merged = match settled {
                Some(Settlement::Merged { .. }) => true,
                Some(Settlement::Closed { .. }) => false,
                Some(_) | None => match self.parts.github.pull(at, pull).await.map(|pull| pull.state) {
                    Ok(PullSnapshotState::Open) if journal.is_none() => {
                        is_open = true;
                        false
                    }
                    Ok(PullSnapshotState::Open) => {
                        history.open = history.open.or(Some((order.id, pull)));
                        continue;
                    }
                    Ok(PullSnapshotState::Closed) => false,
                    Ok(PullSnapshotState::Merged) => true,
                    Err(error) => return Ok(Err(error)),
                },
            };
            if history.earlier.iter().all(|known| known.pull != pull) {
                history.earlier.push(EarlierPull { pull, branch, merged, open: is_open });
            }
        }
        Ok(Ok(history))
    }

    /// Whether it happened before the order was asked for: it can arrive late, or twice under two GUIDs.
    pub(super) async fn is_of_an_earlier_order(
        &self,
        order: &OrderRow,
        incoming: &RoutedSignal,
    ) -> Result<bool, StoreError> {
        if !matches!(incoming.subject, SignalSubject::Issue(_)) {
            return Ok(false);
        }
        if let (SignalKind::IssueClosed | SignalKind::Unlabeled { .. }, Some(at)) =
            (&incoming.signal.kind, incoming.changed_at)
        {
            let journal = self.readable_journal(order.id).await?;
            return Ok(journal
                .and_then(|journal| asked_at(&journal, self.parts.clock.now()))
                .is_some_and(|asked| at < asked));
        }
        if comment_of(&incoming.signal.kind).is_none() {
            return Ok(false);
        }
        let mut heard = HeardEvents::default();
        let orders = self.parts.store.orders_of_issue(order.repository_id, order.issue).await?;
        for earlier in orders.into_iter().filter(|earlier| earlier.id != order.id) {
            if let Some(journal) = self.readable_journal(earlier.id).await? {
                heard.read(&journal);
            }
        }
        Ok(heard.has(&incoming.signal))
    }
}
