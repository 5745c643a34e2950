//! After the server has died while deliveries were taken in, it is known of each that it is taken in: the one that kills is
//! refused, and the others are heard.
//!
//! Must never know: what a delivery says.

use super::Engine;
use super::intake::DeliveryIntake;
use super::quarantine::{CrashGuard, CrashSuspect};
use journeyman_store::{DeliveryConclusion, StoreError, StoredDelivery};

/// A delivery that is taken in. It is known by itself only where that matters: it costs two small files.
pub(super) struct DeliveryUnderWay(Option<CrashGuard>);

impl Engine {
    /// None where the server has died of it again and again; it is refused then.
    pub(super) async fn begin_delivery(
        &self,
        delivery: &StoredDelivery,
        intake: &mut DeliveryIntake,
    ) -> Result<Option<DeliveryUnderWay>, StoreError> {
        if !intake.is_one_by_one {
            return Ok(Some(DeliveryUnderWay(None)));
        }
        let suspect = CrashSuspect::Delivery(delivery.guid.clone());
        let record = match self.quarantine.begin_in_turn(&suspect).await {
            Ok(guard) => return Ok(Some(DeliveryUnderWay(Some(guard)))),
            Err(record) => record,
        };
        tracing::error!(delivery = %delivery.guid, "refused: {record}");
        let conclusion = DeliveryConclusion::Refused { because: record.to_string() };
        intake.conclusions.push((delivery.guid.clone(), conclusion));
        self.write_conclusions(intake).await?;
        self.quarantine.settled(&suspect);
        Ok(None)
    }

    /// What only waits may still be what the server dies of.
    pub(super) async fn end_delivery(
        &self,
        delivery: &StoredDelivery,
        under_way: DeliveryUnderWay,
        intake: &mut DeliveryIntake,
    ) -> Result<(), StoreError> {
        let DeliveryUnderWay(Some(guard)) = under_way else { return Ok(()) };
        self.write_conclusions(intake).await?;
        if self.parts.store.conclusion(&delivery.guid).await?.is_some() {
            guard.ended();
        }
        Ok(())
    }
}
