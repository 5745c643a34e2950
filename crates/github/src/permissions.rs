//! A token's permissions: the minimum for each call.

use serde_json::Value;

/// What git uses a token for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitAccess {
    Read,
    /// Fetch and push, but not to `.github/workflows`: we never request that permission.
    Push,
}

/// Sets of permissions, each for some calls. Some are larger than expected because GitHub requires it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TokenPermissions {
    /// The repository itself, and people's permissions in it.
    ReadMetadata,
    ReadIssues,
    /// Issues and pull requests: for lists that contain both.
    ReadThreads,
    WriteIssues,
    /// Comments, if the number may be an issue's or a pull request's.
    Converse,
    ReadPulls,
    WritePulls,
    /// Mark a pull request ready, or resolve a review thread: GitHub refuses both mutations without write access to
    /// contents.
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
    /// The names on the App's page on GitHub, each with whether it is for writing.
    fn parts(self) -> &'static [(&'static str, bool)] {
        match self {
            Self::ReadMetadata => &[("Metadata", false)],
            Self::ReadIssues => &[("Issues", false)],
            Self::ReadThreads => &[("Issues", false), ("Pull requests", false)],
            Self::WriteIssues => &[("Issues", true)],
            Self::Converse => &[("Issues", true), ("Pull requests", true)],
            Self::ReadPulls => &[("Pull requests", false)],
            Self::WritePulls => &[("Pull requests", true)],
            Self::ReadyPulls => &[("Contents", true), ("Pull requests", true)],
            Self::ReadContents => &[("Contents", false)],
            Self::WriteContents => &[("Contents", true)],
            Self::ReadChecks => &[("Checks", false)],
            Self::WriteChecks => &[("Checks", true)],
            Self::ReadStatuses => &[("Commit statuses", false)],
            Self::ReadActions => &[("Actions", false)],
            Self::WriteActions => &[("Actions", true)],
        }
    }

    /// As in the body of a token request.
    pub(super) fn wire(self) -> Value {
        let wire = |(name, writes): &(&str, bool)| {
            let name = name.trim_start_matches("Commit ").to_lowercase().replace(' ', "_");
            (name, if *writes { "write" } else { "read" })
        };
        self.parts().iter().map(wire).collect()
    }

    /// For people, who look for them on the App's page.
    pub(super) fn words(self) -> String {
        let words = |(name, writes): &(&str, bool)| {
            format!("{name}: {}", if *writes { "Read and write" } else { "Read-only" })
        };
        self.parts().iter().map(words).collect::<Vec<_>>().join(", ")
    }
}
