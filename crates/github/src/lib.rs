//! Our side of GitHub: what we read and what we post.
//!
//! May know: GitHub's REST and GraphQL interfaces (through octocrab), the App's private key, tokens.
//! Must never know: orders' journals, what to do next, git objects, agents. Its callers decide what to post and where.
//!
//! Four rules apply to every call. Its installation token is limited to one repository, except to list an
//! installation's, and to that call's permissions. Each request times out after thirty seconds, without token and
//! waiting. A write passes its installation's gate, which keeps GitHub's limits. A write that may already have been
//! made is looked for first, so that repeating any call is harmless.

mod app_manifest;
mod attachments;
mod checks;
mod ci;
mod comments;
mod connection;
mod conversation;
mod deliveries;
mod endpoints;
mod error;
mod gate;
mod graphql;
mod identity;
mod installations;
mod labels;
mod logs;
mod permissions;
mod pulls;
mod queries;
mod refusal;
mod repo_rules;
mod service;
mod sign_in;
mod token_cache;
mod tokens;
mod transport;

#[cfg(test)]
mod tests;

pub use app_manifest::{ConvertedApp, convert_manifest, web_address};
pub use attachments::{AttachmentLink, AttachmentSource, FetchedAttachment};
pub use checks::{CHECK_NAME, CheckButton, OrderCheckRun};
pub use ci::{ExternalCheck, ExternalCheckState};
pub use connection::{
    AppCredentials, GitHubApi, GitHubConnection, IncomingAnswer, OutgoingRequest, RequestSender,
};
pub use conversation::{MentionMatcher, ThreadAnswer};
pub use deliveries::{HookDelivery, HookReport};
pub use endpoints::InstalledRepository;
pub use error::{ErrorKind, GitHubError, Result};
pub use installations::{AppInstallation, ChangedThread, ListedRepository, ThreadEvent, ThreadRemark};
pub use journeyman_order::WriteLimits;
pub use labels::OrderLabel;
pub use permissions::GitAccess;
pub use pulls::{BranchDeletion, ForeignPull, NewPullRequest, PullRequest};
pub use queries::{IssueComment, IssueFacts, IssueKind, IssueState, RepositoryFacts};
pub use repo_rules::{BranchRestriction, InstallationGrants, ReadOnlyReason};
pub use service::{AppRegistration, GitHub};
pub use sign_in::{PersonToken, ReadableRepositories, SignInClient};
pub use tokens::GitToken;
