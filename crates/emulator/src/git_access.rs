//! Who may fetch and push: checks basic credentials as GitHub does.

use std::path::PathBuf;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::auth::require;
use super::reply::{ActResult, EmulatedApiError, status};
use super::request::header;
use super::state::calls::Caller;
use super::state::{PermissionLevel, SharedEmulatorState, TokenHolder};

/// An error in the form that git shows.
pub(crate) fn refused(error: &EmulatedApiError) -> HttpResponse {
    let mut response = HttpResponse::build(status(error.status));
    if error.status == 401 {
        response.insert_header(("WWW-Authenticate", "Basic realm=\"GitHub\""));
    }
    response.insert_header(("Content-Type", "text/plain; charset=utf-8")).body(format!("{}\n", error.message))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitService {
    Fetch,
    Push,
}

impl GitService {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "git-upload-pack" => Some(Self::Fetch),
            "git-receive-pack" => Some(Self::Push),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fetch => "upload-pack",
            Self::Push => "receive-pack",
        }
    }
}

/// A repository that the caller may use as requested.
pub(crate) struct GitGrant {
    pub service: GitService,
    pub full_name: String,
    pub git: PathBuf,
    pub receiving: Arc<tokio::sync::Mutex<()>>,
    pub by: u64,
    pub workflows: bool,
    /// The rules that the hook applies to a push.
    pub rules: String,
}

/// Authenticates the caller and grants access.
pub(crate) fn enter(
    shared: &SharedEmulatorState,
    request: &HttpRequest,
    full_name: &str,
    service: Option<GitService>,
) -> (Caller, ActResult<GitGrant>) {
    let found = holder(shared, &header(request.headers(), "authorization"));
    let caller = match &found {
        Ok(Some(holder)) => shared.lock().caller_of(holder),
        Ok(None) | Err(_) => Caller::Nobody,
    };
    let granted = match service {
        Some(service) => found.and_then(|holder| grant(shared, full_name, service, holder.as_ref())),
        None => {
            Err(EmulatedApiError::new(403, "Please upgrade your git client: dumb HTTP is not supported."))
        }
    };
    (caller, granted)
}

/// Basic credentials: an installation's token with the name `x-access-token`, or a person's with any name.
fn holder(shared: &SharedEmulatorState, authorization: &str) -> ActResult<Option<TokenHolder>> {
    if authorization.is_empty() {
        return Ok(None);
    }
    let refused = || {
        EmulatedApiError::new(
            401,
            "Invalid username or token. Password authentication is not supported for Git operations.",
        )
    };
    let pair = authorization
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
        .and_then(|(_, encoded)| STANDARD.decode(encoded.trim()).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((name, token)) = pair.as_deref().and_then(|pair| pair.split_once(':')) else {
        return Err(refused());
    };
    let found = shared.lock().valid_token(token).map(|token| token.holder.clone());
    match found {
        Some(TokenHolder::Installation { .. }) if name != "x-access-token" => Err(refused()),
        Some(holder) => Ok(Some(holder)),
        None => Err(refused()),
    }
}

/// Grants what the holder may do with this repository.
fn grant(
    shared: &SharedEmulatorState,
    full_name: &str,
    service: GitService,
    holder: Option<&TokenHolder>,
) -> ActResult<GitGrant> {
    let world = shared.lock();
    // Anonymous callers get 401 for an unknown name too, so that they cannot probe for names.
    let unknown = || EmulatedApiError::new(holder.map_or(401, |_| 404), "Repository not found.");
    let found = world.repository(full_name).ok_or_else(unknown)?;
    let (by, workflows) = match holder {
        None if service == GitService::Fetch && !found.is_private => (0, false),
        None => return Err(EmulatedApiError::new(401, "No anonymous write access.")),
        Some(holder) => {
            let level = match service {
                GitService::Fetch => PermissionLevel::Read,
                GitService::Push => PermissionLevel::Write,
            };
            if let Err(refused) = require(holder, found, &[("contents", level)]) {
                return Err(if refused.status == 404 {
                    unknown()
                } else {
                    EmulatedApiError::new(403, "Write access to repository not granted.")
                });
            }
            match holder {
                TokenHolder::Installation { permissions, .. } => {
                    (world.app.bot, permissions.get("workflows") == Some(&PermissionLevel::Write))
                }
                TokenHolder::Person(id) => (*id, true),
            }
        }
    };
    Ok(GitGrant {
        service,
        full_name: found.full_name.clone(),
        git: found.git.clone(),
        receiving: Arc::clone(&found.receiving),
        by,
        workflows,
        rules: found.rules_for_pushes(by == world.app.bot),
    })
}
