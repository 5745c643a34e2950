//! GitHub on loopback: the parts of its REST and GraphQL APIs that an App for issues and pull requests uses, signed
//! webhooks with redelivery, git over smart HTTP, web pages, injected faults, and a record of every call. For tests,
//! the demo and runs without GitHub.
//!
//! May know: GitHub's documented behaviour. Must never know: Journeyman, except for names that any GitHub user sees. It
//! tells callers apart by credentials only, so the real GitHub can replace it. State lives in memory, repositories in a
//! temporary folder.

mod api;
mod attachments;
mod auth;
mod clock;
mod diffs;
mod events;
mod git_access;
mod git_child;
mod git_http;
mod graphql;
mod host;
mod in_process;
mod json;
pub mod keys;
mod large_files;
mod lines;
mod manifest;
mod mutations;
mod pages;
mod reply;
mod repos;
mod request;
mod routes;
mod sign_in;
mod signed;
mod state;
mod test_api;
mod webhooks;

#[cfg(test)]
mod tests;

pub use clock::set_time;
pub use in_process::{InProcessAnswer, InProcessCaller};
pub use state::calls::{ApiCall, Caller, Fault, FaultKind};
pub use state::checks::{CheckConclusion, CheckRunAction, EmulatedAnnotation, EmulatedCheckRun};
pub use state::deliveries::{DeliveryAttempt, DeliveryResult};
pub use state::{AppStage, EmulatedIssueState, RepositoryRole, ReviewState};
pub use test_api::ProposedChange;
pub use test_api::checks::EmulatedCi;
pub use test_api::reviews::LineComment;
pub use test_api::views::{CommentView, IssueView, PullView, RepositorySource, ReviewThreadView};
pub use webhooks::signature;

use std::collections::{BTreeMap, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App as Actix, HttpServer, web};
use anyhow::Context as _;
use jsonwebtoken::DecodingKey;
use secrecy::SecretString;
use tokio::task::JoinHandle;
use uuid::Uuid;

use state::{
    EmulatedAccount, EmulatedAccountKind, EmulatedApp, EmulatorState, PermissionLevel, SharedEmulatorState,
};

/// The largest request body of the API, in bytes.
const MOST_BODY: usize = 25 * 1024 * 1024;

/// Whether there are web pages. They need no password, so anyone who reaches the port can act as any person. Without
/// them, everything but public git reads needs credentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WebPages {
    /// For people at a demo, and for tests.
    Shown,
    /// For runs that nobody watches.
    #[default]
    Hidden,
}

/// The App's slug; its bot is `SLUG[bot]`.
const SLUG: &str = "journeyman";

/// Permissions of an App for issues and pull requests.
const GRANTED: [(&str, PermissionLevel); 8] = [
    ("metadata", PermissionLevel::Read),
    ("contents", PermissionLevel::Write),
    ("issues", PermissionLevel::Write),
    ("pull_requests", PermissionLevel::Write),
    ("checks", PermissionLevel::Write),
    ("actions", PermissionLevel::Write),
    ("statuses", PermissionLevel::Read),
    ("merge_queues", PermissionLevel::Read),
];

#[derive(Debug, Clone)]
pub struct EmulatorOptions {
    /// The listening address; port 0 picks a free one.
    pub listen: SocketAddr,
    pub app_id: u64,
    /// Whether an App already exists.
    pub app_stage: AppStage,
    /// PEM of the App's public key.
    pub app_public_key_pem: String,
    /// The secret that signs deliveries.
    pub webhook_secret: SecretString,
    /// Whether there are pages.
    pub pages: WebPages,
    /// The parent folder of its repositories; `None` for the temporary folder.
    pub within: Option<PathBuf>,
}

impl EmulatorOptions {
    /// Listens on a free port of 127.0.0.1.
    pub fn local(app_id: u64, app_public_key_pem: String, webhook_secret: SecretString) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            app_id,
            app_stage: AppStage::Installed,
            app_public_key_pem,
            webhook_secret,
            pages: WebPages::Shown,
            within: None,
        }
    }
}

/// A running emulator. It stops on drop or by [`Emulator::stop`].
pub struct Emulator {
    shared: Arc<SharedEmulatorState>,
    serving: Option<ServingTasks>,
}

/// Tasks that run while it listens.
struct ServingTasks {
    server: ServerHandle,
    deliveries: JoinHandle<()>,
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Emulator").field("origin", &self.origin()).finish_non_exhaustive()
    }
}

