//! What people did while no delivery told of it: labels, comments, reviews and ends of pull requests, found by looking.
//! Each becomes the delivery that it should have been, so that it is taken in as any other, once.
//!
//! May know: which repositories the App can see, what changed there, and what orders have heard. Must never know: what
//! an order does with it.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::Engine;
use super::issue_history::HeardEvents;
use super::whereabouts;
use journeyman_github::{ChangedThread, ErrorKind, GitHubError, ListedRepository, ThreadEvent};
use journeyman_order::{EffectError, IssueNumber, PullNumber, RepositoryId, SignalKind};
use journeyman_store::{DeliverySaveOutcome, JournalStore, NewDelivery, OrderRow, StoreError};
use journeyman_webhook::{DeliveryMeaning, RoutedSignal, understand};

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(300);
/// A look costs a request for each repository: with very many it is looked less often.
const FOR_EACH_REPOSITORY: Duration = Duration::from_secs(6);
/// What is newer may still be on its way, and clocks differ.
const OVERLAP: TimeDelta = TimeDelta::minutes(10);
/// How far apart our clock and GitHub's may be.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::minutes(1);
/// How long deliveries that did come are given to be taken in first.
const MOST_WAIT: Duration = Duration::from_secs(30);

/// What one look came to.
#[derive(Debug, Default)]
struct LookReport {
    repositories: u32,
    taken_in: usize,
    /// Why it has to be looked again at the same time.
    missing: Option<String>,
}

