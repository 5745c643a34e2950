//! Notifies people once when an order needs them or is done. The status on the issue says the same.
//!
//! May know: how an order stands. Must never know: how a message gets where it goes.

use journeyman_notify::{Notification, NotificationEvent};
use journeyman_order::next::OrderProjection;
use journeyman_order::surfaces::OrderLabel;
use journeyman_order::trace::PendingApproval;
use journeyman_order::{Journal, Surfaces};

use super::Engine;

#[derive(Debug, Default)]
pub(super) struct AskedPeople {
    before: Option<Option<PendingApproval>>,
}

impl AskedPeople {
    /// Whether it asks since this turn. Unknown for a drive's first turn: it may have asked for days.
    pub(super) fn since_now(&mut self, projection: &OrderProjection) -> bool {
        let asks = projection.trace.asks.filter(|_| projection.next.settled.is_none());
        let before = self.before.replace(asks);
        asks.is_some() && before.is_some_and(|before| before != asks)
    }
}

impl Engine {
    pub(super) fn notify(&self, journal: &Journal, projection: &OrderProjection) {
        let Some(notifier) = &self.parts.notifier else { return };
        let shown = projection.surfaces();
        let Some(event) = event(&shown, projection) else { return };
        let opened = journal.opened();
        let notification = Notification {
            event,
            order: opened.order.to_string(),
            repository: opened.repository.to_string(),
            issue: opened.issue.number.0,
            title: opened.issue.title.clone(),
            issue_url: opened.issue.url.clone(),
            state: shown.outcome.to_owned(),
            headline: match projection.trace.asks.filter(|_| projection.next.settled.is_none()) {
                Some(PendingApproval::Plan) => "The plan waits to be approved".to_owned(),
                Some(PendingApproval::Answers) => "The plan has questions".to_owned(),
                None => shown.headline,
            },
            because: shown.because,
            pull_request_url: projection.trace.pull.as_ref().map(|pull| pull.url.clone()),
        };
        let notifier = notifier.clone();
        tokio::spawn(async move { notifier.send(&notification).await });
    }
}

fn event(shown: &Surfaces, projection: &OrderProjection) -> Option<NotificationEvent> {
    if projection.next.settled.is_none() {
        return projection.trace.asks.map(|_| NotificationEvent::NeedsPerson);
    }
    match shown.label {
        OrderLabel::NeedsHuman | OrderLabel::NeedsInfo => Some(NotificationEvent::NeedsPerson),
        OrderLabel::Done => Some(NotificationEvent::Done),
        OrderLabel::Working | OrderLabel::None => None,
    }
}
