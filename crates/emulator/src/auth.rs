//! Who calls and what they may do: App tokens signed with RS256, installation tokens with scope and expiry.

use std::collections::BTreeSet;

use chrono::Duration;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Value, json};
use uuid::Uuid;

use super::json::time;
use super::reply::{ActResult, EmulatedApiError, EmulatedApiReply};
use super::state::calls::Caller;
use super::state::{
    AppStage, EmulatedRepository, EmulatedToken, EmulatorState, PermissionLevel, RepositoryRole, TokenHolder,
};
use crate::clock;

/// The longest lifetime of an App's token, in seconds.
const LONGEST_JWT: i64 = 600;
/// The clock skew allowed between App and GitHub, in seconds.
const CLOCK_DRIFT: i64 = 60;

/// The caller, according to the `Authorization` header.
#[derive(Debug, Clone)]
pub(crate) enum Credentials {
    Nobody,
    App,
    Token { text: String, holder: TokenHolder },
}

impl EmulatorState {
    /// Reads `Authorization`: `Bearer` or `token`, with an App's JWT or a token.
    pub(crate) fn authenticate(&self, header: Option<&str>) -> ActResult<Credentials> {
        let Some(header) = header else { return Ok(Credentials::Nobody) };
        let (scheme, text) = header.split_once(' ').unwrap_or(("", header));
        if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("token") {
            return Err(EmulatedApiError::bad_credentials());
        }
        let text = text.trim();
        if text.split('.').count() == 3 {
            self.check_jwt(text)?;
            return Ok(Credentials::App);
        }
        let token = self.valid_token(text).ok_or_else(EmulatedApiError::bad_credentials)?;
        if self.app.suspended && matches!(token.holder, TokenHolder::Installation { .. }) {
            return Err(EmulatedApiError::suspended());
        }
        Ok(Credentials::Token { text: text.to_owned(), holder: token.holder.clone() })
    }

    /// The token, if it is known and has not expired.
    pub(crate) fn valid_token(&self, text: &str) -> Option<&EmulatedToken> {
        self.tokens.get(text).filter(|token| token.expires_at > clock::now())
    }

    pub(crate) fn caller(&self, credentials: &Credentials) -> Caller {
        match credentials {
            Credentials::Nobody => Caller::Nobody,
            Credentials::App => Caller::App,
            Credentials::Token { holder, .. } => self.caller_of(holder),
        }
    }

    pub(crate) fn caller_of(&self, holder: &TokenHolder) -> Caller {
        match holder {
            TokenHolder::Installation { .. } => Caller::Installation,
            TokenHolder::Person(id) => Caller::Person(self.login(*id).to_owned()),
        }
    }

    fn check_jwt(&self, text: &str) -> ActResult<()> {
        if self.app.stage == AppStage::None {
            return Err(EmulatedApiError::new(404, "Integration not found"));
        }
        let mut rules = Validation::new(Algorithm::RS256);
        rules.required_spec_claims.clear();
        rules.validate_exp = false;
        rules.validate_aud = false;
        let claims = jsonwebtoken::decode::<Value>(text, &self.app.key, &rules)
            .map_err(|_| EmulatedApiError::new(401, "A JSON web token could not be decoded"))?
            .claims;
        let now = clock::now().timestamp();
        let number = |name: &str| claims.get(name).and_then(Value::as_i64).unwrap_or_default();
        let (issued, expires) = (number("iat"), number("exp"));
        let is_now = issued <= now + CLOCK_DRIFT && now < expires && expires <= now + LONGEST_JWT;
        if !is_now || expires - issued > LONGEST_JWT + CLOCK_DRIFT {
            return Err(EmulatedApiError::new(401, "'iat' and 'exp' are not now, or too far apart"));
        }
        if ![json!(self.app.id), json!(self.app.id.to_string())].contains(&claims["iss"]) {
            return Err(EmulatedApiError::new(404, "Integration not found"));
        }
        Ok(())
    }

