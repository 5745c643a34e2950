//! What happened to orders' pull requests after their merge, as GitHub reported it. Repeated reports are stored once.

use chrono::{DateTime, Utc};

use super::orders::order_id;
use super::pool::{execute, read, written};
use super::{Store, StoreError, from_micros, to_column, to_micros};
use journeyman_order::bounds::LONGEST_NAME;
use journeyman_order::{CommitSha, OrderId, PullNumber, RepositoryId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterMergeKind {
    /// A commit on the default branch says that it reverts it.
    CommitReverted,
    /// A merged pull request says that it reverts it.
    PullReverted,
    /// A check failed on the merge commit.
    CheckFailed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterMergeFact {
    pub kind: AfterMergeKind,
    /// The commit or pull request that says so, or the check.
    pub said_by: String,
    pub at: DateTime<Utc>,
}

impl AfterMergeKind {
    const ALL: [Self; 3] = [Self::CommitReverted, Self::PullReverted, Self::CheckFailed];

    fn word(self) -> &'static str {
        match self {
            Self::CommitReverted => "commit_reverted",
            Self::PullReverted => "pull_reverted",
            Self::CheckFailed => "check_failed",
        }
    }
}

impl Store {
    /// Stores the commits of an order's merged pull request: the merge commit on its base, and its own last commit.
    pub async fn keep_merged(
        &self,
        (order, repository): (OrderId, RepositoryId),
        commit: Option<&CommitSha>,
        head: Option<&CommitSha>,
    ) -> Result<(), StoreError> {
        let repository = to_column(repository.0, "a repository's id")?;
        let mut tx = self.pools.begin("a merge").await?;
        // A commit that is both counts as the merge commit.
        for (sha, is_merge) in [(commit, true), (head, false)] {
            let Some(sha) = sha else { continue };
            execute!(tx,
                "INSERT INTO merged_commits (repository_id, sha, order_id, is_merge) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT DO NOTHING";
                repository, sha.as_str(), order.to_string(), is_merge)?;
        }
        tx.commit().await
    }

    /// The orders whose merged pull request has a commit with this prefix.
    pub async fn orders_of_merged(
        &self,
        repository: RepositoryId,
        beginning: &str,
    ) -> Result<Vec<OrderId>, StoreError> {
        // `g` sorts after all hexadecimal digits.
        let rows: Vec<(String,)> = read!(self, fetch_all,
            "SELECT DISTINCT order_id FROM merged_commits WHERE repository_id = $1 AND sha >= $2 AND sha < $3";
            to_column(repository.0, "a repository's id")?, beginning, format!("{beginning}g"))?;
        rows.into_iter().map(|(id,)| order_id(&id)).collect()
    }

    /// The orders whose pull request was merged as this commit.
    pub async fn orders_of_merge(
        &self,
        repository: RepositoryId,
        commit: &CommitSha,
    ) -> Result<Vec<OrderId>, StoreError> {
        let rows: Vec<(String,)> = read!(self, fetch_all,
            "SELECT order_id FROM merged_commits WHERE repository_id = $1 AND sha = $2 AND is_merge";
            to_column(repository.0, "a repository's id")?, commit.as_str())?;
        rows.into_iter().map(|(id,)| order_id(&id)).collect()
    }

    /// The order of this pull request, if the order's row says that it is merged.
    pub async fn merged_order(
        &self,
        repository: RepositoryId,
        pull: PullNumber,
    ) -> Result<Option<OrderId>, StoreError> {
        let order = self.order_by_pull(repository, pull).await?;
        Ok(order.filter(|order| order.state == "merged").map(|order| order.id))
    }

    /// Stores an event after an order's merge; only the first of each kind.
    pub async fn keep_after_merge(&self, order: OrderId, fact: &AfterMergeFact) -> Result<(), StoreError> {
        let name: String = fact.said_by.chars().filter(|c| *c != '\0').take(LONGEST_NAME).collect();
        written!(self, "what came after a merge",
            "INSERT INTO after_merge (order_id, kind, said_by, at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING";
            order.to_string(), fact.kind.word(), name.as_str(), to_micros(fact.at));
        Ok(())
    }

    /// Events after an order's merge, the earliest first.
    pub async fn after_merge(&self, order: OrderId) -> Result<Vec<AfterMergeFact>, StoreError> {
        let rows: Vec<(String, String, i64)> = read!(self, fetch_all,
            "SELECT kind, said_by, at FROM after_merge WHERE order_id = $1 ORDER BY at, kind";
            order.to_string())?;
        let fact = |(kind, said_by, at): (String, String, i64)| {
            let what = format!("what came after the merge of order {order}");
            let known = AfterMergeKind::ALL.into_iter().find(|known| known.word() == kind);
            let kind =
                known.ok_or_else(|| StoreError::broken(&what, format!("there is no kind {kind:?}")))?;
            Ok(AfterMergeFact { kind, said_by, at: from_micros(at, &what)? })
        };
        rows.into_iter().map(fact).collect()
    }
}
