//! Opens orders that mend somebody's pull request: on its branch, or for a fork in a pull request of our own.
//!
//! May know: signals, the store, GitHub's pull requests. Must never know: how a change is mended.

use chrono::{DateTime, Utc};

use super::Engine;
use super::intake::{DeliveryIntake, IntakeResult, fault};
use super::intake_rules::{as_advice, asked_for};
use super::issue_history::IssueHistory;
use super::verifications::{given, task_of, was_told};
use journeyman_github::{ForeignPull, GitHubError, InstalledRepository};
use journeyman_order::conversation::PullSnapshotState;
use journeyman_order::{
    Category, CommitSha, Feedback, HeadBranch, Inconclusive, IssueNumber, Journal, OrderInput, OrderRequest,
    PullContinuation, PullNumber, Requester, Settlement, Verdict, projection,
};
use journeyman_store::{OpenOutcome, OrderRow, StoreError, StoredDelivery};
use journeyman_webhook::RoutedSignal;

/// The pipeline of every such order. It is the server's, as that of a verification.
const PIPELINE: &str = "fix";

impl Engine {
    /// Whether a pull request is still somebody else's alone: no order opened it, works on it, or has pushed to it.
    pub(super) async fn is_theirs(
        &self,
        order: Option<&OrderRow>,
        pull: PullNumber,
    ) -> Result<bool, StoreError> {
        let Some(order) = order.filter(|order| order.pull == Some(pull)) else { return Ok(true) };
        if !order.is_of_a_pull() {
            return Ok(false);
        }
        let Some(journal) = self.readable_journal(order.id).await? else { return Ok(true) };
        if journal.opened().continued().is_none() {
            return Ok(true);
        }
        let stands = projection(journal.pipeline(), &journal, self.parts.clock.now());
        let is_over =
            matches!(stands.next.settled, Some(Settlement::Merged { .. } | Settlement::Closed { .. }));
        Ok(!order.active && (is_over || !stands.trace.has_pushed))
    }

