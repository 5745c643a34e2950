//! A model's service on loopback: records every request and answers as a test wants.

use std::convert::Infallible;
use std::sync::Mutex;

use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::refusal::{ProxyBody, whole};
use super::super::{GatewayBudget, ModelUpstream};
use super::*;
use journeyman_order::model_service::{Credential, Provider};
use journeyman_order::network::MeteredTokens;

pub(super) const KEY: &str = "sk-real-0123456789abcdef";

#[derive(Debug, Clone)]
pub(super) struct UpstreamRequest {
    pub(super) line: String,
    pub(super) headers: http::HeaderMap,
    pub(super) body: String,
}

/// Ends with the test's runtime.
#[derive(Clone)]
pub(super) struct FakeUpstream {
    pub(super) address: SocketAddr,
    heard: Arc<Mutex<Vec<UpstreamRequest>>>,
}

impl FakeUpstream {
    pub(super) async fn start(
        answer: impl Fn(&UpstreamRequest) -> Response<ProxyBody> + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&heard), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                    async move {
                        let (parts, body) = request.into_parts();
                        let body = body.collect().await.unwrap().to_bytes();
                        let heard = UpstreamRequest {
                            line: format!("{} {}", parts.method, parts.uri),
                            headers: parts.headers,
                            body: String::from_utf8(body.to_vec()).unwrap(),
                        };
                        log.lock().unwrap().push(heard.clone());
                        Ok::<_, Infallible>(answer(&heard))
                    }
                });
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, heard }
    }

    pub(super) fn heard(&self) -> Vec<UpstreamRequest> {
        self.heard.lock().unwrap().clone()
    }

    /// A policy that leads to it, with the provider's form of key; a thousand tokens of the model `m` cost a dollar.
    pub(super) fn policy(&self, provider: Provider, budget: GatewayBudget) -> EgressPolicy {
        let base = match provider {
            Provider::Anthropic => format!("http://{}/base", self.address),
            Provider::OpenAi => format!("http://{}/base/v1", self.address),
        };
        let credential = match provider {
            Provider::Anthropic => Credential::ApiKey(KEY.into()),
            Provider::OpenAi => Credential::Bearer(KEY.into()),
        };
        let price =
            |model: &str, tokens: &MeteredTokens| (model == "m").then(|| tokens.all() as f64 / 1_000.0);
        let model =
            ModelUpstream::new(base.parse().unwrap(), credential, provider, budget, Arc::new(price)).unwrap();
        let model = model.explaining(|_| "here is where prices are set".to_owned());
        EgressPolicy { model: Some(model), ..names(&[]) }
    }
}

/// A complete answer of the Messages API.
pub(super) fn message(read: u64, written: u64) -> Response<ProxyBody> {
    json_answer(&json!({
        "type": "message", "model": "m", "content": [{ "type": "text", "text": "Hello" }],
        "usage": { "input_tokens": read, "output_tokens": written },
    }))
}

pub(super) fn json_answer(body: &Value) -> Response<ProxyBody> {
    Response::builder().header("content-type", "application/json").body(whole(body.to_string())).unwrap()
}

/// An answer that the test sends step by step.
pub(super) fn streamed() -> (mpsc::UnboundedSender<String>, Response<ProxyBody>) {
    let (send, mut receive) = mpsc::unbounded_channel::<String>();
    let frames = futures_util::stream::poll_fn(move |context| {
        receive.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(Bytes::from(event)))))
    });
    let body = BodyExt::boxed_unsync(StreamBody::new(frames));
    (send, Response::builder().header("content-type", "text/event-stream").body(body).unwrap())
}

/// A job's request to its model, with typical headers.
pub(super) fn post(path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n\
         X-Api-Key: placeholder\r\nAuthorization: Bearer placeholder\r\nApi-Key: placeholder\r\nCookie: a=b\r\n\
         Anthropic-Version: 2023-06-01\r\nOpenAI-Organization: another\r\nAccept-Encoding: gzip\r\n\
         Proxy-Authorization: Basic eDp5\r\nTE: trailers\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A minimal body for a model request.
pub(super) fn words() -> Value {
    json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "hi" }] })
}
