//! A push to the base branch is told to every open pull request. For most nothing follows, and one look says so.

use super::EffectContext;
use journeyman_github::{GitHubError, InstalledRepository};
use journeyman_order::conversation::{ChecksSnapshot, Mergeability, PullSnapshot, PullSnapshotState};
use journeyman_order::{CommitSha, EffectOutcome, JournalEvent, PullNumber, SignalKind};

impl EffectContext {
    /// What was read last, if nothing is known to have changed since but the base branch, and the pull request merges.
    pub(super) async fn unmoved_by_base(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        head: &CommitSha,
    ) -> Result<Option<PullSnapshot>, GitHubError> {
        let Some(known) = self.known_before_base_moved(head) else { return Ok(None) };
        let (now, state, mergeable) = self.parts.github.pull_standing(at, pull).await?;
        let is_as_it_was =
            now == *head && state == PullSnapshotState::Open && mergeable == Mergeability::Cleanly;
        Ok(is_as_it_was.then_some(PullSnapshot { head: now, state, mergeable, ..known }))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all but what is named says something else")]
    fn known_before_base_moved(&self, head: &CommitSha) -> Option<PullSnapshot> {
        let mut known: Option<PullSnapshot> = None;
        let mut has_moved = false;
        for entry in self.journal.entries() {
            match &entry.event {
                JournalEvent::Observed { outcome, .. } => match &**outcome {
                    EffectOutcome::PullRead(reading) => {
                        (known, has_moved) = (Some((**reading).clone()), false)
                    }
                    // What nobody has said anything about yet.
                    EffectOutcome::Pushed => (known, has_moved) = (Some(unread(head)), false),
                    _ => {}
                },
                JournalEvent::Signaled { signal, .. } => match signal.kind {
                    SignalKind::BaseMoved { .. } => has_moved = true,
                    _ => known = None,
                },
                JournalEvent::Opened(_) | JournalEvent::Intended { .. } => {}
            }
        }
        // What was answered looks another way by now.
        known.filter(|known| has_moved && known.threads.is_empty() && known.checks.failing.is_empty())
    }
}

fn unread(head: &CommitSha) -> PullSnapshot {
    PullSnapshot {
        head: head.clone(),
        state: PullSnapshotState::Open,
        mergeable: Mergeability::Cleanly,
        threads: Vec::new(),
        remarks: Vec::new(),
        checks: ChecksSnapshot::default(),
    }
}
