//! Reading a body from somebody who is not known yet: so many bytes, so long, and no more of all together. Where there is
//! no room left, the largest that is not whole yet makes room: GitHub's are small and come at once, and whoever floods us
//! has to send as small ones to shut them out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::web::{Bytes, Payload};
use futures_util::{Stream, StreamExt};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::BodyLimits;
use super::problem::ProblemDetails;

const UNIT: usize = 1024;
const MOST_AHEAD: u64 = 64 * 1024;

/// A share of the memory that all bodies have together.
#[derive(Clone)]
pub(super) struct BodyBudget {
    free: Arc<Semaphore>,
    unfinished: Arc<Mutex<UnfinishedBodies>>,
    limits: BodyLimits,
}

/// Bodies that are being read, by numbers of their own.
#[derive(Default)]
struct UnfinishedBodies {
    last: u64,
    bodies: BTreeMap<u64, UnfinishedBody>,
}

struct UnfinishedBody {
    length: usize,
    gives_up: Arc<Notify>,
}

/// One of them, for as long as it is read.
struct ReadingTurn<'a> {
    budget: &'a BodyBudget,
    number: u64,
    gives_up: Arc<Notify>,
}

impl Drop for ReadingTurn<'_> {
    fn drop(&mut self) {
        self.budget.unfinished().bodies.remove(&self.number);
    }
}

impl ReadingTurn<'_> {
    fn has_grown(&self, length: usize) {
        if let Some(body) = self.budget.unfinished().bodies.get_mut(&self.number) {
            body.length = length;
        }
    }

    /// Makes the largest give up that is larger than this one; false where none is.
    fn takes_room(&self, length: usize) -> bool {
        let mut unfinished = self.budget.unfinished();
        let others = unfinished.bodies.iter().filter(|(number, _)| **number != self.number);
        let largest = others.max_by_key(|(_, body)| body.length).map(|(number, _)| *number);
        let larger = largest.filter(|of| unfinished.bodies.get(of).is_some_and(|body| body.length > length));
        // It is taken away, so that nobody else counts on its room.
        let given_up = larger.and_then(|number| unfinished.bodies.remove(&number));
        given_up.is_some_and(|body| {
            body.gives_up.notify_one();
            true
        })
    }
}

/// A body, and its share of the memory for as long as it is there.
pub(super) struct BoundedBody {
    pub(super) bytes: Vec<u8>,
    share: Option<OwnedSemaphorePermit>,
}

impl BodyBudget {
    pub(super) fn new(limits: BodyLimits) -> Self {
        let free = Arc::new(Semaphore::new(limits.bytes_together / UNIT));
        Self { free, unfinished: Arc::default(), limits }
    }

    fn unfinished(&self) -> MutexGuard<'_, UnfinishedBodies> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> ReadingTurn<'_> {
        let mut unfinished = self.unfinished();
        unfinished.last += 1;
        let (number, gives_up) = (unfinished.last, Arc::<Notify>::default());
        let body = UnfinishedBody { length: 0, gives_up: Arc::clone(&gives_up) };
        unfinished.bodies.insert(number, body);
        ReadingTurn { budget: self, number, gives_up }
    }

