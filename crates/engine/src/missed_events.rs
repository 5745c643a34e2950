//! Finds labels, comments, edits, reviews, and pull requests opened or closed, that no delivery reported, and makes
//! deliveries.
//!
//! May know: which repositories the App can see, what changed there, and what orders have heard.
//! Must never know: what an order does with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::Engine;
use super::intake_rules::{can_start, may_begin};
use super::issue_history::{CLOCKS_DIFFER, HeardEvents, unheard_edit, was_told_since};
use super::whereabouts;
use journeyman_github::{ChangedThread, ErrorKind, GitHubError, ListedRepository, ThreadEvent};
use journeyman_order::{
    EffectError, IssueNumber, PullNumber, Signal, SignalKind, SlashCommand, VerificationPolicy,
};
use journeyman_store::{DeliverySaveOutcome, NewDelivery, OrderRow, StoreError};
use journeyman_webhook::{DeliveryMeaning, RoutedSignal, SignalSubject, understand};

const EVERY: Duration = Duration::from_secs(300);
/// A look costs one request per repository: with very many, looks become less frequent.
const FOR_EACH_REPOSITORY: Duration = Duration::from_secs(6);
/// Newer events may still be on their way, and clocks differ.
const OVERLAP: TimeDelta = TimeDelta::minutes(10);
const MOST_WAIT: Duration = Duration::from_secs(30);

/// A person's act, in the form of the delivery that is missing.
struct UntoldEvent {
    at: DateTime<Utc>,
    event: &'static str,
    action: &'static str,
    id: String,
    about: Value,
}

