//! Where repositories are on GitHub now, by id, and up to when people's activity there was checked.

use chrono::{DateTime, Utc};

use super::pool::{execute, read, written};
use super::{Store, StoreError, from_column, from_micros, to_column, to_micros};
use journeyman_order::{InstallationId, RepositoryId, RepositoryName};

const LAST_LOOK: &str = "the last look at what people did";

impl Store {
    /// Where a repository was last seen: its name, and its installation.
    pub async fn whereabouts(
        &self,
        repository: RepositoryId,
    ) -> Result<Option<(RepositoryName, InstallationId)>, StoreError> {
        let row: Option<(String, i64)> = read!(self, fetch_optional,
            "SELECT name, installation FROM repositories WHERE id = $1";
            to_column(repository.0, "a repository's id")?)?;
        let what = || format!("repository {repository}");
        row.map(|(name, installation)| {
            let name = name.parse().map_err(|error| StoreError::broken(what(), error))?;
            Ok((name, InstallationId(from_column(installation, &what())?)))
        })
        .transpose()
    }

    pub async fn set_whereabouts(
        &self,
        repository: RepositoryId,
        name: &RepositoryName,
        installation: InstallationId,
    ) -> Result<(), StoreError> {
        written!(self, "where a repository is",
            "INSERT INTO repositories (id, name, installation) VALUES ($1, $2, $3) \
             ON CONFLICT (id) DO UPDATE SET name = $2, installation = $3";
            to_column(repository.0, "a repository's id")?, name.to_string(),
            to_column(installation.0, "an installation's id")?);
        Ok(())
    }

    /// When people's activity was last checked in all installations, by our clock. `None` before the first start.
    pub async fn looked_until(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let (looked,): (Option<i64>,) =
            read!(self, fetch_one, "SELECT looked_until FROM server WHERE one = 1")?;
        looked.map(|at| from_micros(at, LAST_LOOK)).transpose()
    }

    /// Stores the time of that check. Known repositories without a check of their own get the earlier time.
    pub async fn set_looked_until(&self, at: DateTime<Utc>) -> Result<(), StoreError> {
        let mut tx = self.pools.begin("a look").await?;
        execute!(
            tx,
            "UPDATE repositories SET looked_until = (SELECT looked_until FROM server WHERE one = 1) \
             WHERE looked_until IS NULL"
        )?;
        execute!(tx, "UPDATE server SET looked_until = $1 WHERE one = 1"; to_micros(at))?;
        tx.commit().await
    }

    /// When people's activity was last checked in a known repository.
    pub async fn repository_looked_until(
        &self,
        repository: RepositoryId,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let row: Option<(Option<i64>,)> = read!(self, fetch_optional,
            "SELECT COALESCE(looked_until, (SELECT looked_until FROM server WHERE one = 1)) \
             FROM repositories WHERE id = $1";
            to_column(repository.0, "a repository's id")?)?;
        row.and_then(|(looked,)| looked).map(|at| from_micros(at, LAST_LOOK)).transpose()
    }

    /// Stores when people's activity was last checked in a repository.
    pub async fn set_repository_looked_until(
        &self,
        repository: RepositoryId,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        written!(self, "a look at a repository",
            "UPDATE repositories SET looked_until = $2 WHERE id = $1";
            to_column(repository.0, "a repository's id")?, to_micros(at));
        Ok(())
    }
}