impl Engine {
    /// Looks at the start, and then again and again. `since`: until when it was looked before.
    pub(super) async fn look_for_missed_events(&self, mut since: Option<DateTime<Utc>>) {
        loop {
            let begun = self.parts.clock.now();
            let report = match since {
                // The first start: what happens from now on is missed by nobody.
                None => Ok(LookReport::default()),
                Some(since) => self.look(since - OVERLAP).await,
            };
            let mut pause = EVERY;
            match report {
                Ok(LookReport { repositories, taken_in, missing }) => {
                    pause = pause.max(FOR_EACH_REPOSITORY * repositories);
                    if taken_in > 0 {
                        tracing::info!(taken_in, "events that no delivery had told of");
                    }
                    match missing {
                        Some(because) => {
                            tracing::warn!("not all that happened could be looked at: {because}")
                        }
                        None => match self.parts.store.set_looked_until(begun).await {
                            Ok(()) => since = Some(begun),
                            Err(error) => tracing::warn!("the look at what happened is not kept: {error}"),
                        },
                    }
                }
                Err(error) => tracing::warn!("what happened could not be looked at: {}", error.message),
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn look(&self, since: DateTime<Utc>) -> Result<LookReport, EffectError> {
        self.settle_deliveries().await?;
        let github = &self.parts.github;
        let mut report = LookReport::default();
        for installation in github.installations().await?.into_iter().filter(|one| !one.suspended) {
            let repositories = match github.installed_repositories(installation.id).await {
                Ok(repositories) => repositories,
                Err(error) => {
                    report.missing.get_or_insert(error.message);
                    continue;
                }
            };
            for repository in repositories.iter().filter(|one| !one.archived) {
                let at = &repository.at;
                whereabouts::learn(&self.parts.store, repository.id, &at.repository, at.installation).await?;
                report.repositories += 1;
                match self.look_at(repository, since).await? {
                    Ok(taken_in) => report.taken_in += taken_in,
                    // One that cannot be seen keeps nothing from the others, and is not waited for.
                    Err(error) if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::NotFound) => {
                        tracing::warn!(repository = %at.repository, "cannot be looked at: {error}");
                    }
                    Err(error) => {
                        report.missing.get_or_insert(error.message);
                    }
                }
            }
        }
        Ok(report)
    }

    async fn settle_deliveries(&self) -> Result<(), StoreError> {
        let settled = async {
            while !self.parts.store.pending_deliveries(0, 1).await?.is_empty() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Ok(())
        };
        // Nothing is heard twice, even if they are not: this only spares questions.
        tokio::time::timeout(MOST_WAIT, settled).await.unwrap_or(Ok(()))
    }

    async fn look_at(
        &self,
        repository: &ListedRepository,
        since: DateTime<Utc>,
    ) -> Result<Result<usize, GitHubError>, StoreError> {
        let github = &self.parts.github;
        let threads = match github.changed_threads(&repository.at, since).await {
            Ok(threads) => threads,
            Err(error) => return Ok(Err(error)),
        };
        if threads.is_empty() {
            return Ok(Ok(0));
        }
        let mut look = RepositoryLook { engine: self, repository, since, taken_in: 0 };
        for thread in &threads {
            if let Err(error) = look.thread(thread).await? {
                return Ok(Err(error));
            }
        }
        let comments = match github.comments_since(&repository.at, since).await {
            Ok(comments) => comments,
            Err(error) => return Ok(Err(error)),
        };
        for comment in comments.into_iter().filter(|comment| comment.at >= since) {
            let Some(thread) = threads.iter().find(|thread| thread.number == comment.on) else { continue };
            let about = json!({"comment": comment.facts, "issue": thread.facts});
            let name = format!("missed:comment:{}", comment.id);
            look.missed(("issue_comment", "created"), name, &comment.author, about, comment.at).await?;
        }
        Ok(Ok(look.taken_in))
    }
}

struct RepositoryLook<'a> {
    engine: &'a Engine,
    repository: &'a ListedRepository,
    since: DateTime<Utc>,
    taken_in: usize,
}

impl RepositoryLook<'_> {
    async fn thread(&mut self, thread: &ChangedThread) -> Result<Result<(), GitHubError>, StoreError> {
        let (store, github) = (&self.engine.parts.store, &self.engine.parts.github);
        let id = self.repository.id;
        let order = match thread.is_pull {
            true => store.order_by_pull(id, PullNumber(thread.number.0)).await?,
            false => store.latest_order(id, thread.number).await?,
        };
        let is_labeled = thread.labels.iter().any(|label| !label.starts_with("journeyman:"));
        let has_ended = !thread.is_open && order.as_ref().is_some_and(is_open_still);
        let may_have_begun = thread.is_open && is_labeled && !thread.is_pull;
        if has_ended || may_have_begun {
            let events = match github.thread_events(&self.repository.at, thread.number).await {
                Ok(events) => events,
                Err(error) => return Ok(Err(error)),
            };
            if may_have_begun {
                self.labels(thread, &events).await?;
            }
            let closed = events.iter().rfind(|event| event.event == "closed").filter(|_| has_ended);
            if let Some(closed) = closed {
                self.closed(thread, closed).await?;
            }
        }
        if thread.is_pull && order.is_some() {
            let pull = PullNumber(thread.number.0);
            let reviews = match github.submitted_reviews(&self.repository.at, pull).await {
                Ok(reviews) => reviews,
                Err(error) => return Ok(Err(error)),
            };
            let since = self.since;
            for review in reviews.into_iter().filter(|review| review.at >= since) {
                let about = json!({"review": review.facts, "pull_request": {"number": pull}});
                let name = format!("missed:review:{}", review.id);
                let what = ("pull_request_review", "submitted");
                self.missed(what, name, &review.author, about, review.at).await?;
            }
        }
        Ok(Ok(()))
    }

    /// Each label that is on, as it was put on last.
    async fn labels(&mut self, thread: &ChangedThread, events: &[ThreadEvent]) -> Result<(), StoreError> {
        let labels: BTreeSet<&String> = thread.labels.iter().collect();
        for label in labels {
            let set = |event: &&ThreadEvent| event.event == "labeled" && event.label.as_ref() == Some(label);
            let Some(event) = events.iter().rfind(set).filter(|event| event.at >= self.since) else {
                continue;
            };
            let mut issue = thread.facts.clone();
            issue["updated_at"] = json!(event.at);
            let about = json!({"issue": issue, "label": {"name": label}});
            let name = format!("missed:labeled:{}", event.id);
            self.missed(("issues", "labeled"), name, &event.actor, about, event.at).await?;
        }
        Ok(())
    }

