//! Our side of GitHub: what we ask it, and what we tell it.
//!
//! May know: GitHub's REST and GraphQL interfaces (through octocrab), the App's private key, tokens.
//! Must never know: orders' journals, what to do next, git objects, agents. It is told what to say and where.
//!
//! Four rules hold for every call. It carries an installation token narrowed to one repository (but to list an
//! installation's) and to the permissions of that call. It ends within thirty seconds, token and answer apart, and a write's wait for its turn. A
//! write has passed its installation's gate, so that GitHub's limits for them are kept. And one that may already have
//! been made is looked for before it is made again, so that repeating any call here is harmless.

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
pub use pulls::{BranchDeletion, NewPullRequest, PullRequest};
pub use queries::{IssueComment, IssueFacts, IssueKind, IssueState, RepositoryFacts};
pub use repo_rules::{BranchRestriction, InstallationGrants, ReadOnlyReason};
pub use service::{AppRegistration, GitHub};
pub use sign_in::{PersonToken, ReadableRepositories, SignInClient};
pub use tokens::GitToken;
