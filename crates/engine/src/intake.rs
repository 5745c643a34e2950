//! From stored deliveries to orders: opens an order, signals one, or says why not.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;
use uuid::Uuid;

use super::Engine;
use super::intake_rules::{
    about, as_advice, asked_for, asks_github, calls_us, can_start, going_on, is_continued_elsewhere,
    may_begin, may_fix, may_verify,
};
use super::issue_history::IssueHistory;
use super::retry_clock::RetryClock;
use super::waiting::{WaitingDeliveries, WaitingDelivery};
use super::whereabouts;
use journeyman_github::{ErrorKind, GitHubError, InstalledRepository};
use journeyman_order::{
    DeliveryGuid, IssueNumber, IssueText, OrderId, OrderInput, OrderRequest, RepositoryId, RequestOrigin,
    Requester, Signal, SignalAnswer, SignalKind, VERIFY_LABEL, VerificationPolicy, projection,
};
use journeyman_store::{DeliveryConclusion, OpenOutcome, OrderRow, PendingPage, StoreError, StoredDelivery};
use journeyman_webhook::{
    AppIdentity, DeliveryMeaning, RoutedSignal, SignalCondition, SignalSubject, understand,
};

const AT_ONCE: u32 = 200;
const LOOK_THROUGH: Duration = Duration::from_secs(5);
const SETTINGS_KEPT: Duration = Duration::from_secs(60);
const NO_ORDER: &str = "no order belongs to it";
pub(super) const CONTINUED_ELSEWHERE: &str = "an order goes on with it in another pull request";

/// Answers of GitHub that intake needs again and again, cached for a while.
#[derive(Debug, Default)]
pub(super) struct IntakeCache {
    /// Our identity, kept until the process ends: renaming the App needs a restart anyway.
    identity: OnceCell<AppIdentity>,
    /// What each repository sets, cached for a minute so that a flood of labels or pushes causes few requests.
    settings: Mutex<BTreeMap<RepositoryId, (std::time::Instant, IntakeSettings)>>,
}

/// What intake needs of a repository's settings.
#[derive(Debug, Clone, Default)]
pub(super) struct IntakeSettings {
    label: Option<String>,
    pub(super) verify: VerificationPolicy,
}

pub(super) enum IntakeResult {
    Done,
    /// GitHub cannot be asked about the repository now, with the reason.
    Later(String),
    /// It waits for a retry, for an earlier delivery or for an order that may be ending.
    Waiting,
}

#[derive(Default)]
pub(super) struct DeliveryIntake {
    /// How far the store was read. Earlier deliveries are concluded or waiting.
    read_until: i64,
    /// Ids after `read_until` that were already taken in.
    ahead: BTreeSet<i64>,
    waiting: WaitingDeliveries,
    failed: RetryClock<RepositoryId>,
    looked_through: Option<Instant>,
    blocked: BTreeSet<RepositoryId>,
    /// Decided but not stored yet. They are written together, before any order is signalled.
    pub(super) conclusions: Vec<(DeliveryGuid, DeliveryConclusion)>,
}

impl DeliveryIntake {
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.failed.next_due()
    }

    pub(super) fn ignore(&mut self, delivery: &StoredDelivery, because: &str) -> IntakeResult {
        self.conclude(delivery, DeliveryConclusion::Ignored { because: because.to_owned() })
    }

    fn conclude(&mut self, delivery: &StoredDelivery, conclusion: DeliveryConclusion) -> IntakeResult {
        self.conclusions.push((delivery.guid.clone(), conclusion));
        IntakeResult::Done
    }

    fn is_blocked(&self, repository: RepositoryId) -> bool {
        self.blocked.contains(&repository) || self.failed.is_waiting(&repository)
    }

    fn note(&mut self, delivery: &StoredDelivery, incoming: &RoutedSignal, result: &IntakeResult) {
        let repository = incoming.repository_id;
        match result {
            IntakeResult::Done if asks_github(incoming) => self.failed.worked(&repository),
            IntakeResult::Done | IntakeResult::Waiting => {}
            IntakeResult::Later(because) => {
                tracing::warn!(delivery = %delivery.guid, because, "waits");
                self.blocked.insert(repository);
                self.failed.failed(repository);
            }
        }
    }
}

