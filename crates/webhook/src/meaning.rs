//! What a delivery can mean, and on which condition.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use journeyman_order::{
    BranchName, CommitSha, InstallationId, IssueText, OrderId, OrderRequest, PullNumber, RepositoryId,
    RepositoryName, Signal, SignalKind, SlashCommand,
};

use super::mentions::after_mention;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryMeaning {
    /// GitHub checks that the server is there.
    Ping,
    /// An order may have to answer this. Whether the sender has the right is not yet known.
    Signal(Box<RoutedSignal>),
    Ignored {
        because: String,
    },
    /// We answer its kind, but it cannot be parsed.
    Malformed {
        because: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedSignal {
    /// The repository's name at that time.
    pub repository: RepositoryName,
    pub repository_id: RepositoryId,
    /// The installation with access to the repository. `None` if GitHub must be asked.
    pub installation: Option<InstallationId>,
    /// The repository's default branch. `None` if GitHub must be asked.
    pub default_branch: Option<String>,
    pub subject: SignalSubject,
    /// A condition on who we are on GitHub.
    pub condition: SignalCondition,
    /// The signal if the condition is not met. `None` if it then means nothing.
    pub otherwise: Option<SignalKind>,
    /// When its issue changed, by GitHub's clock. `None` if it is not about an issue.
    pub changed_at: Option<DateTime<Utc>>,
    pub signal: Signal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalSubject {
    /// An issue, with its text at that time.
    Issue(IssueText),
    Pull(PullNumber),
    /// The order whose check run it is about, on a commit of somebody else's.
    Order(OrderId),
    /// At least one of our branches.
    Branches(Vec<BranchName>),
    /// The default branch, and so every pull request against it.
    Base,
    /// A merge group of GitHub's queue: the last pull request in it, the commit to check, and the branch it is for.
    MergeGroup {
        pull: PullNumber,
        head: CommitSha,
        base: String,
    },
}

/// The condition for a signal, if it depends on who we are on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalCondition {
    Nothing,
    /// A check of the App with this id, which must not be ours.
    NotOf(u64),
    /// A request to the App with this id, which must be ours.
    Of(u64),
    /// An action of the bot with this login, which must not be ours.
    NotBy(String),
    /// A comment that mentions these lowercase names, one of which must be ours.
    Named(BTreeSet<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppIdentity {
    pub app: u64,
    /// The App's name in addresses. Our login is `slug[bot]`, and `@slug` mentions us.
    pub slug: String,
}

impl RoutedSignal {
    /// The signal once its condition is known not to be met.
    pub fn unmet(&self) -> Option<Self> {
        let mut other = Self { condition: SignalCondition::Nothing, otherwise: None, ..self.clone() };
        other.signal.kind = self.otherwise.clone()?;
        Some(other)
    }

    /// The signal once we know that it mentions us. The text after our name is the request.
    pub fn addressed_to(&self, us: &AppIdentity) -> Self {
        let mut signal = self.clone();
        if let (
            SignalCondition::Named(_),
            SignalKind::Commanded { command: SlashCommand::Start { request }, .. },
        ) = (&self.condition, &mut signal.signal.kind)
        {
            let comment = request.advice.take().unwrap_or_default();
            *request = OrderRequest::of(after_mention(&comment, &us.slug));
        }
        signal
    }
}

impl SignalCondition {
    /// Why the delivery means nothing to us. `None` if the condition is met.
    pub fn unmet_by(&self, us: &AppIdentity) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::NotOf(app) => (*app == us.app).then_some("the check is our own"),
            Self::Of(app) => (*app != us.app).then_some("it was asked of another App"),
            Self::NotBy(login) => {
                let ours =
                    login.strip_suffix("[bot]").is_some_and(|slug| slug.eq_ignore_ascii_case(&us.slug));
                ours.then_some("we did it ourselves")
            }
            Self::Named(names) => {
                let named = names.contains(&us.slug.to_ascii_lowercase());
                (!named).then_some("the comment neither begins with a command nor names us")
            }
        }
    }
}
