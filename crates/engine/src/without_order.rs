//! A person calls us on a pull request of which no order knows, such as their own: they are told what works there.
//!
//! May know: what was said, and by whom. Must never know: orders.

use super::Engine;
use journeyman_github::GitHubError;
use journeyman_order::{IssueNumber, Requester, SignalKind, SlashCommand};
use journeyman_render as render;
use journeyman_webhook::{RoutedSignal, SignalCondition, SignalSubject};

pub(super) const NO_ORDER: &str = "no order belongs to it";

/// Whether it calls us on a pull request, by our own command or by our name: other commands may be another bot's.
pub(super) fn calls_us(incoming: &RoutedSignal) -> bool {
    match (&incoming.signal.kind, &incoming.condition) {
        (SignalKind::Commanded { command: SlashCommand::Start { .. }, pull: Some(_), .. }, _) => true,
        (SignalKind::Remarked { .. }, SignalCondition::Named(_)) => true,
        (_, _) => false,
    }
}

impl Engine {
    /// Says on the pull request what works there: once, and only to people who could give commands.
    pub(super) async fn answer_without_order(&self, incoming: &RoutedSignal) -> Result<(), GitHubError> {
        let (SignalSubject::Pull(pull), Requester::Person(person)) = (&incoming.subject, &incoming.signal.by)
        else {
            return Ok(());
        };
        let at = self.at(incoming).await?;
        let github = &self.parts.github;
        if !github.can_write(&at, person).await? {
            return Ok(());
        }
        github.comment(&at, IssueNumber(pull.0), "say:no-order", &render::no_order()).await
    }
}