    /// Reads a body of at most `most` bytes.
    ///
    /// # Errors
    /// 413, 408, 400 when it breaks off, 503 when too many are being read.
    pub(super) async fn read(
        &self,
        request: &HttpRequest,
        body: Payload,
    ) -> Result<BoundedBody, ProblemDetails> {
        self.read_up_to(self.limits.bytes, request, body).await
    }

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
        // What is only announced takes no more room than a usual body.
        let room = announced.map_or(0, |length| length.min(MOST_AHEAD) as usize);
        tokio::time::timeout(deadline, self.collect(most, room, body))
            .await
            .unwrap_or_else(|_| Err(ProblemDetails::too_slow(deadline.as_secs())))
    }

    async fn collect(
        &self,
        most: usize,
        room: usize,
        body: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    ) -> Result<BoundedBody, ProblemDetails> {
        let turn = self.begin();
        tokio::select! {
            biased;
            () = turn.gives_up.notified() => Err(ProblemDetails::busy()),
            whole = self.collect_in_turn(&turn, (most, room), body) => whole,
        }
    }

    async fn collect_in_turn(
        &self,
        turn: &ReadingTurn<'_>,
        (most, room): (usize, usize),
        mut body: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    ) -> Result<BoundedBody, ProblemDetails> {
        let mut whole = BoundedBody { bytes: Vec::with_capacity(room), share: None };
        while let Some(chunk) = body.next().await {
            let chunk: Bytes = chunk.map_err(|_| ProblemDetails::bad_request("the body broke off"))?;
            let length = whole.bytes.len().saturating_add(chunk.len());
            if length > most {
                return Err(ProblemDetails::too_large(most));
            }
            self.widen(&mut whole, length, turn).await?;
            whole.bytes.extend_from_slice(&chunk);
            turn.has_grown(length);
        }
        Ok(whole)
    }

    /// Takes what a body of that length needs beyond what it has.
    async fn widen(
        &self,
        body: &mut BoundedBody,
        length: usize,
        turn: &ReadingTurn<'_>,
    ) -> Result<(), ProblemDetails> {
        let held = body.share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = u32::try_from(length.div_ceil(UNIT).saturating_sub(held)).unwrap_or(u32::MAX);
        if more == 0 {
            return Ok(());
        }
        let permit = match Arc::clone(&self.free).try_acquire_many_owned(more) {
            Ok(permit) => permit,
            // What gives up lets go of its room when it is next looked at.
            Err(_) if turn.takes_room(length) => {
                let freed = Arc::clone(&self.free).acquire_many_owned(more);
                freed.await.map_err(|_| ProblemDetails::busy())?
            }
            Err(_) => return Err(ProblemDetails::busy()),
        };
        match &mut body.share {
            Some(share) => share.merge(permit),
            empty @ None => *empty = Some(permit),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use actix_web::ResponseError;
    use futures_util::stream;

    use super::*;

    const SPACE: usize = 64 * UNIT;

    /// A body that begins with so many bytes and has no end; it says when these were taken.
    fn endless(
        bytes: usize,
        taken: &Arc<Notify>,
    ) -> impl Stream<Item = Result<Bytes, PayloadError>> + Send + use<> {
        let taken = Arc::clone(taken);
        let begun = stream::once(ready(Ok(Bytes::from(vec![0; bytes]))));
        begun.chain(stream::once(async move {
            taken.notify_one();
            pending().await
        }))
    }

    fn whole(bytes: usize) -> impl Stream<Item = Result<Bytes, PayloadError>> + Unpin {
        stream::iter([Ok(Bytes::from(vec![0; bytes]))])
    }

    /// Fills all the room with bodies of so many bytes that have no end.
    async fn flood(
        budget: &BodyBudget,
        bytes: usize,
    ) -> Vec<tokio::task::JoinHandle<Result<usize, ProblemDetails>>> {
        let mut flood = Vec::new();
        for _ in 0..SPACE / bytes {
            let (budget, taken) = (budget.clone(), Arc::<Notify>::default());
            let body = Box::pin(endless(bytes, &taken));
            let read = async move { budget.collect(SPACE, 0, body).await.map(|body| body.bytes.len()) };
            flood.push(tokio::spawn(read));
            taken.notified().await;
        }
        flood
    }

    #[tokio::test]
    async fn a_small_body_is_not_shut_out_by_large_ones_that_have_no_end() {
        let budget = BodyBudget::new(BodyLimits { bytes_together: SPACE, ..BodyLimits::default() });
        let flood = flood(&budget, 16 * UNIT).await;
        for _ in 0..2 {
            let read = budget.collect(SPACE, 0, whole(2 * UNIT)).await;
            assert_eq!(read.map(|body| body.bytes.len()), Ok(2 * UNIT));
        }
        // Nor is one that is itself of several pieces, and grows.
        let pieces = stream::iter([12, 12, 12].map(|units| Ok(Bytes::from(vec![0; units * UNIT]))));
        let grown = budget.collect(SPACE, 0, pieces).await.map(|body| body.bytes.len());
        assert_eq!(grown.err().map(|refused| refused.status_code().as_u16()), Some(503), "it is the largest");

        assert_eq!(flood.iter().filter(|one| one.is_finished()).count(), 1, "no more than was needed");
        for one in flood.into_iter().filter(|one| one.is_finished()) {
            let refused = one.await.unwrap().unwrap_err();
            let response = refused.error_response();
            assert_eq!(response.status().as_u16(), 503);
            let after = response.headers().get(header::RETRY_AFTER).unwrap();
            assert_eq!(after, "10", "GitHub counts it as not delivered");
        }
    }

    #[tokio::test]
    async fn nobody_makes_room_for_one_that_is_as_large() {
        let budget = BodyBudget::new(BodyLimits { bytes_together: SPACE, ..BodyLimits::default() });
        let flood = flood(&budget, 2 * UNIT).await;
        let refused = budget.collect(SPACE, 0, whole(2 * UNIT)).await.err().unwrap();
        assert_eq!(refused.status_code().as_u16(), 503);
        assert!(flood.iter().all(|one| !one.is_finished()));
    }
}
