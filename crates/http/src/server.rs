//! Routes and their server.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::http::header;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, HttpServer, Resource, Route, guard};

use super::body::BodyBudget;
use super::problem::ProblemDetails;
use super::{HttpState, api, commands, deliveries, metrics, pages};

const WORKERS: usize = 2;
const HEADERS: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Seconds for running requests at shutdown. The whole process has ten.
const LAST_WORDS: u64 = 5;
const MOST_CONNECTIONS: usize = 2_000;

/// Serves on `listener`. Await the second of the pair inside a Tokio runtime to run the server; the handle stops it.
/// The server ignores signals: the composition root handles them. `more` adds further routes.
pub fn start(
    listener: TcpListener,
    state: HttpState,
    more: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> io::Result<(ServerHandle, Server)> {
    listener.set_nonblocking(true)?;
    let room = Data::new(BodyBudget::new(state.limits));
    let state = Data::new(state);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(state.clone())
            .app_data(room.clone())
            .wrap(from_fn(pages::refuse_nul))
            // Answers are private: without another rule of the route, nothing may cache them.
            .wrap(DefaultHeaders::new().add((header::CACHE_CONTROL, "no-store")))
            .default_service(web::to(pages::nowhere))
            .configure(routes)
            .configure(&more)
    })
    .workers(WORKERS)
    .max_connections(MOST_CONNECTIONS)
    .client_request_timeout(HEADERS)
    .keep_alive(KEEP_ALIVE)
    .shutdown_timeout(LAST_WORDS)
    .disable_signals()
    .listen(listener)?
    .run();
    Ok((server.handle(), server))
}

fn routes(config: &mut ServiceConfig) {
    config
        .service(resource("/webhook", "POST").route(web::post().to(deliveries::receive)))
        .service(resource("/health", "GET, HEAD").route(get().to(pages::health)))
        .service(resource("/ready", "GET, HEAD").route(get().to(pages::ready)))
        .service(resource("/metrics", "GET, HEAD").route(get().to(metrics::show)))
        .service(
            resource("/api/v1/work-orders", "GET, HEAD, POST")
                .route(web::post().to(api::create))
                .route(get().to(api::list)),
        )
        .service(resource("/api/v1/work-orders/{id}", "GET, HEAD").route(get().to(api::show)))
        .service(resource("/api/v1/work-orders/{id}/steps", "GET, HEAD").route(get().to(api::show_steps)))
        .service(resource("/api/v1/work-orders/{id}/receipt", "GET, HEAD").route(get().to(api::show_receipt)))
        .service(
            resource("/api/v1/work-orders/{id}/attestation", "GET, HEAD")
                .route(get().to(api::show_attestation)),
        )
        .service(resource("/api/v1/openapi.json", "GET, HEAD").route(get().to(pages::api)))
        .service(resource("/schemas/{name}", "GET, HEAD").route(get().to(pages::schema)))
        .service(resource("/api/v1/receipt-key", "GET, HEAD").route(get().to(pages::show_key)))
        .service(resource("/api/v1/work-orders/{id}/journal", "GET, HEAD").route(get().to(api::show_journal)))
        .service(resource("/api/v1/work-orders/{id}/retry", "POST").route(web::post().to(commands::retry)))
        .service(resource("/api/v1/work-orders/{id}/plan", "POST").route(web::post().to(commands::plan)))
        .service(
            resource("/api/v1/work-orders/{id}/approve", "POST").route(web::post().to(commands::approve)),
        )
        .service(resource("/api/v1/work-orders/{id}/cancel", "POST").route(web::post().to(commands::cancel)))
        .service(
            resource("/api/v1/work-orders/{id}/artifacts/{name}", "GET, HEAD").route(get().to(api::download)),
        );
}

/// A path that answers other methods with 405.
fn resource(path: &'static str, allowed: &'static str) -> Resource {
    web::resource(path).default_service(web::to(move || async move {
        Err::<actix_web::HttpResponse, ProblemDetails>(ProblemDetails::method_not_allowed(allowed))
    }))
}

fn get() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}
