//! The installation tokens that are kept, while they last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use super::endpoints::InstalledRepository;
use super::permissions::TokenPermissions;

/// A token is not used when less than this is left of it: no call may find it expired on the way.
const MARGIN: Duration = Duration::from_secs(300);
/// For so long a token counts as fresh, and a refusal of it as possibly not meant.
const FRESH: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TokenKey {
    at: InstalledRepository,
    permissions: TokenPermissions,
}

#[derive(Clone)]
pub(super) struct InstallationToken {
    secret: SecretString,
    lasts: Duration,
    made: Instant,
}

impl InstallationToken {
    pub(super) fn new(secret: SecretString, expires: DateTime<Utc>) -> Self {
        let lasts = (expires - Utc::now()).to_std().unwrap_or_default();
        Self { secret, lasts, made: Instant::now() }
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.secret.expose_secret() == other.secret.expose_secret()
    }

    pub(super) fn secret(&self) -> SecretString {
        self.secret.clone()
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.made.elapsed() < FRESH
    }

    pub(super) fn is_usable(&self) -> bool {
        self.made.elapsed() + MARGIN < self.lasts
    }
}

pub(super) type TokenSlot = Arc<tokio::sync::Mutex<Option<InstallationToken>>>;

/// The tokens that are kept, each with a lock of its own: calls that need the same one wait for one request.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<HashMap<TokenKey, TokenSlot>>);

impl TokenCache {
    pub(super) fn slot(&self, at: &InstalledRepository, permissions: TokenPermissions) -> TokenSlot {
        let key = TokenKey { at: at.clone(), permissions };
        // A poisoned map is whole all the same: nothing in here can end halfway.
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key).or_default())
    }
}
