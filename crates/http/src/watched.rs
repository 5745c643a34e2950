//! Whoever is being answered is written down while they are: a page that ends the server each time is asked for again by a
//! browser that shows it.
//!
//! May know: what is asked for. Must never know: who writes that down, and what is done about it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, header};
use actix_web::middleware::Next;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpResponse, ResponseError as _};

use super::HttpState;
use super::problem::ProblemDetails;

/// Has to answer whatever else is wrong, or shows nothing that strangers wrote.
const UNWATCHED: [&str; 6] = ["/health", "/ready", "/metrics", "/schemas/", "/assets/", "/sign-in"];
/// Seconds after which it is worth asking again.
const AGAIN: &str = "60";
/// A page that is shown for so long, as one that follows an order, does not end the server.
const LONG_ENOUGH: Duration = Duration::from_secs(60);

/// Says that it was answered well.
pub type AnsweredCallback = Box<dyn FnOnce() + Send>;

/// Who writes down what is being answered.
pub trait RequestWatch: Send + Sync {
    /// Says that a path with its query is being answered, until what comes back is called, or dropped because it was not
    /// answered well.
    ///
    /// # Errors
    /// Why it is not answered now.
    fn begin(&self, asked: &str) -> Result<AnsweredCallback, String>;
}

/// Nobody does.
impl RequestWatch for () {
    fn begin(&self, _: &str) -> Result<AnsweredCallback, String> {
        Ok(Box::new(|| ()))
    }
}

/// An answer that was given when it is dropped, or has lasted long.
struct WatchedBody {
    body: BoxBody,
    begun: Instant,
    answered: Option<AnsweredCallback>,
}

impl MessageBody for WatchedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.begun.elapsed() >= LONG_ENOUGH
            && let Some(answered) = self.answered.take()
        {
            answered();
        }
        Pin::new(&mut self.body).poll_next(context)
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        if let Some(answered) = self.answered.take() {
            answered();
        }
    }
}

pub(super) async fn watch(
    state: Data<HttpState>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let path = request.path();
    // Strangers are shown nothing.
    let may_be_known =
        [header::AUTHORIZATION, header::COOKIE].iter().any(|one| request.headers().contains_key(one));
    let is_get = request.method() == Method::GET;
    let is_watched = (is_get || request.method() == Method::HEAD)
        && may_be_known
        && request.match_pattern().is_some()
        && !UNWATCHED.iter().any(|begin| path.starts_with(begin));
    if !is_watched {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    // A page that follows an order asks from another entry on each time.
    let query = Some(request.query_string()).filter(|query| !query.is_empty() && !path.ends_with("/events"));
    let asked = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    match state.watch.begin(&asked) {
        Ok(answered) => {
            let response = next.call(request).await?;
            if !is_get || !response.status().is_success() {
                return Ok(response.map_into_boxed_body());
            }
            Ok(response.map_body(|_, body| {
                BoxBody::new(WatchedBody {
                    body: body.boxed(),
                    begun: Instant::now(),
                    answered: Some(answered),
                })
            }))
        }
        Err(because) => {
            let refusal = refuse(path, because);
            Ok(request.into_response(refusal))
        }
    }
}

/// To a program as a problem, to a person as a sentence.
fn refuse(path: &str, because: String) -> HttpResponse {
    let mut refusal = if path.starts_with("/api/") {
        ProblemDetails::unavailable(because).error_response()
    } else {
        HttpResponse::ServiceUnavailable().content_type("text/plain; charset=utf-8").body(because + "\n")
    };
    refusal.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static(AGAIN));
    refusal
}