fn read(delivery: &StoredDelivery) -> Result<Box<RoutedSignal>, DeliveryConclusion> {
    match understand(&delivery.event, &delivery.body) {
        DeliveryMeaning::Signal(incoming) => Ok(incoming),
        DeliveryMeaning::Ping => Err(DeliveryConclusion::Ignored { because: "a ping".to_owned() }),
        DeliveryMeaning::Ignored { because } => Err(DeliveryConclusion::Ignored { because }),
        DeliveryMeaning::Malformed { because } => {
            tracing::warn!(delivery = %delivery.guid, because, "cannot be read");
            Err(DeliveryConclusion::Refused { because })
        }
    }
}

impl Engine {
    /// Takes in new deliveries, and waiting ones that are due.
    pub(super) async fn process_deliveries(&self, intake: &mut DeliveryIntake) -> Result<(), StoreError> {
        if !self.caught_up.load(Ordering::Acquire) {
            return Ok(());
        }
        intake.blocked.clear();
        if intake.failed.is_any_due() || intake.looked_through.is_none_or(|at| at.elapsed() >= LOOK_THROUGH) {
            self.process_waiting(intake).await?;
            intake.looked_through = Some(Instant::now());
        }
        loop {
            let PendingPage { deliveries: mut page, is_last } =
                self.parts.store.pending_page(intake.read_until, AT_ONCE).await?;
            let last = page.last().map_or(intake.read_until, |delivery| delivery.id);
            // Fetched deliveries arrive after others that were sent later.
            page.sort_by_key(|delivery| delivery.received_at);
            for delivery in page {
                if !intake.ahead.contains(&delivery.id) {
                    self.process_arrived(&delivery, intake).await?;
                    intake.ahead.insert(delivery.id);
                }
            }
            (intake.read_until, intake.ahead) = (last, BTreeSet::new());
            self.write_conclusions(intake).await?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Takes in waiting deliveries, oldest first. Those that are not due are not read.
    async fn process_waiting(&self, intake: &mut DeliveryIntake) -> Result<(), StoreError> {
        let mut firsts = intake.waiting.firsts();
        while let Some((id, subject)) = firsts.pop_first() {
            // Whether it keeps waiting, as far as that is known without its body.
            let is_not_due = |first: WaitingDelivery| first.asks_github && intake.is_blocked(subject.0);
            if intake.waiting.first(&subject).is_none_or(is_not_due) {
                continue;
            }
            let found = self.parts.store.pending_deliveries(id - 1, 1).await?;
            let result = match found.first().filter(|found| found.id == id).map(|found| (found, read(found)))
            {
                Some((delivery, Ok(incoming))) => {
                    let result = self.process_signal(delivery, &incoming, intake).await?;
                    intake.note(delivery, &incoming, &result);
                    result
                }
                Some((delivery, Err(conclusion))) => intake.conclude(delivery, conclusion),
                // Someone else concluded it.
                None => {
                    intake.failed.worked(&subject.0);
                    IntakeResult::Done
                }
            };
            if let IntakeResult::Done = result {
                firsts.extend(intake.waiting.pop(&subject).map(|next| (next.id, subject)));
            }
        }
        self.write_conclusions(intake).await
    }

    pub(super) async fn process_delivery(
        &self,
        delivery: &StoredDelivery,
        intake: &mut DeliveryIntake,
    ) -> Result<(), StoreError> {
        let incoming = match read(delivery) {
            Ok(incoming) => incoming,
            Err(conclusion) => {
                intake.conclude(delivery, conclusion);
                return Ok(());
            }
        };
        let subject = (incoming.repository_id, about(&incoming.subject));
        let result = match intake.waiting.is_held(&subject) {
            true => IntakeResult::Waiting,
            false => self.process_signal(delivery, &incoming, intake).await?,
        };
        intake.note(delivery, &incoming, &result);
        if let IntakeResult::Later(_) | IntakeResult::Waiting = result {
            let waiting = WaitingDelivery { id: delivery.id, asks_github: asks_github(&incoming) };
            intake.waiting.push(subject, waiting);
        }
        Ok(())
    }

    pub(super) async fn write_conclusions(&self, intake: &mut DeliveryIntake) -> Result<(), StoreError> {
        if !intake.conclusions.is_empty() {
            self.parts.store.conclude_deliveries(&intake.conclusions).await?;
            intake.conclusions.clear();
        }
        Ok(())
    }

    async fn process_signal(
        &self,
        delivery: &StoredDelivery,
        incoming: &RoutedSignal,
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        if let Some(installation) = incoming.installation {
            let (id, name) = (incoming.repository_id, &incoming.repository);
            whereabouts::learn(&self.parts.store, id, name, installation).await?;
        }
        let mut concerned = self.concerned(incoming).await?;
        let is_strange = concerned.is_empty();
        concerned.retain(|order| !order.is_unreadable());
        let begins = may_begin(incoming);
        let may_call_us = calls_us(incoming) || may_verify(incoming, None).is_some();
        if concerned.is_empty() && !begins && !(is_strange && may_call_us) {
            return Ok(intake.ignore(delivery, NO_ORDER));
        }
        if asks_github(incoming) && intake.is_blocked(incoming.repository_id) {
            return Ok(IntakeResult::Waiting);
        }
        // Our own labels change with every order, and other labels are not ours. Neither is news for an order.
        if let SignalKind::Labeled { label, .. } | SignalKind::Unlabeled { label } = &incoming.signal.kind {
            match self.is_our_label(incoming, label).await {
                Ok(true) => {}
                Ok(false) => {
                    return Ok(intake.ignore(delivery, "another label than the one that starts work"));
                }
                Err(error) => return Ok(fault(delivery, error, intake)),
            }
        }
        let incoming = match self.addressed(incoming).await {
            Ok(Ok(incoming)) => incoming,
            Ok(Err(because)) => return Ok(intake.ignore(delivery, because)),
            // Whatever GitHub answers, it is not the delivery's fault.
            Err(error) => return Ok(IntakeResult::Later(error.message)),
        };
        let incoming = &*incoming;
        if let SignalSubject::MergeGroup { .. } = incoming.subject {
            return self.verify_group(delivery, incoming, concerned.first(), intake).await;
        }
        let first = concerned.first();
        let fix = may_fix(incoming);
        let pull = may_verify(incoming, first.and_then(|order| order.pull)).or(fix.map(|(pull, _)| pull));
        if let Some(pull) = pull
            && self.is_theirs(first, pull).await?
        {
            return match fix {
                Some((_, words)) => self.mend_for(delivery, incoming, (pull, words, first), intake).await,
                None => self.verify_for(delivery, incoming, (pull, first), intake).await,
            };
        }
        if first.is_some_and(|order| is_continued_elsewhere(incoming, order.pull)) {
            return Ok(intake.ignore(delivery, CONTINUED_ELSEWHERE));
        }
        if let SignalKind::PullOpened { .. } = incoming.signal.kind {
            return Ok(intake.ignore(delivery, "it is an order's own pull request"));
        }
        // A command that names another App is now an ordinary comment.
        let begins = may_begin(incoming);
        if concerned.is_empty() && !begins {
            return Ok(
                match self.answer_writer(incoming, "no-order", &journeyman_render::no_order()).await {
                    Ok(()) => intake.ignore(delivery, NO_ORDER),
                    Err(error) => fault(delivery, error, intake),
                },
            );
        }
        if begins {
            return match concerned.iter().find(|order| order.active) {
                Some(order) if self.may_be_ending(order).await? => Ok(IntakeResult::Waiting),
                Some(order) => self.signal_orders(delivery, &[order.id], &incoming.signal, intake).await,
                None => self.open_for(delivery, incoming, intake).await,
            };
        }
        let mut told = Vec::with_capacity(concerned.len());
        let mut newer = None;
        for order in &concerned {
            match self.successor(order).await? {
                None if self.is_of_an_earlier_order(order, incoming).await? => {
                    return Ok(intake.ignore(delivery, "it is about an earlier order of the issue"));
                }
                None => told.push(order.id),
                Some(order) => newer = Some(order),
            }
        }
        match newer.filter(|_| told.is_empty()) {
            Some(newer) => Ok(intake.ignore(delivery, &format!("order {newer} has taken its place"))),
            None => self.signal_orders(delivery, &told, &as_advice(&incoming.signal), intake).await,
        }
    }

    /// Whether an order's journal ends it or may end it. A signal that begins the next order is then not for this one.
    async fn may_be_ending(&self, order: &OrderRow) -> Result<bool, StoreError> {
        let Some(known) = self.readable_journal(order.id).await? else { return Ok(false) };
        let stands = projection(known.pipeline(), &known, self.parts.clock.now());
        let is_asked = stands.answers.iter().any(|answered| answered.answer == SignalAnswer::Asking);
        Ok(is_asked || stands.next.settled.is_some())
    }

    pub(super) async fn concerned(&self, incoming: &RoutedSignal) -> Result<Vec<OrderRow>, StoreError> {
        let (store, repository) = (&self.parts.store, incoming.repository_id);
        Ok(match &incoming.subject {
            SignalSubject::Issue(issue) => {
                store.latest_order(repository, issue.number, None).await?.into_iter().collect()
            }
            SignalSubject::Pull(pull) => match store.order_by_pull(repository, *pull).await? {
                Some(order) if !order.is_of_a_pull() => vec![order],
                // What verifies or mends somebody's pull request has its number, wherever the commits go.
                known => {
                    let latest = store.latest_order(repository, IssueNumber(pull.0), None).await?;
                    latest.filter(|latest| known.is_some() || !latest.is_refused()).into_iter().collect()
                }
            },
            // Only the newest order of somebody's pull request or of a merge group can be asked by its check.
            SignalSubject::Order(id) => match store.order(*id).await {
                Ok(order) if order.repository_id == repository && order.is_of_a_pull() => {
                    let newest =
                        store.latest_order(repository, order.issue, order.merge_group.as_ref()).await?;
                    newest.into_iter().filter(|newest| newest.id == *id).collect()
                }
                Ok(_) | Err(StoreError::NotFound { .. }) => Vec::new(),
                Err(error) => return Err(error),
            },
            SignalSubject::Branches(branches) => {
                let mut orders = Vec::new();
                for branch in branches {
                    orders.extend(store.order_by_branch(repository, branch).await?);
                }
                orders
            }
            // If several orders share a pull request, the latest one owns it.
            SignalSubject::Base => {
                let open = store.orders_on_base(repository).await?.into_iter();
                let by_issue: BTreeMap<_, _> = open
                    .map(|order| ((order.pull, order.pull.is_none().then_some(order.issue)), order))
                    .collect();
                by_issue.into_values().collect()
            }
            SignalSubject::MergeGroup { pull, head, .. } => {
                store.latest_order(repository, IssueNumber(pull.0), Some(head)).await?.into_iter().collect()
            }
        })
    }

    /// The signal as it concerns us, or why it does not. Asks GitHub who we are only if needed, and only once.
    pub(super) async fn addressed<'s>(
        &self,
        incoming: &'s RoutedSignal,
    ) -> Result<Result<Cow<'s, RoutedSignal>, &'static str>, GitHubError> {
        if incoming.condition == SignalCondition::Nothing {
            return Ok(Ok(Cow::Borrowed(incoming)));
        }
        let ask = || async {
            let identity = self.parts.github.identity().await?;
            Ok::<AppIdentity, GitHubError>(AppIdentity { app: identity.id, slug: identity.slug })
        };
        let us = self.cache.identity.get_or_try_init(ask).await?;
        Ok(match incoming.condition.unmet_by(us) {
            Some(because) => incoming.unmet().map(Cow::Owned).ok_or(because),
            None => Ok(Cow::Owned(incoming.addressed_to(us))),
        })
    }

    /// A later order that is active on the same issue. An older order must not wake up beside it.
    pub(super) async fn successor(&self, order: &OrderRow) -> Result<Option<OrderId>, StoreError> {
        let group = order.merge_group.as_ref();
        let latest = self.parts.store.latest_order(order.repository_id, order.issue, group).await?;
        let latest = latest.filter(|latest| latest.active && latest.id != order.id);
        // A verification of a fork's pull request takes no place of the order that mended it in one of ours.
        Ok(latest.filter(|latest| order.is_of_a_pull() || !latest.is_of_a_pull()).map(|latest| latest.id))
    }

    pub(super) async fn signal_orders(
        &self,
        delivery: &StoredDelivery,
        orders: &[OrderId],
        signal: &Signal,
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        self.write_conclusions(intake).await?;
        self.parts.store.signal_each(orders, signal, &delivery.guid, self.parts.clock.now()).await?;
        self.wake(orders);
        Ok(IntakeResult::Done)
    }

    async fn open_for(
        &self,
        delivery: &StoredDelivery,
        incoming: &RoutedSignal,
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        let SignalSubject::Issue(issue) = &incoming.subject else {
            return Ok(intake.ignore(delivery, "it is about no issue"));
        };
        let at = match self.at(incoming).await {
            Ok(at) => at,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        let IssueHistory { open, earlier, heard } =
            match self.issue_history(&at, incoming.repository_id, issue.number).await? {
                Ok(history) => history,
                Err(error) => return Ok(fault(delivery, error, intake)),
            };
        if heard.has(&incoming.signal) {
            return Ok(intake.ignore(delivery, "an order of the issue has heard of it"));
        }
        if let Some((order, pull)) = open {
            return self.signal_orders(delivery, &[order], &going_on(&incoming.signal, pull), intake).await;
        }
        let branch = match self.default_branch(incoming, &at).await {
            Ok(branch) => branch,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        let by = incoming.signal.by.clone();
        let opened = self.new_order(&at, incoming.repository_id, branch, issue.clone(), by);
        let opened = asked_for(OrderInput { earlier, ..opened }, incoming);
        let order = opened.order;
        self.write_conclusions(intake).await?;
        match self.parts.store.open_order(opened, self.parts.clock.now(), Some(&delivery.guid)).await? {
            OpenOutcome::Opened => {
                tracing::info!(%order, repository = %incoming.repository, issue = %issue.number, "opened");
                self.wake(&[order]);
                Ok(IntakeResult::Done)
            }
            OpenOutcome::Active(order) => {
                self.signal_orders(delivery, &[order], &incoming.signal, intake).await
            }
            OpenOutcome::DeliveryConcluded => Ok(IntakeResult::Done),
        }
    }

    /// Replies once to a person who calls us on a pull request in vain, and only if they may give commands.
    pub(super) async fn answer_writer(
        &self,
        incoming: &RoutedSignal,
        marker: &str,
        text: &str,
    ) -> Result<(), GitHubError> {
        let (SignalSubject::Pull(pull), Requester::Person(person)) = (&incoming.subject, &incoming.signal.by)
        else {
            return Ok(());
        };
        let at = self.at(incoming).await?;
        let github = &self.parts.github;
        if !github.can_write(&at, person).await? {
            return Ok(());
        }
        github.comment(&at, IssueNumber(pull.0), &format!("say:{marker}"), text).await
    }

    pub(super) async fn default_branch(
        &self,
        incoming: &RoutedSignal,
        at: &InstalledRepository,
    ) -> Result<String, GitHubError> {
        match &incoming.default_branch {
            Some(branch) => Ok(branch.clone()),
            None => Ok(self.parts.github.repository(at).await?.default_branch),
        }
    }

    pub(super) fn new_order(
        &self,
        at: &InstalledRepository,
        repository_id: RepositoryId,
        default_branch: String,
        issue: IssueText,
        by: Requester,
    ) -> OrderInput {
        let rules = &self.parts.settings;
        OrderInput {
            format: journeyman_order::journal::JOURNAL_FORMAT,
            order: OrderId(Uuid::now_v7()),
            repository: at.repository.clone(),
            repository_id,
            installation: Some(at.installation),
            default_branch,
            issue,
            by,
            pipeline: rules.pipeline.clone(),
            agent: rules.agent.clone(),
            limits: rules.limits.order,
            roles: rules.roles.clone(),
            change: None,
            earlier: Vec::new(),
            request: OrderRequest::default(),
            comment: None,
            labeled_at: None,
            commented_at: None,
        }
    }

    pub(super) async fn at(&self, incoming: &RoutedSignal) -> Result<InstalledRepository, GitHubError> {
        let installation = match incoming.installation {
            Some(installation) => installation,
            None => self.parts.github.installation(&incoming.repository).await?,
        };
        Ok(InstalledRepository { repository: incoming.repository.clone(), installation })
    }

    /// Whether this label starts work: the settings' label unless the repository names another, alone or with options.
    pub(super) async fn is_our_label(
        &self,
        incoming: &RoutedSignal,
        label: &str,
    ) -> Result<bool, GitHubError> {
        if let SignalSubject::Pull(_) = incoming.subject {
            return Ok(label.eq_ignore_ascii_case(VERIFY_LABEL));
        }
        // Our own labels appear on every order, so this costs no request.
        if !can_start(label) {
            return Ok(false);
        }
        let with_options = OrderRequest::of_label(label).map(|(start, _)| start);
        let wanted = self.settings_of(incoming).await?.label;
        let wanted = wanted.as_deref().unwrap_or(&self.parts.settings.label);
        Ok(std::iter::once(label).chain(with_options).any(|label| wanted.eq_ignore_ascii_case(label)))
    }

    pub(super) async fn settings_of(&self, incoming: &RoutedSignal) -> Result<IntakeSettings, GitHubError> {
        if self.parts.settings.asked_on == RequestOrigin::CommandLine {
            return Ok(IntakeSettings::default());
        }
        let id = incoming.repository_id;
        let all = || self.cache.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all().get(&id).cloned();
        if let Some((_, settings)) = known.filter(|(since, _)| since.elapsed() < SETTINGS_KEPT) {
            return Ok(settings);
        }
        let at = self.at(incoming).await?;
        let branch = self.default_branch(incoming, &at).await?;
        let file = self.parts.github.file(&at, super::SETTINGS_FILE, &branch).await?;
        // Unreadable settings are reported on the issue once the server's own label starts work.
        let settings = file.and_then(|yaml| (self.parts.settings.read_repository_settings)(&yaml).ok());
        let settings = settings.map(|read| IntakeSettings { label: read.label, verify: read.verify.by });
        let settings = settings.unwrap_or_default();
        let mut all = all();
        all.retain(|_, (since, _)| since.elapsed() < SETTINGS_KEPT);
        all.insert(id, (std::time::Instant::now(), settings.clone()));
        Ok(settings)
    }
}

/// An outage or refused credentials lead to a retry. Any other GitHub error ends the delivery.
pub(super) fn fault(
    delivery: &StoredDelivery,
    error: GitHubError,
    intake: &mut DeliveryIntake,
) -> IntakeResult {
    match error.kind {
        ErrorKind::Unavailable { .. } | ErrorKind::Unauthorized => IntakeResult::Later(error.message),
        ErrorKind::Conflict
        | ErrorKind::Unexpected
        | ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::Invalid => {
            tracing::error!(delivery = %delivery.guid, "refused: {error}");
            intake.conclude(delivery, DeliveryConclusion::Refused { because: error.message })
        }
    }
}
