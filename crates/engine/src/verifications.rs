//! Opens orders that verify somebody else's pull request: one for each commit.
//!
//! May know: signals, the store, GitHub's pull requests. Must never know: how a commit is verified.

use super::Engine;
use super::intake::{CONTINUED_ELSEWHERE, DeliveryIntake, IntakeResult, fault};
use super::intake_rules::asked_for;
use super::issue_history::HeardEvents;
use journeyman_github::{ForeignPull, GitHubError, InstalledRepository};
use journeyman_order::conversation::PullSnapshotState;
use journeyman_order::{
    CommitSha, GivenChange, IssueNumber, IssueText, Journal, JournalEvent, OrderInput, PullNumber, Requester,
    SignalKind, VERIFY_LABEL, VERIFY_PIPELINE, VerificationPolicy,
};
use journeyman_store::{OpenOutcome, OrderRow, StoreError, StoredDelivery};
use journeyman_webhook::{RoutedSignal, SignalSubject};

impl Engine {
    /// Verifies a pull request that somebody or the repository's settings ask for, or the next commit of one that was
    /// verified before. `last` is the newest verification.
    pub(super) async fn verify_for(
        &self,
        delivery: &StoredDelivery,
        incoming: &RoutedSignal,
        (pull, last): (PullNumber, Option<&OrderRow>),
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        let kind = &incoming.signal.kind;
        let pushed = if let SignalKind::PullPushed { head, .. } = kind { Some(head) } else { None };
        let is_opened = matches!(kind, SignalKind::PullOpened { .. });
        let is_asked = pushed.is_none() && !is_opened;
        let before = match last {
            Some(last) => self.readable_journal(last.id).await?,
            None => None,
        };
        match (last.filter(|last| last.active), &before) {
            (Some(_), Some(_)) if is_opened => {
                return Ok(intake.ignore(delivery, "the pull request is being verified"));
            }
            // It must not wait, since commands behind it would wait too.
            (Some(_), Some(journal)) if pushed.is_some() && journal.opened().judged().is_none() => {
                return Ok(intake.ignore(delivery, CONTINUED_ELSEWHERE));
            }
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
        let policy = match self.settings_of(incoming).await {
            Ok(settings) => settings.verify,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        if policy == VerificationPolicy::Never {
            return Ok(match self.refuse_command(incoming).await {
                Ok(()) => intake.ignore(delivery, "the repository's settings have no pull request verified"),
                Err(error) => fault(delivery, error, intake),
            });
        }
        if !is_asked && before.is_none() && policy == VerificationPolicy::Label {
            return Ok(intake.ignore(delivery, "the pull request is not being verified"));
        }
        if let Some(journal) = &before {
            let mut heard = HeardEvents::default();
            heard.read(journal);
            if heard.has(&incoming.signal) {
                return Ok(intake.ignore(delivery, "an order of the pull request has heard of it"));
            }
        }
        let (at, found, branch) = match self.asked_of_github(incoming, pull).await {
            Ok(asked) => asked,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        if found.state != PullSnapshotState::Open {
            return Ok(intake.ignore(delivery, "the pull request is closed"));
        }
        let is_same = before.as_ref().is_some_and(|journal| is_of(journal, &found.head));
        if !is_asked && is_same {
            return Ok(intake.ignore(delivery, "this commit was verified"));
        }
        if matches!(incoming.subject, SignalSubject::Order(_)) && !is_same {
            return Ok(intake.ignore(delivery, "the pull request has another commit"));
        }
        let by = if is_asked {
            Some(incoming.signal.by.clone())
        } else {
            let known = before.as_ref().filter(|_| pushed.is_some()).map(|journal| &journal.opened().by);
            by_itself(policy, &found, known)
        };
        let Some(by) = by else {
            return Ok(intake.ignore(delivery, "neither a label nor the settings have it verified"));
        };
        let opened = self.new_order(&at, incoming.repository_id, branch, task_of(pull, &found), by);
        // The pipeline is the server's: a change under test must not choose its judge.
        let Some(pipeline) = self.parts.settings.pipelines.get(VERIFY_PIPELINE).cloned() else {
            return Ok(intake.ignore(delivery, "there is no pipeline of the name verify"));
        };
        let opened = OrderInput { pipeline, change: Some(given(pull, found)), ..opened };
        // The words of the command are no advice.
        let opened = OrderInput { request: Default::default(), ..asked_for(opened, incoming) };
        self.open_verification(delivery, opened, intake).await
    }

    /// Opens the order of a verification for a delivery, which waits if the order before it has not ended.
    pub(super) async fn open_verification(
        &self,
        delivery: &StoredDelivery,
        opened: OrderInput,
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        let (order, repository, pull) = (opened.order, opened.repository.clone(), opened.issue.number);
        self.write_conclusions(intake).await?;
        match self.parts.store.open_order(opened, self.parts.clock.now(), Some(&delivery.guid)).await? {
            OpenOutcome::Opened => {
                tracing::info!(%order, %repository, %pull, "verifies");
                self.wake(&[order]);
                Ok(IntakeResult::Done)
            }
            OpenOutcome::Active(_) => Ok(IntakeResult::Waiting),
            OpenOutcome::DeliveryConcluded => Ok(IntakeResult::Done),
        }
    }

    /// Where the pull request is, the pull request, and the repository's default branch.
    async fn asked_of_github(
        &self,
        incoming: &RoutedSignal,
        pull: PullNumber,
    ) -> Result<(InstalledRepository, ForeignPull, String), GitHubError> {
        let at = self.at(incoming).await?;
        let found = self.parts.github.foreign_pull(&at, pull).await?;
        let branch = self.default_branch(incoming, &at).await?;
        Ok((at, found, branch))
    }

    /// Says that verification is turned off, to who commanded it. A label gets no answer.
    async fn refuse_command(&self, incoming: &RoutedSignal) -> Result<(), GitHubError> {
        if !matches!(incoming.signal.kind, SignalKind::Commanded { .. }) {
            return Ok(());
        }
        self.answer_writer(incoming, "never-verified", &journeyman_render::never_verified()).await
    }
}

/// Who has a commit verified for which nobody asks.
fn by_itself(
    policy: VerificationPolicy,
    found: &ForeignPull,
    known: Option<&Requester>,
) -> Option<Requester> {
    // Who set the label asked for every commit, for as long as it is there.
    let is_labeled = found.labels.iter().any(|label| label.eq_ignore_ascii_case(VERIFY_LABEL));
    if let Some(asker) = known.filter(|known| is_labeled && **known != Requester::Repository) {
        return Some(asker.clone());
    }
    let is_covered = match policy {
        VerificationPolicy::All => true,
        VerificationPolicy::Bots => found.is_by_a_bot,
        VerificationPolicy::Label | VerificationPolicy::Never => false,
    };
    (is_covered && !found.is_ours && !found.draft).then_some(Requester::Repository)
}

fn is_of(journal: &Journal, head: &CommitSha) -> bool {
    journal.opened().change.as_ref().is_some_and(|change| change.head == *head)
}

pub(super) fn was_told(journal: &Journal, kind: &SignalKind) -> bool {
    let is_it =
        |event: &JournalEvent| matches!(event, JournalEvent::Signaled { signal, .. } if signal.kind == *kind);
    journal.entries().iter().any(|entry| is_it(&entry.event))
}

/// The task: the issue that the pull request closes, or else its own words. Labels of both say what kind it is of.
pub(super) fn task_of(pull: PullNumber, found: &ForeignPull) -> IssueText {
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

pub(super) fn given(pull: PullNumber, found: ForeignPull) -> GivenChange {
    GivenChange {
        pull,
        url: found.url,
        head: found.head,
        base: found.base,
        author: found.author,
        author_id: found.author_id,
        fork: found.fork,
        closes: found.closes.map(|task| task.number),
        merge_group: false,
        continued: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use journeyman_order::{Person, UserId};

    fn pull() -> ForeignPull {
        ForeignPull {
            title: "T".to_owned(),
            body: String::new(),
            url: "u".to_owned(),
            head: "6113728f27ae82c7b1a177c8d03f9e96e0adf246".parse().unwrap(),
            branch: "fix".to_owned(),
            base: "main".to_owned(),
            author: "eve".to_owned(),
            author_id: Some(UserId(66)),
            is_by_a_bot: false,
            is_ours: false,
            fork: None,
            pushed_at: None,
            draft: false,
            state: PullSnapshotState::Open,
            labels: Vec::new(),
            closes: None,
        }
    }

    #[test]
    fn the_settings_or_the_label_of_before_have_a_commit_verified() {
        use VerificationPolicy::{All, Bots, Label, Never};
        let mona = Requester::Person(Person { login: "mona".to_owned(), id: UserId(1) });
        let labeled = || ForeignPull { labels: vec!["Journeyman:Verify".to_owned()], ..pull() };
        let bot = || ForeignPull { is_by_a_bot: true, ..pull() };
        let repository = Some(Requester::Repository);
        let before = Some(mona);
        for (policy, found, known, by) in [
            (Label, pull(), None, None),
            (Label, pull(), before.clone(), None),
            (Label, labeled(), before.clone(), before.clone()),
            (Label, labeled(), None, None),
            // The label is somebody's whose right was never asked for.
            (Label, labeled(), repository.clone(), None),
            (Bots, pull(), None, None),
            (Bots, bot(), None, repository.clone()),
            (Bots, labeled(), before.clone(), before.clone()),
            (All, pull(), None, repository.clone()),
            (All, pull(), before.clone(), repository.clone()),
            (All, bot(), repository.clone(), repository.clone()),
            (All, ForeignPull { draft: true, ..pull() }, None, None),
            (All, ForeignPull { draft: true, ..labeled() }, before.clone(), before.clone()),
            (All, ForeignPull { is_ours: true, ..bot() }, None, None),
            (Bots, ForeignPull { is_ours: true, ..bot() }, None, None),
            (Never, bot(), None, None),
        ] {
            assert_eq!(by_itself(policy, &found, known.as_ref()), by, "{policy:?} {found:?} {known:?}");
        }
    }
}
