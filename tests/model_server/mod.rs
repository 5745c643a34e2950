//! A model on loopback. It implements enough of Anthropic's Messages API for the real Claude Code, and OpenAI's chat
//! completions, streamed and without a key, like a self-hosted server. A script, which is a function from the request
//! to the reply, decides what it says.
//!
//! May know: the wire format of the API. Must never know: anything about Journeyman.
//!
//! A script only sees the conversation. Claude Code's other requests (a title for the session, a connection probe)
//! carry no tools. The server answers them itself, and records them in [`ModelServer::requests`].

mod events;
mod reply;
mod request;

use std::net::TcpListener;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use actix_web::http::{StatusCode, header};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::{Value, json};

pub use reply::{Reply, Say};
pub use request::{OPENAI_PATH, Request};

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// The server; it stops on drop.
pub struct ModelServer {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    handle: actix_web::dev::ServerHandle,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    script: Box<Script>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl ModelServer {
    /// Listens on a free port of loopback. Each call of the script has its own thread, so it may block.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let url = format!("http://{}", listener.local_addr().expect("a bound port has an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = web::Data::new(Shared { script: Box::new(script), requests: Arc::clone(&requests) });
        let (tell, told) = mpsc::channel();
        // A thread with its own actix system: callers need no particular async runtime.
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = HttpServer::new(move || {
                    App::new()
                        .app_data(shared.clone())
                        .app_data(web::PayloadConfig::new(32 * 1024 * 1024))
                        .route("/v1/messages", web::post().to(messages))
                        .route(OPENAI_PATH, web::post().to(completions))
                        .route("/v1/messages/count_tokens", web::post().to(count_tokens))
                        .default_service(web::to(anything_else))
                })
                .workers(1)
                .disable_signals()
                .shutdown_timeout(1)
                .listen(listener)
                .expect("the port is bound already")
                .run();
                tell.send(server.handle()).expect("the starter waits");
                server.await.expect("the model server runs until it is stopped");
            });
        });
        let handle = told.recv().expect("the server starts");
        Self { url, requests, handle, thread: Some(thread) }
    }

    /// The value for `ANTHROPIC_BASE_URL`: no path, no trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Every request so far, oldest first, background requests included.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no holder panics").clone()
    }

    /// The requests of conversations, which the script answered.
    pub fn conversation(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_conversation).collect()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // Calling `stop` already sends the command. Its future only waits for the end, and so does the join.
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn note(shared: &Shared, http: &HttpRequest, body: &[u8]) -> Request {
    let body = serde_json::from_slice(body).unwrap_or(Value::Null);
    let has_key = http.headers().contains_key("x-api-key") || http.headers().contains_key("authorization");
    let agent = http.headers().get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let request = Request {
        method: http.method().to_string(),
        path: http.path().to_owned(),
        agent: agent.to_owned(),
        has_key,
        body,
    };
    shared.requests.lock().expect("no holder panics").push(request.clone());
    request
}

fn refuse(status: StatusCode, kind: &str, message: &str) -> HttpResponse {
    let error = json!({ "type": kind, "message": message });
    HttpResponse::build(status).json(json!({ "type": "error", "error": error, "request_id": "req_loopback" }))
}

async fn messages(shared: web::Data<Shared>, http: HttpRequest, body: web::Bytes) -> HttpResponse {
    let request = note(&shared, &http, &body);
    if !request.has_key {
        return refuse(StatusCode::UNAUTHORIZED, "authentication_error", "x-api-key header is required");
    }
    if !request.body["messages"].is_array() {
        return refuse(StatusCode::BAD_REQUEST, "invalid_request_error", "messages: field required");
    }
    let reply = if request.is_conversation() {
        match scripted(&shared, &request).await {
            Ok(reply) => reply,
            Err(refusal) => return refusal,
        }
    } else {
        background_reply(&request)
    };
    match reply {
        Reply::Wait { seconds } => wait(seconds),
        Reply::Refuse { status, kind, message } => refuse_with(status, kind, &message),
        Reply::Say(blocks) => {
            let message = events::message(&request, &blocks);
            if request.is_streaming() {
                HttpResponse::Ok()
                    .content_type("text/event-stream; charset=utf-8")
                    .insert_header(("cache-control", "no-cache"))
                    .insert_header(("request-id", "req_loopback"))
                    .streaming(events::stream(&message))
            } else {
                HttpResponse::Ok().insert_header(("request-id", "req_loopback")).json(message)
            }
        }
    }
}

async fn completions(shared: web::Data<Shared>, http: HttpRequest, body: web::Bytes) -> HttpResponse {
    let request = note(&shared, &http, &body);
    let reply = match scripted(&shared, &request).await {
        Ok(reply) => reply,
        Err(refusal) => return refusal,
    };
    match reply {
        Reply::Wait { seconds } => wait(seconds),
        Reply::Refuse { status, kind, message } => refuse_with(status, kind, &message),
        Reply::Say(blocks) => {
            let texts = blocks.iter().map(|block| match block {
                Say::Text(text) => text.as_str(),
                Say::Use { tool, .. } => panic!("{tool}: nobody offered a tool here"),
            });
            HttpResponse::Ok()
                .content_type("text/event-stream")
                .streaming(events::openai_stream(&request, &texts.collect::<String>()))
        }
    }
}

async fn scripted(shared: &web::Data<Shared>, request: &Request) -> Result<Reply, HttpResponse> {
    let (shared, asked) = (shared.clone(), request.clone());
    let reply = web::block(move || (shared.script)(&asked)).await;
    reply.map_err(|_| refuse(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "the script panicked"))
}

fn refuse_with(status: u16, kind: &str, message: &str) -> HttpResponse {
    let status = StatusCode::from_u16(status).expect("a script refuses with an HTTP status");
    refuse(status, kind, message)
}

fn wait(seconds: u64) -> HttpResponse {
    let mut refusal = refuse(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "Too many requests");
    refusal.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    refusal
}

/// A title if one is requested as JSON, otherwise one word.
fn background_reply(request: &Request) -> Reply {
    let wants_json =
        request.body.pointer("/output_config/format").is_some() || request.system().contains("JSON");
    Reply::text(if wants_json { r#"{"title":"Work on an issue","isNewTopic":false}"# } else { "ok" })
}

async fn count_tokens(shared: web::Data<Shared>, http: HttpRequest, body: web::Bytes) -> HttpResponse {
    let request = note(&shared, &http, &body);
    HttpResponse::Ok().json(json!({ "input_tokens": events::tokens(&request.body.to_string()) }))
}

/// Claude Code starts with `HEAD /`; any other request here is unknown to this server.
async fn anything_else(shared: web::Data<Shared>, http: HttpRequest, body: web::Bytes) -> HttpResponse {
    let request = note(&shared, &http, &body);
    if request.method == "HEAD" {
        return HttpResponse::Ok().finish();
    }
    refuse(StatusCode::NOT_FOUND, "not_found_error", "the model server on loopback has no such path")
}
