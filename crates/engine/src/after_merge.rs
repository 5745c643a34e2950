//! Records what becomes of our pull requests once they are merged, for the dashboard.
//!
//! May know: what deliveries tell of merged pull requests. Must never know: what the figures are.

use super::Engine;
use super::intake::DeliveryIntake;
use journeyman_store::{AfterMergeFact, AfterMergeKind, DeliveryConclusion, StoreError, StoredDelivery};
use journeyman_webhook::{MergeFact, merge_news};

impl Engine {
    /// Records what a delivery says about merged pull requests before it is concluded. A crash in between repeats it.
    pub(super) async fn process_arrived(
        &self,
        delivery: &StoredDelivery,
        intake: &mut DeliveryIntake,
    ) -> Result<(), StoreError> {
        let is_noted = self.note_after_merge(delivery).await?;
        self.process_delivery(delivery, intake).await?;
        let said = intake.conclusions.iter_mut().rfind(|(guid, _)| is_noted && *guid == delivery.guid);
        if let Some((_, DeliveryConclusion::Ignored { because })) = said {
            *because = "noted of an order whose pull request is merged".to_owned();
        }
        Ok(())
    }

    async fn note_after_merge(&self, delivery: &StoredDelivery) -> Result<bool, StoreError> {
        let Some(news) = merge_news(&delivery.event, &delivery.body) else { return Ok(false) };
        let mut is_noted = false;
        for fact in news.facts {
            let (orders, kind, said_by) = match fact {
                MergeFact::Merged { pull, commit, head } => {
                    if let Some(order) = self.parts.store.order_by_pull(news.repository, pull).await? {
                        let of = (order.id, news.repository);
                        self.parts.store.keep_merged(of, commit.as_ref(), head.as_ref()).await?;
                    }
                    continue;
                }
                MergeFact::CommitReverted { by, commit } => {
                    let orders = self.parts.store.orders_of_merged(news.repository, &commit).await?;
                    (orders, AfterMergeKind::CommitReverted, by.to_string())
                }
                MergeFact::PullReverted { by, pull } => {
                    let order = self.parts.store.merged_order(news.repository, pull).await?;
                    (order.into_iter().collect(), AfterMergeKind::PullReverted, by.to_string())
                }
                MergeFact::CheckFailed { commit, check } => {
                    let orders = self.parts.store.orders_of_merge(news.repository, &commit).await?;
                    (orders, AfterMergeKind::CheckFailed, check)
                }
            };
            is_noted |= !orders.is_empty();
            let fact = AfterMergeFact { kind, said_by, at: delivery.received_at };
            for order in orders {
                tracing::info!(%order, repository = %news.repository, ?kind, "happened after the merge");
                self.parts.store.keep_after_merge(order, &fact).await?;
            }
        }
        Ok(is_noted)
    }
}
