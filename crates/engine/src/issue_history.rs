//! What became of an issue's earlier orders: an open pull request is gone on with, so that there is never a second one.

use super::Engine;
use journeyman_github::{GitHubError, InstalledRepository, PullRequestState};
use journeyman_order::journal::EarlierPull;
use journeyman_order::{IssueNumber, OrderId, PullNumber, RepositoryId, Settlement, projection};
use journeyman_store::{JournalStore, StoreError};

/// The pull requests of an issue's orders, when none of these is at work.
#[derive(Debug, Default)]
pub(super) struct IssueHistory {
    /// The one that is open, and whose it is.
    pub(super) open: Option<(OrderId, PullNumber)>,
    /// The others, the latest first.
    pub(super) earlier: Vec<EarlierPull>,
}

impl Engine {
    /// GitHub is asked about each that the journals know to be open: a delivery that says otherwise can be lost.
    pub(super) async fn issue_history(
        &self,
        at: &InstalledRepository,
        repository: RepositoryId,
        issue: IssueNumber,
    ) -> Result<Result<IssueHistory, GitHubError>, StoreError> {
        let mut history = IssueHistory::default();
        for order in self.parts.store.orders_of_issue(repository, issue).await? {
            let (Some(pull), Some(branch)) = (order.pull, order.branch) else { continue };
            let journal = self.parts.store.journal(order.id).await?;
            let merged = match projection(journal.pipeline(), &journal, self.parts.clock.now()).next.settled {
                Some(Settlement::Merged { .. }) => true,
                Some(Settlement::Closed { .. }) => false,
                Some(
                    Settlement::Finished { .. }
                    | Settlement::Escalated { .. }
                    | Settlement::Blocked { .. }
                    | Settlement::Failed { .. }
                    | Settlement::Unprepared { .. }
                    | Settlement::Cancelled { .. }
                    | Settlement::Refused { .. },
                )
                | None => match self.parts.github.pull(at, pull).await.map(|pull| pull.state) {
                    Ok(PullRequestState::Open) => {
                        history.open = history.open.or(Some((order.id, pull)));
                        continue;
                    }
                    Ok(PullRequestState::Closed) => false,
                    Ok(PullRequestState::Merged) => true,
                    Err(error) => return Ok(Err(error)),
                },
            };
            if history.earlier.iter().all(|known| known.pull != pull) {
                history.earlier.push(EarlierPull { pull, branch, merged });
            }
        }
        Ok(Ok(history))
    }
}