impl Emulator {
    /// Starts listening. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the address is taken, the public key is invalid, or the repositories' folder cannot be created.
    pub async fn start(options: EmulatorOptions) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(options.listen).with_context(|| {
            format!("the emulator cannot listen on {}: choose another address", options.listen)
        })?;
        let address = listener.local_addr()?;
        let origin = format!("http://{address}");
        let pages = options.pages;
        let shared = Self::shared(options, origin)?;
        let data = web::Data::new(Arc::clone(&shared));
        let server = HttpServer::new(move || {
            Actix::new()
                .app_data(data.clone())
                .app_data(web::PayloadConfig::new(MOST_BODY))
                .wrap(from_fn(move |request, next| host::hold(address, request, next)))
                .configure(|config| routes(config, pages))
        })
        .workers(2)
        .disable_signals()
        .shutdown_timeout(1)
        .listen(listener)?
        .run();
        let handle = server.handle();
        tokio::spawn(server);
        let deliveries = tokio::spawn(webhooks::deliver(Arc::clone(&shared)));
        Ok(Self { shared, serving: Some(ServingTasks { server: handle, deliveries }) })
    }

    fn shared(options: EmulatorOptions, origin: String) -> anyhow::Result<Arc<SharedEmulatorState>> {
        let mut place = tempfile::Builder::new();
        place.prefix("journeyman-emulator-");
        let place = place.tempdir_in(options.within.clone().unwrap_or_else(std::env::temp_dir))?;
        git_child::prepare(place.path())?;
        Ok(Arc::new(SharedEmulatorState::new(world(options, origin)?, place)))
    }

    /// Stops listening and delivering.
    pub async fn stop(mut self) {
        if let Some(serving) = self.serving.take() {
            serving.deliveries.abort();
            serving.server.stop(false).await;
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.deliveries.abort();
            // The call already requests the stop; the future would only wait for it.
            drop(serving.server.stop(false));
        }
    }
}

fn routes(config: &mut web::ServiceConfig, pages: WebPages) {
    config
        .route("/{owner}/{name}.git/info/refs", web::get().to(git_http::info_refs))
        .route("/{owner}/{name}.git/info/lfs/objects/batch", web::post().to(large_files::batch))
        .route("/{owner}/{name}.git/{service}", web::post().to(git_http::exchange))
        .route("/user-attachments/{path:.*}", web::get().to(attachments::link))
        .route("/{storage:_logs|_attachments}", web::get().to(signed::stored))
        .route("/{storage:_large-files|_private-user-images}/{path:.*}", web::get().to(signed::stored))
        .service(web::scope("/api").default_service(web::to(api::serve)));
    match pages {
        WebPages::Shown => {
            config
                .configure(manifest::routes)
                .configure(sign_in::routes)
                .configure(pages::routes)
                .configure(pages::forms::routes);
        }
        WebPages::Hidden => {}
    }
}

fn world(options: EmulatorOptions, origin: String) -> anyhow::Result<EmulatorState> {
    let key = DecodingKey::from_rsa_pem(options.app_public_key_pem.as_bytes())
        .context("app_public_key_pem is not the PEM of an RSA public key")?;
    let app = EmulatedApp {
        id: options.app_id,
        stage: options.app_stage,
        bot: 1_001,
        installation: 1_002,
        apart: BTreeMap::new(),
        suspended: false,
        hook: 1_003,
        permissions: GRANTED.map(|(name, level)| (name.to_owned(), level)).into(),
        key,
        webhook_secret: options.webhook_secret,
        client_secret: SecretString::from(Uuid::new_v4().simple().to_string()),
        callbacks: Vec::new(),
        slug: SLUG.to_owned(),
    };
    let bot =
        EmulatedAccount { id: app.bot, login: format!("{}[bot]", app.slug), kind: EmulatedAccountKind::Bot };
    Ok(EmulatorState {
        origin,
        pages: options.pages,
        accounts: BTreeMap::from([(bot.id, bot)]),
        app,
        repositories: BTreeMap::new(),
        moved: BTreeMap::new(),
        manifests: BTreeMap::new(),
        sign_ins: BTreeMap::new(),
        attachments: Vec::new(),
        signed: HashMap::new(),
        tokens: HashMap::new(),
        deliveries: Vec::new(),
        calls: Vec::new(),
        faults: Vec::new(),
        webhook_url: None,
        names_apps: true,
        last_id: 2_000,
    })
}
