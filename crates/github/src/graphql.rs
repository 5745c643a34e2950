//! GraphQL, for what REST lacks: one document, its variables, and errors that come with status 200.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result};
use super::permissions::TokenPermissions;
use super::service::GitHub;
use super::transport::GitHubRequest;

/// The wait for a limit that names no time.
const LIMIT_WAIT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct GraphQlResponse<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<GraphQlErrorWire>,
}

#[derive(Deserialize)]
struct GraphQlErrorWire {
    r#type: Option<String>,
    #[serde(default)]
    message: String,
    /// Present if it is about the document itself.
    extensions: Option<Value>,
}

impl GitHub {
    /// Runs a query or a mutation. `what` describes its purpose in messages.
    pub(super) async fn graphql<T: DeserializeOwned>(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        what: &str,
        request: &GitHubRequest,
    ) -> Result<T> {
        let reply: GraphQlResponse<T> = self.call(at, permissions, request).await?.json()?;
        if let Some(first) = reply.errors.first() {
            return Err(error(first, permissions, what));
        }
        reply.data.ok_or_else(|| GitHubError::unexpected(format!("GitHub's answer has no data: {what}")))
    }
}

fn error(wire: &GraphQlErrorWire, permissions: TokenPermissions, what: &str) -> GitHubError {
    let words: String = wire.message.chars().take(500).collect();
    let said = format!("GitHub refused to {what}: {words}");
    let is_of_document = wire.extensions.as_ref().is_some_and(|more| more.get("code").is_some());
    let kind = match wire.r#type.as_deref() {
        Some("FORBIDDEN") => {
            let look = permissions.words();
            return GitHubError::new(
                ErrorKind::Forbidden,
                format!("{said}; this takes the App's permission \"{look}\""),
            );
        }
        Some("RATE_LIMITED" | "RATE_LIMIT") => return GitHubError::limited(LIMIT_WAIT, said),
        Some("NOT_FOUND") => ErrorKind::NotFound,
        Some("INTERNAL" | "SERVICE_UNAVAILABLE") => ErrorKind::Unavailable { retry_after: None },
        Some(_) => ErrorKind::Invalid,
        None if is_of_document => ErrorKind::Invalid,
        // "Something went wrong while executing your query": it may have been carried out.
        None => ErrorKind::Unavailable { retry_after: None },
    };
    GitHubError::new(kind, said)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_error_says_what_to_do() {
        let kind = |wire: Value| {
            let wire: GraphQlErrorWire = serde_json::from_value(wire).unwrap();
            error(&wire, TokenPermissions::ReadyPulls, "settle the thread").kind
        };
        let minute = ErrorKind::Unavailable { retry_after: Some(LIMIT_WAIT) };
        let soon = ErrorKind::Unavailable { retry_after: None };
        for (wire, expected) in [
            (json!({"type": "FORBIDDEN", "message": "no"}), ErrorKind::Forbidden),
            (json!({"type": "NOT_FOUND", "message": "no"}), ErrorKind::NotFound),
            (json!({"type": "UNPROCESSABLE", "message": "no"}), ErrorKind::Invalid),
            (json!({"type": "RATE_LIMITED"}), minute),
            (json!({"message": "Something went wrong while executing your query."}), soon),
            (json!({"message": "no field", "extensions": {"code": "undefinedField"}}), ErrorKind::Invalid),
        ] {
            assert_eq!(kind(wire.clone()), expected, "{wire}");
        }
    }
}
