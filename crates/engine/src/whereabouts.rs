//! Where repositories are on GitHub now. An order knows its repository by id.
//!
//! May know: what deliveries and GitHub's lists say of repositories. Must never know: what is done there.

use journeyman_github::{GitHub, GitHubError, InstalledRepository};
use journeyman_order::{InstallationId, RepositoryId, RepositoryName};
use journeyman_store::{Store, StoreError};

pub(super) async fn learn(
    store: &Store,
    id: RepositoryId,
    repository: &RepositoryName,
    installation: InstallationId,
) -> Result<(), StoreError> {
    let known = store.whereabouts(id).await?;
    if known.as_ref().is_some_and(|(name, by)| name == repository && *by == installation) {
        return Ok(());
    }
    store.set_whereabouts(id, repository, installation).await?;
    if let Some((before, _)) = known {
        tracing::info!(%before, now = %repository, %installation, "a repository is elsewhere");
    }
    Ok(())
}

pub(super) async fn last_seen(store: &Store, id: RepositoryId) -> Option<InstalledRepository> {
    match store.whereabouts(id).await {
        Ok(known) => known.map(|(repository, installation)| InstalledRepository { repository, installation }),
        Err(error) => {
            tracing::warn!("where repository {id} is cannot be read: {error}");
            None
        }
    }
}

/// Looks for a repository in all installations that are not suspended.
pub(super) async fn find(
    github: &GitHub,
    id: RepositoryId,
) -> Result<Option<InstalledRepository>, GitHubError> {
    for installation in github.installations().await?.into_iter().filter(|one| !one.suspended) {
        match github.installed_repositories(installation.id).await {
            Ok(repositories) => {
                if let Some(found) = repositories.into_iter().find(|one| one.id == id) {
                    return Ok(Some(found.at));
                }
            }
            Err(error) => {
                tracing::warn!(installation = %installation.id, "cannot be asked for a repository: {error}");
            }
        }
    }
    Ok(None)
}
