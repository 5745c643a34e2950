//! Requests of the API's token holder: orders, and commands to them.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use super::Engine;
use super::issue_history::IssueHistory;
use journeyman_github::{InstalledRepository, IssueKind, IssueState};
use journeyman_order::order_api::{OpenOrderResult, OrderRequestError};
use journeyman_order::{
    IssueNumber, OrderId, OrderInput, OrderRequest, RepositoryName, Requester, Signal, SignalKind,
    SlashCommand,
};
use journeyman_store::OpenOutcome;

impl Engine {
    /// Opens an order through the API, or continues the one with an open pull request, as `/retry` would.
    pub async fn open(
        &self,
        repository: RepositoryName,
        issue: IssueNumber,
        request: OrderRequest,
    ) -> Result<OpenOrderResult, OrderRequestError> {
        let installation = self.parts.github.installation(&repository).await?;
        let at = InstalledRepository { repository, installation };
        let facts = self.parts.github.repository(&at).await?;
        let at = InstalledRepository { repository: facts.name, installation };
        let found = self.parts.github.issue(&at, issue).await?;
        let of = &at.repository;
        match (found.kind, found.state) {
            (IssueKind::Issue, IssueState::Open) => {}
            (IssueKind::PullRequest, _) => {
                return Err(OrderRequestError::Refused(format!("#{issue} of {of} is a pull request")));
            }
            (IssueKind::Issue, IssueState::Closed) => {
                return Err(OrderRequestError::Refused(format!("issue #{issue} of {of} is closed")));
            }
        }
        let IssueHistory { open, earlier, heard: _ } = self.issue_history(&at, facts.id, issue).await??;
        if let Some((order, _)) = open
            && !self
                .parts
                .store
                .latest_order(facts.id, issue, None)
                .await?
                .is_some_and(|latest| latest.active)
        {
            let command = match request.options.is_empty() {
                true => SlashCommand::Retry { guidance: request.advice },
                false => SlashCommand::Start { request },
            };
            let signal = self.command(order, Requester::ApiToken, command).await?;
            return Ok(OpenOrderResult::GoesOn { order, signal });
        }
        let opened = self.new_order(&at, facts.id, facts.default_branch, found.text, Requester::ApiToken);
        let opened = OrderInput { earlier, request, ..opened };
        let order = opened.order;
        let outcome = self.parts.store.open_order(opened, self.parts.clock.now(), None).await;
        let outcome = outcome.map_err(|error| OrderRequestError::Unavailable(error.to_string()))?;
        self.order_requested.notify_one();
        Ok(match outcome {
            OpenOutcome::Active(active) => OpenOrderResult::AlreadyActive(active),
            OpenOutcome::Opened | OpenOutcome::DeliveryConcluded => OpenOrderResult::Opened(order),
        })
    }

    /// Sends a command of the API or a signed-in person to an order. Returns the number of its journal entry.
    pub async fn command(
        &self,
        order: OrderId,
        by: Requester,
        command: SlashCommand,
    ) -> Result<u64, OrderRequestError> {
        let row = self.parts.store.order(order).await?;
        if let Some(newer) = self.successor(&row).await? {
            return Err(OrderRequestError::Conflict(format!("order {newer} has taken its place")));
        }
        let signal = Signal { by, kind: SignalKind::Commanded { comment: None, pull: None, command } };
        let entry = self.parts.store.signal(order, signal, self.parts.clock.now()).await?;
        self.wake(&[order]);
        let seq = entry.seq;
        // There may be no watcher.
        let _ = self.written.send((order, entry));
        Ok(seq)
    }

    /// Wakes orders that were signalled.
    pub(super) fn wake(&self, orders: &[OrderId]) {
        self.signaled.lock().unwrap_or_else(PoisonError::into_inner).extend(orders);
        self.order_requested.notify_one();
    }

    /// The orders signalled since the last call.
    pub(super) fn take_signaled(&self) -> BTreeSet<OrderId> {
        std::mem::take(&mut *self.signaled.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
