//! Serves the setup pages on loopback, at an unguessable address, until the setup ends.

use std::collections::{BTreeMap, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::http::header;
use actix_web::web::{self, Data, Form, Query};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, guard};
use anyhow::Context as _;
use journeyman_config::{AppManifest, DoctorFinding, Settings};
use journeyman_github::convert_manifest;
use journeyman_order::bounds::{LARGEST_SETTINGS, LONGEST_TEXT};
use journeyman_order::{OutgoingNetwork, RepositoryName};
use secrecy::SecretString;
use tokio::sync::watch;
use url::Url;

use crate::answers::AppAnswers;
use crate::pages::{
    AgentPage, AppPage, CheckPage, CreatePage, EndPage, InstallPage, ReadyView, STYLE, SetupOutline,
    StartPage, TroublePage, shown,
};
use crate::progress::key_variables;
use crate::{ServicePlan, ServiceScope, SetupOptions, SetupProgress, SetupStep, files, has_user_manager};

/// Seconds until a waiting page reloads.
const AGAIN: u8 = 2;
/// Time for the browser to load the last page and its style.
const LAST_PAGE: Duration = Duration::from_millis(800);

/// How a setup ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupEnd {
    /// Start the server in this process.
    Serve,
    /// The person starts the server later.
    Leave,
    /// The server reported that it is ready, and its page was shown.
    Ready,
}

/// The running setup pages.
pub struct SetupServer {
    /// The address to open first.
    pub address: Url,
    handle: ServerHandle,
    state: Data<SetupState>,
    ended: watch::Receiver<Option<SetupEnd>>,
}

impl SetupServer {
    /// Waits until the person decides how the setup ends.
    pub async fn ended(&mut self) -> SetupEnd {
        let end = self.ended.wait_for(Option::is_some).await.ok().and_then(|end| *end);
        self.state.ended.send_replace(None);
        end.unwrap_or(SetupEnd::Leave)
    }

    /// The requested server listens at this address. The page waits until it is ready.
    pub fn listens(&self, at: SocketAddr) {
        self.state.memory().start = StartState::Waiting(at);
    }

    /// The requested server failed to start. The page says why and allows another try.
    pub fn failed(&self, why: String) {
        let mut memory = self.state.memory();
        memory.start = StartState::NotBegun;
        memory.problem = Some(format!("The server did not start: {why}"));
    }

    /// Stops serving after the last page was shown.
    pub async fn close(self) {
        tokio::time::sleep(LAST_PAGE).await;
        self.handle.stop(true).await;
    }
}

/// The state of the requested server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StartState {
    #[default]
    NotBegun,
    Starting,
    /// It listens here, or soon will.
    Waiting(SocketAddr),
}

#[derive(Default)]
struct SetupMemory {
    /// The pending request to GitHub: the word that identifies its answer, and the person's answers.
    asked: Option<(String, AppAnswers)>,
    labels: BTreeMap<RepositoryName, Option<String>>,
    /// The agent gets its key another way.
    skips_key: bool,
    checks: CheckState,
    /// The last requested service, as written.
    service: Option<ServicePlan>,
    start: StartState,
    /// Shown on the next page.
    problem: Option<String>,
}

#[derive(Default)]
enum CheckState {
    #[default]
    NotBegun,
    UnderWay,
    Done(Vec<DoctorFinding>),
}

struct SetupState {
    options: SetupOptions,
    base: Url,
    memory: Mutex<SetupMemory>,
    /// Only one page at a time may write files and call GitHub.
    turn: tokio::sync::Mutex<()>,
    ended: watch::Sender<Option<SetupEnd>>,
}

