//! Where repositories are on GitHub now, by their ids; and until when it was looked at what people did there.

use chrono::{DateTime, Utc};

use super::pool::{in_tx, reading};
use super::{Store, StoreError, from_column, from_micros, to_column, to_micros};
use journeyman_order::{InstallationId, RepositoryId, RepositoryName};

impl Store {
    /// Where a repository was seen last: its name, and the installation that includes it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn whereabouts(
        &self,
        repository: RepositoryId,
    ) -> Result<Option<(RepositoryName, InstallationId)>, StoreError> {
        let row: Option<(String, i64)> = reading!(&self.pools, pool => {
            sqlx::query_as("SELECT name, installation FROM repositories WHERE id = $1")
                .bind(to_column(repository.0, "a repository's id")?)
                .fetch_optional(pool)
        })?;
        let what = || format!("repository {repository}");
        row.map(|(name, installation)| {
            let name = name.parse().map_err(|error| StoreError::broken(what(), error))?;
            Ok((name, InstallationId(from_column(installation, &what())?)))
        })
        .transpose()
    }

    /// Keeps where a repository is now.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub async fn set_whereabouts(
        &self,
        repository: RepositoryId,
        name: &RepositoryName,
        installation: InstallationId,
    ) -> Result<(), StoreError> {
        let mut tx = self.pools.begin("where a repository is").await?;
        let (_,): (i64,) = in_tx!(&mut tx, connection => {
            sqlx::query_as(
                "INSERT INTO repositories (id, name, installation) VALUES ($1, $2, $3) \
                 ON CONFLICT (id) DO UPDATE SET name = $2, installation = $3 RETURNING id",
            )
            .bind(to_column(repository.0, "a repository's id")?)
            .bind(name.to_string())
            .bind(to_column(installation.0, "an installation's id")?)
            .fetch_one(connection)
        })?;
        tx.commit().await
    }

    /// Until when it was looked at what people did, by our clock; where that was never done, until when deliveries were
    /// taken in. None before the first start.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn looked_until(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let (looked,): (Option<i64>,) = reading!(&self.pools, pool => {
            sqlx::query_as("SELECT looked_until FROM server WHERE one = 1").fetch_one(pool)
        })?;
        match looked {
            Some(at) => from_micros(at, "the last look at issues").map(Some),
            None => self.heard_until().await,
        }
    }

    /// Keeps until when it was looked at what people did.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub async fn set_looked_until(&self, at: DateTime<Utc>) -> Result<(), StoreError> {
        let mut tx = self.pools.begin("a look").await?;
        let (_,): (i64,) = in_tx!(&mut tx, connection => {
            sqlx::query_as("UPDATE server SET looked_until = $1 WHERE one = 1 RETURNING fence")
                .bind(to_micros(at))
                .fetch_one(connection)
        })?;
        tx.commit().await
    }
}
