//! Installation tokens are made for one repository and the permissions of a call.

use std::fmt;

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

use super::connection::RequestSender;
use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result};
use super::permissions::{GitAccess, TokenPermissions};
use super::service::GitHub;
use super::token_cache::InstallationToken;
use super::transport::GitHubRequest;

impl GitHub {
    /// A token for these permissions, cached or new. `refused` is one that GitHub just refused: if it is still cached,
    /// it is replaced.
    pub(super) async fn token(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        refused: Option<&InstallationToken>,
    ) -> Result<InstallationToken> {
        let slot = self.0.tokens.slot(at, permissions);
        let mut kept = slot.lock().await;
        if let Some(token) = kept.as_ref() {
            let was_refused = refused.is_some_and(|refused| refused.is(token));
            if token.is_usable() && !was_refused {
                return Ok(token.clone());
            }
        }
        let token = self.make_token(at, permissions).await?;
        *kept = Some(token.clone());
        Ok(token)
    }

    /// Requests a token. A duplicate is harmless: both expire.
    async fn make_token(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
    ) -> Result<InstallationToken> {
        #[derive(Deserialize)]
        struct Wire {
            token: SecretString,
            expires_at: DateTime<Utc>,
        }
        let body = json!({"repositories": [at.repository.name()], "permissions": permissions.wire()});
        let route = format!("/app/installations/{}/access_tokens", at.installation);
        let answer = self.ask_as_app(&GitHubRequest::post(route, body)).await;
        let wire: Wire = answer.map_err(|error| explain(error, at, permissions))?.json()?;
        Ok(InstallationToken::new(wire.token, wire.expires_at))
    }

    /// A new token for git, not cached: only for this repository's contents.
    ///
    /// # Errors
    /// As for every call; [`ErrorKind::Forbidden`] when the installation lacks the permission.
    pub async fn git_token(&self, at: &InstalledRepository, access: GitAccess) -> Result<GitToken> {
        let permissions = match access {
            GitAccess::Read => TokenPermissions::ReadContents,
            GitAccess::Push => TokenPermissions::WriteContents,
        };
        let kept = self.make_token(at, permissions).await?;
        Ok(GitToken { secret: kept.secret(), github: self.clone() })
    }
}

/// The meaning of GitHub's refusals for a token request.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others mean what they always mean")]
fn explain(error: GitHubError, at: &InstalledRepository, permissions: TokenPermissions) -> GitHubError {
    let message = match error.kind {
        ErrorKind::NotFound => format!(
            "the App's installation {} is gone; install the App on {} again ({})",
            at.installation, at.repository, error.message
        ),
        ErrorKind::Invalid => format!(
            "no token for {}: the installation must include the repository and grant \"{}\"; look at the App's \
             permissions and at the installation's repositories ({})",
            at.repository,
            permissions.words(),
            error.message
        ),
        _ => return error,
    };
    // Never `NotFound`: a caller that looks for a person or a file would misread it.
    GitHubError::new(ErrorKind::Forbidden, message)
}

/// A token for git over https, as the password of the user `x-access-token`. It is valid for an hour at most; its owner
/// revokes it after use.
pub struct GitToken {
    pub secret: SecretString,
    github: GitHub,
}

impl GitToken {
    /// Revokes the token. A failure is only logged: the token expires anyway.
    pub async fn revoke(self) {
        let request = GitHubRequest::delete("/installation/token");
        let permissions = Some(TokenPermissions::ReadContents);
        if let Err(error) = self.github.send(RequestSender::Token(self.secret), &request, permissions).await
            && error.kind != ErrorKind::Unauthorized
        {
            tracing::warn!(%error, "a token for git could not be revoked; it expires within the hour");
        }
    }
}

impl fmt::Debug for GitToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("GitToken(…)")
    }
}