impl Engine {
    pub(super) async fn look_for_missed_events(&self) {
        loop {
            let pause = match self.look().await {
                Ok(repositories) => EVERY.max(FOR_EACH_REPOSITORY * repositories),
                Err(error) => {
                    tracing::warn!("what happened could not be looked at: {}", error.message);
                    EVERY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn look(&self) -> Result<u32, EffectError> {
        let (store, github, begun) = (&self.parts.store, &self.parts.github, self.parts.clock.now());
        if store.looked_until().await?.is_none() {
            // The first start: nothing from now on is missed.
            store.set_looked_until(begun).await?;
            return Ok(0);
        }
        self.settle_deliveries().await?;
        let (mut repositories, mut is_whole) = (0, true);
        for installation in github.installations().await?.into_iter().filter(|one| !one.suspended) {
            let listed = match github.installed_repositories(installation.id).await {
                Ok(listed) => listed,
                Err(error) => {
                    tracing::warn!(installation = %installation.id, "cannot be looked at: {error}");
                    // One that denies access delays nothing: its repositories keep the time of their last look.
                    is_whole &= matches!(error.kind, ErrorKind::Forbidden | ErrorKind::NotFound);
                    continue;
                }
            };
            for repository in listed.iter().filter(|one| !one.archived) {
                let at = &repository.at;
                whereabouts::learn(store, repository.id, &at.repository, at.installation).await?;
                repositories += 1;
                if let Err(error) = self.look_at(repository, begun).await {
                    tracing::warn!(repository = %at.repository, "is looked at again: {}", error.message);
                }
            }
        }
        if is_whole {
            store.set_looked_until(begun).await?;
        }
        Ok(repositories)
    }

    async fn settle_deliveries(&self) -> Result<(), StoreError> {
        let settled = async {
            while !self.parts.store.pending_deliveries(0, 1).await?.is_empty() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Ok(())
        };
        // Even if it times out, nothing is heard twice. This only saves requests.
        tokio::time::timeout(MOST_WAIT, settled).await.unwrap_or(Ok(()))
    }

    /// All events of a repository or none: with half of them, later events could be taken in before earlier ones.
    async fn look_at(&self, repository: &ListedRepository, begun: DateTime<Utc>) -> Result<(), EffectError> {
        let store = &self.parts.store;
        let since = store.repository_looked_until(repository.id).await?.unwrap_or(begun) - OVERLAP;
        let mut look =
            RepositoryLook { engine: self, repository, since, found: Vec::new(), begun: BTreeSet::new() };
        look.find().await?;
        let mut taken_in = 0;
        for delivery in look.missed().await? {
            if store.save_delivery(delivery).await? == DeliverySaveOutcome::New {
                taken_in += 1;
                self.delivery_arrived();
            }
        }
        if taken_in > 0 {
            let repository = &repository.at.repository;
            tracing::info!(%repository, taken_in, "events that no delivery had told of");
        }
        Ok(store.set_repository_looked_until(repository.id, begun).await?)
    }

    /// Events before this time are not news. An order can open long after its label if GitHub was away.
    async fn news_since(&self, order: &OrderRow, kind: &SignalKind) -> Result<DateTime<Utc>, StoreError> {
        // A command may answer one of these: `/retry` after `/cancel`.
        let is_for_all = matches!(
            kind,
            SignalKind::IssueClosed | SignalKind::Unlabeled { .. } | SignalKind::Commanded { .. }
        );
        if !is_for_all {
            return Ok(order.opened_at);
        }
        let journal = self.readable_journal(order.id).await?;
        let labeled_at = journal.and_then(|journal| journal.opened().labeled_at);
        Ok(labeled_at.unwrap_or(order.opened_at).min(order.opened_at))
    }

    async fn has_heard(
        &self,
        order: &OrderRow,
        signal: &Signal,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let mut heard = HeardEvents::default();
        for row in self.parts.store.orders_of_issue(order.repository_id, order.issue).await? {
            let Some(journal) = self.readable_journal(row.id).await? else {
                heard.note_opened(row.opened_at);
                continue;
            };
            if row.id == order.id && was_told_since(&journal, &signal.kind, at - CLOCKS_DIFFER) {
                return Ok(true);
            }
            heard.read(&journal);
            // Something else opened it, or a version that did not record the label's time.
            if journal.opened().labeled_at.is_none() && row.state != "refused" {
                heard.note_opened(row.opened_at);
            }
        }
        Ok(heard.has(signal))
    }
}

struct RepositoryLook<'a> {
    engine: &'a Engine,
    repository: &'a ListedRepository,
    since: DateTime<Utc>,
    found: Vec<UntoldEvent>,
    /// Issues without an order, for which a found event begins one.
    begun: BTreeSet<IssueNumber>,
}

impl RepositoryLook<'_> {
    async fn find(&mut self) -> Result<(), EffectError> {
        let (github, at, since) = (&self.engine.parts.github, &self.repository.at, self.since);
        let threads = github.changed_threads(at, since).await?;
        if threads.is_empty() {
            return Ok(());
        }
        for thread in &threads {
            self.thread(thread).await?;
        }
        for comment in github.comments_since(at, since).await? {
            let Some(thread) = threads.iter().find(|thread| thread.number == comment.on) else { continue };
            // An edited comment says nothing new, as with deliveries, and its editor may be somebody else.
            if comment.facts["updated_at"] != comment.facts["created_at"] {
                continue;
            }
            let mut issue = thread.facts.clone();
            issue["updated_at"] = json!(comment.at);
            let about = json!({"comment": comment.facts, "issue": issue, "sender": comment.author});
            self.found(comment.at, ("issue_comment", "created"), comment.id, about);
        }
        self.found.retain(|found| found.at >= since);
        self.found.sort_by_key(|found| found.at);
        Ok(())
    }

    async fn thread(&mut self, thread: &ChangedThread) -> Result<(), EffectError> {
        let (store, github) = (&self.engine.parts.store, &self.engine.parts.github);
        let (id, at) = (self.repository.id, &self.repository.at);
        let pull = thread.is_pull.then_some(PullNumber(thread.number.0));
        let order = match pull {
            Some(pull) => store.order_by_pull(id, pull).await?,
            None => store.latest_order(id, thread.number, None).await?,
        };
        let may_begin =
            pull.is_none() && thread.is_open && thread.labels.iter().any(|label| can_start(label));
        let open = order.as_ref().filter(|order| is_open_still(order));
        if open.is_some() || may_begin {
            let events = readable(thread.number, github.thread_events(at, thread.number).await)?;
            self.events(thread, &events);
        }
        if let (None, Some(order)) = (pull, open) {
            self.edit(thread, order).await?;
        }
        let opened_at = thread.facts["created_at"].as_str().and_then(|at| at.parse::<DateTime<Utc>>().ok());
        if let (Some(pull), None, Some(opened_at)) = (pull, &order, opened_at)
            && thread.is_open
        {
            let opened = json!({"number": pull, "draft": thread.facts["draft"]});
            let about = json!({"pull_request": opened, "sender": thread.facts["user"]});
            self.found(opened_at, ("pull_request", "opened"), format!("{id}:{pull}"), about);
        }
        if let (Some(pull), Some(_)) = (pull, order) {
            for review in readable(thread.number, github.submitted_reviews(at, pull).await)? {
                let on = json!({"number": pull});
                let about = json!({"review": review.facts, "pull_request": on, "sender": review.author});
                self.found(review.at, ("pull_request_review", "submitted"), review.id, about);
            }
        }
        Ok(())
    }

    /// Adds the last event of each label and of the thread's state, if it still holds.
    fn events(&mut self, thread: &ChangedThread, events: &[ThreadEvent]) {
        let mut last = BTreeMap::new();
        for event in events {
            let what = if event.label.is_some() { "labels" } else { event.event.as_str() };
            last.insert((what, &event.label), event);
        }
        for event in last.into_values() {
            let (is_closing, label) = (event.event == "closed" && !thread.is_open, event.label.as_ref());
            let is_on = label.is_some_and(|label| thread.labels.contains(label));
            let mut issue = thread.facts.clone();
            // By this time the order recognises the label, whichever delivery reports it.
            issue["updated_at"] = json!(event.at);
            let pull = json!({"number": thread.number, "merged": thread.is_merged});
            let (what, (of, says)) = match (event.event.as_str(), thread.is_pull) {
                ("labeled", false) if is_on => (("issues", "labeled"), ("issue", issue)),
                ("unlabeled", false) if !is_on => (("issues", "unlabeled"), ("issue", issue)),
                ("closed", false) if is_closing => (("issues", "closed"), ("issue", issue)),
                ("closed", true) if is_closing => (("pull_request", "closed"), ("pull_request", pull)),
                _ => continue,
            };
            let about = json!({of: says, "label": {"name": label}, "sender": event.actor});
            self.found(event.at, what, event.id, about);
        }
    }

    /// GitHub lists no edits, so the issue is compared with what its order knows. The editor is unknown.
    async fn edit(&mut self, thread: &ChangedThread, order: &OrderRow) -> Result<(), StoreError> {
        let Some(journal) = self.engine.readable_journal(order.id).await? else { return Ok(()) };
        let says = |field: &str| thread.facts[field].as_str().unwrap_or_default();
        let (title, body) = (says("title"), says("body"));
        let at = thread.facts["updated_at"].as_str().and_then(|at| at.parse::<DateTime<Utc>>().ok());
        if let (Some(was), Some(at)) = (unheard_edit(&journal, title, body), at) {
            let changes = json!({"title": {"from": was.title}, "body": {"from": was.body}});
            let about = json!({"issue": thread.facts, "changes": changes, "sender": thread.facts["user"]});
            self.found(at, ("issues", "edited"), format!("{}:{}", order.id, at.timestamp()), about);
        }
        Ok(())
    }

    fn found(
        &mut self,
        at: DateTime<Utc>,
        (event, action): (&'static str, &'static str),
        id: impl ToString,
        about: Value,
    ) {
        self.found.push(UntoldEvent { at, event, action, id: id.to_string(), about });
    }

    async fn missed(&mut self) -> Result<Vec<NewDelivery>, EffectError> {
        let mut missed = Vec::new();
        for UntoldEvent { at, event, action, id, mut about } in std::mem::take(&mut self.found) {
            about["action"] = json!(action);
            about["repository"] = self.repository.facts.clone();
            about["installation"] = json!({"id": self.repository.at.installation});
            let body = about.to_string().into_bytes();
            let DeliveryMeaning::Signal(incoming) = understand(event, &body) else { continue };
            let Ok(guid) = format!("missed:{event}.{action}:{id}").parse() else { continue };
            if self.is_missed(&incoming, at).await? {
                let (event, action) = (event.to_owned(), Some(action.to_owned()));
                let received_at = self.engine.parts.clock.now();
                missed.push(NewDelivery { guid, event, action, body, received_at });
            }
        }
        Ok(missed)
    }

    /// Whether an issue that is open now was closed at that time. Then nothing begins there.
    async fn was_closed(&self, issue: IssueNumber, at: DateTime<Utc>) -> Result<bool, EffectError> {
        let events = self.engine.parts.github.thread_events(&self.repository.at, issue).await;
        let events = readable(issue, events)?;
        let is_state = |event: &&ThreadEvent| matches!(event.event.as_str(), "closed" | "reopened");
        let last = events.iter().filter(is_state).rfind(|event| event.at <= at);
        Ok(last.is_some_and(|event| event.event == "closed"))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are compared alike")]
    /// Whether the event was missed. Events before an order was opened are not news to it.
    async fn is_missed(&mut self, incoming: &RoutedSignal, at: DateTime<Utc>) -> Result<bool, EffectError> {
        let engine = self.engine;
        let Ok(incoming) = engine.addressed(incoming).await? else { return Ok(false) };
        let order = engine.concerned(&incoming).await?.into_iter().next();
        let kind = &incoming.signal.kind;
        if let SignalKind::Labeled { label, .. } | SignalKind::Unlabeled { label } = kind
            && !engine.is_our_label(&incoming, label).await?
        {
            return Ok(false);
        }
        let Some(order) = order else {
            if let SignalKind::PullOpened { .. } = kind {
                let policy = engine.settings_of(&incoming).await?.verify;
                return Ok(matches!(policy, VerificationPolicy::Bots | VerificationPolicy::All));
            }
            let SignalSubject::Issue(issue) = &incoming.subject else { return Ok(false) };
            let begins = may_begin(&incoming) && !self.was_closed(issue.number, at).await?;
            if begins {
                self.begun.insert(issue.number);
            }
            let is_command = matches!(kind, SignalKind::Commanded { .. });
            return Ok(begins || is_command && self.begun.contains(&issue.number));
        };
        // It was reported as ended, so it hears nothing more.
        if order.is_unreadable() && !may_begin(&incoming) {
            return Ok(false);
        }
        // Nothing can reopen it, so there is nothing to cancel.
        let is_over = order.state == "merged";
        if is_over && matches!(kind, SignalKind::Commanded { command: SlashCommand::Cancel, .. }) {
            return Ok(false);
        }
        let is_label = matches!(kind, SignalKind::Labeled { .. });
        // GitHub's times are in seconds: an event in the same second may be later. Comments are read when work begins.
        let is_before = match kind {
            SignalKind::IssueCommented { .. } => at <= order.opened_at,
            _ => at.timestamp() < engine.news_since(&order, kind).await?.timestamp(),
        };
        if !is_label && is_before {
            return Ok(false);
        }
        Ok(!engine.has_heard(&order, &incoming.signal, at).await?)
    }
}

/// A thread that is gone or malformed yields nothing, and hides no other.
fn readable<T>(number: IssueNumber, list: Result<Vec<T>, GitHubError>) -> Result<Vec<T>, GitHubError> {
    match list {
        Err(error)
            if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Unexpected) =>
        {
            tracing::warn!(%number, "cannot be looked at: {error}");
            Ok(Vec::new())
        }
        list => list,
    }
}

/// Whether an order still has to hear that its issue or pull request was closed.
fn is_open_still(order: &OrderRow) -> bool {
    order.active || !matches!(order.state.as_str(), "merged" | "closed" | "cancelled" | "unreadable")
}
