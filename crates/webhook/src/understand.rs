//! The meaning of a delivery. Most mean nothing.

use super::events::{READERS, UnroutedSignal};
use super::meaning::{DeliveryMeaning, RoutedSignal, SignalCondition};
use super::payload::{NoSignal, WebhookPayload, WebhookSender, shorten};
use journeyman_order::{InstallationId, Requester, Signal, SignalKind};

/// The events that can mean something. Without a subscription to one of them, the App misses its signals.
pub fn events() -> impl Iterator<Item = &'static str> {
    READERS.iter().map(|(event, _)| *event)
}

/// Reads a delivery. `event` is `X-GitHub-Event`, and `body` is the bytes with a valid signature.
pub fn understand(event: &str, body: &[u8]) -> DeliveryMeaning {
    if event == "ping" {
        return DeliveryMeaning::Ping;
    }
    // Events without a meaning are not even parsed.
    let Some((_, read)) = READERS.iter().find(|(known, _)| *known == event) else {
        return ignored(format!("we do not answer the event {:?}", shorten(event)));
    };
    let payload = match WebhookPayload::parse(body) {
        Ok(payload) => payload,
        Err(because) => return DeliveryMeaning::Malformed { because },
    };
    match read(&payload).and_then(|meaning| place(meaning, &payload)) {
        Ok(incoming) => DeliveryMeaning::Signal(Box::new(incoming)),
        Err(NoSignal::Ignored(because)) => ignored(because),
        Err(NoSignal::Missing(field)) => {
            DeliveryMeaning::Malformed { because: format!("{field} is missing, or is not what it should be") }
        }
    }
}

fn place(meaning: UnroutedSignal, payload: &WebhookPayload) -> Result<RoutedSignal, NoSignal> {
    let UnroutedSignal { subject, condition: provided, kind, otherwise } = meaning;
    let (repository, repository_id) = payload.repository()?;
    let sender = payload.sender()?;
    let provided = if sender.is_bot { of_a_bot(&kind, provided, &sender)? } else { provided };
    Ok(RoutedSignal {
        repository,
        repository_id,
        installation: payload.number("/installation/id").map(InstallationId),
        default_branch: payload.default_branch(),
        subject,
        condition: provided,
        otherwise,
        changed_at: payload.issue_changed_at(),
        signal: Signal { by: Requester::Person(sender.person), kind },
    })
}

/// Bots may end work, such as a merge queue or a janitor of stale issues, and may push and report checks. They may not
/// start or steer work: two bots would never stop talking to each other. The pull requests that they open and push to
/// are verified where the repository's settings ask for that.
fn of_a_bot(
    kind: &SignalKind,
    provided: SignalCondition,
    sender: &WebhookSender,
) -> Result<SignalCondition, NoSignal> {
    match kind {
        SignalKind::Labeled { .. }
        | SignalKind::Commanded { .. }
        | SignalKind::Misspoken { .. }
        | SignalKind::IssueCommented { .. }
        | SignalKind::Reviewed { .. }
        | SignalKind::Remarked { .. }
        | SignalKind::PullReopened { .. } => {
            Err(NoSignal::Ignored("bots do not start or command work".to_owned()))
        }
        SignalKind::Unlabeled { .. }
        | SignalKind::IssueEdited
        | SignalKind::IssueClosed
        | SignalKind::IssueTransferred
        | SignalKind::IssueDeleted
        | SignalKind::IssueLocked
        | SignalKind::PullClosed { .. }
        | SignalKind::PullOpened { .. }
        | SignalKind::PullPushed { .. } => Ok(SignalCondition::NotBy(sender.person.login.clone())),
        // GitHub names us as the sender of what follows our own push, and checks by others remain news.
        SignalKind::ChecksFinished { .. }
        | SignalKind::BaseMoved { .. }
        // Whoever queued it had the right to.
        | SignalKind::GroupChecksRequested
        | SignalKind::GroupDestroyed { .. } => Ok(provided),
    }
}

fn ignored(because: String) -> DeliveryMeaning {
    DeliveryMeaning::Ignored { because }
}
