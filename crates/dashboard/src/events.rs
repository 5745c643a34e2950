//! `/orders/{id}/events`: what is new of an order, as server-sent events, to whoever may see it and for as long as they may.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::web::{Bytes, Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream::unfold;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio::time::{Instant, sleep_until};

use journeyman_order::RepositoryId;

use super::DashboardState;
use super::answer::busy;
use super::order_page::row;
use super::session::{cookie, signed_in, still_reads};
use super::watchers::{ToldNews, WatchedOrder};

/// A proxy must not think that nobody is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// How often it is looked whether whoever looks still may.
const LOOK_WHO: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
pub(crate) struct EventsQuery {
    /// The last entry that the page shows.
    #[serde(default)]
    seq: u64,
}

pub(crate) async fn follow(
    request: HttpRequest,
    path: Path<String>,
    query: Query<EventsQuery>,
    state: Data<DashboardState>,
) -> HttpResponse {
    let Ok(session) = signed_in(&request, &state).await else {
        return HttpResponse::Unauthorized().finish();
    };
    let row = match row(&state, &session, &path).await {
        Ok(row) => row,
        Err(nothing) => return *nothing,
    };
    let Some(place) = state.shared.watchers.place() else {
        return busy("Too many pages follow the work at once. This one shows it when it is reloaded.");
    };
    let may_act = session.may_write(row.repository_id);
    let ended = state.shared.sessions.ends();
    let (watched, entered) = state.shared.watchers.enter(&state, row.id, query.seq, may_act);
    let now = Instant::now();
    let follower = OrderFollower {
        state: state.get_ref().clone(),
        cookie: cookie(&request, &state),
        repository: row.repository_id,
        may_act,
        shown: query.seq,
        watched,
        news: entered.news,
        waiting: entered.missed.unwrap_or_default().into(),
        ended,
        looked: now,
        spoke: now,
        _place: place,
    };
    let stream = unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((Ok::<Bytes, actix_web::Error>(event), follower))
    });
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        // A proxy that gathers what it passes on would hold up every event.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(Box::pin(stream))
}

/// A page that is open.
struct OrderFollower {
    state: DashboardState,
    /// Of whoever looks: what they may see can end while they do.
    cookie: String,
    repository: RepositoryId,
    may_act: bool,
    /// The last entry that the page showed when it came.
    shown: u64,
    watched: Arc<WatchedOrder>,
    news: broadcast::Receiver<ToldNews>,
    waiting: VecDeque<Bytes>,
    /// Somebody's session has ended.
    ended: watch::Receiver<()>,
    looked: Instant,
    spoke: Instant,
    _place: OwnedSemaphorePermit,
}

impl OrderFollower {
    /// The next event; none when it is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // Whoever did not read for a while hears nothing before it is looked again whether they may.
            if self.looked.elapsed() >= LOOK_WHO && !self.still_reads().await {
                return None;
            }
            if let Some(event) = self.waiting.pop_front() {
                self.spoke = Instant::now();
                return Some(event);
            }
            tokio::select! {
                told = self.news.recv() => match told {
                    Ok(ToldNews::Event { to, event }) if to.have(self.may_act) => self.waiting.push_back(event),
                    Ok(ToldNews::Event { .. }) => {}
                    Ok(ToldNews::Begun) => self.enter_again(self.shown),
                    // It was slower than what came: it is shown all of it again.
                    Err(broadcast::error::RecvError::Lagged(_)) => self.enter_again(0),
                    Ok(ToldNews::Over) | Err(broadcast::error::RecvError::Closed) => return None,
                },
                changed = self.ended.changed() => {
                    if changed.is_err() || !self.still_reads().await {
                        return None;
                    }
                }
                () = sleep_until(self.looked + LOOK_WHO) => {
                    if self.spoke.elapsed() > SIGN_OF_LIFE {
                        self.waiting.push_back(Bytes::from_static(b": here\n\n"));
                    }
                }
            }
        }
    }

    fn enter_again(&mut self, shown: u64) {
        let entered = self.watched.enter(shown, self.may_act);
        self.news = entered.news;
        self.waiting = entered.missed.unwrap_or_default().into();
    }

    async fn still_reads(&mut self) -> bool {
        self.looked = Instant::now();
        still_reads(&self.state, &self.cookie, self.repository).await
    }
}
