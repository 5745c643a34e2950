//! What was read of a conversation, for whoever has to tell it.

use crate::order::conversation::ChecksReading;
use crate::order::{CommitSha, Event, Feedback, Finding, Journal, Move, MoveKey, Outcome};

/// The checks of others on a commit, as they were read last; none where nobody has looked.
pub(super) fn checks_on(journal: &Journal, commit: &CommitSha) -> Option<ChecksReading> {
    let mut asked: Vec<&MoveKey> = Vec::new();
    let mut last = None;
    for entry in journal.entries() {
        match &entry.event {
            Event::Intended { key, r#move } => match &**r#move {
                Move::ReadPull { head, .. } if head == commit => asked.push(key),
                #[expect(clippy::wildcard_enum_match_arm, reason = "any other move reads no checks")]
                _ => {}
            },
            Event::Observed { key, outcome } if asked.contains(&key) => match &**outcome {
                Outcome::PullRead(reading) => last = Some(&reading.checks),
                #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
                _ => {}
            },
            Event::Observed { .. } | Event::Opened(_) | Event::Signaled { .. } => {}
        }
    }
    last.cloned()
}

/// What a review still has to object, or lets pass, the weightiest first.
pub(super) fn open_findings(review: &Feedback) -> Vec<Finding> {
    let mut open = review.issues.clone();
    open.sort_by_key(|finding| finding.severity);
    open
}