/// Serves the pages.
///
/// # Errors
/// If the address is not loopback or is taken.
pub fn start(options: SetupOptions) -> anyhow::Result<SetupServer> {
    anyhow::ensure!(
        options.listen.ip().is_loopback(),
        "the pages are for this machine alone: --listen 127.0.0.1:PORT"
    );
    let listener = TcpListener::bind(options.listen)
        .with_context(|| format!("cannot listen on {}: choose another port with --listen", options.listen))?;
    let local: SocketAddr = listener.local_addr()?;
    let key: String = files::random_hex()?.chars().take(32).collect();
    let base = Url::parse(&format!("http://{local}/{key}/"))?;
    let (ended, waiting) = watch::channel(None);
    let memory = Mutex::default();
    let state = SetupState { options, base: base.clone(), memory, turn: tokio::sync::Mutex::new(()), ended };
    let state = Data::new(state);
    let shared = state.clone();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(shared.clone())
            .app_data(web::FormConfig::default().limit(LARGEST_SETTINGS))
            .service(
                web::scope(&format!("/{key}"))
                    .guard(guard::fn_guard(|asked| is_of_this_machine(asked.head().headers())))
                    .route("/", web::get().to(front))
                    .route("/style.css", web::get().to(style))
                    .route("/app", web::post().to(answer))
                    .route("/made", web::get().to(made))
                    .route("/agent", web::post().to(keep_key))
                    .route("/agent", web::get().to(another_key))
                    .route("/skip", web::post().to(skip_key))
                    .route("/check", web::post().to(check_again))
                    .route("/service", web::post().to(make_service))
                    .route("/serve", web::post().to(serve))
                    .route("/started", web::get().to(started))
                    .route("/end", web::post().to(leave)),
            )
            .default_service(web::to(nowhere))
    })
    .workers(1)
    .disable_signals()
    .shutdown_timeout(2)
    .listen(listener)?
    .run();
    let handle = server.handle();
    tokio::spawn(server);
    Ok(SetupServer { address: base, handle, state, ended: waiting })
}

/// Rejects other host names, as a defense against DNS rebinding.
fn is_of_this_machine(headers: &header::HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

impl SetupState {
    fn memory(&self) -> MutexGuard<'_, SetupMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn observe(&self) -> SetupProgress {
        let labels = self.memory().labels.clone();
        let mut progress = SetupProgress::observe(&self.options.settings, labels).await;
        let mut memory = self.memory();
        memory.labels.clone_from(&progress.labels);
        if memory.skips_key && progress.agent_key.is_none() {
            progress.agent_key = Some("none is seen here".to_owned());
        }
        progress
    }

    fn outline(&self, step: SetupStep, problem: Option<String>) -> SetupOutline {
        SetupOutline { step, problem, file: self.options.settings.display().to_string() }
    }

    fn app_page(&self, problem: Option<String>, fields: &HashMap<String, String>) -> HttpResponse {
        let field = |name: &str, usual: &str| fields.get(name).map_or(usual, String::as_str).to_owned();
        let name = files::random_hex().unwrap_or_default().chars().take(6).collect::<String>();
        let page = AppPage {
            outline: self.outline(SetupStep::App, problem),
            github: field("github", "https://github.com"),
            organization: field("organization", ""),
            name: field("name", &format!("journeyman-{name}")),
            public_url: field("public_url", ""),
        };
        shown(&page, "", None)
    }

    /// Redirects to the current step, which shows the problem if there is one.
    fn back(&self, problem: Option<String>) -> HttpResponse {
        self.memory().problem = problem;
        to(self.base.as_str())
    }

    /// Redirects to the page that waits for the server.
    fn wait(&self, start: StartState) -> HttpResponse {
        self.memory().start = start;
        to(&format!("{}started", self.base))
    }
}

fn to(address: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, address)).finish()
}

async fn front(state: Data<SetupState>) -> HttpResponse {
    let _turn = state.turn.lock().await;
    let mut progress = state.observe().await;
    let problem = state.memory().problem.take().or(progress.problem.take());
    let step = progress.step();
    let outline = state.outline(step, problem);
    match (step, &progress.app) {
        (SetupStep::App, _) | (_, None) if progress.is_configured => {
            shown(&TroublePage { outline }, "", None)
        }
        (SetupStep::App, _) | (_, None) => state.app_page(outline.problem, &HashMap::new()),
        (SetupStep::Install, Some(app)) => {
            let (all, left) = (progress.repositories.len(), progress.unlabeled());
            let page =
                InstallPage { outline, slug: app.slug.clone(), install: app.install_page(), all, left };
            shown(&page, "", Some(AGAIN))
        }
        (SetupStep::Agent, Some(_)) => agent_page(outline, progress),
        (SetupStep::Check, Some(_)) => {
            let checks = checks(&state, &progress);
            let refresh = checks.is_none().then_some(AGAIN);
            let is_well = checks.iter().flatten().all(DoctorFinding::is_usable);
            let has_manager = has_user_manager();
            let page = CheckPage { outline, progress, checks, is_well, has_manager };
            shown(&page, "", refresh)
        }
    }
}

