//! What people wrote on an issue, as it belongs to a task.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::endpoints::InstalledRepository;
use super::error::Result;
use super::identity::Writer;
use super::permissions::TokenPermissions;
use super::service::GitHub;
use journeyman_order::{CommentCommand, IssueNumber, Person};

/// A comment on an issue. Its text is foreign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueComment {
    pub id: u64,
    pub login: String,
    /// The person who wrote it; none where it was a bot, or the account is gone.
    pub person: Option<Person>,
    pub at: DateTime<Utc>,
    pub body: String,
}

#[derive(Deserialize)]
struct CommentWire {
    id: u64,
    body: Option<String>,
    created_at: DateTime<Utc>,
    #[serde(flatten)]
    writer: Writer,
}

impl GitHub {
    /// The comments on an issue that say something, the oldest first: none of ours, no commands, nothing empty.
    pub async fn issue_comments(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
    ) -> Result<Vec<IssueComment>> {
        let route = at.route(&format!("/issues/{issue}/comments"));
        let all: Vec<CommentWire> = self.list(at, TokenPermissions::ReadIssues, &route).await?;
        let mut comments = Vec::new();
        for CommentWire { id, body, created_at, writer } in all {
            let body = body.unwrap_or_default();
            let says_nothing = body.trim().is_empty() || CommentCommand::of(&body) != CommentCommand::None;
            if says_nothing || self.wrote(&writer).await? {
                continue;
            }
            let (login, person) = (writer.login().to_owned(), writer.person());
            comments.push(IssueComment { id, login, person, at: created_at, body });
        }
        Ok(comments)
    }
}
