//! The dashboard's routes, over a real store.

mod addresses;
mod evidence;
mod figures;
mod following;
mod transcripts;

use std::sync::{Arc, Mutex};

use actix_web::body::{BoxBody, to_bytes};
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::{StatusCode, header};
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, HttpResponse};
use async_trait::async_trait;
use chrono::Utc;
use serde_json::json;
use tokio::sync::broadcast;

use super::*;
use journeyman_order::order_api::{OpenOrderResult, OrderRequestError};
use journeyman_order::{
    IssueNumber, IssueText, OrderInput, OrderLimits, OrderRequest, Pipeline, RepositoryName, Requester,
    SlashCommand,
};

const TOKEN: &str = "a token of the API";

struct NobodyAtWork;

#[async_trait]
impl WorkOrders for NobodyAtWork {
    fn delivery_arrived(&self) {}

    async fn open(
        &self,
        _: RepositoryName,
        _: IssueNumber,
        _: OrderRequest,
    ) -> Result<OpenOrderResult, OrderRequestError> {
        Err(OrderRequestError::Refused("nobody is here".to_owned()))
    }

    async fn command(&self, _: OrderId, _: Requester, _: SlashCommand) -> Result<u64, OrderRequestError> {
        Err(OrderRequestError::Refused("nobody is here".to_owned()))
    }
}

/// What runs now.
type ToldProgress = Arc<Mutex<Option<String>>>;

struct ToldLive(broadcast::Sender<(OrderId, JournalEntry)>, ToldProgress);

impl LiveWork for ToldLive {
    fn entries(&self) -> broadcast::Receiver<(OrderId, JournalEntry)> {
        self.0.subscribe()
    }

    fn transcript(
        &self,
        _: OrderId,
        _: &MoveKey,
        _: usize,
        _: &AgentTask,
    ) -> Option<Box<dyn LiveTranscript>> {
        None
    }

    fn progress(&self, _: OrderId) -> Option<String> {
        self.1.lock().unwrap().clone()
    }

    fn is_stopping(&self) -> bool {
        false
    }
}

/// The pages, with a session by token.
struct DashboardFixture {
    state: DashboardState,
    told: broadcast::Sender<(OrderId, JournalEntry)>,
    progress: ToldProgress,
    cookie: String,
    _folder: tempfile::TempDir,
}

impl DashboardFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(&format!("sqlite://{}/journeyman.db", folder.path().display())).await.unwrap();
        let (told, _) = broadcast::channel(64);
        let progress = ToldProgress::default();
        let state = DashboardState {
            store,
            api_token: Some(TOKEN.into()),
            public_url: None,
            listens: ([127, 0, 0, 1], 4321).into(),
            orders: Arc::new(NobodyAtWork),
            live: Arc::new(ToldLive(told.clone(), Arc::clone(&progress))),
            door: None,
            people: Arc::default(),
            shared: Arc::default(),
            settings: Arc::default(),
            day_limits: DayLimits::default(),
        };
        let mut fixture = Self { state, told, progress, cookie: String::new(), _folder: folder };
        fixture.cookie = fixture.sign_in().await;
        fixture
    }

    async fn send(&self, request: TestRequest) -> HttpResponse<BoxBody> {
        let state = self.state.clone();
        let app = init_service(App::new().configure(|config| configure(&state, config))).await;
        let answer: ServiceResponse<BoxBody> = app.call(request.to_request()).await.unwrap();
        answer.into_parts().1
    }

    async fn sign_in(&self) -> String {
        let form = TestRequest::post().uri("/sign-in").set_form(json!({"token": TOKEN}));
        let answer = self.send(form).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        let cookie = answer.headers().get(header::SET_COOKIE).unwrap().to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    async fn ask(&self, path: &str) -> HttpResponse<BoxBody> {
        self.send(TestRequest::get().uri(path).insert_header((header::COOKIE, self.cookie.as_str()))).await
    }

    async fn page(&self, path: &str) -> (StatusCode, String) {
        let answer = self.ask(path).await;
        let status = answer.status();
        let body = to_bytes(answer.into_body()).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn order(&self) -> OrderId {
        self.order_of(1).await
    }

    async fn another_order(&self) -> OrderId {
        self.order_of(2).await
    }

    async fn order_of(&self, issue: u64) -> OrderId {
        let input = opened(issue);
        let order = input.order;
        self.state.store.open_order(input, Utc::now(), None).await.unwrap();
        order
    }
}

fn opened(issue: u64) -> OrderInput {
    let yaml = "{name: p, version: 1, stages: [{name: plan, agent: developer, command: feature}]}";
    OrderInput {
        format: journeyman_order::journal::JOURNAL_FORMAT,
        order: OrderId(uuid::Uuid::now_v7()),
        repository: "octo-org/sums".parse().unwrap(),
        repository_id: RepositoryId(1),
        installation: None,
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: IssueNumber(issue),
            title: "The sum is wrong".to_owned(),
            body: String::new(),
            url: String::new(),
            labels: Vec::new(),
        },
        by: Requester::ApiToken,
        pipeline: Pipeline::parse(yaml).unwrap(),
        agent: "claude".to_owned(),
        limits: OrderLimits { minutes: 1, usd: 1.0, ..OrderLimits::default() },
        roles: Default::default(),
        earlier: Vec::new(),
        request: Default::default(),
        comment: None,
        labeled_at: None,
        commented_at: None,
        change: None,
    }
}