fn agent_page(outline: SetupOutline, progress: SetupProgress) -> HttpResponse {
    let variables = progress.settings.as_ref().map(key_variables).unwrap_or_default();
    shown(&AgentPage { outline, progress, variables }, "", None)
}

/// Lets the person replace the agent's key.
async fn another_key(state: Data<SetupState>) -> HttpResponse {
    let _turn = state.turn.lock().await;
    let progress = state.observe().await;
    agent_page(state.outline(SetupStep::Agent, None), progress)
}

async fn skip_key(state: Data<SetupState>) -> HttpResponse {
    state.memory().skips_key = true;
    state.back(None)
}

/// The doctor's findings. `None` while it is checking.
fn checks(state: &Data<SetupState>, progress: &SetupProgress) -> Option<Vec<DoctorFinding>> {
    let mut memory = state.memory();
    match &memory.checks {
        CheckState::Done(checks) => return Some(checks.clone()),
        CheckState::UnderWay => return None,
        CheckState::NotBegun => memory.checks = CheckState::UnderWay,
    }
    drop(memory);
    let (state, settings) = (state.clone(), progress.settings.clone()?);
    let doctor = Arc::clone(&state.options.doctor);
    tokio::spawn(async move {
        let looked = tokio::spawn(async move { doctor.examine(&settings).await }).await;
        state.memory().checks = looked.map_or(CheckState::NotBegun, CheckState::Done);
    });
    None
}

async fn answer(state: Data<SetupState>, fields: Form<HashMap<String, String>>) -> HttpResponse {
    let _turn = state.turn.lock().await;
    let answers = match AppAnswers::parse(&fields) {
        Ok(answers) => answers,
        Err(problem) => return state.app_page(Some(problem), &fields),
    };
    if state.observe().await.is_configured {
        return state.back(Some("The settings name an App already.".to_owned()));
    }
    // Check first whether the App can be saved: GitHub shows its key only once.
    let can_be_kept = files::check(&state.options.settings);
    let asked = can_be_kept.and_then(|()| Ok((files::random_hex()?, state.base.join("made")?)));
    let (word, back) = match asked {
        Ok(asked) => asked,
        Err(error) => return state.app_page(Some(format!("{error:#}")), &fields),
    };
    let shipped = AppManifest::shipped();
    let page = CreatePage {
        outline: state.outline(SetupStep::App, None),
        action: answers.form_address(&word).to_string(),
        manifest: answers.manifest(&back).to_string(),
        web: answers.web.host_str().unwrap_or_default().to_owned(),
        permissions: shipped.permissions.iter().map(|(name, level)| format!("{name}: {level}")).collect(),
        events: shipped.events,
    };
    let github = answers.web.origin().ascii_serialization();
    state.memory().asked = Some((word, answers));
    shown(&page, &format!(" {github}"), None)
}

/// GitHub redirects the person here.
async fn made(state: Data<SetupState>, query: Query<HashMap<String, String>>) -> HttpResponse {
    let _turn = state.turn.lock().await;
    let field = |name: &str| query.get(name).map_or("", String::as_str);
    let asked = state.memory().asked.clone();
    let Some((_, answers)) = asked.filter(|(word, _)| word == field("state")) else {
        return state.back(Some(
            "GitHub's answer is of another attempt. If it has made an App, delete that one on its page (Settings, Developer \
             settings, GitHub Apps), and begin again."
                .to_owned(),
        ));
    };
    // Existing settings may say how to reach GitHub.
    let outgoing = outgoing(&state);
    let kept = match convert_manifest(&answers.api_url, &outgoing, field("code")).await {
        Ok(app) => {
            state.memory().asked = None;
            let kept =
                files::keep_app(&state.options.settings, state.options.data.as_deref(), &answers, &app);
            kept.map_err(|error| {
                format!("GitHub has made the App {}, and its key could not be kept: {error:#}. Make another key on its page.", app.slug)
            })
        }
        Err(error) => Err(format!(
            "{error}. Reload the page before this one to try again: GitHub's code holds for an hour."
        )),
    };
    state.back(kept.err())
}

fn outgoing(state: &SetupState) -> OutgoingNetwork {
    let file = Some(&*state.options.settings).filter(|file| file.exists());
    let known = journeyman_config::TestRunSettings::load(file, std::env::vars());
    known.map(|known| known.testing.outgoing).unwrap_or_default()
}

