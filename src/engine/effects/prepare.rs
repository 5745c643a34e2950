//! The base branch fetched, and what the repository says of itself in it: settings, a pipeline, roles.

use super::{Context, Tried, never};
use crate::config::{Known, OwnError, of_repository};
use crate::engine::SETTINGS_FILE;
use crate::github::GitAccess;
use crate::order::{CommitSha, Outcome, RepositorySettings};
use crate::workspace::Remote;

impl Context {
    pub(super) async fn prepare(&self) -> Tried {
        let (base, file) = self.fetch().await?;
        let settings = match file {
            Some(yaml) => (self.parts.rules.read_repository_settings)(&yaml)
                .map_err(|problem| never(format!("{SETTINGS_FILE}: {problem}")))?,
            None => RepositorySettings::default(),
        };
        let parts = self.parts.clone();
        let opened = self.opened().clone();
        let (at, wanted) = (base.clone(), settings.pipeline.clone());
        let own = self
            .git(move |workspaces| {
                let known = Known {
                    default: &opened.pipeline,
                    pipelines: &parts.rules.pipelines,
                    roles: &opened.roles,
                };
                let read = |path: &str| workspaces.file(&opened.repository, &at, path);
                match of_repository(wanted.as_deref(), known, read) {
                    Ok(own) => Ok(Ok(own)),
                    Err(OwnError::Unusable(because)) => Ok(Err(because)),
                    Err(OwnError::Read(error)) => Err(error),
                }
            })
            .await?
            .map_err(never)?;
        Ok(Outcome::Prepared {
            base,
            settings: Box::new(settings),
            pipeline: own.pipeline.map(Box::new),
            roles: own.roles,
            subjects: Vec::new(),
        })
    }

    /// The head of the base branch, and the settings' file in it.
    async fn fetch(&self) -> Result<(CommitSha, Option<Vec<u8>>), crate::order::Trouble> {
        let at = self.at().await?;
        let token = self.parts.github.git_token(&at, GitAccess::Read).await?;
        let url = self.parts.github.git_url(&at.repository);
        let (repository, secret) = (at.repository.clone(), token.secret.clone());
        let branch = self.opened().default_branch.clone();
        let fetched = self
            .git(move |workspaces| {
                let remote = Remote { repository: &repository, url, token: Some(secret) };
                let base = workspaces.fetch(&remote, &branch)?;
                let settings = workspaces.file(&repository, &base, SETTINGS_FILE)?;
                Ok((base, settings))
            })
            .await;
        token.revoke().await;
        fetched
    }
}