    async fn closed(&mut self, thread: &ChangedThread, closed: &ThreadEvent) -> Result<(), StoreError> {
        let (event, about) = match thread.is_pull {
            true => {
                let merged = thread.is_merged;
                ("pull_request", json!({"pull_request": {"number": thread.number, "merged": merged}}))
            }
            false => ("issues", json!({"issue": thread.facts})),
        };
        let name = format!("missed:closed:{}", closed.id);
        self.missed((event, "closed"), name, &closed.actor, about, closed.at).await
    }

    /// Takes it in, unless it means nothing to any order, or was heard.
    async fn missed(
        &mut self,
        (event, action): (&str, &str),
        name: String,
        sender: &Value,
        mut about: Value,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let engine = self.engine;
        if let Some(fields) = about.as_object_mut() {
            fields.insert("action".to_owned(), json!(action));
            fields.insert("repository".to_owned(), self.repository.facts.clone());
            fields.insert("sender".to_owned(), sender.clone());
            fields.insert("installation".to_owned(), json!({"id": self.repository.at.installation}));
        }
        let body = about.to_string().into_bytes();
        let DeliveryMeaning::Signal(incoming) = understand(event, &body) else { return Ok(()) };
        if !engine.is_missed(&incoming, at).await? {
            return Ok(());
        }
        let Ok(guid) = name.parse() else { return Ok(()) };
        let (event, action) = (event.to_owned(), Some(action.to_owned()));
        let delivery = NewDelivery { guid, event, action, body, received_at: engine.parts.clock.now() };
        if engine.parts.store.save_delivery(delivery).await? == DeliverySaveOutcome::New {
            self.taken_in += 1;
            engine.delivery_arrived();
        }
        Ok(())
    }
}

impl Engine {
    /// Whether it is news to an order, or begins one. What an order was opened after is no news to it.
    async fn is_missed(&self, incoming: &RoutedSignal, at: DateTime<Utc>) -> Result<bool, StoreError> {
        let concerned = self.concerned(incoming).await?;
        let order = concerned.first();
        if let SignalKind::Labeled { label, .. } = &incoming.signal.kind {
            match self.is_our_label(incoming, label).await {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => {
                    tracing::warn!("whether a label starts work could not be asked: {error}");
                    return Ok(false);
                }
            }
        } else if order.is_none_or(|order| at <= order.opened_at) {
            return Ok(false);
        }
        let Some(order) = order else { return Ok(true) };
        let heard = self.heard_events(order.repository_id, order.issue).await?;
        Ok(!heard.has(&incoming.signal))
    }

    /// What the orders of an issue have heard, as far as they can be read.
    async fn heard_events(
        &self,
        repository: RepositoryId,
        issue: IssueNumber,
    ) -> Result<HeardEvents, StoreError> {
        let mut heard = HeardEvents::default();
        for order in self.parts.store.orders_of_issue(repository, issue).await? {
            match self.parts.store.journal(order.id).await {
                Ok(journal) => {
                    heard.read(&journal);
                    // Begun by somebody else's word, or by a version that did not keep when its label was put on.
                    if journal.opened().labeled_at.is_none() && order.state != "refused" {
                        heard.note_opened(order.opened_at);
                    }
                }
                Err(StoreError::UnreadableJournal { .. } | StoreError::NotFound { .. }) => {
                    heard.note_opened(order.opened_at);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(heard.with_tolerance(CLOCKS_DIFFER))
    }
}

/// Whether an order does not know yet that its issue or its pull request was closed.
fn is_open_still(order: &OrderRow) -> bool {
    order.active || !matches!(order.state.as_str(), "merged" | "closed" | "cancelled" | "unreadable")
}
