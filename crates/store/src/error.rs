//! Errors of the store, by how to respond.

use journeyman_order::moves::Retry;
use journeyman_order::order_api::OrderRequestError;
use journeyman_order::{EffectError, OrderId};
use sqlx::error::ErrorKind;

use super::connections::is_damage;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Busy, unreachable or out of space: a retry may succeed.
    #[error("the store cannot be used right now: {because}")]
    Unavailable {
        /// The message of the database or system.
        because: String,
    },
    /// Stored data differs from what was written: a person must investigate.
    #[error("the store is broken: {what}: {because}")]
    Broken { what: String, because: String },
    /// An order's journal is damaged, or contains something unknown to this version.
    #[error("the journal of order {order} cannot be read: {because}")]
    UnreadableJournal {
        order: OrderId,
        /// The entry and its problem.
        because: String,
    },
    #[error("{what} is not in the store")]
    NotFound { what: String },
    /// A rule of the store forbids it: an invalid name, a second active order for an issue.
    #[error("the store refuses {what}: {because}")]
    Refused { what: String, because: String },
}

impl StoreError {
    pub(super) fn unavailable(because: impl Into<String>) -> Self {
        Self::Unavailable { because: because.into() }
    }

    pub(super) fn broken(what: impl Into<String>, because: impl std::fmt::Display) -> Self {
        Self::Broken { what: what.into(), because: because.to_string() }
    }

    pub(super) fn unreadable(order: OrderId, because: impl std::fmt::Display) -> Self {
        Self::UnreadableJournal { order, because: because.to_string() }
    }

    pub(super) fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound { what: what.into() }
    }

    pub(super) fn refused(what: impl Into<String>, because: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), because: because.into() }
    }
}

impl From<sqlx::Error> for StoreError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "both enums are sqlx's and may grow; the rest may pass"
    )]
    fn from(error: sqlx::Error) -> Self {
        let because = error.to_string();
        match &error {
            sqlx::Error::Database(database) => match database.kind() {
                ErrorKind::UniqueViolation
                | ErrorKind::ForeignKeyViolation
                | ErrorKind::NotNullViolation
                | ErrorKind::CheckViolation
                | ErrorKind::ExclusionViolation => Self::refused("this row", because),
                _ if is_damage(database.as_ref()) => {
                    Self::broken("the database", format!("{because}: put a backup in its place"))
                }
                _ => Self::unavailable(because),
            },
            sqlx::Error::RowNotFound => Self::not_found("the row"),
            sqlx::Error::TypeNotFound { .. }
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Decode(_) => Self::broken("a row", because),
            _ => Self::unavailable(because),
        }
    }
}

impl From<StoreError> for EffectError {
    fn from(error: StoreError) -> Self {
        Self { message: error.to_string(), retry: Retry::Soon }
    }
}

impl From<StoreError> for OrderRequestError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what } => Self::NotFound(format!("there is no {what}")),
            StoreError::Refused { .. } => Self::Refused(error.to_string()),
            StoreError::UnreadableJournal { order, .. } => Self::Refused(format!(
                "this version of Journeyman cannot read the journal of order {order}; the log says why"
            )),
            StoreError::Unavailable { .. } | StoreError::Broken { .. } => {
                Self::Unavailable(error.to_string())
            }
        }
    }
}
