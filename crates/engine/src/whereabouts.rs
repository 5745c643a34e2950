//! Where repositories are on GitHub now. An order knows its repository by its id: the name and the installation that it
//! was opened with may be others by now.
//!
//! May know: what deliveries and GitHub's lists say of repositories. Must never know: what is done there.

use journeyman_github::{ErrorKind, GitHub, GitHubError, InstalledRepository};
use journeyman_order::{InstallationId, RepositoryId, RepositoryName};
use journeyman_store::{Store, StoreError};

pub(super) async fn learn(
    store: &Store,
    id: RepositoryId,
    repository: &RepositoryName,
    installation: InstallationId,
) -> Result<bool, StoreError> {
    let known = store.whereabouts(id).await?;
    if known.as_ref().is_some_and(|(name, by)| name == repository && *by == installation) {
        return Ok(false);
    }
    store.set_whereabouts(id, repository, installation).await?;
    if let Some((before, _)) = known {
        tracing::info!(%before, now = %repository, %installation, "a repository is elsewhere");
    }
    Ok(true)
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

/// Looks for a repository in all installations. `homes` are those that had it; if one cannot be asked, this is an error.
pub(super) async fn find(
    github: &GitHub,
    id: RepositoryId,
    homes: &[InstallationId],
) -> Result<Option<InstalledRepository>, GitHubError> {
    let mut unasked = None;
    for installation in github.installations().await? {
        let is_home = homes.contains(&installation.id);
        if installation.suspended {
            continue;
        }
        match github.installed_repositories(installation.id).await {
            Ok(repositories) => {
                if let Some(found) = repositories.into_iter().find(|one| one.id == id) {
                    return Ok(Some(found.at));
                }
            }
            // One that lets nobody in, of an account that has nothing to do with it, is no reason not to look on.
            Err(error) => {
                tracing::warn!(installation = %installation.id, "cannot be asked for a repository: {error}");
                if is_home || is_passing(error.kind) {
                    unasked = unasked.or(Some(error));
                }
            }
        }
    }
    unasked.map_or(Ok(None), Err)
}

/// Whether an installation may answer otherwise the next time.
fn is_passing(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Unavailable { .. }
        | ErrorKind::Unauthorized
        | ErrorKind::Conflict
        | ErrorKind::Unexpected => true,
        ErrorKind::Forbidden | ErrorKind::NotFound | ErrorKind::Invalid => false,
    }
}