    /// Opens the order that mends a pull request, from its head. `last` is the newest order of it, and a verification
    /// under way gives way.
    pub(super) async fn mend_for(
        &self,
        delivery: &StoredDelivery,
        incoming: &RoutedSignal,
        (pull, words, last): (PullNumber, &str, Option<&OrderRow>),
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        let signal = &incoming.signal;
        let before = match last {
            Some(last) => self.readable_journal(last.id).await?,
            None => None,
        };
        let is_told = before.as_ref().is_some_and(|journal| was_told(journal, &signal.kind));
        let at = match self.at(incoming).await {
            Ok(at) => at,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        if !is_told {
            match self.may_command(&at, &signal.by).await {
                Ok(true) => {}
                Ok(false) => return Ok(intake.ignore(delivery, "its author has no write access")),
                Err(error) => return Ok(fault(delivery, error, intake)),
            }
        }
        match (last.filter(|last| last.active), &before) {
            (Some(active), Some(journal)) if journal.opened().judged().is_none() => {
                return self.signal_orders(delivery, &[active.id], &as_advice(signal), intake).await;
            }
            // The delivery stays pending: it opens the order once the verification has ended.
            (Some(active), Some(_)) => {
                if !is_told {
                    self.parts.store.signal(active.id, signal.clone(), self.parts.clock.now()).await?;
                    self.wake(&[active.id]);
                }
                return Ok(IntakeResult::Waiting);
            }
            (Some(_), None) => return Ok(IntakeResult::Waiting),
            (None, _) => {}
        }
        let IssueHistory { open, earlier, heard } =
            match self.issue_history(&at, incoming.repository_id, IssueNumber(pull.0)).await? {
                Ok(history) => history,
                Err(error) => return Ok(fault(delivery, error, intake)),
            };
        if !is_told && heard.has(signal) {
            return Ok(intake.ignore(delivery, "an order of the pull request has heard of it"));
        }
        // A fork's pull request goes on in one of ours.
        if let Some((order, _)) = open {
            return self.signal_orders(delivery, &[order], &as_advice(signal), intake).await;
        }
        let (found, default) = match self.pull_to_mend(&at, incoming, pull).await {
            Ok(found) => found,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        if found.state != PullSnapshotState::Open {
            return Ok(intake.ignore(delivery, "the pull request is closed"));
        }
        let branch = branch_to_mend(&found, &default);
        let refusal = if branch.is_none() && found.fork.is_none() {
            Some(("not-mended".to_owned(), journeyman_render::not_mended(&found.branch)))
        } else {
            let unread = Some(&found.head).filter(|_| is_unread(&found, incoming.changed_at));
            unread.map(|head| (format!("unread-{head}"), journeyman_render::unread(head)))
        };
        if let Some((marker, said)) = refusal {
            return Ok(match self.answer_writer(incoming, &marker, &said).await {
                Ok(()) => intake.ignore(delivery, "it is not mended, and who asked was told why"),
                Err(error) => fault(delivery, error, intake),
            });
        }
        let Some(pipeline) = self.parts.settings.pipelines.get(PIPELINE).cloned() else {
            return Ok(intake.ignore(delivery, "there is no pipeline of the name fix"));
        };
        let known = before.as_ref().and_then(|journal| self.found_in(journal, &found.head));
        let earlier = if branch.is_some() { Vec::new() } else { earlier };
        let opened =
            self.new_order(&at, incoming.repository_id, default, task_of(pull, &found), signal.by.clone());
        let mut change = given(pull, found);
        // Who asks can write here, and pays for it.
        change.author_id = None;
        change.continued = Some(PullContinuation { branch, found: known });
        let opened = asked_for(OrderInput { pipeline, earlier, change: Some(change), ..opened }, incoming);
        let advice = Some(words.to_owned()).filter(|words| !words.is_empty());
        let opened = OrderInput { request: OrderRequest { advice, ..OrderRequest::default() }, ..opened };
        let order = opened.order;
        self.write_conclusions(intake).await?;
        match self.parts.store.open_order(opened, self.parts.clock.now(), Some(&delivery.guid)).await? {
            OpenOutcome::Opened => {
                tracing::info!(%order, repository = %incoming.repository, %pull, "mends");
                self.wake(&[order]);
                Ok(IntakeResult::Done)
            }
            OpenOutcome::Active(_) => Ok(IntakeResult::Waiting),
            OpenOutcome::DeliveryConcluded => Ok(IntakeResult::Done),
        }
    }

    async fn may_command(&self, at: &InstalledRepository, by: &Requester) -> Result<bool, GitHubError> {
        match by {
            Requester::Person(person) => self.parts.github.can_write(at, person).await,
            Requester::ApiToken | Requester::Repository => Ok(false),
        }
    }

    /// The pull request now, and the default branch.
    async fn pull_to_mend(
        &self,
        at: &InstalledRepository,
        incoming: &RoutedSignal,
        pull: PullNumber,
    ) -> Result<(ForeignPull, String), GitHubError> {
        let found = self.parts.github.foreign_pull(at, pull).await?;
        Ok((found, self.default_branch(incoming, at).await?))
    }

    /// What the latest verification found wrong with this commit, or what an order that was to mend it was told.
    fn found_in(&self, journal: &Journal, head: &CommitSha) -> Option<Feedback> {
        let change = journal.opened().change.as_ref().filter(|change| change.head == *head)?;
        if let Some(before) = &change.continued {
            return before.found.clone();
        }
        let stands = projection(journal.pipeline(), journal, self.parts.clock.now());
        let mut rounds = stands.trace.stages.iter().flat_map(|stage| stage.rounds.iter()).rev();
        let is_of_change = |feedback: &&Feedback| {
            !feedback.passed && feedback.issues.iter().any(|issue| issue.category != Category::InvalidOutput)
        };
        let failed =
            rounds.find_map(|round| round.commit.as_ref().and(round.feedback.as_ref()).filter(is_of_change));
        failed.cloned().or_else(|| match &stands.verdict {
            Verdict::Inconclusive { why: why @ Inconclusive::Unproven { .. } } => {
                Some(Feedback::failed(Category::TestFailure, why.sentence()))
            }
            Verdict::None
            | Verdict::Pending { .. }
            | Verdict::Verified(_)
            | Verdict::Inconclusive { .. }
            | Verdict::Rejected { .. }
            | Verdict::Approved { .. } => None,
        })
    }
}

/// The pull request's own branch, if commits may go there: not into a fork, not to the default branch.
fn branch_to_mend(found: &ForeignPull, default: &str) -> Option<HeadBranch> {
    let theirs = found.branch.parse::<HeadBranch>().ok().filter(|_| found.fork.is_none())?;
    Some(theirs).filter(|theirs| theirs.as_str() != default && theirs.as_str() != found.base)
}

/// Whether a fork's code is not what the person saw who asked to bring it into the repository.
fn is_unread(found: &ForeignPull, asked_at: Option<DateTime<Utc>>) -> bool {
    found.fork.is_some() && found.pushed_at.zip(asked_at).is_some_and(|(pushed, asked)| pushed > asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_go_to_the_pull_requests_own_branch_and_never_to_the_default_one_or_into_a_fork() {
        let from = |branch: &str, fork: Option<&str>| ForeignPull {
            title: "T".to_owned(),
            body: String::new(),
            url: "u".to_owned(),
            head: "6113728f27ae82c7b1a177c8d03f9e96e0adf246".parse().unwrap(),
            branch: branch.to_owned(),
            base: "release".to_owned(),
            author: "carl".to_owned(),
            author_id: None,
            is_by_a_bot: false,
            is_ours: false,
            fork: fork.map(str::to_owned),
            pushed_at: None,
            draft: false,
            state: PullSnapshotState::Open,
            labels: Vec::new(),
            closes: None,
        };
        for (branch, fork, pushed_to) in [
            ("carls-answer", None, Some("carls-answer")),
            ("carls-answer", Some("carl/sum"), None),
            ("main", None, None),
            ("release", None, None),
            ("a branch", None, None),
        ] {
            let found = branch_to_mend(&from(branch, fork), "main");
            assert_eq!(found.as_ref().map(HeadBranch::as_str), pushed_to, "{branch} {fork:?}");
        }
    }
}