    /// `POST /app/installations/{id}/access_tokens`: a token for one hour, restricted as requested.
    pub(crate) fn issue_token(&mut self, installation: u64, body: &Value) -> ActResult {
        if self.app.suspended {
            return Err(EmulatedApiError::suspended());
        }
        let repositories = self.wanted_repositories(body)?;
        let mut permissions = self.app.permissions.clone();
        if let Some(wanted) = body.get("permissions") {
            let refused = || {
                EmulatedApiError::new(422, "The permissions requested are not granted to this installation.")
            };
            let is_granted = |(name, level): (&String, &PermissionLevel)| {
                self.app.permissions.get(name).is_some_and(|granted| granted >= level)
            };
            permissions = serde_json::from_value(wanted.clone()).map_err(|_| refused())?;
            if !permissions.iter().all(is_granted) {
                return Err(refused());
            }
        }
        permissions.entry("metadata".to_owned()).or_insert(PermissionLevel::Read);
        let text = format!("ghs_{}{}", Uuid::new_v4().simple(), &Uuid::new_v4().simple().to_string()[..4]);
        let expires_at = clock::now() + Duration::hours(1);
        let reply = json!({"token": text, "expires_at": time(expires_at)});
        let holder = TokenHolder::Installation { id: installation, repositories, permissions };
        self.tokens.insert(text, EmulatedToken { holder, expires_at });
        Ok(EmulatedApiReply::json(201, reply))
    }

    /// The repositories that the body names; `None` if it does not restrict them.
    fn wanted_repositories(&self, body: &Value) -> ActResult<Option<BTreeSet<u64>>> {
        let Some(names) = body.get("repositories").and_then(Value::as_array) else { return Ok(None) };
        let named = names.iter().map(|name| {
            let is_it = |one: &&EmulatedRepository| {
                name.as_str().is_some_and(|name| one.name.eq_ignore_ascii_case(name))
            };
            self.repositories.values().find(is_it).map(|one| one.id)
        });
        let unknown = || {
            let message = "There is at least one repository that does not exist or is not accessible to the parent \
                           installation.";
            EmulatedApiError::new(422, message)
        };
        named.collect::<Option<_>>().map(Some).ok_or_else(unknown)
    }

    /// A person's own token for git.
    pub(crate) fn personal_token(&mut self, account: u64) -> String {
        let text = format!("ghp_{}", Uuid::new_v4().simple());
        let expires_at = clock::now() + Duration::days(30);
        self.tokens.insert(text.clone(), EmulatedToken { holder: TokenHolder::Person(account), expires_at });
        text
    }
}

/// Whether the holder has one of these permissions here: 404 for a repository out of reach, 403 for a missing
/// permission.
pub(crate) fn require(
    holder: &TokenHolder,
    repository: &EmulatedRepository,
    any_of: &[(&str, PermissionLevel)],
) -> ActResult<()> {
    allowed(holder, repository, any_of)?;
    let writes = any_of.iter().all(|(_, level)| *level == PermissionLevel::Write);
    if writes && repository.rules.archived {
        return Err(EmulatedApiError::new(403, "Repository was archived so is read-only."));
    }
    Ok(())
}

fn allowed(
    holder: &TokenHolder,
    repository: &EmulatedRepository,
    any_of: &[(&str, PermissionLevel)],
) -> ActResult<()> {
    match holder {
        TokenHolder::Installation { id: _, repositories, permissions } => {
            if repositories.as_ref().is_some_and(|ids| !ids.contains(&repository.id)) {
                return Err(EmulatedApiError::not_found());
            }
            let granted = |(name, level): &(&str, PermissionLevel)| {
                permissions.get(*name).is_some_and(|has| has >= level)
            };
            if any_of.iter().any(granted) { Ok(()) } else { Err(EmulatedApiError::forbidden()) }
        }
        TokenHolder::Person(id) => {
            let role = repository.role(*id);
            let enough = any_of.iter().any(|(_, level)| match level {
                PermissionLevel::Read => role >= RepositoryRole::Read || !repository.is_private,
                PermissionLevel::Write => role >= RepositoryRole::Write,
            });
            match enough {
                true => Ok(()),
                false if role == RepositoryRole::None => Err(EmulatedApiError::not_found()),
                false => Err(EmulatedApiError::forbidden()),
            }
        }
    }
}
