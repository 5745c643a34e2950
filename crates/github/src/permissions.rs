//! What a token may do: the least that the call at hand needs.

use serde_json::Value;

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
    /// As the App's page on GitHub names them, each with whether it is for writing.
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

    /// As the body of a token request has them.
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
