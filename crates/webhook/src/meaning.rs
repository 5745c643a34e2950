//! What a delivery can mean, and under which condition.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use journeyman_order::{
    BranchName, InstallationId, IssueText, OrderRequest, PullNumber, RepositoryId, RepositoryName, Signal,
    SignalKind, SlashCommand,
};

use super::mentions::after_mention;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryMeaning {
    /// GitHub asks whether we are there.
    Ping,
    /// Somebody did something that an order may have to answer. Whether they may is not yet known.
    Signal(Box<RoutedSignal>),
    Ignored {
        because: String,
    },
    /// It is of a kind that we answer, and cannot be read.
    Malformed {
        because: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedSignal {
    /// The repository's name at the time.
    pub repository: RepositoryName,
    pub repository_id: RepositoryId,
    /// The installation that may act there; none where it has to be asked for.
    pub installation: Option<InstallationId>,
    /// The repository's default branch; none where it has to be asked for.
    pub default_branch: Option<String>,
    pub subject: SignalSubject,
    /// Whether it means anything depends on who we are.
    pub condition: SignalCondition,
    /// What it is to us where the condition is not met; none where it is nothing then.
    pub otherwise: Option<SignalKind>,
    /// When its issue was changed, which is what it tells of, by GitHub's clock; none where it tells of something else.
    pub changed_at: Option<DateTime<Utc>>,
    pub signal: Signal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalSubject {
    /// An issue, with its text as it was then.
    Issue(IssueText),
    Pull(PullNumber),
    /// These branches of ours; there is at least one.
    Branches(Vec<BranchName>),
    /// The default branch, and so every pull request that goes to it.
    Base,
}

/// Under which condition a delivery means something, where that takes knowing who we are on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalCondition {
    Nothing,
    /// It is about an App's check: provided that the App of this id is another than we.
    NotOf(u64),
    /// It was asked of the App of this id: provided that this is us.
    Of(u64),
    /// A bot of this login did it: provided that it is another than ours.
    NotBy(String),
    /// It calls these names, in small letters: provided that ours is one of them.
    Named(BTreeSet<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppIdentity {
    pub app: u64,
    /// The App's name in addresses; `slug[bot]` is our login, `@slug` calls us.
    pub slug: String,
}

impl RoutedSignal {
    /// What it is once it is known that its condition is not met.
    pub fn unmet(&self) -> Option<Self> {
        let mut other = Self { condition: SignalCondition::Nothing, otherwise: None, ..self.clone() };
        other.signal.kind = self.otherwise.clone()?;
        Some(other)
    }

    /// The same, once it is known that we are the one who is named: what follows our name is what is asked of us.
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
    /// Why the delivery means nothing to us; none when it does.
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
