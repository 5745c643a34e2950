//! What a token may do: the least that the call at hand needs.

use serde_json::{Value, json};

/// What git is to do with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitAccess {
    Read,
    /// Fetch and push; not to `.github/workflows`, which takes a permission that we never ask for.
    Push,
}

/// Sets of permissions, each made for some calls. Where a set is larger than one expects, GitHub asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TokenPermissions {
    /// The repository itself, and who may do what in it.
    ReadMetadata,
    ReadIssues,
    /// The same of pull requests, too: where one list holds both.
    ReadThreads,
    WriteIssues,
    /// Comments where the number may be an issue's or a pull request's.
    Converse,
    ReadPulls,
    WritePulls,
    /// Take a pull request out of draft, or settle a thread of a review: both mutations are refused without write
    /// access to contents.
    ReadyPulls,
    ReadContents,
    WriteContents,
    ReadChecks,
    WriteChecks,
    ReadStatuses,
    ReadActions,
    WriteActions,
}

impl TokenPermissions {
    /// As the body of a token request has them.
    pub(super) fn wire(self) -> Value {
        match self {
            Self::ReadMetadata => json!({"metadata": "read"}),
            Self::ReadIssues => json!({"issues": "read"}),
            Self::ReadThreads => json!({"issues": "read", "pull_requests": "read"}),
            Self::WriteIssues => json!({"issues": "write"}),
            Self::Converse => json!({"issues": "write", "pull_requests": "write"}),
            Self::ReadPulls => json!({"pull_requests": "read"}),
            Self::WritePulls => json!({"pull_requests": "write"}),
            Self::ReadyPulls => json!({"contents": "write", "pull_requests": "write"}),
            Self::ReadContents => json!({"contents": "read"}),
            Self::WriteContents => json!({"contents": "write"}),
            Self::ReadChecks => json!({"checks": "read"}),
            Self::WriteChecks => json!({"checks": "write"}),
            Self::ReadStatuses => json!({"statuses": "read"}),
            Self::ReadActions => json!({"actions": "read"}),
            Self::WriteActions => json!({"actions": "write"}),
        }
    }

    /// As the App's page on GitHub names them.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::ReadMetadata => "Metadata: Read-only",
            Self::ReadIssues => "Issues: Read-only",
            Self::ReadThreads => "Issues: Read-only, Pull requests: Read-only",
            Self::WriteIssues => "Issues: Read and write",
            Self::Converse => "Issues: Read and write, Pull requests: Read and write",
            Self::ReadPulls => "Pull requests: Read-only",
            Self::WritePulls => "Pull requests: Read and write",
            Self::ReadyPulls => "Contents: Read and write, Pull requests: Read and write",
            Self::ReadContents => "Contents: Read-only",
            Self::WriteContents => "Contents: Read and write",
            Self::ReadChecks => "Checks: Read-only",
            Self::WriteChecks => "Checks: Read and write",
            Self::ReadStatuses => "Commit statuses: Read-only",
            Self::ReadActions => "Actions: Read-only",
            Self::WriteActions => "Actions: Read and write",
        }
    }
}
