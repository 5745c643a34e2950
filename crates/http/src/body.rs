//! Reads bodies from unknown senders, with limits on size, time and total memory.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::Payload;
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::BodyLimits;
use super::problem::ProblemDetails;
use journeyman_order::bounds::LARGEST_SETTINGS;

const UNIT: usize = 1024;

/// The memory that all bodies share.
#[derive(Clone)]
pub(super) struct BodyBudget {
    free: Arc<Semaphore>,
    limits: BodyLimits,
}

/// A body, which holds its share of the memory while it exists.
pub(super) struct BoundedBody {
    pub(super) bytes: Vec<u8>,
    share: Option<OwnedSemaphorePermit>,
}

impl BodyBudget {
    pub(super) fn new(limits: BodyLimits) -> Self {
        let free = Arc::new(Semaphore::new(limits.bytes_together / UNIT));
        Self { free, limits }
    }

    /// Reads a body of at most `most` bytes.
    pub(super) async fn read_up_to(
        &self,
        most: usize,
        request: &HttpRequest,
        body: Payload,
    ) -> Result<BoundedBody, ProblemDetails> {
        let announced = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok())
            .and_then(|length| length.parse::<u64>().ok());
        if announced.is_some_and(|length| usize::try_from(length).is_ok_and(|length| length > most)) {
            return Err(ProblemDetails::too_large(most));
        }
        let deadline = self.limits.deadline;
        // An announced length reserves at most the size of a usual body.
        let room = announced.map_or(0, |length| length.min(LARGEST_SETTINGS as u64) as usize);
        tokio::time::timeout(deadline, self.collect(most, room, body))
            .await
            .unwrap_or_else(|_| Err(ProblemDetails::too_slow(deadline.as_secs())))
    }

    async fn collect(
        &self,
        most: usize,
        room: usize,
        mut body: Payload,
    ) -> Result<BoundedBody, ProblemDetails> {
        let mut whole = BoundedBody { bytes: Vec::with_capacity(room), share: None };
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| ProblemDetails::bad_request("the body broke off"))?;
            let length = whole.bytes.len().saturating_add(chunk.len());
            if length > most {
                return Err(ProblemDetails::too_large(most));
            }
            self.widen(&mut whole, length)?;
            whole.bytes.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// Takes the additional share that a body of this length needs.
    fn widen(&self, body: &mut BoundedBody, length: usize) -> Result<(), ProblemDetails> {
        let held = body.share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = u32::try_from(length.div_ceil(UNIT).saturating_sub(held)).unwrap_or(u32::MAX);
        if more == 0 {
            return Ok(());
        }
        let permit =
            Arc::clone(&self.free).try_acquire_many_owned(more).map_err(|_| ProblemDetails::busy())?;
        match &mut body.share {
            Some(share) => share.merge(permit),
            empty @ None => *empty = Some(permit),
        }
        Ok(())
    }
}
