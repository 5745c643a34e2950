//! What a signal requires of intake, from the signal alone.
//!
//! May know: signals. Must never know: GitHub, the store, how orders stand.

use journeyman_order::{OrderInput, OrderRequest, PullNumber, Signal, SignalKind, SlashCommand};
use journeyman_webhook::{RoutedSignal, SignalCondition, SignalSubject};

pub(super) fn asks_github(incoming: &RoutedSignal) -> bool {
    let asks = matches!(incoming.signal.kind, SignalKind::Unlabeled { .. } | SignalKind::PullOpened { .. });
    asks || may_begin(incoming) || calls_us(incoming) || incoming.condition != SignalCondition::Nothing
}

/// Whether a label can start work. Our own labels only show an order's state.
pub(super) fn can_start(label: &str) -> bool {
    !label.starts_with("journeyman:") || OrderRequest::of_label(label).is_some()
}

/// Whether it begins an order if none is active.
pub(super) fn may_begin(incoming: &RoutedSignal) -> bool {
    match (&incoming.signal.kind, &incoming.subject) {
        (SignalKind::Labeled { .. }, SignalSubject::Issue(_)) => true,
        (SignalKind::Commanded { command, .. }, SignalSubject::Issue(_)) => {
            matches!(command, SlashCommand::Start { .. })
        }
        (SignalKind::GroupChecksRequested, _) => true,
        (_, _) => false,
    }
}

/// What is asked for after `/journeyman` on somebody's pull request.
const VERIFY: &str = "verify";

/// The pull request that it may have verified; `known` is that of the order concerned. If nobody asks, the repository's
/// settings or an earlier verification decide.
pub(super) fn may_verify(incoming: &RoutedSignal, known: Option<PullNumber>) -> Option<PullNumber> {
    use SignalKind::{Commanded, Labeled, PullOpened, PullPushed};
    let kind = &incoming.signal.kind;
    let pull = match incoming.subject {
        SignalSubject::Pull(pull) => pull,
        SignalSubject::Order(_) => {
            let is_rerun = matches!(kind, Commanded { command: SlashCommand::Retry { .. }, .. });
            return known.filter(|_| is_rerun);
        }
        SignalSubject::Issue(_)
        | SignalSubject::Branches(_)
        | SignalSubject::Base
        | SignalSubject::MergeGroup { .. } => return None,
    };
    let asks = if let Commanded { command: SlashCommand::Start { request }, .. } = kind {
        request.options.is_empty() && request.advice.as_deref() == Some(VERIFY)
    } else {
        matches!(kind, Labeled { .. } | PullOpened { .. } | PullPushed { .. })
    };
    asks.then_some(pull)
}

/// The words after `/journeyman fix` on somebody's pull request, which it may have mended; empty without any.
pub(super) fn may_fix(incoming: &RoutedSignal) -> Option<(PullNumber, &str)> {
    let SignalSubject::Pull(pull) = incoming.subject else { return None };
    let SignalKind::Commanded { command: SlashCommand::Start { request }, .. } = &incoming.signal.kind else {
        return None;
    };
    Some((pull, request.fix()?))
}

/// Whether the order concerned goes on with a fork's pull request in another one, `known`. Of the fork's it hears commands
/// only.
pub(super) fn is_continued_elsewhere(incoming: &RoutedSignal, known: Option<PullNumber>) -> bool {
    let SignalSubject::Pull(pull) = incoming.subject else { return false };
    let is_command =
        matches!(incoming.signal.kind, SignalKind::Commanded { .. } | SignalKind::Misspoken { .. });
    known != Some(pull) && !is_command
}

/// What it tells an order that works on the pull request already. Alone, `fix` says no more than `/retry`.
pub(super) fn as_advice(signal: &Signal) -> Signal {
    let mut signal = signal.clone();
    if let SignalKind::Commanded { command: SlashCommand::Start { request }, .. } = &mut signal.kind
        && request.fix() == Some("")
    {
        *request = OrderRequest::default();
    }
    signal
}

/// Whether it calls us on a pull request, by our own command or our name. Other commands may be for another bot.
pub(super) fn calls_us(incoming: &RoutedSignal) -> bool {
    match (&incoming.signal.kind, &incoming.subject, &incoming.condition) {
        (SignalKind::Commanded { command: SlashCommand::Start { .. }, pull: Some(_), .. }, _, _)
        | (SignalKind::Labeled { .. }, SignalSubject::Pull(_), _)
        | (SignalKind::Remarked { .. }, _, SignalCondition::Named(_)) => true,
        (_, _, _) => false,
    }
}

pub(super) fn about(subject: &SignalSubject) -> String {
    match subject {
        SignalSubject::Issue(issue) => format!("issue {}", issue.number),
        SignalSubject::Pull(pull) => format!("pull {pull}"),
        SignalSubject::Order(order) => format!("order {order}"),
        SignalSubject::Branches(branches) => format!("branches {branches:?}"),
        SignalSubject::Base => "base".to_owned(),
        SignalSubject::MergeGroup { head, .. } => format!("merge group {head}"),
    }
}

/// The order with what a comment or the label asked for besides the issue.
pub(super) fn asked_for(mut order: OrderInput, incoming: &RoutedSignal) -> OrderInput {
    let kind = &incoming.signal.kind;
    if let SignalKind::Commanded { comment, command: SlashCommand::Start { request }, .. } = kind {
        (order.comment, order.request) = (*comment, request.clone());
        order.commented_at = incoming.changed_at;
    }
    if let SignalKind::Labeled { label, at, .. } = kind {
        order.labeled_at = *at;
        if let Some((_, request)) = OrderRequest::of_label(label) {
            order.request = request;
        }
    }
    order
}

pub(super) fn going_on(signal: &Signal, pull: PullNumber) -> Signal {
    let mut signal = signal.clone();
    if let SignalKind::Labeled { pull: open, .. } = &mut signal.kind {
        *open = Some(pull);
    }
    signal
}
