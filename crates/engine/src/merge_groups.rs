//! Opens orders that verify merge groups of GitHub's queue: one for each head, with the tests of base and group alone.
//! Examination and review were done on the pull requests' own heads.
//!
//! May know: signals, the store, GitHub's pull requests. Must never know: how a commit is verified.

use super::Engine;
use super::intake::{DeliveryIntake, IntakeResult, fault};
use super::verifications::{given, task_of};
use journeyman_order::conversation::PullSnapshotState;
use journeyman_order::{GivenChange, OrderInput, Requester, SignalKind, VERIFY_PIPELINE, VerificationPolicy};
use journeyman_store::{OrderRow, StoreError, StoredDelivery};
use journeyman_webhook::{RoutedSignal, SignalSubject};

impl Engine {
    /// Verifies a merge group, or tells its order `known` that it is gone.
    pub(super) async fn verify_group(
        &self,
        delivery: &StoredDelivery,
        incoming: &RoutedSignal,
        known: Option<&OrderRow>,
        intake: &mut DeliveryIntake,
    ) -> Result<IntakeResult, StoreError> {
        let SignalSubject::MergeGroup { pull, head, base } = &incoming.subject else {
            return Ok(intake.ignore(delivery, "it is about no merge group"));
        };
        match (known, &incoming.signal.kind) {
            (None, _) => {}
            (Some(_), SignalKind::GroupChecksRequested) => {
                return Ok(intake.ignore(delivery, "the merge group has an order"));
            }
            (Some(known), _) if known.active => {
                return self.signal_orders(delivery, &[known.id], &incoming.signal, intake).await;
            }
            (Some(_), _) => return Ok(intake.ignore(delivery, "the merge group's order has ended")),
        }
        let policy = match self.settings_of(incoming).await {
            Ok(settings) => settings.verify,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        let is_covered = match policy {
            VerificationPolicy::All => true,
            VerificationPolicy::Bots | VerificationPolicy::Label => {
                self.parts.store.order_by_pull(incoming.repository_id, *pull).await?.is_some()
            }
            VerificationPolicy::Never => false,
        };
        if !is_covered {
            return Ok(intake.ignore(delivery, "the pull request of the merge group is not being verified"));
        }
        let at = match self.at(incoming).await {
            Ok(at) => at,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        let found = match self.parts.github.foreign_pull(&at, *pull).await {
            Ok(found) => found,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        let branch = match self.default_branch(incoming, &at).await {
            Ok(branch) => branch,
            Err(error) => return Ok(fault(delivery, error, intake)),
        };
        if found.state != PullSnapshotState::Open {
            return Ok(intake.ignore(delivery, "the pull request is closed"));
        }
        let Some(pipeline) = self.parts.settings.pipelines.get(VERIFY_PIPELINE).cloned() else {
            return Ok(intake.ignore(delivery, "there is no pipeline of the name verify"));
        };
        let (task, by) = (task_of(*pull, &found), Requester::Repository);
        let change =
            GivenChange { head: head.clone(), base: base.clone(), merge_group: true, ..given(*pull, found) };
        let opened = OrderInput {
            pipeline: pipeline.without_agents(),
            change: Some(change),
            ..self.new_order(&at, incoming.repository_id, branch, task, by)
        };
        self.open_verification(delivery, opened, intake).await
    }
}