async fn keep_key(state: Data<SetupState>, fields: Form<HashMap<String, String>>) -> HttpResponse {
    let _turn = state.turn.lock().await;
    let field = |name: &str| fields.get(name).map_or("", |value| value.trim());
    let (variable, key) = (field("variable"), field("key"));
    let is_key = (8..=LONGEST_TEXT).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let is_plain = !key.starts_with(['"', '\'']);
    let known = state.observe().await.settings.as_ref().map(key_variables).unwrap_or_default();
    if !known.iter().any(|name| name == variable) || !is_key || !is_plain {
        return state.back(Some("Key: one line without spaces, as it was given to you.".to_owned()));
    }
    let kept = files::keep_variable(&state.options.settings, variable, &SecretString::from(key));
    state.memory().checks = CheckState::NotBegun;
    let problem = match kept {
        Err(error) => Some(format!("{error:#}")),
        Ok(()) if state.observe().await.agent_key.is_none() => Some(format!(
            "The key is kept, and is not seen: is {variable} empty in the environment of this program, or \
             JOURNEYMAN_SERVER__ENVIRONMENT_FILE set?"
        )),
        Ok(()) => None,
    };
    state.back(problem)
}

async fn check_again(state: Data<SetupState>) -> HttpResponse {
    let mut memory = state.memory();
    if let CheckState::Done(_) = memory.checks {
        memory.checks = CheckState::NotBegun;
    }
    drop(memory);
    state.back(None)
}

/// Writes the unit and starts it if it is a user's. The page then waits for the server, even if a person starts it.
async fn make_service(state: Data<SetupState>, fields: Form<HashMap<String, String>>) -> HttpResponse {
    let _turn = state.turn.lock().await;
    let scope = match fields.get("scope").map(String::as_str) {
        Some("user") => ServiceScope::User,
        Some(_) | None => ServiceScope::System,
    };
    let settings = state.options.settings.clone();
    let made = web::block(move || -> anyhow::Result<(ServicePlan, SocketAddr)> {
        let plan = ServicePlan::of(&settings, scope)?;
        plan.install()?;
        let listen = Settings::load(Some(&settings), std::iter::empty())?.server.listen;
        Ok((plan, listen))
    });
    match made.await {
        Ok(Ok((plan, listen))) => {
            state.memory().service = Some(plan);
            state.wait(StartState::Waiting(listen))
        }
        Ok(Err(error)) => state.back(Some(format!("The service could not be made: {error:#}"))),
        Err(error) => state.back(Some(error.to_string())),
    }
}

async fn serve(state: Data<SetupState>) -> HttpResponse {
    state.memory().service = None;
    let answer = state.wait(StartState::Starting);
    state.ended.send_replace(Some(SetupEnd::Serve));
    answer
}

/// Waits until the server is ready, then shows the way to it.
async fn started(state: Data<SetupState>) -> HttpResponse {
    let (start, service) = {
        let memory = state.memory();
        (memory.start, memory.service.clone())
    };
    let (at, waits) = match start {
        StartState::NotBegun => return to(state.base.as_str()),
        StartState::Starting => (None, "It is being started.".to_owned()),
        StartState::Waiting(at) => match state.options.doctor.ready(at).await {
            Ok(()) => (Some(at), String::new()),
            Err(why) => (None, why),
        },
    };
    let outline = state.outline(SetupStep::Check, None);
    let Some(at) = at else {
        let page = StartPage { outline, waits, service, ready: None };
        return shown(&page, "", Some(AGAIN));
    };
    let _turn = state.turn.lock().await;
    let progress = state.observe().await;
    let page = StartPage { outline, waits, service, ready: ReadyView::of(&progress, at) };
    let answer = shown(&page, "", None);
    state.ended.send_replace(Some(SetupEnd::Ready));
    answer
}

async fn leave(state: Data<SetupState>) -> HttpResponse {
    let service = state.memory().service.clone();
    let answer = shown(&EndPage { outline: state.outline(SetupStep::Check, None), service }, "", None);
    state.ended.send_replace(Some(SetupEnd::Leave));
    answer
}

async fn style() -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, "text/css; charset=utf-8")).body(STYLE)
}

async fn nowhere(_request: HttpRequest) -> HttpResponse {
    HttpResponse::NotFound()
        .body("There is nothing here. Use the whole address that `journeyman setup` printed.\n")
}
