//! Passes a model request on with our key, and its answer back while counting it.

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::time::timeout;

use super::ProxyState;
use super::meter::{BudgetRefusal, MeteredRequest, RequestEnding};
use super::model::{ModelOperation, ModelUpstream, is_handed_back};
use super::model_request::{self, ModelRequestError};
use super::refusal::{ProxyBody, RefusalKind, of_model, whole};
use super::replace::{PassingPart, passing};
use super::usage::UsageReader;

impl ProxyState {
    pub(super) async fn ask(
        &self,
        upstream: &ModelUpstream,
        parts: Parts,
        body: Incoming,
    ) -> Response<ProxyBody> {
        let path = parts.uri.path();
        if parts.method == Method::HEAD && path == "/" {
            // Programs check whether the service is up.
            return Response::new(whole(Bytes::new()));
        }
        let what = format!("{} {path}", parts.method);
        let say = |status, kind, message: &str| of_model(upstream.provider, status, kind, message);
        let Some(operation) = ModelOperation::of(upstream.provider, &parts.method, path) else {
            self.book.refuse(&what, NOT_AN_OPERATION);
            return say(StatusCode::NOT_FOUND, RefusalKind::NotThere, &format!("{what}: {NOT_AN_OPERATION}"));
        };
        let unavailable = |why: &str| say(StatusCode::BAD_GATEWAY, RefusalKind::Unavailable, why);
        let client = match upstream.client() {
            Ok(client) => client,
            Err(why) => return unavailable(&why),
        };
        let mut request = match operation {
            ModelOperation::Models => client.get(upstream.address(operation)),
            ModelOperation::Messages
            | ModelOperation::CountTokens
            | ModelOperation::ChatCompletions
            | ModelOperation::Responses => client.post(upstream.address(operation)),
        };
        request = request.headers(upstream.headers(&parts.headers));
        let mut running = None;
        // Held until the service starts to answer: by then it has the body.
        let mut room = None;
        if operation != ModelOperation::Models {
            let most = self.limits.request_bytes;
            let too_large = || {
                let message = format!("a request to the model has at most {most} bytes");
                say(StatusCode::PAYLOAD_TOO_LARGE, RefusalKind::Refused, &message)
            };
            let expected = usize::try_from(body.size_hint().upper().unwrap_or(0)).unwrap_or(usize::MAX);
            if expected > most {
                return too_large();
            }
            let expected = if expected == 0 { most } else { expected };
            room = self.room.acquire_many(u32::try_from(expected).unwrap_or(u32::MAX)).await.ok();
            let collected = match timeout(self.limits.body, Limited::new(body, most).collect()).await {
                Ok(Ok(collected)) => collected.to_bytes(),
                Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return too_large(),
                Ok(Err(_)) | Err(_) => {
                    return say(
                        StatusCode::BAD_REQUEST,
                        RefusalKind::Refused,
                        "the request did not come to its end",
                    );
                }
            };
            let asked = match model_request::read(upstream.provider, operation, &collected) {
                Ok(asked) => asked,
                Err(ModelRequestError::Unreadable) => {
                    return say(StatusCode::BAD_REQUEST, RefusalKind::Refused, "the request cannot be read");
                }
                Err(ModelRequestError::Refused(way_out)) => {
                    self.book.refuse(&format!("{what} with {way_out}"), WAY_OUT);
                    let message = format!("{way_out}: {WAY_OUT}, and this job may not reach that");
                    return say(StatusCode::BAD_REQUEST, RefusalKind::Refused, &message);
                }
            };
            for taken in &asked.taken_out {
                self.book.refuse(&format!("{what} with {taken}"), "it was taken out of the request");
            }
            if operation.costs() {
                match upstream.meter.begin(asked.model, asked.body.len()) {
                    Ok(begun) => running = Some(begun),
                    Err(BudgetRefusal::Unpriced(model)) => {
                        let why =
                            format!("what {model} costs is not known, and this job's budget is in dollars");
                        let why = format!("{why}; {}", (upstream.unpriced)(&model));
                        self.book.refuse(&what, &why);
                        // The same status as for a spent budget: programs retry on others.
                        return say(StatusCode::BAD_REQUEST, RefusalKind::Spent, &why);
                    }
                    Err(BudgetRefusal::Spent(why)) => {
                        self.book.refuse(&what, &format!("the budget is spent: {why}"));
                        let message = format!(
                            "the budget for this job's model is spent: {why}. It is set outside; asking again will \
                             not help, so end here"
                        );
                        return say(StatusCode::BAD_REQUEST, RefusalKind::Spent, &message);
                    }
                }
            }
            request = request.body(asked.body);
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                end(running, RequestEnding::Refused);
                // The error omits the URL, and so the settings.
                let why = journeyman_outgoing::innermost(&error.without_url());
                return unavailable(&format!("the model's service could not be reached: {why}"));
            }
        };
        drop(room);
        if response.status().is_redirection() {
            end(running, RequestEnding::Refused);
            return unavailable("the model's service sends us elsewhere, where the key would not be safe");
        }
        pass_back(upstream, response, running)
    }
}

const NOT_AN_OPERATION: &str = "not among the operations of the model's service that a job may use";
const WAY_OUT: &str = "with it the model's service would reach other servers";

fn end(running: Option<MeteredRequest>, ending: RequestEnding) {
    if let Some(running) = running {
        running.end(ending);
    }
}

fn pass_back(
    upstream: &ModelUpstream,
    answer: reqwest::Response,
    running: Option<MeteredRequest>,
) -> Response<ProxyBody> {
    let status = answer.status();
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let mut counted = if status.is_success() {
        running.map(|running| (UsageReader::of(upstream.provider, kind), running))
    } else {
        end(running, RequestEnding::Refused);
        None
    };
    let scrub = upstream.scrub();
    let mut headers = HeaderMap::new();
    for (name, value) in answer.headers() {
        // A header that repeats the key is dropped.
        let is_repeated = scrub.as_ref().is_some_and(|scrub| scrub.is_in(value.as_bytes()));
        if is_handed_back(name.as_str()) && !is_repeated {
            headers.append(name, value.clone());
        }
    }
    let count = move |part: PassingPart<'_>| {
        let Some((mut reading, mut running)) = counted.take() else { return Ok(()) };
        match part {
            PassingPart::Piece(bytes) => reading.feed(bytes),
            PassingPart::End | PassingPart::BrokenOff => reading.end(),
        }
        running.saw(reading.told());
        match part {
            PassingPart::Piece(_) => counted = Some((reading, running)),
            PassingPart::End => running.end(RequestEnding::Whole),
            PassingPart::BrokenOff => running.end(RequestEnding::BrokenOff),
        }
        Ok(())
    };
    let mut response = Response::new(passing(answer, scrub, count));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
